/* SPDX-License-Identifier: MIT OR Apache-2.0
 * OpenMP threads that are members of a window: each puts its number into the memory of the next one, and all count in the memory of
 * the first one.
 *
 *     mpicc -fopenmp examples/threads/windows.c -o windows
 *     OMP_NUM_THREADS=4 mpiexec -n 2 ./windows */
#include <omp.h>
#include <mpi_rankpoint.h>
#include <stdio.h>
#include <stdlib.h>

/* Gives whether the member before this one has put its number here, and all have counted. */
static int is_right(MPI_Win win, int me, int all)
{
    long *memory, number = me, one = 1;
    int found;
    MPI_Win_get_attr(win, MPI_WIN_BASE, &memory, &found);
    memory[0] = memory[1] = 0;
    MPI_Win_fence(0, win);
    MPI_Put(&number, 1, MPI_LONG, (me + 1) % all, 0, 1, MPI_LONG, win);
    MPI_Accumulate(&one, 1, MPI_LONG, 0, 1, 1, MPI_LONG, MPI_SUM, win);
    MPI_Win_fence(0, win);
    return memory[0] == (me + all - 1) % all && memory[1] == (me == 0 ? all : 0);
}

int main(int argc, char **argv)
{
    int provided, rank, size, wrong = 0, threads = omp_get_max_threads();
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided != MPI_THREAD_MULTIPLE)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    MPI_Aint *sizes = malloc(threads * sizeof *sizes);
    MPI_Win *windows = malloc(threads * sizeof *windows);
    for (int thread = 0; thread < threads; thread++)
        sizes[thread] = 2 * sizeof(long);
    MPIX_Win_create_endpoints(NULL, sizes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, threads, windows);

    #pragma omp parallel num_threads(threads) reduction(+ : wrong)
    {
        int thread = omp_get_thread_num();
        wrong += !is_right(windows[thread], rank * threads + thread, size * threads);
        MPI_Win_free(&windows[thread]);
    }

    free(sizes);
    free(windows);
    printf("rank %d: %d threads of %d, %d wrong\n", rank, threads, size * threads, wrong);
    MPI_Finalize();
    return wrong != 0;
}
