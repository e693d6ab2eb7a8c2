/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 3 4 8
 * Life of persistent collectives: several active at once, started in the same order, completed in any; communicator freed
 * before them; freed while active; started while active. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size, code, class;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    enum { PLANS = 6 };
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Request plans[PLANS];
    int in[PLANS], out[PLANS];
    for (int p = 0; p < PLANS; p++)
        MPI_Allreduce_init(in + p, out + p, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, plans + p);
    MPI_Comm_free(&comm);
    for (int round = 0; round < 50; round++) {
        for (int p = 0; p < PLANS; p++) {
            in[p] = rank + round * p;
            out[p] = -1;
        }
        MPI_Startall(PLANS, plans);
        for (int p = 0; p < PLANS; p++) {
            int mine = rank % 2 ? PLANS - 1 - p : p;
            MPI_Wait(plans + mine, MPI_STATUS_IGNORE);
            CHECK(plans[mine] != MPI_REQUEST_NULL);
            CHECK(out[mine] == size * (size - 1) / 2 + size * round * mine);
        }
    }
    /* Inactive requests are complete. */
    MPI_Waitall(PLANS, plans, MPI_STATUSES_IGNORE);

    /* One that is freed while it is active completes all the same. */
    MPI_Startall(PLANS, plans);
    for (int p = 1; p < PLANS; p++)
        MPI_Request_free(plans + p);
    MPI_Wait(plans, MPI_STATUS_IGNORE);
    MPI_Request_free(plans);
    MPI_Barrier(MPI_COMM_WORLD);

    MPI_Request barrier;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &barrier);
    MPI_Start(&barrier);
    code = MPI_Start(&barrier);
    MPI_Error_class(code, &class);
    CHECK(class == MPI_ERR_REQUEST);
    MPI_Wait(&barrier, MPI_STATUS_IGNORE);
    MPI_Request_free(&barrier);
    return finish(rank);
}
