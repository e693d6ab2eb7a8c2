/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 4
 * NEEDS: checked arguments
 * Memory that a collective gets twice, and MPI_IN_PLACE where it has no meaning: MPI_ERR_BUFFER from every form of every call.
 * Types to receive into that hold a byte twice: MPI_ERR_TYPE. */
#include "check.h"

static int class_of(int code)
{
    int class = MPI_SUCCESS;
    MPI_Error_class(code, &class);
    return class;
}

static MPI_Comm comm = MPI_COMM_WORLD;
static MPI_Request request;

static int expected = MPI_ERR_BUFFER;

#define REFUSED(call) CHECK(class_of(call) == expected)

/* The blocking, nonblocking and persistent form; the latter two leave a null handle. */
#define EACH(Name, name, ...)                                                  \
    do {                                                                       \
        REFUSED(MPI_##Name(__VA_ARGS__, comm));                                \
        request = (MPI_Request)0x1234;                                         \
        REFUSED(MPI_I##name(__VA_ARGS__, comm, &request));                     \
        CHECK(request == MPI_REQUEST_NULL);                                    \
        request = (MPI_Request)0x1234;                                         \
        REFUSED(MPI_##Name##_init(__VA_ARGS__, comm, MPI_INFO_NULL, &request)); \
        CHECK(request == MPI_REQUEST_NULL);                                    \
    } while (0)

#define RANKS 4
static int a[64], b[64];
static int ones[RANKS] = {1, 1, 1, 1}, places[RANKS] = {0, 1, 2, 3}, bytes[RANKS] = {0, 4, 8, 12};
static MPI_Datatype ints[RANKS];

/* `from` and `into` share memory, or one of them is MPI_IN_PLACE where it may not be. Of calls with a root, whose other ranks
 * have one buffer only, the other ranks say that it is in place. */
static void collectives(const void *from, void *into, int rank)
{
    const void *give = rank == 0 ? from : MPI_IN_PLACE;
    const void *spread = into == MPI_IN_PLACE ? into : from;
    void *take = rank == 0 ? a : MPI_IN_PLACE;
    EACH(Allreduce, allreduce, from, into, 2, MPI_INT, MPI_SUM);
    EACH(Reduce, reduce, give, into, 2, MPI_INT, MPI_SUM, 0);
    EACH(Scan, scan, from, into, 2, MPI_INT, MPI_SUM);
    EACH(Exscan, exscan, from, into, 2, MPI_INT, MPI_SUM);
    EACH(Reduce_scatter, reduce_scatter, from, into, ones, MPI_INT, MPI_SUM);
    EACH(Reduce_scatter_block, reduce_scatter_block, from, into, 1, MPI_INT, MPI_SUM);
    EACH(Gather, gather, give, 1, MPI_INT, into, 1, MPI_INT, 0);
    EACH(Gatherv, gatherv, give, 1, MPI_INT, into, ones, places, MPI_INT, 0);
    EACH(Scatter, scatter, spread, 1, MPI_INT, take, 1, MPI_INT, 0);
    EACH(Scatterv, scatterv, spread, ones, places, MPI_INT, take, 1, MPI_INT, 0);
    EACH(Alltoall, alltoall, from, 1, MPI_INT, into, 1, MPI_INT);
    EACH(Alltoallv, alltoallv, from, ones, places, MPI_INT, into, ones, places, MPI_INT);
    EACH(Alltoallw, alltoallw, from, ones, bytes, ints, into, ones, bytes, ints);
}

static void neighbours(void)
{
    int size, ring = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm cart;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &ring, 0, &cart);
    MPI_Aint far[2] = {0, 4};
    MPI_Comm_set_errhandler(cart, MPI_ERRORS_RETURN);
    comm = cart;
    for (int which = 0; which < 2; ++which) {
        const void *from = which ? a : MPI_IN_PLACE;
        void *into = which ? MPI_IN_PLACE : b;
        EACH(Neighbor_allgather, neighbor_allgather, from, 1, MPI_INT, into, 1, MPI_INT);
        EACH(Neighbor_allgatherv, neighbor_allgatherv, from, 1, MPI_INT, into, ones, places, MPI_INT);
        EACH(Neighbor_alltoall, neighbor_alltoall, from, 1, MPI_INT, into, 1, MPI_INT);
        EACH(Neighbor_alltoallv, neighbor_alltoallv, from, ones, places, MPI_INT, into, ones, places, MPI_INT);
        EACH(Neighbor_alltoallw, neighbor_alltoallw, from, ones, far, ints, into, ones, far, ints);
    }
    comm = MPI_COMM_WORLD;
    MPI_Comm_free(&cart);
}

/* Data of two groups are never in place. */
static void groups(int rank, int size)
{
    MPI_Comm half, both;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 1, &both);
    MPI_Comm_set_errhandler(both, MPI_ERRORS_RETURN);
    comm = both;
    EACH(Allreduce, allreduce, MPI_IN_PLACE, a, 2, MPI_INT, MPI_SUM);
    EACH(Reduce_scatter, reduce_scatter, MPI_IN_PLACE, a, ones, MPI_INT, MPI_SUM);
    EACH(Reduce_scatter_block, reduce_scatter_block, MPI_IN_PLACE, a, size, MPI_INT, MPI_SUM);
    EACH(Allgather, allgather, MPI_IN_PLACE, 1, MPI_INT, a, 1, MPI_INT);
    EACH(Allgatherv, allgatherv, MPI_IN_PLACE, 1, MPI_INT, a, ones, places, MPI_INT);
    EACH(Alltoall, alltoall, MPI_IN_PLACE, 1, MPI_INT, a, 1, MPI_INT);
    EACH(Alltoallv, alltoallv, MPI_IN_PLACE, ones, places, MPI_INT, a, ones, places, MPI_INT);
    EACH(Alltoallw, alltoallw, MPI_IN_PLACE, ones, bytes, ints, a, ones, bytes, ints);
    comm = MPI_COMM_WORLD;
    MPI_Comm_free(&both);
    MPI_Comm_free(&half);
}

static void messages(void)
{
    void *nowhere = MPI_IN_PLACE;
    MPI_Comm self = MPI_COMM_SELF;
    REFUSED(MPI_Send(nowhere, 1, MPI_INT, 0, 0, self));
    REFUSED(MPI_Ssend(nowhere, 1, MPI_INT, 0, 0, self));
    REFUSED(MPI_Isend(nowhere, 1, MPI_INT, 0, 0, self, &request));
    REFUSED(MPI_Recv(nowhere, 1, MPI_INT, 0, 0, self, MPI_STATUS_IGNORE));
    REFUSED(MPI_Irecv(nowhere, 1, MPI_INT, 0, 0, self, &request));
    REFUSED(MPI_Send_init(nowhere, 1, MPI_INT, 0, 0, self, &request));
    REFUSED(MPI_Recv_init(nowhere, 1, MPI_INT, 0, 0, self, &request));
    REFUSED(MPI_Sendrecv(a, 1, MPI_INT, 0, 0, nowhere, 1, MPI_INT, 0, 0, self, MPI_STATUS_IGNORE));
    REFUSED(MPI_Sendrecv_replace(nowhere, 1, MPI_INT, 0, 0, 0, 0, self, MPI_STATUS_IGNORE));
    REFUSED(MPI_Reduce_local(nowhere, a, 1, MPI_INT, MPI_SUM));
    REFUSED(MPI_Reduce_local(a, nowhere, 1, MPI_INT, MPI_SUM));
    REFUSED(MPI_Reduce_local(a, a + 1, 2, MPI_INT, MPI_SUM));
    CHECK(MPI_Reduce_local(a, a + 2, 2, MPI_INT, MPI_SUM) == MPI_SUCCESS);
}

/* Layouts with holes, and addresses in the types. */
static void layouts(void)
{
    MPI_Datatype holes, here, there;
    MPI_Type_vector(2, 1, 2, MPI_INT, &holes);
    MPI_Type_commit(&holes);
    EACH(Allgather, allgather, a, 1, holes, a, 1, holes);
    MPI_Aint at[2], elsewhere[2];
    for (int i = 0; i < 2; ++i) {
        MPI_Get_address(&a[2 * i], &at[i]);
        MPI_Get_address(&b[2 * i], &elsewhere[i]);
    }
    MPI_Type_create_hindexed_block(2, 1, at, MPI_INT, &here);
    MPI_Type_create_hindexed_block(2, 1, elsewhere, MPI_INT, &there);
    MPI_Type_commit(&here);
    MPI_Type_commit(&there);
    EACH(Bcast, bcast, MPI_IN_PLACE, 1, MPI_INT, 0);
    MPI_Comm self = MPI_COMM_SELF;
    REFUSED(MPI_Alltoall(MPI_BOTTOM, 1, here, MPI_BOTTOM, 1, here, self));
    a[0] = 5, a[2] = 6, b[0] = b[2] = 0;
    CHECK(MPI_Alltoall(MPI_BOTTOM, 1, here, MPI_BOTTOM, 1, there, self) == MPI_SUCCESS);
    CHECK(b[0] == 5 && b[2] == 6);
    /* Interleaved, not shared. */
    CHECK(MPI_Alltoall(a, 1, holes, a + 1, 1, holes, self) == MPI_SUCCESS);
    CHECK(a[1] == 5 && a[3] == 6);
    MPI_Type_free(&holes);
    MPI_Type_free(&here);
    MPI_Type_free(&there);
}

/* A type that holds an int twice can be sent, and not received into. */
static void twice(void)
{
    MPI_Datatype same, types[2];
    MPI_Aint near[2] = {0, 8};
    int one[2] = {1, 1}, two[2] = {2, 2}, ring = 1, size = 1, at[2] = {0, 2};
    MPI_Type_vector(2, 1, 0, MPI_INT, &same);
    MPI_Type_commit(&same);
    types[0] = types[1] = same;
    expected = MPI_ERR_TYPE;
    comm = MPI_COMM_SELF;
    EACH(Gather, gather, a, 2, MPI_INT, b, 1, same, 0);
    EACH(Gatherv, gatherv, a, 2, MPI_INT, b, one, at, same, 0);
    EACH(Scatter, scatter, a, 2, MPI_INT, b, 1, same, 0);
    EACH(Scatterv, scatterv, a, two, at, MPI_INT, b, 1, same, 0);
    EACH(Allgather, allgather, a, 2, MPI_INT, b, 1, same);
    EACH(Allgatherv, allgatherv, a, 2, MPI_INT, b, one, at, same);
    EACH(Alltoall, alltoall, a, 2, MPI_INT, b, 1, same);
    EACH(Alltoallv, alltoallv, a, two, at, MPI_INT, b, one, at, same);
    EACH(Alltoallw, alltoallw, a, two, at, ints, b, one, at, types);
    a[0] = 7;
    CHECK(MPI_Allgather(a, 1, same, b, 2, MPI_INT, comm) == MPI_SUCCESS && b[0] == 7 && b[1] == 7);
    MPI_Cart_create(MPI_COMM_SELF, 1, &size, &ring, 0, &comm);
    EACH(Neighbor_allgather, neighbor_allgather, a, 2, MPI_INT, b, 1, same);
    EACH(Neighbor_allgatherv, neighbor_allgatherv, a, 2, MPI_INT, b, one, at, same);
    EACH(Neighbor_alltoall, neighbor_alltoall, a, 2, MPI_INT, b, 1, same);
    EACH(Neighbor_alltoallv, neighbor_alltoallv, a, two, at, MPI_INT, b, one, at, same);
    EACH(Neighbor_alltoallw, neighbor_alltoallw, a, two, near, ints, b, one, near, types);
    MPI_Comm_free(&comm);
    comm = MPI_COMM_WORLD;
    expected = MPI_ERR_BUFFER;
    MPI_Type_free(&same);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (int i = 0; i < RANKS; ++i)
        ints[i] = MPI_INT;

    collectives(a, a, rank);
    collectives(a, MPI_IN_PLACE, rank);
    EACH(Allreduce, allreduce, a, a + 1, 2, MPI_INT, MPI_SUM);
    EACH(Allreduce, allreduce, a + 1, a, 2, MPI_INT, MPI_SUM);
    EACH(Reduce_scatter_block, reduce_scatter_block, a, a + size - 1, 1, MPI_INT, MPI_SUM);
    EACH(Allgather, allgather, a + rank, 1, MPI_INT, a, 1, MPI_INT);
    EACH(Allgatherv, allgatherv, a + rank, 1, MPI_INT, a, ones, places, MPI_INT);
    EACH(Allgather, allgather, a, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT);
    EACH(Allgatherv, allgatherv, a, 1, MPI_INT, MPI_IN_PLACE, ones, places, MPI_INT);
    layouts();
    twice();
    neighbours();
    if (size > 1)
        groups(rank, size);
    messages();

    /* The message names both arguments. */
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(MPI_Allreduce(a, a, 2, MPI_INT, MPI_SUM, comm), text, &length);
    CHECK(strstr(text, "MPI_Allreduce") && strstr(text, "'sendbuf'") && strstr(text, "'recvbuf'"));

    /* What is allowed: neighbouring memory, no memory, data in place. */
    for (int i = 0; i < 8; ++i)
        a[i] = i;
    CHECK(MPI_Allreduce(a, a + 2, 2, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
    CHECK(a[2] == 0 && a[3] == size);
    CHECK(MPI_Allreduce(a, a, 0, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
    CHECK(MPI_Alltoall(a, 0, MPI_INT, a + 1, 0, MPI_INT, comm) == MPI_SUCCESS);
    CHECK(MPI_Allreduce(MPI_IN_PLACE, a, 2, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
    CHECK(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, a, 1, MPI_INT, comm) == MPI_SUCCESS);
    return finish(rank);
}
