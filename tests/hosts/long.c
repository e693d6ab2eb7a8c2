/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Two ranks exchange long messages for so many seconds, and look at each number; rank 0 says when it has begun, and at the end. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { NUMBERS = 1 << 20 };

int main(int argc, char **argv)
{
    int rank, goes_on = 1;
    int *own = malloc(NUMBERS * sizeof *own), *got = malloc(NUMBERS * sizeof *got);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double end = MPI_Wtime() + atof(argv[1]);
    for (int round = 0; goes_on; ++round) {
        for (int at = 0; at < NUMBERS; ++at) {
            own[at] = at * 3 + round + rank;
            got[at] = -1;
        }
        MPI_Sendrecv(own, NUMBERS, MPI_INT, 1 - rank, 0, got, NUMBERS, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int at = 0; at < NUMBERS; ++at)
            if (got[at] != at * 3 + round + 1 - rank) {
                printf("round %d of rank %d is wrong at %d\n", round, rank, at);
                MPI_Abort(MPI_COMM_WORLD, 1);
            }
        if (round == 3 && rank == 0) {
            puts("begun");
            fflush(stdout);
        }
        goes_on = MPI_Wtime() < end;
        MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    if (rank == 0)
        puts("all is right");
    MPI_Finalize();
    return 0;
}
