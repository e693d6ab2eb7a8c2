/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Threads that make, send, receive and free datatypes at once, so that the library uses the same handles again in all of them.
 *
 *     threads THREADS MESSAGES
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define BLOCKS 200
#define WINDOW 6

static int rank, messages, wrong;

/* What block `at` of message `number` of a thread has. */
static int value(int thread, int number, int at)
{
    return (thread * 1000 + number) * 1000 + at;
}

static void *run(void *argument)
{
    int thread = (int)(size_t)argument, other = 1 - rank;
    static const int STRIDES[] = {2, 3, 5};
    for (int number = 0; number < messages; ++number) {
        int memory[2 * WINDOW][BLOCKS * 5] = {{0}}, left = 2 * WINDOW;
        int stride = STRIDES[(thread + number) % 3];
        MPI_Request requests[2 * WINDOW];
        MPI_Datatype type;
        MPI_Type_vector(BLOCKS, 1, stride, MPI_INT, &type);
        MPI_Type_commit(&type);
        for (int i = 0; i < WINDOW; ++i)
            MPI_Irecv(memory[i], 1, type, other, thread, MPI_COMM_WORLD, &requests[i]);
        for (int i = 0; i < WINDOW; ++i) {
            for (int at = 0; at < BLOCKS; ++at)
                memory[WINDOW + i][at * stride] = value(thread, number + i, at);
            MPI_Isend(memory[WINDOW + i], 1, type, other, thread, MPI_COMM_WORLD, &requests[WINDOW + i]);
        }
        if (number % 2)
            MPI_Type_free(&type);
        while (left > 0) {
            int done, indices[2 * WINDOW];
            if (number % 3 == 0) {
                MPI_Waitany(2 * WINDOW, requests, &done, MPI_STATUS_IGNORE);
                --left;
            } else if (number % 3 == 1) {
                MPI_Testsome(2 * WINDOW, requests, &done, indices, MPI_STATUSES_IGNORE);
                left -= done;
            } else {
                MPI_Waitall(2 * WINDOW, requests, MPI_STATUSES_IGNORE);
                left = 0;
            }
        }
        if (number % 2 == 0)
            MPI_Type_free(&type);
        for (int i = 0; i < WINDOW; ++i)
            for (int at = 0; at < BLOCKS * 5; ++at) {
                int is_data = at % stride == 0 && at / stride < BLOCKS;
                if (memory[i][at] != (is_data ? value(thread, number + i, at / stride) : 0))
                    __atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
            }
    }
    return 0;
}

int main(int argc, char **argv)
{
    pthread_t threads[64];
    int provided, count = argc > 2 ? atoi(argv[1]) : 4;
    messages = argc > 2 ? atoi(argv[2]) : 100;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < count; ++i)
        pthread_create(&threads[i], 0, run, (void *)(size_t)i);
    for (int i = 0; i < count; ++i)
        pthread_join(threads[i], 0);
    printf(wrong == 0 && provided == MPI_THREAD_MULTIPLE ? "PASS\n" : "%d wrong\n", wrong);
    MPI_Finalize();
    return wrong != 0;
}
