/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 3 8
 * Persistent collectives of every kind and of several lengths: in each round some of them are started, by all ranks, each in an order of its
 * own, one by one or at once, between blocking and nonblocking collectives of the same communicator; ranks are late; requests are
 * waited for or tested, in another order. All results are checked. */
#define _DEFAULT_SOURCE
#include "check.h"
#include <unistd.h>

enum { KINDS = 11, LENGTHS = 5, MOST = 3000, RANKS = 8, ROUNDS = 150, PLANS = KINDS * LENGTHS };

static const int lengths[LENGTHS] = {1, 2, 7, 120, MOST};
static int rank, size, round_number;
static int *from[PLANS], *into[PLANS];
static MPI_Request requests[PLANS];
static unsigned common = 12345, own; /* States of the generators: of all ranks, and of each. */

static unsigned next(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 16;
}

/* What a rank gives as element `i` of a plan in this round. */
static int given(int plan, int of, int i)
{
    return of * 1000 + i * 7 + plan * 13 + round_number * 31;
}

static int root_of(int plan)
{
    return plan % size;
}

static void describe(int plan)
{
    int count = lengths[plan % LENGTHS], root = root_of(plan), *out = from[plan], *in = into[plan];
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Request *request = &requests[plan];
    switch (plan / LENGTHS) {
    case 0: MPI_Barrier_init(comm, MPI_INFO_NULL, request); break;
    case 1: MPI_Bcast_init(rank == root ? out : in, count, MPI_INT, root, comm, MPI_INFO_NULL, request); break;
    case 2: MPI_Reduce_init(out, in, count, MPI_INT, MPI_SUM, root, comm, MPI_INFO_NULL, request); break;
    case 3: MPI_Allreduce_init(out, in, count, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, request); break;
    case 4: MPI_Gather_init(out, count, MPI_INT, in, count, MPI_INT, root, comm, MPI_INFO_NULL, request); break;
    case 5: MPI_Scatter_init(out, count, MPI_INT, in, count, MPI_INT, root, comm, MPI_INFO_NULL, request); break;
    case 6: MPI_Allgather_init(out, count, MPI_INT, in, count, MPI_INT, comm, MPI_INFO_NULL, request); break;
    case 7: MPI_Alltoall_init(out, count, MPI_INT, in, count, MPI_INT, comm, MPI_INFO_NULL, request); break;
    case 8: MPI_Scan_init(out, in, count, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, request); break;
    case 9: MPI_Exscan_init(out, in, count, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, request); break;
    default: MPI_Reduce_scatter_block_init(out, in, count, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, request);
    }
}

static void fill(int plan)
{
    for (int i = 0; i < lengths[plan % LENGTHS] * size; ++i) {
        from[plan][i] = given(plan, rank, i);
        into[plan][i] = -1;
    }
}

/* The sum of what ranks `0..ranks` give as element `i`. */
static int sum(int plan, int ranks, int i)
{
    int total = 0;
    for (int of = 0; of < ranks; ++of)
        total += given(plan, of, i);
    return total;
}

static void verify(int plan)
{
    int count = lengths[plan % LENGTHS], root = root_of(plan), *in = into[plan], kind = plan / LENGTHS;
    int all = kind == 6 || kind == 7 || (kind == 4 && rank == root);
    for (int i = 0; i < count * (all ? size : 1); ++i) {
        int of = i / count, at = i % count, expected;
        switch (kind) {
        case 1: expected = rank == root ? -1 : given(plan, root, i); break;
        case 2: expected = rank == root ? sum(plan, size, i) : -1; break;
        case 3: expected = sum(plan, size, i); break;
        case 4: expected = rank == root ? given(plan, of, at) : -1; break;
        case 5: expected = given(plan, root, rank * count + i); break;
        case 6: expected = given(plan, of, at); break;
        case 7: expected = given(plan, of, rank * count + at); break;
        case 8: expected = sum(plan, rank + 1, i); break;
        case 9: expected = rank ? sum(plan, rank, i) : -1; break;
        case 10: expected = sum(plan, size, rank * count + i); break;
        default: expected = -1;
        }
        if (in[i] != expected)
            fprintf(stderr, "round %d, plan %d, element %d: %d instead of %d\n", round_number, plan, i, in[i], expected);
        CHECK(in[i] == expected);
    }
}

static void shuffle(int *list, int length)
{
    for (int i = length - 1; i > 0; --i) {
        int j = next(&own) % (i + 1), kept = list[i];
        list[i] = list[j];
        list[j] = kept;
    }
}

static void be_late(void)
{
    if (next(&own) % 16 == 0)
        usleep(next(&own) % 300);
}

/* Other collectives of the communicator, in the order of all ranks. */
static void others(MPI_Request *running, int *result)
{
    int total;
    MPI_Iallreduce(&rank, result, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, running);
    MPI_Allreduce(&rank, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(total == size * (size - 1) / 2);
}

static void one_round(void)
{
    int chosen[PLANS], count = 0, result = -1, flag;
    MPI_Request running, group[PLANS];
    for (int plan = 0; plan < PLANS; ++plan)
        if (next(&common) % 4 == 0)
            chosen[count++] = plan;
    for (int i = 0; i < count; ++i)
        fill(chosen[i]);
    shuffle(chosen, count);
    be_late();
    if (next(&own) % 2) {
        for (int i = 0; i < count; ++i)
            group[i] = requests[chosen[i]];
        MPI_Startall(count, group);
        others(&running, &result);
    } else {
        for (int i = 0; i < count; ++i) {
            if (i == count / 2)
                others(&running, &result);
            MPI_Start(&requests[chosen[i]]);
            be_late();
        }
        if (count == 0)
            others(&running, &result);
    }
    shuffle(chosen, count);
    for (int i = 0; i < count; ++i) {
        MPI_Request *request = &requests[chosen[i]];
        if (next(&own) % 2)
            MPI_Wait(request, MPI_STATUS_IGNORE);
        else
            do
                MPI_Test(request, &flag, MPI_STATUS_IGNORE);
            while (!flag);
        verify(chosen[i]);
    }
    MPI_Wait(&running, MPI_STATUS_IGNORE);
    CHECK(result == size - 1);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size <= RANKS);
    own = rank + 1;
    for (int plan = 0; plan < PLANS; ++plan) {
        from[plan] = malloc(sizeof(int) * MOST * size);
        into[plan] = malloc(sizeof(int) * MOST * size);
        describe(plan);
    }
    for (round_number = 0; round_number < ROUNDS; ++round_number)
        one_round();
    for (int plan = 0; plan < PLANS; ++plan)
        MPI_Request_free(&requests[plan]);
    return finish(rank);
}
