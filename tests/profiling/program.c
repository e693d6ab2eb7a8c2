/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Rank 0 sends 37 messages, rank 1 sends 5; collectives and other calls, whose own messages no layer may see, lie between. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, value = 1, sum = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 37; ++i) {
        if (rank == 0)
            MPI_Send(&value, 1, MPI_INT, 1, i, MPI_COMM_WORLD);
        else
            MPI_Recv(&value, 1, MPI_INT, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    for (int i = 0; i < 5; ++i) {
        if (rank == 1)
            MPI_Send(&sum, 1, MPI_INT, 0, 0, copy);
        else
            MPI_Recv(&sum, 1, MPI_INT, 1, 0, copy, MPI_STATUS_IGNORE);
    }
    MPI_Comm_free(&copy);
    if (sum == 2)
        puts("PASS");
    return MPI_Finalize();
}
