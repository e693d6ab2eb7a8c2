/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 3 4 8
 * Life of persistent collectives: several active at once, started in the same order or each rank's own, completed in any;
 * communicator freed before them; started while active; data that are not there yet; operations of the program; ranks that disagree. */
#define _DEFAULT_SOURCE
#include "check.h"
#include <unistd.h>

/* Each rank starts its requests in an order of its own, between other collectives of the communicator. */
static void own_order(int rank, int size)
{
    enum { PLANS = 5, LONG = 20000 };
    static double in[PLANS][LONG], out[PLANS][LONG];
    MPI_Request plans[PLANS];
    const int counts[PLANS] = {1, 1, LONG, 3, 700};
    MPI_Bcast_init(out[0], counts[0], MPI_DOUBLE, size - 1, MPI_COMM_WORLD, MPI_INFO_NULL, &plans[0]);
    MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &plans[1]);
    for (int p = 2; p < PLANS; p++)
        MPI_Allreduce_init(in[p], out[p], counts[p], MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &plans[p]);
    for (int round = 0; round < 40; round++) {
        int sum;
        for (int p = 0; p < PLANS; p++)
            for (int i = 0; i < counts[p]; i++) {
                in[p][i] = rank + round + i + p;
                out[p][i] = rank == size - 1 ? round : -1;
            }
        for (int k = 0; k < PLANS; k++) {
            MPI_Start(&plans[(rank + round + k) % PLANS]);
            if (k == round % PLANS)
                MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        }
        MPI_Waitall(PLANS, plans, MPI_STATUSES_IGNORE);
        CHECK(out[0][0] == round && sum == size * (size - 1) / 2);
        for (int p = 2; p < PLANS; p++)
            for (int i = 0; i < counts[p]; i++)
                CHECK(out[p][i] == size * (size - 1) / 2 + size * (round + i + p));
    }
    for (int p = 0; p < PLANS; p++)
        MPI_Request_free(&plans[p]);
}

/* Does not commute: the result is what the first rank gives. */
static void first(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    memcpy(inout, in, *count * sizeof(int));
}

/* Operations of the program, buffers that are in place, and a rank that comes late: the others' starts return. */
static void first_of_all(int rank, int size)
{
    MPI_Op op;
    MPI_Request plans[3];
    int in, out, place[2], flag;
    MPI_Op_create(first, 0, &op);
    MPI_Allreduce_init(&in, &out, 1, MPI_INT, op, MPI_COMM_WORLD, MPI_INFO_NULL, &plans[0]);
    MPI_Allreduce_init(MPI_IN_PLACE, place, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD, MPI_INFO_NULL, &plans[1]);
    MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &plans[2]);
    MPI_Op_free(&op);
    for (int round = 0; round < 300; ++round) {
        in = 100 * round + rank;
        place[0] = round + rank;
        place[1] = -rank;
        if (round % 50 == 7 && rank == round / 50 % size)
            usleep(2000);
        MPI_Startall(3, plans);
        MPI_Waitall(2, plans, MPI_STATUSES_IGNORE);
        CHECK(out == 100 * round);
        CHECK(place[0] == round + size - 1 && place[1] == 0);
        do
            MPI_Test(&plans[2], &flag, MPI_STATUS_IGNORE);
        while (!flag);
    }
    for (int p = 0; p < 3; ++p)
        MPI_Request_free(&plans[p]);
}

/* Two ranks that disagree about the length: who reads is told, at each start again, and the request goes on. */
static void lengths_differ(int rank, int size)
{
    MPI_Comm pair;
    MPI_Request plan;
    int data[2] = {rank, rank}, class;
    MPI_Comm_split(MPI_COMM_WORLD, rank < 2 ? 0 : MPI_UNDEFINED, rank, &pair);
    if (size < 2 || rank > 1)
        return;
    MPI_Comm_set_errhandler(pair, MPI_ERRORS_RETURN);
    MPI_Bcast_init(data, 1 + (rank == 0), MPI_INT, 0, pair, MPI_INFO_NULL, &plan);
    for (int round = 0; round < 20; ++round) {
        MPI_Start(&plan);
        MPI_Error_class(MPI_Wait(&plan, MPI_STATUS_IGNORE), &class);
        CHECK(class == (rank == 0 ? MPI_SUCCESS : MPI_ERR_TRUNCATE));
    }
    MPI_Request_free(&plan);
    MPI_Comm_free(&pair);
}

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
    own_order(rank, size);
    first_of_all(rank, size);
    lengths_differ(rank, size);

    /* Inactive requests are complete. */
    MPI_Waitall(PLANS, plans, MPI_STATUSES_IGNORE);

    /* They outlive their communicator, and are freed when they are inactive. */
    MPI_Startall(PLANS, plans);
    MPI_Waitall(PLANS, plans, MPI_STATUSES_IGNORE);
    for (int p = 0; p < PLANS; p++) {
        MPI_Request_free(plans + p);
        CHECK(plans[p] == MPI_REQUEST_NULL);
    }

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
