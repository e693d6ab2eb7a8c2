/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Reduces among all ranks until something ends the job; rank 0 says when it has begun. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, one = 1, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (long round = 0;; ++round) {
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        if (round == 100 && rank == 0) {
            puts("begun");
            fflush(stdout);
        }
    }
}
