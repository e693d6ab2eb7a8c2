/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 3 4 7
 * The forms of collectives with large counts, blocking, nonblocking and persistent: each with buffers of its own and in place where
 * that is allowed, within a group, between two, and among neighbours. */
#include "check.h"

enum { MOST = 8, LENGTH = 5, ROOM = 64 * MOST };

static int rank, size, form;
static MPI_Comm comm;
static int from[ROOM], into[ROOM];
static MPI_Count counts[MOST], own_counts[MOST];
static MPI_Aint places[MOST], own_places[MOST], bytes[MOST], own_bytes[MOST];
static MPI_Datatype ints[MOST];

/* What a rank gives as element `i`. */
static int given(int of, int i)
{
    return of * 1000 + i;
}

/* Elements that rank `r` has where ranks have different amounts, and where they begin in the order of the ranks. */
static int part(int r)
{
    return r % 3 + 1;
}

static int start(int r)
{
    int sum = 0;
    while (r-- > 0)
        sum += part(r);
    return sum;
}

static void wait_for(MPI_Request *request)
{
    CHECK(MPI_Wait(request, MPI_STATUS_IGNORE) == MPI_SUCCESS && *request == MPI_REQUEST_NULL);
}

static void run_twice(MPI_Request *request)
{
    int kept[ROOM];
    memcpy(kept, into, sizeof kept);
    for (int again = 0; again < 2; ++again) {
        /* What was in place is there again. */
        memcpy(into, kept, sizeof kept);
        CHECK(MPI_Start(request) == MPI_SUCCESS);
        CHECK(MPI_Wait(request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
    CHECK(MPI_Request_free(request) == MPI_SUCCESS);
}

#define RUN(Call, call, ...)                                                                        \
    do {                                                                                            \
        MPI_Request request_;                                                                       \
        if (form == 0)                                                                              \
            CHECK(MPI_##Call##_c(__VA_ARGS__, comm) == MPI_SUCCESS);                                \
        else if (form == 1) {                                                                       \
            CHECK(MPI_I##call##_c(__VA_ARGS__, comm, &request_) == MPI_SUCCESS);                    \
            wait_for(&request_);                                                                    \
        } else {                                                                                    \
            CHECK(MPI_##Call##_init_c(__VA_ARGS__, comm, MPI_INFO_NULL, &request_) == MPI_SUCCESS); \
            run_twice(&request_);                                                                   \
        }                                                                                           \
    } while (0)

static void fill(void)
{
    for (int i = 0; i < ROOM; ++i) {
        from[i] = given(rank, i);
        into[i] = -1;
    }
}

/* The same, with what this rank gives lying where the result will be, from `at` on. */
static void *fill_in_place(int at, int length)
{
    fill();
    for (int i = 0; i < length; ++i)
        into[at + i] = from[i];
    return MPI_IN_PLACE;
}

static int sum(int ranks, int i)
{
    int total = 0;
    for (int r = 0; r < ranks; ++r)
        total += given(r, i);
    return total;
}

static void all_parts(void)
{
    for (int r = 0; r < size; ++r)
        for (int i = 0; i < part(r); ++i)
            CHECK(into[start(r) + i] == given(r, i));
}

static void within(void)
{
    for (int in_place = 0; in_place < 2; ++in_place)
        for (int root = 0; root < size; ++root) {
            int is_root = rank == root, moved = in_place && is_root;
            void *out;
            fill();
            RUN(Bcast, bcast, is_root ? from : into, LENGTH, MPI_INT, root);
            for (int i = 0; i < LENGTH && !is_root; ++i)
                CHECK(into[i] == given(root, i));
            fill();
            out = moved ? fill_in_place(0, LENGTH) : from;
            RUN(Reduce, reduce, out, into, LENGTH, MPI_INT, MPI_SUM, root);
            for (int i = 0; i < LENGTH && is_root; ++i)
                CHECK(into[i] == sum(size, i));
            fill();
            out = moved ? fill_in_place(rank * LENGTH, LENGTH) : from;
            RUN(Gather, gather, out, LENGTH, MPI_INT, into, LENGTH, MPI_INT, root);
            for (int i = 0; i < size * LENGTH && is_root; ++i)
                CHECK(into[i] == given(i / LENGTH, i % LENGTH));
            fill();
            out = moved ? fill_in_place(start(rank), part(rank)) : from;
            RUN(Gatherv, gatherv, out, part(rank), MPI_INT, into, counts, places, MPI_INT, root);
            if (is_root)
                all_parts();
            fill();
            out = moved ? MPI_IN_PLACE : into;
            RUN(Scatter, scatter, from, LENGTH, MPI_INT, out, LENGTH, MPI_INT, root);
            for (int i = 0; i < LENGTH; ++i)
                CHECK(into[i] == (moved ? -1 : given(root, rank * LENGTH + i)));
            fill();
            RUN(Scatterv, scatterv, from, counts, places, MPI_INT, out, part(rank), MPI_INT, root);
            for (int i = 0; i < part(rank); ++i)
                CHECK(into[i] == (moved ? -1 : given(root, start(rank) + i)));
        }
    for (int in_place = 0; in_place < 2; ++in_place) {
        void *out;
        fill();
        out = in_place ? fill_in_place(rank * LENGTH, LENGTH) : from;
        RUN(Allgather, allgather, out, LENGTH, MPI_INT, into, LENGTH, MPI_INT);
        for (int i = 0; i < size * LENGTH; ++i)
            CHECK(into[i] == given(i / LENGTH, i % LENGTH));
        fill();
        out = in_place ? fill_in_place(start(rank), part(rank)) : from;
        RUN(Allgatherv, allgatherv, out, part(rank), MPI_INT, into, counts, places, MPI_INT);
        all_parts();
        fill();
        out = in_place ? fill_in_place(0, size * LENGTH) : from;
        RUN(Alltoall, alltoall, out, LENGTH, MPI_INT, into, LENGTH, MPI_INT);
        for (int i = 0; i < size * LENGTH; ++i)
            CHECK(into[i] == given(i / LENGTH, rank * LENGTH + i % LENGTH));
        /* In place, both sides of a pair exchange as many elements. */
        MPI_Count same[MOST];
        for (int r = 0; r < size; ++r)
            same[r] = (r + rank) % 3 + 1;
        fill();
        out = in_place ? fill_in_place(0, 3 * size) : from;
        for (int r = 0; r < size; ++r)
            own_places[r] = 3 * r, own_bytes[r] = 12 * r;
        RUN(Alltoallv, alltoallv, out, same, own_places, MPI_INT, into, same, own_places, MPI_INT);
        for (int r = 0; r < size; ++r)
            for (int i = 0; i < same[r]; ++i)
                CHECK(into[3 * r + i] == given(r, 3 * rank + i));
        fill();
        out = in_place ? fill_in_place(0, 3 * size) : from;
        RUN(Alltoallw, alltoallw, out, same, own_bytes, ints, into, same, own_bytes, ints);
        for (int r = 0; r < size; ++r)
            for (int i = 0; i < same[r]; ++i)
                CHECK(into[3 * r + i] == given(r, 3 * rank + i));
        fill();
        out = in_place ? fill_in_place(0, LENGTH) : from;
        RUN(Allreduce, allreduce, out, into, LENGTH, MPI_INT, MPI_SUM);
        for (int i = 0; i < LENGTH; ++i)
            CHECK(into[i] == sum(size, i));
        fill();
        out = in_place ? fill_in_place(0, LENGTH) : from;
        RUN(Scan, scan, out, into, LENGTH, MPI_INT, MPI_SUM);
        for (int i = 0; i < LENGTH; ++i)
            CHECK(into[i] == sum(rank + 1, i));
        fill();
        out = in_place ? fill_in_place(0, LENGTH) : from;
        RUN(Exscan, exscan, out, into, LENGTH, MPI_INT, MPI_SUM);
        for (int i = 0; i < LENGTH && rank; ++i)
            CHECK(into[i] == sum(rank, i));
        fill();
        out = in_place ? fill_in_place(0, size * LENGTH) : from;
        RUN(Reduce_scatter_block, reduce_scatter_block, out, into, LENGTH, MPI_INT, MPI_SUM);
        for (int i = 0; i < LENGTH; ++i)
            CHECK(into[i] == sum(size, rank * LENGTH + i));
        fill();
        out = in_place ? fill_in_place(0, start(size)) : from;
        RUN(Reduce_scatter, reduce_scatter, out, into, counts, MPI_INT, MPI_SUM);
        for (int i = 0; i < part(rank); ++i)
            CHECK(into[i] == sum(size, start(rank) + i));
    }
}

/* The group with the even world ranks and the one with the odd ones. Ranks of the other group give as those of a group do. */
static void between(void)
{
    int others;
    MPI_Comm half, world = comm;
    MPI_Comm_split(world, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, world, 1 - rank % 2, 3, &comm);
    int odd = rank % 2;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Comm_remote_size(comm, &others);
    for (int group = 0; group < 2; ++group)
        for (int owner = 0; owner < (odd == group ? size : others); ++owner) {
            int here = odd == group, root = here ? (rank == owner ? MPI_ROOT : MPI_PROC_NULL) : owner;
            int is_root = root == MPI_ROOT;
            fill();
            RUN(Gatherv, gatherv, from, part(rank), MPI_INT, into, counts, places, MPI_INT, root);
            for (int r = 0; r < others && is_root; ++r)
                for (int i = 0; i < part(r); ++i)
                    CHECK(into[start(r) + i] == given(r, i));
            fill();
            RUN(Scatterv, scatterv, from, counts, places, MPI_INT, into, part(rank), MPI_INT, root);
            for (int i = 0; i < part(rank) && !here; ++i)
                CHECK(into[i] == given(owner, start(rank) + i));
            fill();
            RUN(Scatter, scatter, from, LENGTH, MPI_INT, into, LENGTH, MPI_INT, root);
            for (int i = 0; i < LENGTH && !here; ++i)
                CHECK(into[i] == given(owner, rank * LENGTH + i));
            fill();
            RUN(Reduce, reduce, from, into, LENGTH, MPI_INT, MPI_SUM, root);
            for (int i = 0; i < LENGTH && is_root; ++i)
                CHECK(into[i] == sum(others, i));
        }
    /* Rank r of one group and rank s of the other exchange (r + s) % 3 + 1 elements, at multiples of 3. */
    MPI_Count same[MOST];
    for (int r = 0; r < others; ++r)
        same[r] = (r + rank) % 3 + 1;
    fill();
    RUN(Alltoallv, alltoallv, from, same, own_places, MPI_INT, into, same, own_places, MPI_INT);
    for (int r = 0; r < others; ++r)
        for (int i = 0; i < same[r]; ++i)
            CHECK(into[3 * r + i] == given(r, 3 * rank + i));
    fill();
    RUN(Alltoallw, alltoallw, from, same, own_bytes, ints, into, same, own_bytes, ints);
    for (int r = 0; r < others; ++r)
        for (int i = 0; i < same[r]; ++i)
            CHECK(into[3 * r + i] == given(r, 3 * rank + i));
    fill();
    RUN(Reduce_scatter_block, reduce_scatter_block, from, into, others, MPI_INT, MPI_SUM);
    for (int i = 0; i < others; ++i)
        CHECK(into[i] == sum(others, rank * others + i));
    fill();
    RUN(Allgatherv, allgatherv, from, part(rank), MPI_INT, into, counts, places, MPI_INT);
    for (int r = 0; r < others; ++r)
        for (int i = 0; i < part(r); ++i)
            CHECK(into[start(r) + i] == given(r, i));
    MPI_Request request;
    CHECK(MPI_Ibarrier(comm, &request) == MPI_SUCCESS);
    wait_for(&request);
    CHECK(MPI_Barrier_init(comm, MPI_INFO_NULL, &request) == MPI_SUCCESS);
    run_twice(&request);
    CHECK(MPI_Barrier(comm) == MPI_SUCCESS);
    MPI_Comm_free(&comm);
    MPI_Comm_free(&half);
    comm = world;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
}

/* Every rank sends to all ranks up to itself, which rank 0 says for all. */
static void among_neighbours(void)
{
    int sources[1] = {0}, degrees[1], destinations[MOST], in, out, weighted;
    MPI_Comm world = comm;
    for (int r = 0, n = 0; r < size; ++r, n = 0) {
        /* Rank r gives the edges of rank size - 1 - r. */
        if (r != rank)
            continue;
        sources[0] = size - 1 - r;
        for (int to = 0; to <= sources[0]; ++to)
            destinations[n++] = to;
        degrees[0] = n;
    }
    CHECK(MPI_Dist_graph_create(world, 1, sources, degrees, destinations, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm) == MPI_SUCCESS);
    CHECK(MPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted) == MPI_SUCCESS);
    CHECK(in == size - rank && out == rank + 1 && !weighted);
    int from_ranks[MOST], to_ranks[MOST];
    CHECK(MPI_Dist_graph_neighbors(comm, in, from_ranks, MPI_UNWEIGHTED, out, to_ranks, MPI_UNWEIGHTED) == MPI_SUCCESS);
    for (int i = 0; i < in; ++i) {
        counts[i] = part(from_ranks[i]);
        places[i] = 3 * i, bytes[i] = 12 * i;
    }
    for (int i = 0; i < out; ++i) {
        own_counts[i] = part(rank);
        own_places[i] = 3 * to_ranks[i], own_bytes[i] = 12 * to_ranks[i];
    }
    fill();
    RUN(Neighbor_allgather, neighbor_allgather, from, LENGTH, MPI_INT, into, LENGTH, MPI_INT);
    for (int i = 0; i < in * LENGTH; ++i)
        CHECK(into[i] == given(from_ranks[i / LENGTH], i % LENGTH));
    fill();
    RUN(Neighbor_allgatherv, neighbor_allgatherv, from, part(rank), MPI_INT, into, counts, places, MPI_INT);
    for (int n = 0; n < in; ++n)
        for (int i = 0; i < counts[n]; ++i)
            CHECK(into[3 * n + i] == given(from_ranks[n], i));
    fill();
    RUN(Neighbor_alltoallv, neighbor_alltoallv, from, own_counts, own_places, MPI_INT, into, counts, places, MPI_INT);
    for (int n = 0; n < in; ++n)
        for (int i = 0; i < counts[n]; ++i)
            CHECK(into[3 * n + i] == given(from_ranks[n], 3 * rank + i));
    fill();
    RUN(Neighbor_alltoallw, neighbor_alltoallw, from, own_counts, own_bytes, ints, into, counts, bytes, ints);
    for (int n = 0; n < in; ++n)
        for (int i = 0; i < counts[n]; ++i)
            CHECK(into[3 * n + i] == given(from_ranks[n], 3 * rank + i));
    MPI_Comm_free(&comm);
    comm = world;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    comm = MPI_COMM_WORLD;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (form = 0; form < 3; ++form) {
        for (int r = 0; r < MOST; ++r) {
            ints[r] = MPI_INT;
            counts[r] = part(r);
            places[r] = start(r);
            own_places[r] = 3 * r, own_bytes[r] = 12 * r;
        }
        within();
        if (size > 1)
            between();
        among_neighbours();
    }
    return finish(rank);
}
