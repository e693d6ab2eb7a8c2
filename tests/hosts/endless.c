/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Reduces among all ranks until something ends the job, or for so many seconds; rank 0 says when it has begun. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, goes_on, all = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double begin = MPI_Wtime();
    for (long round = 0; all; ++round) {
        goes_on = argc < 2 || MPI_Wtime() - begin < atof(argv[1]);
        MPI_Allreduce(&goes_on, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        if (round == 100 && rank == 0) {
            puts("begun");
            fflush(stdout);
        }
    }
    MPI_Finalize();
}
