/* SPDX-License-Identifier: MIT OR Apache-2.0
 * "outside before CALL": the call before MPI_Init; "outside after CALL": after MPI_Finalize. The program goes on only if the call
 * returns. "outside abort": after MPI_Init, a forked child of rank 0 calls MPI_Abort, for which the others wait. "outside session": a
 * session is left open. */
#include <dlfcn.h>
#include <mpi.h>
#include <mpi_rankpoint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CODE = 7 };

static int x = 1, y;
static long many[20000];
static MPI_Request request, pending, planned;
static MPI_Win window;
static MPI_Comm named;

/* What fast stages refer to, left behind by MPI_Finalize. */
static void begin(void)
{
    long *memory;
    MPI_Init(NULL, NULL);
    named = MPIX_COMM_1;
    MPIX_Comm_dup_predefined(MPI_COMM_WORLD, named);
    MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_SELF, &memory, &window);
    MPI_Win_lock_all(0, window);
    MPI_Put(&x, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
    MPI_Win_flush(0, window);
    MPI_Recv_init(&y, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &planned);
    MPI_Irecv(&y, 1, MPI_INT, 0, 99, MPI_COMM_SELF, &pending);
}

#define CALLS(call)                                                                                 \
    call(Send, MPI_Send(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD))                                      \
    call(Isend, MPI_Isend(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request))                          \
    call(Isend_long, MPI_Isend(many, 20000, MPI_LONG, 0, 0, MPI_COMM_WORLD, &request))              \
    call(Irecv, MPI_Irecv(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request))                          \
    call(Recv, MPI_Recv(&x, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE))                    \
    call(Sendrecv, MPI_Sendrecv(&x, 1, MPI_INT, 0, 0, &y, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)) \
    call(Iprobe, MPI_Iprobe(0, 0, MPI_COMM_WORLD, &x, MPI_STATUS_IGNORE))                           \
    call(Wait, MPI_Wait(&pending, MPI_STATUS_IGNORE))                                               \
    call(Test, MPI_Test(&pending, &x, MPI_STATUS_IGNORE))                                           \
    call(Waitall, MPI_Waitall(1, &pending, MPI_STATUSES_IGNORE))                                    \
    call(Start, MPI_Start(&planned))                                                                \
    call(Barrier, MPI_Barrier(MPI_COMM_WORLD))                                                      \
    call(Allreduce, MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF))                      \
    call(Ibcast, MPI_Ibcast(&x, 1, MPI_INT, 0, MPI_COMM_WORLD, &request))                           \
    call(Put, MPI_Put(&x, 1, MPI_INT, 0, 0, 1, MPI_INT, window))                                    \
    call(Get, MPI_Get(&x, 1, MPI_INT, 0, 0, 1, MPI_INT, window))                                    \
    call(Accumulate, MPI_Accumulate(&x, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, window))             \
    call(Fetch_and_op, MPI_Fetch_and_op(&x, &y, MPI_INT, 0, 0, MPI_SUM, window))                    \
    call(Compare_and_swap, MPI_Compare_and_swap(&x, &x, &y, MPI_INT, 0, 0, window))                 \
    call(Win_flush, MPI_Win_flush(0, window))                                                       \
    call(Isend_global, MPIX_Isend_global(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request))           \
    call(Isend_noreq, MPIX_Isend_noreq(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD))                       \
    call(Isend_nomatch, MPIX_Isend_nomatch(&x, 1, MPI_INT, 0, MPI_COMM_WORLD, &request))            \
    call(Isend_all_opts, MPIX_Isend_all_opts(&x, 1, MPI_INT, 0, named))                             \
    call(Irecv_all_opts, MPIX_Irecv_all_opts(&x, 1, MPI_INT, named))                                \
    call(Put_all_opts, MPIX_Put_all_opts(&x, 1, MPI_INT, 0, &y, 1, MPI_INT, window))

#define NAME(name, call) #name,
#define CASE(name, call)                                                                            \
    if (strcmp(word, #name) == 0)                                                                   \
        return call;

static int make(const char *word)
{
    CALLS(CASE)
    return -1;
}

int main(int count, char **words)
{
    const char *how = count > 1 ? words[1] : "", *word = count > 2 ? words[2] : "";
    int rank;
    if (strcmp(how, "list") == 0) {
        const char *names[] = {CALLS(NAME)};
        for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
            puts(names[i]);
        return 0;
    }
    if (strcmp(how, "session") == 0) {
        MPI_Session session;
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
        MPI_Init(NULL, NULL);
        return MPI_Finalize();
    }
    if (strcmp(how, "abort") == 0) {
        MPI_Init(NULL, NULL);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        pid_t child = rank == 0 ? fork() : 1;
        if (child == 0)
            return MPI_Abort(MPI_COMM_WORLD, CODE);
        if (rank == 0)
            waitpid(child, NULL, 0);
        MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return MPI_Finalize();
    }
    if (strcmp(how, "after") == 0) {
        begin();
        MPI_Finalize();
    }
    int code = make(word);
    printf("%s returned %d\n", word, code);
    return 0;
}
