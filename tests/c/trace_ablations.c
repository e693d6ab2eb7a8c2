/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Two threads, one after the other, send messages to their own rank, each on a communicator of its own: for `cargo xtask ablations`, which
 * reads a trace of the memory that each call uses. The first thread still exists while the second one runs, so neither their stacks nor
 * their thread-local memory are the same.
 *
 * Arguments: number of messages of each thread, and "tags" where both threads use one communicator whose tags name their VCIs; the first
 * thread then has the VCI of that communicator. A store to marks[k] begins part k of the trace; part 0 is not looked
 * at. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COMMS = 8, TAG_BITS = 4, ISEND = 1, IRECV, TEST, WAIT, PARTS };

static _Alignas(64) volatile char marks[64];
static MPI_Comm comms[COMMS], tagged = MPI_COMM_NULL;
static int calls;
static pthread_barrier_t begin, end;

/* A call, and part 0 behind it. */
#define IN_PART(part, call)                     \
    do {                                        \
        marks[(1 + thread) * PARTS + part] = 1; \
        call;                                   \
        marks[0] = 1;                           \
    } while (0)

static void exchange(int thread, MPI_Comm comm, int tag)
{
    _Alignas(64) char out[64] = {1}, in[64] = {0};
    for (int i = 0; i < calls; i++) {
        MPI_Request send, receive;
        int is_done;
        IN_PART(IRECV, MPI_Irecv(in, 1, MPI_CHAR, 0, tag, comm, &receive));
        IN_PART(TEST, MPI_Test(&receive, &is_done, MPI_STATUS_IGNORE));
        IN_PART(ISEND, MPI_Isend(out, 1, MPI_CHAR, 0, tag, comm, &send));
        IN_PART(WAIT, MPI_Wait(&receive, MPI_STATUS_IGNORE));
        MPI_Wait(&send, MPI_STATUS_IGNORE);
        if (is_done || in[0] != 1)
            abort();
    }
}

/* The tag of messages of a thread to itself. */
static int tag_of(int thread)
{
    return thread << TAG_BITS | thread;
}

static void *run(void *argument)
{
    int thread = *(int *)argument;
    if (tagged == MPI_COMM_NULL)
        exchange(thread, comms[1 + thread], 0);
    else
        exchange(thread, tagged, tag_of(thread));
    pthread_barrier_wait(&begin);
    pthread_barrier_wait(&end);
    return NULL;
}

static MPI_Comm with_tags(void)
{
    MPI_Comm made;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
    MPI_Info_set(info, "rankpoint_num_vcis", "2");
    MPI_Info_set(info, "rankpoint_num_tag_bits_for_vci", "4");
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &made);
    MPI_Info_free(&info);
    return made;
}

int main(int argc, char **argv)
{
    int level, numbers[2] = {0, 1};
    pthread_t threads[2];
    calls = argc > 1 ? atoi(argv[1]) : 1;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
    if (level != MPI_THREAD_MULTIPLE)
        return 1;
    for (int i = 0; i < COMMS; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        /* All VCIs exist, and have what their first messages need. */
        exchange(-1, comms[i], 0);
    }
    if (argc > 2 && !strcmp(argv[2], "tags")) {
        tagged = with_tags();
        for (int i = 0; i < 2; i++)
            exchange(-1, tagged, tag_of(i));
    }
    pthread_barrier_init(&begin, NULL, 2);
    pthread_barrier_init(&end, NULL, 3);
    for (int i = 0; i < 2; i++) {
        pthread_create(&threads[i], NULL, run, &numbers[i]);
        pthread_barrier_wait(&begin);
    }
    pthread_barrier_wait(&end);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < COMMS; i++)
        MPI_Comm_free(&comms[i]);
    if (tagged != MPI_COMM_NULL)
        MPI_Comm_free(&tagged);
    MPI_Finalize();
    printf("MARKS %p\n", (void *)marks);
    return 0;
}
