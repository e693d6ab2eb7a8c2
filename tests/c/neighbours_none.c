/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 3 5
 * A rank without neighbours passes null buffers to the collectives among neighbours, in all their forms: it sends and receives no elements,
 * whatever the count (MPI-5.0, section 8.6). Only the last rank sends, to the first one, and nobody sends on a grid without dimensions.
 */
#include "check.h"

enum { COUNT = 4, OPERATIONS = 5 };

static int rank, size;

/* What an operation sends and receives, and where a rank has no neighbours null. */
static double *out, *in;
static int *counts, *places;
static MPI_Aint *bytes;
static MPI_Datatype *types;

#define TYPED COUNT, MPI_DOUBLE
#define EACH counts, places, MPI_DOUBLE
#define MIXED counts, bytes, types

static int now(int operation, MPI_Comm comm)
{
    switch (operation) {
    case 0: return MPI_Neighbor_allgather(out, TYPED, in, TYPED, comm);
    case 1: return MPI_Neighbor_allgatherv(out, TYPED, in, EACH, comm);
    case 2: return MPI_Neighbor_alltoall(out, TYPED, in, TYPED, comm);
    case 3: return MPI_Neighbor_alltoallv(out, EACH, in, EACH, comm);
    default: return MPI_Neighbor_alltoallw(out, MIXED, in, MIXED, comm);
    }
}

static int started(int operation, MPI_Comm comm, MPI_Request *request)
{
    switch (operation) {
    case 0: return MPI_Ineighbor_allgather(out, TYPED, in, TYPED, comm, request);
    case 1: return MPI_Ineighbor_allgatherv(out, TYPED, in, EACH, comm, request);
    case 2: return MPI_Ineighbor_alltoall(out, TYPED, in, TYPED, comm, request);
    case 3: return MPI_Ineighbor_alltoallv(out, EACH, in, EACH, comm, request);
    default: return MPI_Ineighbor_alltoallw(out, MIXED, in, MIXED, comm, request);
    }
}

static int planned(int operation, MPI_Comm comm, MPI_Request *request)
{
    switch (operation) {
    case 0: return MPI_Neighbor_allgather_init(out, TYPED, in, TYPED, comm, MPI_INFO_NULL, request);
    case 1: return MPI_Neighbor_allgatherv_init(out, TYPED, in, EACH, comm, MPI_INFO_NULL, request);
    case 2: return MPI_Neighbor_alltoall_init(out, TYPED, in, TYPED, comm, MPI_INFO_NULL, request);
    case 3: return MPI_Neighbor_alltoallv_init(out, EACH, in, EACH, comm, MPI_INFO_NULL, request);
    default: return MPI_Neighbor_alltoallw_init(out, MIXED, in, MIXED, comm, MPI_INFO_NULL, request);
    }
}

static void all(MPI_Comm comm, int sources, int destinations)
{
    double sent[COUNT], got[COUNT];
    int one_count[] = {COUNT}, one_place[] = {0};
    MPI_Aint one_byte[] = {0};
    MPI_Datatype one_type[] = {MPI_DOUBLE};
    int any = sources + destinations;
    out = destinations ? sent : NULL;
    in = sources ? got : NULL;
    counts = any ? one_count : NULL;
    places = any ? one_place : NULL;
    bytes = any ? one_byte : NULL;
    types = any ? one_type : NULL;
    for (int form = 0; form < 3; ++form)
        for (int operation = 0; operation < OPERATIONS; ++operation) {
            MPI_Request request = MPI_REQUEST_NULL;
            for (int i = 0; i < COUNT; ++i) {
                sent[i] = 10 * operation + form + i;
                got[i] = -1;
            }
            if (form == 0) {
                CHECK(now(operation, comm) == MPI_SUCCESS);
            } else if (form == 1) {
                CHECK(started(operation, comm, &request) == MPI_SUCCESS);
                CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
            } else {
                CHECK(planned(operation, comm, &request) == MPI_SUCCESS);
                CHECK(MPI_Start(&request) == MPI_SUCCESS && MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
                CHECK(MPI_Request_free(&request) == MPI_SUCCESS);
            }
            for (int i = 0; i < COUNT; ++i)
                CHECK(got[i] == (sources ? 10 * operation + form + i : -1));
        }
}

int main(int argc, char **argv)
{
    MPI_Comm graph, point;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int first = 0, last = size - 1, sources = rank == 0, destinations = rank == last;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, sources, &last, MPI_UNWEIGHTED, destinations, &first, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                   &graph);
    all(graph, sources, destinations);
    MPI_Comm_free(&graph);
    /* On a grid without dimensions one rank has no neighbours. */
    MPI_Cart_create(MPI_COMM_WORLD, 0, NULL, NULL, 0, &point);
    if (point != MPI_COMM_NULL) {
        all(point, 0, 0);
        MPI_Comm_free(&point);
    }
    return finish(rank);
}
