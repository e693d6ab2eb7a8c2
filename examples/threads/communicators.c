/* SPDX-License-Identifier: MIT OR Apache-2.0
 * OpenMP threads that communicate on their own: each has a communicator and passes a vector around the ring of its namesakes in all ranks.
 *
 *     mpicc -fopenmp examples/threads/communicators.c -o communicators
 *     OMP_NUM_THREADS=4 mpiexec -n 2 ./communicators */
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { CELLS = 1000, STEPS = 100 };

static int rank, size;

/* Passes the vector of each rank once around the ring; gives how many cells are wrong then. */
static int pass_around(MPI_Comm comm, int thread)
{
    double cells[CELLS];
    int wrong = 0, right = (rank + 1) % size, left = (rank + size - 1) % size;
    for (int i = 0; i < CELLS; i++)
        cells[i] = rank + 0.001 * thread;
    for (int step = 0; step < STEPS * size; step++)
        MPI_Sendrecv_replace(cells, CELLS, MPI_DOUBLE, right, 0, left, 0, comm, MPI_STATUS_IGNORE);
    for (int i = 0; i < CELLS; i++)
        wrong += cells[i] != rank + 0.001 * thread;
    return wrong;
}

int main(int argc, char **argv)
{
    int provided, wrong = 0, threads = omp_get_max_threads();
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided != MPI_THREAD_MULTIPLE)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    /* One thread makes the communicators: all ranks in the same order. */
    MPI_Comm *comms = malloc(threads * sizeof *comms);
    for (int i = 0; i < threads; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);

    #pragma omp parallel num_threads(threads) reduction(+ : wrong)
    {
        int thread = omp_get_thread_num();
        wrong += pass_around(comms[thread], thread);
    }

    for (int i = 0; i < threads; i++)
        MPI_Comm_free(&comms[i]);
    free(comms);
    printf("rank %d: %d threads, %d cells wrong\n", rank, threads, wrong);
    MPI_Finalize();
    return wrong != 0;
}
