/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 2 3 5
 * With RANKPOINT_CHECK=collectives ranks that disagree get an error that names them instead of a hang. */
#define _GNU_SOURCE
#include "check.h"

/* The call fails with this class at every rank, and its text holds the words. */
#define TELLS(call, expected, words)                                                    \
    do {                                                                                \
        int code_ = (call), class_ = -1, length_;                                       \
        char text_[MPI_MAX_ERROR_STRING];                                               \
        CHECK(code_ != MPI_SUCCESS);                                                    \
        MPI_Error_class(code_, &class_);                                                \
        MPI_Error_string(code_, text_, &length_);                                       \
        if (class_ != (expected) || !strstr(text_, words))                              \
            fprintf(stderr, "class %d, text: %s\n", class_, text_);                     \
        CHECK(class_ == (expected));                                                    \
        CHECK(strstr(text_, words));                                                    \
    } while (0)

int main(int argc, char **argv)
{
    setenv("RANKPOINT_CHECK", "collectives", 1);
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    const MPI_Comm world = MPI_COMM_WORLD;
    const int last = rank == size - 1;
    int a[64] = {0}, b[64] = {0}, counts[8], places[8];
    for (int i = 0; i < size; ++i) {
        counts[i] = i % 2 + 1;
        places[i] = 2 * i;
    }

    for (int round = 0; round < 3; ++round) {
        /* The operation: rank 0 enters a barrier. */
        if (rank == 0)
            TELLS(MPI_Barrier(world), MPI_ERR_OTHER, "rank 0 said MPI_Barrier");
        else
            TELLS(MPI_Bcast(a, 1, MPI_INT, 0, world), MPI_ERR_OTHER, "rank 0 said MPI_Barrier");
        TELLS(MPI_Bcast(a, 1, MPI_INT, last, world), MPI_ERR_ROOT, "about the root");
        TELLS(MPI_Allreduce(a, b, 2, MPI_INT, last ? MPI_MAX : MPI_SUM, world), MPI_ERR_OP, "said MPI_MAX");
        TELLS(MPI_Reduce(a, b, last + 1, MPI_INT, MPI_SUM, 0, world), MPI_ERR_COUNT, "2 of MPI_INT (8 bytes)");
        TELLS(MPI_Bcast(a, 2, last ? MPI_FLOAT : MPI_INT, 0, world), MPI_ERR_TYPE, "2 of MPI_FLOAT (8 bytes)");
        TELLS(MPI_Gather(a, last + 1, MPI_INT, b, 1, MPI_INT, 0, world), MPI_ERR_COUNT, "2 of MPI_INT");
        TELLS(MPI_Scatter(a, 1, MPI_INT, b, last + 1, MPI_INT, 0, world), MPI_ERR_COUNT, "2 of MPI_INT");
        TELLS(MPI_Gatherv(a, counts[rank] + 4 * last, MPI_INT, b, counts, places, MPI_INT, 0, world), MPI_ERR_COUNT,
              "data between two of them");
        TELLS(MPI_Allgather(a, 1, MPI_INT, b, 1, last ? MPI_FLOAT : MPI_INT, world), MPI_ERR_TYPE, "1 of MPI_FLOAT");
        TELLS(MPI_Alltoall(a, last + 1, MPI_INT, b, last + 1, MPI_INT, world), MPI_ERR_COUNT, "2 of MPI_INT");
        TELLS(MPI_Scan(a, b, 1, last ? MPI_FLOAT : MPI_INT, MPI_SUM, world), MPI_ERR_TYPE, "type signature");
        TELLS(MPI_Reduce_scatter_block(a, b, last + 1, MPI_INT, MPI_SUM, world), MPI_ERR_COUNT, "ranks disagree");
        MPI_Request request;
        CHECK(MPI_Ibcast(a, 1 + last, MPI_INT, 0, world, &request) == MPI_SUCCESS);
        TELLS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_COUNT, "2 of MPI_INT");

        /* It is the program's call that is named, not what the library does for it. */
        MPI_Comm made;
        if (last)
            TELLS(MPI_Allgather(a, 1, MPI_INT, b, 1, MPI_INT, world), MPI_ERR_OTHER, "said MPI_Allgather");
        else
            TELLS(MPI_Comm_split(world, 0, rank, &made), MPI_ERR_OTHER, "said MPI_Comm_split");
        if (last)
            TELLS(MPI_Comm_dup(world, &made), MPI_ERR_OTHER, "said MPI_Comm_create");
        else {
            MPI_Group group;
            MPI_Comm_group(world, &group);
            TELLS(MPI_Comm_create(world, group, &made), MPI_ERR_OTHER, "said MPI_Comm_dup");
            MPI_Group_free(&group);
        }
        /* Blocking and nonblocking forms do not match (MPI-5.0, section 6.12). */
        if (last) {
            TELLS(MPI_Barrier(world), MPI_ERR_OTHER, "said MPI_Ibarrier");
        } else {
            CHECK(MPI_Ibarrier(world, &request) == MPI_SUCCESS);
            TELLS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_OTHER, "MPI_Ibarrier: the ranks disagree about the operation");
        }
        CHECK(MPI_Iallreduce(a, b, 1, MPI_INT, last ? MPI_MAX : MPI_SUM, world, &request) == MPI_SUCCESS);
        TELLS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_OP, "MPI_Wait: MPI_Iallreduce: the ranks disagree about the reduction");
        if (last)
            TELLS(MPI_Bcast_init(a, 1, MPI_INT, 0, world, MPI_INFO_NULL, &request), MPI_ERR_OTHER, "said MPI_Barrier_init");
        else
            TELLS(MPI_Barrier_init(world, MPI_INFO_NULL, &request), MPI_ERR_OTHER, "said MPI_Bcast_init");
        CHECK(MPI_Allreduce_init(a, b, 1 + last, MPI_INT, MPI_SUM, world, MPI_INFO_NULL, &request) == MPI_SUCCESS);
        MPI_Start(&request);
        TELLS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_COUNT, "MPI_Allreduce_init: the ranks disagree about the amount");
        MPI_Request_free(&request);

        /* Of counts that all ranks give, the first one that differs. */
        counts[size - 1] += last;
        TELLS(MPI_Allgatherv(a, counts[rank], MPI_INT, b, counts, places, MPI_INT, world), MPI_ERR_COUNT,
              size == 2   ? "argument 'recvcounts' at index 1: rank 0 said 2 of MPI_INT (8 bytes); rank 1 said 3 of MPI_INT (12 bytes)"
              : size == 3 ? "argument 'recvcounts' at index 2: ranks 0..1 said 1 of MPI_INT (4 bytes); rank 2 said 2 of MPI_INT (8 bytes)"
                          : "argument 'recvcounts' at index 4: ranks 0..3 said 1 of MPI_INT (4 bytes); rank 4 said 2 of MPI_INT (8 bytes)");
        TELLS(MPI_Reduce_scatter(a, b, counts, MPI_INT, MPI_SUM, world), MPI_ERR_COUNT, "argument 'recvcounts' at index ");
        counts[size - 1] -= last;
        TELLS(MPI_Allgather(a, 1, MPI_INT, b, 1 + last, MPI_INT, world), MPI_ERR_COUNT, "argument 'recvcount': rank");

        /* An edge of a graph that one of its ends does not know. */
        int next = (rank + 1) % size, before = (rank + size - 1) % size;
        TELLS(MPI_Dist_graph_create_adjacent(world, !last, &before, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made),
              MPI_ERR_TOPOLOGY, "in 'destinations' of rank ");
        CHECK(made == MPI_COMM_NULL);
        CHECK(MPI_Dist_graph_create_adjacent(world, 1, &before, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made) == MPI_SUCCESS);
        MPI_Comm_free(&made);

        /* Arguments of topologies that all ranks must give alike. */
        int dims[2] = {size, 1}, periods[2] = {1, last}, ends[8], weight = 1;
        for (int i = 0; i < size; ++i)
            ends[i] = 1;
        TELLS(MPI_Cart_create(world, 1, dims, periods, last, &made), MPI_ERR_ARG, "argument 'reorder': rank");
        TELLS(MPI_Cart_create(world, 2, dims, periods, 1, &made), MPI_ERR_ARG, "argument 'periods' at index 1: rank");
        TELLS(MPI_Graph_create(world, size, ends, &next, last, &made), MPI_ERR_ARG, "argument 'edges' at index 0: rank 0 said 1; ");
        TELLS(MPI_Graph_create(world, size, ends, &weight, last, &made), MPI_ERR_ARG, "argument 'reorder': rank");
        TELLS(MPI_Dist_graph_create_adjacent(world, 1, &before, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED, MPI_INFO_NULL, last, &made),
              MPI_ERR_ARG, "argument 'reorder': rank");
        TELLS(MPI_Dist_graph_create(world, 1, &rank, ends, &next, last ? &weight : MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made), MPI_ERR_ARG,
              "said MPI_UNWEIGHTED; rank");
        TELLS(MPI_Dist_graph_create(world, 1, &rank, ends, &next, MPI_UNWEIGHTED, MPI_INFO_NULL, last, &made), MPI_ERR_ARG,
              "argument 'reorder': rank");
        CHECK(MPI_Cart_create(world, 1, dims, periods, 1, &made) == MPI_SUCCESS);
        MPI_Comm_free(&made);

        /* The same data in other words are the same data. */
        MPI_Datatype pair;
        MPI_Type_vector(2, 1, 2, MPI_INT, &pair);
        MPI_Type_commit(&pair);
        a[0] = a[1] = rank == 0 ? 7 + round : 0;
        a[2] = a[0];
        if (last)
            CHECK(MPI_Bcast(a, 1, pair, 0, world) == MPI_SUCCESS && a[2] == 7 + round);
        else
            CHECK(MPI_Bcast(a, 2, MPI_INT, 0, world) == MPI_SUCCESS && a[1] == 7 + round);
        MPI_Type_free(&pair);
        int one = 1, sum = 0;
        CHECK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, world) == MPI_SUCCESS && sum == size);
    }
    return finish(rank);
}
