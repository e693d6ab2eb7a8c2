/* SPDX-License-Identifier: MIT OR Apache-2.0
 * OpenMP threads that are ranks: each has an endpoint, sends around the ring of all threads of all processes, and adds up with all of
 * them.
 *
 *     mpicc -fopenmp examples/threads/endpoints.c -o endpoints
 *     OMP_NUM_THREADS=4 mpiexec -n 2 ./endpoints */
#include <omp.h>
#include <mpi_rankpoint.h>
#include <stdio.h>
#include <stdlib.h>

/* Gives the sum of the ranks of all threads, or -1 if a neighbour has sent something else than its rank. */
static int add_ranks(MPI_Comm comm)
{
    int rank, size, from_left, sum;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    MPI_Sendrecv(&rank, 1, MPI_INT, right, 0, &from_left, 1, MPI_INT, left, 0, comm, MPI_STATUS_IGNORE);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    return from_left == left ? sum : -1;
}

int main(int argc, char **argv)
{
    int provided, rank, size, wrong = 0, threads = omp_get_max_threads();
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided != MPI_THREAD_MULTIPLE)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int all = size * threads;

    MPI_Comm *endpoints = malloc(threads * sizeof *endpoints);
    MPIX_Comm_create_endpoints(MPI_COMM_WORLD, threads, MPI_INFO_NULL, endpoints);

    #pragma omp parallel num_threads(threads) reduction(+ : wrong)
    {
        MPI_Comm comm = endpoints[omp_get_thread_num()];
        wrong += add_ranks(comm) != all * (all - 1) / 2;
        MPI_Comm_free(&comm);
    }

    free(endpoints);
    printf("rank %d: %d threads of %d, %d wrong\n", rank, threads, all, wrong);
    MPI_Finalize();
    return wrong != 0;
}
