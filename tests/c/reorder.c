/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 4 8
 * ENV: RANKPOINT_VIRTUAL_NODES=0,1
 * ENV: RANKPOINT_VIRTUAL_NODES=0,1 RANKPOINT_REORDER=0
 * ENV: RANKPOINT_VIRTUAL_NODES=1
 * Rings of ranks that lie on two nodes alternately: with reorder, fewer neighbours are apart, and each process has the neighbours of the
 * rank that it plays, also in neighbourhood collectives (MPI-5.0, section 8.5). An argument says that the nodes are two hosts. */
#include "check.h"

static int world, size;

/* Edges of the ring that lead to another node: processes with even and odd numbers are apart. */
static int apart(MPI_Comm comm)
{
    int old[64], count = 0;
    MPI_Allgather(&world, 1, MPI_INT, old, 1, MPI_INT, comm);
    for (int i = 0; i < size; ++i)
        count += old[i] % 2 != old[(i + 1) % size] % 2;
    return count;
}

/* Each rank sends its number both ways. */
static void exchange(MPI_Comm comm, int rank)
{
    int mine = rank, got[2] = {-1, -1};
    MPI_Neighbor_allgather(&mine, 1, MPI_INT, got, 1, MPI_INT, comm);
    CHECK(got[0] == (rank + size - 1) % size && got[1] == (rank + 1) % size);
}

static void check(MPI_Comm comm, int fewest)
{
    int rank;
    CHECK(comm != MPI_COMM_NULL);
    MPI_Comm_rank(comm, &rank);
    exchange(comm, rank);
    CHECK(apart(comm) == fewest);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *nodes = getenv("RANKPOINT_VIRTUAL_NODES"), *setting = getenv("RANKPOINT_REORDER");
    int moves = (argc > 1 || (nodes && strcmp(nodes, "0,1") == 0)) && !(setting && strcmp(setting, "0") == 0);
    for (int reorder = 0; reorder < 2; ++reorder) {
        int fewest = reorder && moves ? 2 : size, periodic = 1, rank, place;
        MPI_Comm grid;
        MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, reorder, &grid);
        check(grid, fewest);
        MPI_Comm_rank(grid, &rank);
        if (reorder) {
            MPI_Cart_map(MPI_COMM_WORLD, 1, &size, &periodic, &place);
            CHECK(place == rank);
        }
        MPI_Comm_free(&grid);

        int both[2] = {(world + size - 1) % size, (world + 1) % size}, weights[2] = {1 + both[0], 1 + both[1]};
        MPI_Comm ring;
        MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, both, weights, 2, both, weights, MPI_INFO_NULL, reorder, &ring);
        check(ring, fewest);
        int from[2], to[2], in[2], out[2];
        MPI_Comm_rank(ring, &rank);
        MPI_Dist_graph_neighbors(ring, 2, from, in, 2, to, out);
        CHECK(from[0] == (rank + size - 1) % size && in[0] == 1 + from[0] && to[1] == (rank + 1) % size && out[1] == 1 + to[1]);
        MPI_Comm_free(&ring);

        /* Rank 0 alone knows all edges, in the order that they are exchanged in. */
        int sources[64], degrees[64], targets[128];
        for (int i = 0; i < size; ++i) {
            sources[i] = i;
            degrees[i] = 2;
            targets[2 * i] = (i + size - 1) % size;
            targets[2 * i + 1] = (i + 1) % size;
        }
        MPI_Dist_graph_create(MPI_COMM_WORLD, world ? 0 : size, sources, degrees, targets, MPI_UNWEIGHTED, MPI_INFO_NULL, reorder, &ring);
        CHECK(apart(ring) == fewest);
        MPI_Comm_free(&ring);
        for (int i = 0; i < size; ++i)
            degrees[i] = 2 * (i + 1);
        MPI_Graph_create(MPI_COMM_WORLD, size, degrees, targets, reorder, &ring);
        check(ring, fewest);
        MPI_Comm_free(&ring);
    }
    return finish(world);
}
