/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 2 3 4 5 7 8
 * Every collective between two groups, blocking, nonblocking and persistent, against what each rank can compute alone. */
#include "check.h"

enum { LENGTH = 3000 };

static MPI_Comm between;
static int low, rank, size, remote_size;

/* What a rank of a group contributes. */
static int value(int group, int owner, int index) { return group * 1000000 + owner * 1000 + index; }

static int total(int group, int members, int index)
{
    int sum = 0;
    for (int owner = 0; owner < members; owner++)
        sum += value(group, owner, index);
    return sum;
}

/* Runs a collective in one of its three forms; a persistent one twice. */
#define FORMS(form, Call, call, ...)                                                                      \
    do {                                                                                            \
        MPI_Request request = MPI_REQUEST_NULL;                                                     \
        if (form == 0)                                                                              \
            MPI_##Call(__VA_ARGS__);                                                                \
        else if (form == 1)                                                                         \
            MPI_I##call(__VA_ARGS__, &request);                                                     \
        else {                                                                                      \
            MPI_##Call##_init(__VA_ARGS__, MPI_INFO_NULL, &request);                                \
            for (int again = 0; again < 2; again++) {                                               \
                MPI_Start(&request);                                                                \
                MPI_Wait(&request, MPI_STATUS_IGNORE);                                              \
            }                                                                                       \
            CHECK(request != MPI_REQUEST_NULL);                                                     \
            MPI_Request_free(&request);                                                             \
        }                                                                                           \
        MPI_Wait(&request, MPI_STATUS_IGNORE);                                                      \
        CHECK(request == MPI_REQUEST_NULL);                                                         \
    } while (0)

static void rooted(int form, int owner_group, int owner, int count)
{
    static int mine[LENGTH], all[16 * LENGTH];
    int here = low == owner_group;
    int root = here ? (rank == owner ? MPI_ROOT : MPI_PROC_NULL) : owner;
    int is_root = root == MPI_ROOT;

    for (int i = 0; i < count; i++)
        mine[i] = is_root ? value(low, rank, i) : -1;
    FORMS(form, Bcast, bcast, mine, count, MPI_INT, root, between);
    for (int i = 0; i < count && (is_root || !here); i++)
        CHECK(mine[i] == value(owner_group, owner, i));

    for (int i = 0; i < count; i++)
        mine[i] = value(low, rank, i);
    memset(all, 0, sizeof all);
    FORMS(form, Gather, gather, mine, count, MPI_INT, all, count, MPI_INT, root, between);
    for (int i = 0; i < remote_size * count && is_root; i++)
        CHECK(all[i] == value(!low, i / count, i % count));

    for (int i = 0; i < remote_size * count; i++)
        all[i] = value(7, i / count, i % count);
    FORMS(form, Scatter, scatter, all, count, MPI_INT, mine, count, MPI_INT, root, between);
    for (int i = 0; i < count && !here; i++)
        CHECK(mine[i] == value(7, rank, i));

    for (int i = 0; i < count; i++)
        mine[i] = value(low, rank, i);
    memset(all, 0, sizeof all);
    FORMS(form, Reduce, reduce, mine, all, count, MPI_INT, MPI_SUM, root, between);
    for (int i = 0; i < count && is_root; i++)
        CHECK(all[i] == total(!low, remote_size, i));
}

static void all_to_all(int form, int count)
{
    static int mine[16 * LENGTH], all[16 * LENGTH];
    int counts[16], starts[16];
    for (int i = 0; i < 16 * LENGTH; i++)
        mine[i] = value(low, rank, i);

    memset(all, 0, sizeof all);
    FORMS(form, Allgather, allgather, mine, count, MPI_INT, all, count, MPI_INT, between);
    for (int i = 0; i < remote_size * count; i++)
        CHECK(all[i] == value(!low, i / count, i % count));

    memset(all, 0, sizeof all);
    FORMS(form, Alltoall, alltoall, mine, count, MPI_INT, all, count, MPI_INT, between);
    for (int i = 0; i < remote_size * count; i++)
        CHECK(all[i] == value(!low, i / count, rank * count + i % count));

    memset(all, 0, sizeof all);
    FORMS(form, Allreduce, allreduce, mine, all, count, MPI_INT, MPI_SUM, between);
    for (int i = 0; i < count; i++)
        CHECK(all[i] == total(!low, remote_size, i));

    /* Both groups have as many elements in all. */
    int shared = size * remote_size * (count > 100 ? 100 : count);
    for (int r = 0; r < size; r++)
        counts[r] = shared / size;
    memset(all, 0, sizeof all);
    FORMS(form, Reduce_scatter, reduce_scatter, mine, all, counts, MPI_INT, MPI_SUM, between);
    for (int i = 0; i < counts[rank]; i++)
        CHECK(all[i] == total(!low, remote_size, rank * counts[rank] + i));

    for (int r = 0; r < remote_size; r++) {
        counts[r] = r + 1;
        starts[r] = r * (r + 1) / 2;
    }
    memset(all, 0, sizeof all);
    FORMS(form, Allgatherv, allgatherv, mine, rank + 1, MPI_INT, all, counts, starts, MPI_INT, between);
    for (int r = 0; r < remote_size; r++)
        for (int i = 0; i <= r; i++)
            CHECK(all[starts[r] + i] == value(!low, r, i));
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int world_rank, world_size;
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    low = world_rank < (world_size + 2) / 3;
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, low, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, low ? (world_size + 2) / 3 : 0, 5, &between);
    MPI_Comm_rank(between, &rank);
    MPI_Comm_size(between, &size);
    MPI_Comm_remote_size(between, &remote_size);

    static const int counts[] = {0, 1, 7, LENGTH};
    for (int form = 0; form < 3; form++)
        for (int c = 0; c < 4; c++) {
            for (int group = 0; group < 2; group++)
                for (int owner = 0; owner < (low == group ? size : remote_size); owner++)
                    rooted(form, group, owner, counts[c]);
            all_to_all(form, counts[c]);
            if (form == 0)
                MPI_Barrier(between);
        }

    /* A duplicate draws tags of its parent at one rank of each group only if it is wrong. */
    MPI_Comm again;
    MPI_Comm_dup(between, &again);
    MPI_Comm swap = between;
    between = again;
    all_to_all(1, 7);
    between = swap;
    all_to_all(1, 7);
    MPI_Comm_free(&again);

    /* No data between two groups are in place, and a prefix has no order there. */
    int out[4] = {0}, class;
    MPI_Comm_set_errhandler(between, MPI_ERRORS_RETURN);
    int code = MPI_Allreduce(MPI_IN_PLACE, out, 1, MPI_INT, MPI_SUM, between);
    MPI_Error_class(code, &class);
    CHECK(class == MPI_ERR_BUFFER);
    code = MPI_Scan(out, out + 1, 1, MPI_INT, MPI_SUM, between);
    MPI_Error_class(code, &class);
    CHECK(class == MPI_ERR_COMM);
    code = MPI_Bcast(out, 1, MPI_INT, remote_size, between);
    MPI_Error_class(code, &class);
    CHECK(class == MPI_ERR_ROOT);

    MPI_Comm_free(&between);
    MPI_Comm_free(&half);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return finish(rank);
}
