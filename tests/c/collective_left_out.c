/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 2 3 4 7
 * HANGS: LEAVE_OUT=1
 * Rank 0 calls MPI_Finalize in place of a collective. The others wait in it: MPI_Finalize is not its part of the collective. */
#include "check.h"

static void sum(int rank, int size)
{
    int mine = rank + 1, all = -1;
    CHECK(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(all == size * (size + 1) / 2);
}

int main(void)
{
    int rank, size;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 3; i++)
        sum(rank, size);
    if (!getenv("LEAVE_OUT"))
        return finish(rank);
    if (rank == 0) {
        announce();
        MPI_Finalize();
    }
    int mine = rank, all = -1;
    if (rank % 2)
        MPI_Barrier(MPI_COMM_WORLD);
    else
        MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    fprintf(stderr, "rank %d: a collective ended that rank 0 has left out\n", rank);
    MPI_Abort(MPI_COMM_WORLD, 99);
    return 0;
}
