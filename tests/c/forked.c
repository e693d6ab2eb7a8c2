/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 4
 * ENV: LEVEL=0
 * ENV: LEVEL=4096
 * ENV: LEVEL=0 RANKPOINT_PROGRESS_THREAD=1
 * ENV: LEVEL=0 RANKPOINT_RMA=message
 * NEEDS: checked arguments
 * A child that a rank forks is not an MPI process: each of its calls is refused through the error handler, MPI_Finalize does nothing, and
 * the parent goes on with the requests, collectives and windows that it had. Children that start other programs start them. */
#include "promises.h"
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS = 50000 };

static int rank, size, handled;
static MPI_Comm own, fatal, predefined;
static MPI_Win window;
static long *memory, long_out[WORDS], long_in[WORDS];
static pid_t parent;
static MPI_Request pending[4], planned, planned_sum, partitions;
static int in[2], out[2], sum_in, sum_out;

/* In children a failed check ends the child alone. */
#define EXPECT(condition)                                                                           \
    do {                                                                                            \
        if (!(condition)) {                                                                         \
            fprintf(stderr, "%s:%d: child of rank %d: failed: %s\n", __FILE__, __LINE__, rank, #condition); \
            _exit(97);                                                                              \
        }                                                                                           \
    } while (0)

static void note(MPI_Comm *comm, int *code, ...)
{
    handled += *comm == own && *code == MPI_ERR_OTHER;
}

static void at_exit(void)
{
    int over;
    MPI_Finalized(&over);
    EXPECT(getpid() == parent || over);
    /* Also without the question. */
    EXPECT(MPI_Finalize() == MPI_SUCCESS);
}

/* The call was refused, and its text says why. */
static void refused_(int code, int line)
{
    char text[MPI_MAX_ERROR_STRING], expected[64];
    int length;
    MPI_Error_string(code, text, &length);
    snprintf(expected, sizeof expected, "forked child of rank %d,", rank);
    if (code != MPI_ERR_OTHER || !strstr(text, expected)) {
        fprintf(stderr, "%s:%d: child of rank %d: code %d, %s\n", __FILE__, line, rank, code, text);
        _exit(98);
    }
}
#define REFUSED(call) refused_(call, __LINE__)

static void communicate(void)
{
    int next = (rank + 1) % size, flag, x = 1, y;
    long count = 0;
    MPI_Request request;
    MPI_Status status;
    MPI_Message message;
    MPI_Comm comm;
    REFUSED(MPI_Send(&x, 1, MPI_INT, next, 1, MPI_COMM_WORLD));
    REFUSED(MPI_Send(long_out, WORDS, MPI_LONG, next, 1, MPI_COMM_WORLD));
    REFUSED(MPI_Isend(&x, 1, MPI_INT, next, 1, MPI_COMM_WORLD, &request));
    REFUSED(MPI_Ssend(&x, 1, MPI_INT, next, 1, MPI_COMM_WORLD));
    REFUSED(MPI_Bsend(&x, 1, MPI_INT, next, 1, MPI_COMM_WORLD));
    REFUSED(MPI_Send(&x, 1, MPI_INT, rank, 1, MPI_COMM_SELF));
    REFUSED(MPI_Recv(&y, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
    REFUSED(MPI_Irecv(&y, 1, MPI_INT, next, 1, MPI_COMM_WORLD, &request));
    REFUSED(MPI_Irecv(long_in, WORDS, MPI_LONG, next, 1, MPI_COMM_WORLD, &request));
    REFUSED(MPI_Sendrecv(&x, 1, MPI_INT, next, 1, &y, 1, MPI_INT, next, 1, MPI_COMM_WORLD, &status));
    REFUSED(MPI_Probe(next, 1, MPI_COMM_WORLD, &status));
    REFUSED(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status));
    REFUSED(MPI_Mprobe(next, 1, MPI_COMM_WORLD, &message, &status));
    REFUSED(MPI_Send_init(&x, 1, MPI_INT, next, 1, MPI_COMM_WORLD, &request));
    REFUSED(x_Send_global(&x, 1, MPI_INT, next, 1, MPI_COMM_WORLD));
    REFUSED(x_Isend_noreq(&x, 1, MPI_INT, next, 1, MPI_COMM_WORLD));
    REFUSED(x_Comm_waitall(MPI_COMM_WORLD));
    REFUSED(x_Isend_all_opts(&x, 1, MPI_INT, next, predefined));
    REFUSED(x_Irecv_all_opts(&y, 1, MPI_INT, predefined));

    for (int i = 0; i < 4; i++) {
        request = pending[i];
        REFUSED(MPI_Test(&request, &flag, &status));
        REFUSED(MPI_Wait(&request, &status));
        REFUSED(MPI_Cancel(&request));
        REFUSED(MPI_Request_get_status(request, &flag, &status));
        REFUSED(MPI_Request_free(&request));
        EXPECT(request == pending[i]);
    }
    REFUSED(MPI_Waitall(4, pending, MPI_STATUSES_IGNORE));
    REFUSED(MPI_Testall(4, pending, &flag, MPI_STATUSES_IGNORE));
    REFUSED(MPI_Waitany(4, pending, &x, &status));
    REFUSED(MPI_Start(&planned));
    REFUSED(MPI_Start(&planned_sum));
    REFUSED(MPI_Startall(1, &planned));
    REFUSED(MPI_Pready(0, partitions));
    REFUSED(MPI_Parrived(partitions, 0, &flag));

    REFUSED(MPI_Barrier(MPI_COMM_WORLD));
    REFUSED(MPI_Barrier(MPI_COMM_SELF));
    REFUSED(MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    REFUSED(MPI_Bcast(long_in, WORDS, MPI_LONG, 0, MPI_COMM_WORLD));
    REFUSED(MPI_Ibarrier(MPI_COMM_WORLD, &request));
    REFUSED(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    REFUSED(MPI_Comm_rank(MPI_COMM_WORLD, &x));
    REFUSED(MPI_Comm_free(&own));
    REFUSED(MPI_Comm_set_name(MPI_COMM_WORLD, "a child's"));

    int before = handled;
    EXPECT(MPI_Send(&x, 1, MPI_INT, next, 1, own) == MPI_ERR_OTHER && handled == before + 1);
    EXPECT(MPI_Barrier(own) == MPI_ERR_OTHER && handled == before + 2);

    REFUSED(MPI_Put(&count, 1, MPI_LONG, next, 0, 1, MPI_LONG, window));
    REFUSED(MPI_Get(&count, 1, MPI_LONG, next, 0, 1, MPI_LONG, window));
    REFUSED(MPI_Accumulate(&count, 1, MPI_LONG, next, 0, 1, MPI_LONG, MPI_SUM, window));
    REFUSED(MPI_Fetch_and_op(&count, &count, MPI_LONG, next, 0, MPI_SUM, window));
    REFUSED(MPI_Rput(&count, 1, MPI_LONG, next, 0, 1, MPI_LONG, window, &request));
    REFUSED(MPI_Win_flush(next, window));
    REFUSED(MPI_Win_unlock_all(window));
    REFUSED(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, window));
    REFUSED(MPI_Win_fence(0, window));
    REFUSED(MPI_Win_free(&window));
}

/* The life of a child, which ends through the exit handler of its parent. */
static void live(void)
{
    int flag, level;
    void *base;
    MPI_Session session;
    MPI_Info info;
    EXPECT(MPI_Initialized(&flag) == MPI_SUCCESS && flag);
    EXPECT(MPI_Finalized(&flag) == MPI_SUCCESS && flag);
    communicate();
    REFUSED(MPI_Init(NULL, NULL));
    REFUSED(MPI_Init_thread(NULL, NULL, MPI_THREAD_SINGLE, &level));
    REFUSED(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    REFUSED(MPI_Alloc_mem(100, MPI_INFO_NULL, &base));
    REFUSED(MPI_Free_mem(memory));
    /* What needs no process. */
    EXPECT(MPI_Info_create(&info) == MPI_SUCCESS && MPI_Info_free(&info) == MPI_SUCCESS);
    EXPECT(MPI_Finalize() == MPI_SUCCESS && MPI_Finalize() == MPI_SUCCESS);
    fflush(NULL);
}

static int status_of(pid_t child)
{
    int status;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* Two children, one of which has a child, and one whose error handler ends it. */
static void fork_children(void)
{
    pid_t child = fork();
    if (child == 0) {
        live();
        pid_t again = fork();
        if (again == 0) {
            live();
            exit(0);
        }
        exit(status_of(again));
    }
    CHECK(status_of(child) == 0);
    child = fork();
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr))
            exit(0);
        MPI_Barrier(fatal);
        exit(0);
    }
    CHECK(status_of(child) == MPI_ERR_OTHER);
}

static void start_programs(void)
{
    char *words[] = {"true", NULL}, line[16];
    extern char **environ;
    pid_t child = vfork();
    if (child == 0) {
        execlp("true", "true", (char *)NULL);
        _exit(96);
    }
    CHECK(status_of(child) == 0);
    CHECK(posix_spawnp(&child, "true", NULL, NULL, words, environ) == 0 && status_of(child) == 0);
    CHECK(system("exit 3") == 3 << 8);
    FILE *pipe = popen("echo said", "r");
    CHECK(pipe && fgets(line, sizeof line, pipe) && strcmp(line, "said\n") == 0 && pclose(pipe) == 0);
    child = fork();
    if (child == 0) {
        execlp("true", "true", (char *)NULL);
        _exit(96);
    }
    CHECK(status_of(child) == 0);
}

static void begin(void)
{
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    MPI_Errhandler handler;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &fatal) == MPI_SUCCESS);
    MPI_Comm_set_errhandler(fatal, MPI_ERRORS_ARE_FATAL);
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &own) == MPI_SUCCESS);
    MPI_Comm_create_errhandler(note, &handler);
    MPI_Comm_set_errhandler(own, handler);
    MPI_Errhandler_free(&handler);
    predefined = MPIX_COMM_1;
    CHECK(x_Comm_dup_predefined(MPI_COMM_WORLD, predefined) == MPI_SUCCESS);
    CHECK(MPI_Win_allocate(4 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window) == MPI_SUCCESS);
    MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
    memory[0] = 10 * rank;
    MPI_Win_lock_all(0, window);
    MPI_Win_sync(window);
    MPI_Barrier(MPI_COMM_WORLD);
    long there = -1;
    MPI_Get(&there, 1, MPI_LONG, next, 0, 1, MPI_LONG, window);
    MPI_Win_flush(next, window);
    CHECK(there == 10 * next);
    for (int i = 0; i < WORDS; i++)
        long_out[i] = rank + i;
    /* Two receives that are pending while children live, a long send, and one that is complete. */
    MPI_Irecv(&in[0], 1, MPI_INT, previous, 11, MPI_COMM_WORLD, &pending[0]);
    MPI_Irecv(long_in, WORDS, MPI_LONG, previous, 12, MPI_COMM_WORLD, &pending[1]);
    MPI_Issend(long_out, WORDS, MPI_LONG, next, 12, own, &pending[2]);
    MPI_Irecv(&in[1], 1, MPI_INT, MPI_ANY_SOURCE, 13, MPI_COMM_WORLD, &pending[3]);
    MPI_Recv_init(&sum_in, 1, MPI_INT, previous, 14, MPI_COMM_WORLD, &planned);
    MPI_Allreduce_init(&sum_in, &sum_out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &planned_sum);
    MPI_Psend_init(out, 2, 1, MPI_INT, next, 15, MPI_COMM_WORLD, MPI_INFO_NULL, &partitions);
}

/* The parent's communication is as if there had been no children. */
static void go_on(void)
{
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    static long got[WORDS];
    for (int k = 0; k < 300; k++) {
        int x = rank + k, y = -1;
        CHECK(MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS);
        CHECK(y == size * (size - 1) / 2 + size * k);
    }
    MPI_Send(&rank, 1, MPI_INT, next, 13, MPI_COMM_WORLD);
    MPI_Send(&rank, 1, MPI_INT, next, 11, MPI_COMM_WORLD);
    MPI_Request more[2];
    MPI_Isend(long_out, WORDS, MPI_LONG, next, 12, MPI_COMM_WORLD, &more[0]);
    MPI_Irecv(got, WORDS, MPI_LONG, previous, 12, own, &more[1]);
    CHECK(MPI_Waitall(2, more, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Waitall(4, pending, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    CHECK(in[0] == previous && in[1] == previous);
    for (int i = 0; i < WORDS; i++)
        CHECK(long_in[i] == previous + i && got[i] == previous + i);
    sum_in = 0;
    MPI_Start(&planned);
    MPI_Send(&next, 1, MPI_INT, next, 14, MPI_COMM_WORLD);
    MPI_Wait(&planned, MPI_STATUS_IGNORE);
    CHECK(sum_in == rank);
    MPI_Start(&planned_sum);
    MPI_Wait(&planned_sum, MPI_STATUS_IGNORE);
    CHECK(sum_out == size * (size - 1) / 2);
    long there = -1;
    CHECK(MPI_Get(&there, 1, MPI_LONG, next, 0, 1, MPI_LONG, window) == MPI_SUCCESS);
    MPI_Win_flush(next, window);
    CHECK(there == 10 * next);
    MPI_Barrier(MPI_COMM_WORLD);
    long one = 1;
    MPI_Accumulate(&one, 1, MPI_LONG, next, 0, 1, MPI_LONG, MPI_SUM, window);
    MPI_Win_flush(next, window);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(window);
    CHECK(memory[0] == 10 * rank + 1);
    CHECK(handled == 0);
}

int main(void)
{
    int level, is_over;
    find_functions();
    MPI_Init_thread(NULL, NULL, atoi(getenv("LEVEL") ? getenv("LEVEL") : "0"), &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    parent = getpid();
    atexit(at_exit);
    begin();
    fork_children();
    start_programs();
    go_on();
    fork_children();
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    MPI_Request_free(&planned);
    MPI_Request_free(&planned_sum);
    MPI_Request_free(&partitions);
    MPI_Comm_free(&own);
    MPI_Comm_free(&fatal);
    MPI_Comm_free(&predefined);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("PASS\n");
    /* The exit handler finalizes MPI. */
    return MPI_Finalized(&is_over) != MPI_SUCCESS || is_over;
}
