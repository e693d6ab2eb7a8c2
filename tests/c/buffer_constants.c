/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2
 * NEEDS: checked arguments
 * MPI_IN_PLACE and MPI_BUFFER_AUTOMATIC as a buffer where they have no meaning: MPI_ERR_BUFFER from every call that reads or writes
 * memory (MPI_ERR_BASE for memory of windows), whatever the datatype, and nothing is touched. Without elements they are no error.
 * tests/c/bad_buffers.c has MPI_IN_PLACE in collectives. */
#include "check.h"

static int rank, size, next, memory[16];
static MPI_Comm comm;
static MPI_Win win;
static MPI_Request request;
static MPI_Status status;
static int ones[2] = {1, 1}, nothing[2] = {0, 0}, places[2] = {0, 1};

static void refused(int code, int class, int line)
{
    int found = -1;
    MPI_Error_class(code, &found);
    if (found != class)
        fprintf(stderr, "line %d: class %d, not %d\n", line, found, class);
    CHECK(found == class);
}
#define REFUSED(call) refused(call, MPI_ERR_BUFFER, __LINE__)

static void messages(void *wrong, MPI_Datatype type)
{
    int flag;
    MPI_Message message;
    REFUSED(MPI_Send(wrong, 1, type, next, 1, comm));
    REFUSED(MPI_Send_c(wrong, 1, type, next, 1, comm));
    REFUSED(MPI_Ssend(wrong, 1, type, next, 1, comm));
    REFUSED(MPI_Rsend(wrong, 1, type, next, 1, comm));
    REFUSED(MPI_Bsend(wrong, 1, type, next, 1, comm));
    REFUSED(MPI_Isend(wrong, 1, type, next, 1, comm, &request));
    REFUSED(MPI_Isend(wrong, 100000, type, next, 1, comm, &request));
    REFUSED(MPI_Issend(wrong, 1, type, next, 1, comm, &request));
    REFUSED(MPI_Irsend(wrong, 1, type, next, 1, comm, &request));
    REFUSED(MPI_Ibsend(wrong, 1, type, next, 1, comm, &request));
    REFUSED(MPI_Recv(wrong, 1, type, next, 1, comm, &status));
    REFUSED(MPI_Recv_c(wrong, 1, type, next, 1, comm, &status));
    REFUSED(MPI_Irecv(wrong, 1, type, next, 1, comm, &request));
    REFUSED(MPI_Sendrecv(wrong, 1, type, next, 1, memory, 1, MPI_INT, next, 1, comm, &status));
    REFUSED(MPI_Sendrecv(memory, 1, MPI_INT, next, 1, wrong, 1, type, next, 1, comm, &status));
    REFUSED(MPI_Isendrecv(wrong, 1, type, next, 1, memory, 1, MPI_INT, next, 1, comm, &request));
    REFUSED(MPI_Isendrecv(memory, 1, MPI_INT, next, 1, wrong, 1, type, next, 1, comm, &request));
    REFUSED(MPI_Sendrecv_replace(wrong, 1, type, next, 1, next, 1, comm, &status));
    REFUSED(MPI_Isendrecv_replace(wrong, 1, type, next, 1, next, 1, comm, &request));
    REFUSED(MPI_Send_init(wrong, 1, type, next, 1, comm, &request));
    REFUSED(MPI_Ssend_init(wrong, 1, type, next, 1, comm, &request));
    REFUSED(MPI_Rsend_init(wrong, 1, type, next, 1, comm, &request));
    REFUSED(MPI_Bsend_init(wrong, 1, type, next, 1, comm, &request));
    REFUSED(MPI_Recv_init(wrong, 1, type, next, 1, comm, &request));
    REFUSED(MPI_Psend_init(wrong, 2, 1, type, next, 1, comm, MPI_INFO_NULL, &request));
    REFUSED(MPI_Precv_init(wrong, 2, 1, type, next, 1, comm, MPI_INFO_NULL, &request));
    MPI_Isend(memory, 1, MPI_INT, rank, 2, comm, &request);
    MPI_Mprobe(rank, 2, comm, &message, &status);
    MPI_Message kept = message;
    REFUSED(MPI_Mrecv(wrong, 1, type, &message, &status));
    message = kept;
    CHECK(MPI_Mrecv(memory, 1, MPI_INT, &message, &status) == MPI_SUCCESS);
    MPI_Wait(&request, &status);
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, &status);
    CHECK(!flag);
}

static void packs(void *wrong, MPI_Datatype type)
{
    int position = 0;
    MPI_Aint far = 0;
    REFUSED(MPI_Pack(wrong, 1, type, memory, 64, &position, comm));
    REFUSED(MPI_Pack(memory, 1, type, wrong, 64, &position, comm));
    REFUSED(MPI_Unpack(wrong, 64, &position, memory, 1, type, comm));
    REFUSED(MPI_Unpack(memory, 64, &position, wrong, 1, type, comm));
    REFUSED(MPI_Pack_external("external32", wrong, 1, type, memory, 64, &far));
    REFUSED(MPI_Pack_external("external32", memory, 1, type, wrong, 64, &far));
    REFUSED(MPI_Unpack_external("external32", wrong, 64, &far, memory, 1, type));
    REFUSED(MPI_Unpack_external("external32", memory, 64, &far, wrong, 1, type));
    CHECK(position == 0 && far == 0);
}

/* One-sided calls; the window's handler returns. */
static void one_sided(void *wrong, MPI_Datatype type)
{
    REFUSED(MPI_Put(wrong, 1, type, rank, 0, 1, type, win));
    REFUSED(MPI_Get(wrong, 1, type, rank, 0, 1, type, win));
    REFUSED(MPI_Accumulate(wrong, 1, type, rank, 0, 1, type, MPI_SUM, win));
    REFUSED(MPI_Get_accumulate(wrong, 1, type, memory, 1, type, rank, 0, 1, type, MPI_SUM, win));
    REFUSED(MPI_Get_accumulate(memory, 1, type, wrong, 1, type, rank, 0, 1, type, MPI_SUM, win));
    REFUSED(MPI_Rput(wrong, 1, type, rank, 0, 1, type, win, &request));
    REFUSED(MPI_Rget(wrong, 1, type, rank, 0, 1, type, win, &request));
    REFUSED(MPI_Raccumulate(wrong, 1, type, rank, 0, 1, type, MPI_SUM, win, &request));
    REFUSED(MPI_Rget_accumulate(wrong, 1, type, memory, 1, type, rank, 0, 1, type, MPI_SUM, win, &request));
    if (type != MPI_INT)
        return;
    REFUSED(MPI_Fetch_and_op(wrong, memory, type, rank, 0, MPI_SUM, win));
    REFUSED(MPI_Fetch_and_op(memory, wrong, type, rank, 0, MPI_SUM, win));
    REFUSED(MPI_Compare_and_swap(wrong, memory, memory + 1, type, rank, 0, win));
    REFUSED(MPI_Compare_and_swap(memory, wrong, memory + 1, type, rank, 0, win));
    REFUSED(MPI_Compare_and_swap(memory, memory + 1, wrong, type, rank, 0, win));
    /* The origin has no meaning when nothing is combined. */
    CHECK(MPI_Fetch_and_op(wrong, memory, type, rank, 0, MPI_NO_OP, win) == MPI_SUCCESS);
}

/* The blocking, nonblocking and persistent form. */
#define EACH(Name, name, ...)                                                   \
    do {                                                                        \
        REFUSED(MPI_##Name(__VA_ARGS__, comm));                                 \
        REFUSED(MPI_I##name(__VA_ARGS__, comm, &request));                      \
        REFUSED(MPI_##Name##_init(__VA_ARGS__, comm, MPI_INFO_NULL, &request)); \
    } while (0)

static void collectives(void *wrong)
{
    static int into[16];
    MPI_Datatype types[2] = {MPI_INT, MPI_INT};
    EACH(Bcast, bcast, wrong, 1, MPI_INT, 0);
    EACH(Gather, gather, wrong, 1, MPI_INT, into, 1, MPI_INT, 0);
    EACH(Gatherv, gatherv, wrong, 1, MPI_INT, into, ones, places, MPI_INT, 0);
    EACH(Scatter, scatter, memory, 1, MPI_INT, wrong, 1, MPI_INT, 0);
    EACH(Scatterv, scatterv, memory, ones, places, MPI_INT, wrong, 1, MPI_INT, 0);
    EACH(Reduce, reduce, wrong, into, 1, MPI_INT, MPI_SUM, 0);
    EACH(Allgather, allgather, wrong, 1, MPI_INT, into, 1, MPI_INT);
    EACH(Allgather, allgather, memory, 1, MPI_INT, wrong, 1, MPI_INT);
    EACH(Allgatherv, allgatherv, wrong, 1, MPI_INT, into, ones, places, MPI_INT);
    EACH(Allgatherv, allgatherv, memory, 1, MPI_INT, wrong, ones, places, MPI_INT);
    EACH(Alltoall, alltoall, wrong, 1, MPI_INT, into, 1, MPI_INT);
    EACH(Alltoall, alltoall, memory, 1, MPI_INT, wrong, 1, MPI_INT);
    EACH(Alltoallv, alltoallv, wrong, ones, places, MPI_INT, into, ones, places, MPI_INT);
    EACH(Alltoallv, alltoallv, memory, ones, places, MPI_INT, wrong, ones, places, MPI_INT);
    EACH(Alltoallw, alltoallw, wrong, ones, places, types, into, ones, places, types);
    EACH(Alltoallw, alltoallw, memory, ones, places, types, wrong, ones, places, types);
    EACH(Allreduce, allreduce, wrong, into, 1, MPI_INT, MPI_SUM);
    EACH(Allreduce, allreduce, memory, wrong, 1, MPI_INT, MPI_SUM);
    EACH(Reduce_scatter, reduce_scatter, wrong, into, ones, MPI_INT, MPI_SUM);
    EACH(Reduce_scatter, reduce_scatter, memory, wrong, ones, MPI_INT, MPI_SUM);
    EACH(Reduce_scatter_block, reduce_scatter_block, wrong, into, 1, MPI_INT, MPI_SUM);
    EACH(Reduce_scatter_block, reduce_scatter_block, memory, wrong, 1, MPI_INT, MPI_SUM);
    EACH(Scan, scan, wrong, into, 1, MPI_INT, MPI_SUM);
    EACH(Scan, scan, memory, wrong, 1, MPI_INT, MPI_SUM);
    EACH(Exscan, exscan, wrong, into, 1, MPI_INT, MPI_SUM);
    EACH(Exscan, exscan, memory, wrong, 1, MPI_INT, MPI_SUM);
    REFUSED(MPI_Reduce_local(wrong, into, 1, MPI_INT, MPI_SUM));
    REFUSED(MPI_Reduce_local(memory, wrong, 1, MPI_INT, MPI_SUM));
}

/* Buffers of which some rank alone reads or writes, and those of neighbours. */
static void of_neighbours(void *wrong)
{
    static int into[16];
    int periodic = 1;
    MPI_Comm cart;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &cart);
    MPI_Comm_set_errhandler(cart, MPI_ERRORS_RETURN);
    comm = cart;
    EACH(Neighbor_allgather, neighbor_allgather, wrong, 1, MPI_INT, into, 1, MPI_INT);
    EACH(Neighbor_allgather, neighbor_allgather, memory, 1, MPI_INT, wrong, 1, MPI_INT);
    EACH(Neighbor_alltoall, neighbor_alltoall, wrong, 1, MPI_INT, into, 1, MPI_INT);
    EACH(Neighbor_alltoall, neighbor_alltoall, memory, 1, MPI_INT, wrong, 1, MPI_INT);
    EACH(Neighbor_alltoallv, neighbor_alltoallv, wrong, ones, places, MPI_INT, into, ones, places, MPI_INT);
    EACH(Neighbor_alltoallv, neighbor_alltoallv, memory, ones, places, MPI_INT, wrong, ones, places, MPI_INT);
    comm = MPI_COMM_WORLD;
    MPI_Comm_free(&cart);
}

static void windows(void *wrong)
{
    MPI_Win made;
    refused(MPI_Win_create(wrong, 64, 1, MPI_INFO_NULL, comm, &made), MPI_ERR_BASE, __LINE__);
    MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &made);
    MPI_Win_set_errhandler(made, MPI_ERRORS_RETURN);
    refused(MPI_Win_attach(made, wrong, 64), MPI_ERR_BASE, __LINE__);
    MPI_Win_free(&made);
    /* A window without memory needs no address. */
    CHECK(MPI_Win_create(wrong, 0, 1, MPI_INFO_NULL, comm, &made) == MPI_SUCCESS);
    MPI_Win_free(&made);
}

/* Counts of 0. */
static void without_elements(void *wrong)
{
    CHECK(MPI_Send(wrong, 0, MPI_INT, MPI_PROC_NULL, 1, comm) == MPI_SUCCESS);
    CHECK(MPI_Sendrecv(wrong, 0, MPI_INT, next, 1, wrong, 0, MPI_INT, next, 1, comm, &status) == MPI_SUCCESS);
    CHECK(MPI_Bcast(wrong, 0, MPI_INT, 0, comm) == MPI_SUCCESS);
    CHECK(MPI_Alltoallv(memory, nothing, places, MPI_INT, wrong, nothing, places, MPI_INT, comm) == MPI_SUCCESS);
    CHECK(MPI_Put(wrong, 0, MPI_INT, rank, 0, 0, MPI_INT, win) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    void *constants[2] = {MPI_IN_PLACE, MPI_BUFFER_AUTOMATIC};
    static int window[16];
    MPI_Datatype pair, vector;
    MPI_Init(&argc, &argv);
    comm = MPI_COMM_WORLD;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    next = (rank + 1) % size;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_vector(2, 1, 2, MPI_INT, &vector);
    MPI_Type_commit(&pair);
    MPI_Type_commit(&vector);
    MPI_Datatype types[3] = {MPI_INT, pair, vector};
    MPI_Win_create(window, sizeof window, 4, MPI_INFO_NULL, comm, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 3; ++j) {
            messages(constants[i], types[j]);
            packs(constants[i], types[j]);
            one_sided(constants[i], types[j]);
        }
        /* No message of a rank that is ahead may be seen above. */
        MPI_Barrier(comm);
        without_elements(constants[i]);
        MPI_Barrier(comm);
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    for (int i = 0; i < 2; ++i)
        windows(constants[i]);
    /* As a buffer to attach, one of them has a meaning. */
    REFUSED(MPI_Buffer_attach(MPI_IN_PLACE, 1000));
    REFUSED(MPI_Buffer_attach(NULL, 1000));
    REFUSED(MPI_Comm_attach_buffer(comm, MPI_IN_PLACE, 1000));
    collectives(MPI_BUFFER_AUTOMATIC);
    of_neighbours(MPI_BUFFER_AUTOMATIC);
    MPI_Type_free(&pair);
    MPI_Type_free(&vector);
    return finish(rank);
}
