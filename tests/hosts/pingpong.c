/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Microseconds of half a round trip between two ranks. Arguments: rounds, bytes. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, rounds = atoi(argv[1]), bytes = atoi(argv[2]);
    char *data = calloc(1, bytes);
    double begin = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int round = -rounds / 10; round < rounds; ++round) {
        if (round == 0)
            begin = MPI_Wtime();
        if (rank == 0)
            MPI_Send(data, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(data, bytes, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(data, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("%.3f\n", (MPI_Wtime() - begin) / rounds / 2 * 1e6);
    MPI_Finalize();
    return 0;
}
