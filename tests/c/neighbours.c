/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 3 4 7 8 12
 * Collectives among neighbours: grids with and without rings in every dimension (also of one and two ranks, where both
 * neighbours are the same), graphs with several edges between the same ranks, in all three forms, and bad arguments.
 */
#include "check.h"

enum { MOST = 64, LONG = 3000 };

static int rank, size;

/* What rank `from` sends along its edge with this index. */
static int value(int from, int edge, int index)
{
    return from * 1000003 + edge * 997 + index;
}

/* Runs an operation in one of the three forms. */
#define IN_FORM(form, now, started, planned)                                                                                 \
    do {                                                                                                                     \
        MPI_Request request = MPI_REQUEST_NULL;                                                                              \
        if ((form) == 0)                                                                                                     \
            CHECK((now) == MPI_SUCCESS);                                                                                     \
        else if ((form) == 1)                                                                                                \
            CHECK((started) == MPI_SUCCESS && MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);                         \
        else {                                                                                                               \
            CHECK((planned) == MPI_SUCCESS);                                                                                 \
            for (int start = 0; start < 2; start++)                                                                          \
                CHECK(MPI_Start(&request) == MPI_SUCCESS && MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);           \
            CHECK(MPI_Request_free(&request) == MPI_SUCCESS);                                                                \
        }                                                                                                                    \
    } while (0)

/* `sources[i]` sends what arrives as block i, along its edge `edges[i]`; negative where nothing comes. */
static void all_operations(MPI_Comm comm, int in, int out, const int *sources, const int *edges, int length)
{
    int counts_in[MOST], counts_out[MOST], at_in[MOST], at_out[MOST];
    MPI_Aint bytes_in[MOST], bytes_out[MOST];
    MPI_Datatype types[MOST];
    int *send = malloc(sizeof(int) * (size_t)(out + 1) * (size_t)length);
    int *receive = malloc(sizeof(int) * (size_t)(in + 1) * (size_t)length);
    for (int i = 0; i < MOST; i++) {
        counts_in[i] = counts_out[i] = length;
        at_in[i] = at_out[i] = i * length;
        bytes_in[i] = bytes_out[i] = (MPI_Aint)sizeof(int) * i * length;
        types[i] = MPI_INT;
    }
    for (int form = 0; form < 3; form++)
        for (int operation = 0; operation < 5; operation++) {
            int spreads = operation < 2;
            for (int edge = 0; edge < out; edge++)
                for (int i = 0; i < length; i++)
                    send[edge * length + i] = value(rank, spreads ? 0 : edge, i);
            memset(receive, 0xff, sizeof(int) * (size_t)(in + 1) * (size_t)length);
            switch (operation) {
            case 0:
                IN_FORM(form, MPI_Neighbor_allgather(send, length, MPI_INT, receive, length, MPI_INT, comm),
                        MPI_Ineighbor_allgather(send, length, MPI_INT, receive, length, MPI_INT, comm, &request),
                        MPI_Neighbor_allgather_init(send, length, MPI_INT, receive, length, MPI_INT, comm, MPI_INFO_NULL, &request));
                break;
            case 1:
                IN_FORM(form, MPI_Neighbor_allgatherv(send, length, MPI_INT, receive, counts_in, at_in, MPI_INT, comm),
                        MPI_Ineighbor_allgatherv(send, length, MPI_INT, receive, counts_in, at_in, MPI_INT, comm, &request),
                        MPI_Neighbor_allgatherv_init(send, length, MPI_INT, receive, counts_in, at_in, MPI_INT, comm,
                                                     MPI_INFO_NULL, &request));
                break;
            case 2:
                IN_FORM(form, MPI_Neighbor_alltoall(send, length, MPI_INT, receive, length, MPI_INT, comm),
                        MPI_Ineighbor_alltoall(send, length, MPI_INT, receive, length, MPI_INT, comm, &request),
                        MPI_Neighbor_alltoall_init(send, length, MPI_INT, receive, length, MPI_INT, comm, MPI_INFO_NULL, &request));
                break;
            case 3:
                IN_FORM(form,
                        MPI_Neighbor_alltoallv(send, counts_out, at_out, MPI_INT, receive, counts_in, at_in, MPI_INT, comm),
                        MPI_Ineighbor_alltoallv(send, counts_out, at_out, MPI_INT, receive, counts_in, at_in, MPI_INT, comm,
                                                &request),
                        MPI_Neighbor_alltoallv_init(send, counts_out, at_out, MPI_INT, receive, counts_in, at_in, MPI_INT, comm,
                                                    MPI_INFO_NULL, &request));
                break;
            default:
                IN_FORM(form,
                        MPI_Neighbor_alltoallw(send, counts_out, bytes_out, types, receive, counts_in, bytes_in, types, comm),
                        MPI_Ineighbor_alltoallw(send, counts_out, bytes_out, types, receive, counts_in, bytes_in, types, comm,
                                                &request),
                        MPI_Neighbor_alltoallw_init(send, counts_out, bytes_out, types, receive, counts_in, bytes_in, types, comm,
                                                    MPI_INFO_NULL, &request));
            }
            for (int block = 0; block < in; block++)
                for (int i = 0; i < length; i++) {
                    int expected = sources[block] < 0 ? -1 : value(sources[block], spreads ? 0 : edges[block], i);
                    CHECK(receive[block * length + i] == expected);
                }
        }
    free(send);
    free(receive);
}

static void grid(int dimensions, const int *dims, const int *periods)
{
    MPI_Comm comm;
    CHECK(MPI_Cart_create(MPI_COMM_WORLD, dimensions, dims, periods, 0, &comm) == MPI_SUCCESS);
    if (comm == MPI_COMM_NULL)
        return;
    int sources[MOST], edges[MOST];
    for (int dimension = 0; dimension < dimensions; dimension++) {
        int below, above;
        CHECK(MPI_Cart_shift(comm, dimension, 1, &below, &above) == MPI_SUCCESS);
        /* What comes from below was sent upwards. */
        sources[2 * dimension] = below == MPI_PROC_NULL ? -1 : below;
        edges[2 * dimension] = 2 * dimension + 1;
        sources[2 * dimension + 1] = above == MPI_PROC_NULL ? -1 : above;
        edges[2 * dimension + 1] = 2 * dimension;
    }
    all_operations(comm, 2 * dimensions, 2 * dimensions, sources, edges, 1);
    all_operations(comm, 2 * dimensions, 2 * dimensions, sources, edges, LONG);
    CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS);
}

static void grids(void)
{
    for (int ring = 0; ring < 2; ring++) {
        int periods[3] = {ring, 1, ring};
        int line[3] = {size, 1, 1}, square[3] = {0, 0, 1}, cube[3] = {0, 0, 0};
        MPI_Dims_create(size, 3, square);
        MPI_Dims_create(size, 3, cube);
        grid(1, line, periods);
        grid(2, line, periods);
        grid(3, square, periods);
        grid(3, cube, periods);
    }
}

/* Every rank sends twice to the next rank and once to itself. */
static void distributed_graph(void)
{
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    int sources[3] = {previous, rank, previous}, destinations[3] = {next, next, rank};
    int edges[3] = {0, 2, 1};
    MPI_Comm comm;
    if (size == 1) {
        /* Three edges to itself, in the order of the sends. */
        edges[1] = 1;
        edges[2] = 2;
    }
    CHECK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 3, sources, MPI_UNWEIGHTED, 3, destinations, MPI_UNWEIGHTED,
                                         MPI_INFO_NULL, 0, &comm) == MPI_SUCCESS);
    all_operations(comm, 3, 3, sources, edges, 1);
    all_operations(comm, 3, 3, sources, edges, LONG);
    CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS);
}

/* A star: rank 0 and all others. */
static void graph(void)
{
    int index[MOST], neighbours[2 * MOST], sources[MOST], edges[MOST], length = 0;
    MPI_Comm comm;
    for (int node = 0; node < size; node++) {
        for (int other = node ? 0 : 1; other < (node ? 1 : size); other++)
            neighbours[length++] = other;
        index[node] = length;
    }
    CHECK(MPI_Graph_create(MPI_COMM_WORLD, size, index, neighbours, 0, &comm) == MPI_SUCCESS);
    int degree = rank ? 1 : size - 1;
    for (int i = 0; i < degree; i++) {
        sources[i] = rank ? 0 : i + 1;
        edges[i] = rank ? rank - 1 : 0;
    }
    all_operations(comm, degree, degree, sources, edges, 1);
    CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS);
}

static void bad_arguments(void)
{
    int numbers[8] = {0}, dims[1] = {size}, periods[1] = {1}, class;
    MPI_Comm plain, ring;
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &plain) == MPI_SUCCESS);
    MPI_Comm_set_errhandler(plain, MPI_ERRORS_RETURN);
    MPI_Error_class(MPI_Neighbor_alltoall(numbers, 1, MPI_INT, numbers + 4, 1, MPI_INT, plain), &class);
    CHECK(class == MPI_ERR_TOPOLOGY);
    CHECK(MPI_Cart_create(plain, 1, dims, periods, 0, &ring) == MPI_SUCCESS);
    MPI_Error_class(MPI_Neighbor_alltoall(MPI_IN_PLACE, 1, MPI_INT, numbers, 1, MPI_INT, ring), &class);
    CHECK(class == MPI_ERR_BUFFER);
    MPI_Error_class(MPI_Neighbor_allgather(numbers, -1, MPI_INT, numbers, 1, MPI_INT, ring), &class);
    CHECK(class == MPI_ERR_COUNT);
    MPI_Error_class(MPI_Neighbor_allgather(numbers, 1, MPI_DATATYPE_NULL, numbers, 1, MPI_INT, ring), &class);
    CHECK(class == MPI_ERR_TYPE);
    /* Edges that are none: their ends, weights, and the info object. */
    int here[1] = {rank}, beyond[1] = {size}, one[1] = {1}, negative[1] = {-1}, length;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Comm none;
#define REFUSED(call, expected, words)                                          \
    do {                                                                        \
        int code_ = (call);                                                     \
        MPI_Error_class(code_, &class);                                         \
        MPI_Error_string(code_, text, &length);                                 \
        CHECK(class == (expected) && none == MPI_COMM_NULL && strstr(text, words)); \
    } while (0)
    REFUSED(MPI_Dist_graph_create(plain, 1, beyond, one, here, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &none), MPI_ERR_RANK, "'sources'");
    REFUSED(MPI_Dist_graph_create(plain, 1, here, one, beyond, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &none), MPI_ERR_RANK, "'destinations'");
    REFUSED(MPI_Dist_graph_create(plain, 1, here, one, here, negative, MPI_INFO_NULL, 0, &none), MPI_ERR_ARG, "'weights' is -1 at index 0");
    REFUSED(MPI_Dist_graph_create(plain, 1, here, one, here, one, (MPI_Info)7, 0, &none), MPI_ERR_INFO, "'info'");
    REFUSED(MPI_Dist_graph_create_adjacent(plain, 1, here, one, 1, here, negative, MPI_INFO_NULL, 0, &none), MPI_ERR_ARG, "'destweights' is -1 at index 0");
    REFUSED(MPI_Dist_graph_create_adjacent(plain, 1, here, negative, 1, here, one, MPI_INFO_NULL, 0, &none), MPI_ERR_ARG, "'sourceweights' is -1 at index 0");
    REFUSED(MPI_Dist_graph_create_adjacent(plain, 1, beyond, one, 1, here, one, MPI_INFO_NULL, 0, &none), MPI_ERR_RANK, "'sources'");
    MPI_Comm_free(&ring);
    MPI_Comm_free(&plain);
}

int main(int count, char **words)
{
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    grids();
    distributed_graph();
    graph();
    bad_arguments();
    return finish(rank);
}
