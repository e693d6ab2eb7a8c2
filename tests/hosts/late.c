/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Rank 0 sends from a buffer and is in MPI_Finalize long before the others receive. Seconds that they are late: argument 1. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MESSAGES = 100, NUMBERS = 2000 };

int main(int argc, char **argv)
{
    int rank, size;
    int numbers[NUMBERS];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0) {
        int bytes = (size - 1) * MESSAGES * (int)(sizeof numbers + MPI_BSEND_OVERHEAD);
        MPI_Buffer_attach(malloc(bytes), bytes);
        for (int peer = 1; peer < size; ++peer)
            for (int message = 0; message < MESSAGES; ++message) {
                for (int at = 0; at < NUMBERS; ++at)
                    numbers[at] = message * NUMBERS + at + peer;
                MPI_Bsend(numbers, NUMBERS, MPI_INT, peer, message, MPI_COMM_WORLD);
            }
    } else {
        sleep(atoi(argv[1]));
        for (int message = 0; message < MESSAGES; ++message) {
            MPI_Recv(numbers, NUMBERS, MPI_INT, 0, message, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (int at = 0; at < NUMBERS; ++at)
                if (numbers[at] != message * NUMBERS + at + rank) {
                    printf("message %d of rank %d is wrong at %d\n", message, rank, at);
                    MPI_Abort(MPI_COMM_WORLD, 1);
                }
        }
        printf("rank %d has all\n", rank);
    }
    MPI_Finalize();
    return 0;
}
