/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 4
 * NEEDS: checked arguments
 * ENV: RANKPOINT_INITIAL_ERRHANDLER=2
 * Of threads that initialise MPI at the same time one succeeds and the others have an error. */
#include <pthread.h>

#include "check.h"

enum { THREADS = 8 };
static pthread_barrier_t start;
static int codes[THREADS], provided[THREADS];

static void *initialise(void *argument)
{
    long number = (long)argument;
    pthread_barrier_wait(&start);
    codes[number] = MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided[number]);
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    int succeeded = 0, refused = 0, rank;
    pthread_barrier_init(&start, NULL, THREADS);
    for (long i = 0; i < THREADS; ++i)
        pthread_create(&threads[i], NULL, initialise, (void *)i);
    for (int i = 0; i < THREADS; ++i)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; ++i) {
        succeeded += codes[i] == MPI_SUCCESS && provided[i] == MPI_THREAD_MULTIPLE;
        refused += codes[i] == MPI_ERR_OTHER;
    }
    CHECK(succeeded == 1 && refused == THREADS - 1);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return finish(rank);
}
