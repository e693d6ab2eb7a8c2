/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Two threads, one after the other, send messages to their own rank, each on a communicator of its own: for `cargo xtask ablations`, which
 * reads a trace of the memory that each call uses. The first thread still exists while the second one runs, so neither their stacks nor
 * their thread-local memory are the same.
 *
 * Argument: number of messages of each thread. A store to marks[k] begins part k of the trace; part 0 is not looked
 * at. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { COMMS = 8, ISEND = 1, IRECV, TEST, WAIT, PARTS };

static _Alignas(64) volatile char marks[64];
static MPI_Comm comms[COMMS];
static int calls;
static pthread_barrier_t begin, end;

/* A call, and part 0 behind it. */
#define IN_PART(part, call)                     \
    do {                                        \
        marks[(1 + thread) * PARTS + part] = 1; \
        call;                                   \
        marks[0] = 1;                           \
    } while (0)

static void exchange(int thread, MPI_Comm comm)
{
    _Alignas(64) char out[64] = {1}, in[64] = {0};
    for (int i = 0; i < calls; i++) {
        MPI_Request send, receive;
        int is_done;
        IN_PART(IRECV, MPI_Irecv(in, 1, MPI_CHAR, 0, 0, comm, &receive));
        IN_PART(TEST, MPI_Test(&receive, &is_done, MPI_STATUS_IGNORE));
        IN_PART(ISEND, MPI_Isend(out, 1, MPI_CHAR, 0, 0, comm, &send));
        IN_PART(WAIT, MPI_Wait(&receive, MPI_STATUS_IGNORE));
        MPI_Wait(&send, MPI_STATUS_IGNORE);
        if (is_done || in[0] != 1)
            abort();
    }
}

static void *run(void *argument)
{
    int thread = *(int *)argument;
    exchange(thread, comms[1 + thread]);
    pthread_barrier_wait(&begin);
    pthread_barrier_wait(&end);
    return NULL;
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
        exchange(-1, comms[i]);
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
    MPI_Finalize();
    printf("MARKS %p\n", (void *)marks);
    return 0;
}
