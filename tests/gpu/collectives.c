/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Collectives of all forms whose buffers are in the memory of a GPU, at all ranks or at some, and in place. What is there afterwards is what the
 * blocking form leaves in memory of the host. The driver is loaded before MPI_Init or, with the argument `late`, after it. */
#include "device.h"

enum { BLOCKING, NONBLOCKING, PERSISTENT, FORMS };
enum { MOST = 8, ROUNDS = 2 };

static int form, in_place, is_checked = 1;
static MPI_Comm comm, grid;
static int count;
static MPI_Datatype type;
static MPI_Op op;
/* Arguments of the forms with an entry for each rank. */
static int counts[MOST], places[MOST], lengths[MOST], offsets[MOST];
static MPI_Aint addresses[MOST];
static MPI_Datatype types[MOST];

static void end(MPI_Request request)
{
    if (form == NONBLOCKING)
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (form != PERSISTENT)
        return;
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
}

/* A collective in the form that is tried. */
#define CALL(name, lower, ...)                                                    \
    do {                                                                          \
        MPI_Request request_ = MPI_REQUEST_NULL;                                  \
        if (form == BLOCKING)                                                     \
            MPI_##name(__VA_ARGS__);                                              \
        else if (form == NONBLOCKING)                                             \
            MPI_I##lower(__VA_ARGS__, &request_);                                 \
        else                                                                      \
            MPI_##name##_init(__VA_ARGS__, MPI_INFO_NULL, &request_);             \
        end(request_);                                                            \
    } while (0)

#define ROOT (size - 1)
#define FROM (in_place ? MPI_IN_PLACE : from)
#define FROM_OF_ROOT (in_place && rank == ROOT ? MPI_IN_PLACE : from)

static void bcast(void *from, void *to)
{
    (void)from;
    CALL(Bcast, bcast, to, count, type, ROOT, comm);
}
static void gather(void *from, void *to)
{
    CALL(Gather, gather, FROM_OF_ROOT, count, type, to, count, type, ROOT, comm);
}
static void gatherv(void *from, void *to)
{
    CALL(Gatherv, gatherv, FROM_OF_ROOT, counts[rank], type, to, counts, places, type, ROOT, comm);
}
static void scatter(void *from, void *to)
{
    void *into = in_place && rank == ROOT ? MPI_IN_PLACE : to;
    CALL(Scatter, scatter, from, count, type, into, count, type, ROOT, comm);
}
static void scatterv(void *from, void *to)
{
    void *into = in_place && rank == ROOT ? MPI_IN_PLACE : to;
    CALL(Scatterv, scatterv, from, counts, places, type, into, counts[rank], type, ROOT, comm);
}
static void allgather(void *from, void *to)
{
    CALL(Allgather, allgather, FROM, count, type, to, count, type, comm);
}
static void allgatherv(void *from, void *to)
{
    CALL(Allgatherv, allgatherv, FROM, counts[rank], type, to, counts, places, type, comm);
}
static void alltoall(void *from, void *to)
{
    CALL(Alltoall, alltoall, FROM, count, type, to, count, type, comm);
}
static void alltoallv(void *from, void *to)
{
    CALL(Alltoallv, alltoallv, FROM, lengths, places, type, to, lengths, places, type, comm);
}
static void alltoallw(void *from, void *to)
{
    CALL(Alltoallw, alltoallw, FROM, lengths, offsets, types, to, lengths, offsets, types, comm);
}
static void neighbor_allgather(void *from, void *to)
{
    CALL(Neighbor_allgather, neighbor_allgather, from, count, type, to, count, type, grid);
}
static void neighbor_allgatherv(void *from, void *to)
{
    CALL(Neighbor_allgatherv, neighbor_allgatherv, from, count, type, to, lengths, places, type, grid);
}
static void neighbor_alltoall(void *from, void *to)
{
    CALL(Neighbor_alltoall, neighbor_alltoall, from, count, type, to, count, type, grid);
}
static void neighbor_alltoallv(void *from, void *to)
{
    CALL(Neighbor_alltoallv, neighbor_alltoallv, from, lengths, places, type, to, lengths, places, type, grid);
}
static void neighbor_alltoallw(void *from, void *to)
{
    CALL(Neighbor_alltoallw, neighbor_alltoallw, from, lengths, addresses, types, to, lengths, addresses, types, grid);
}
static void reduce(void *from, void *to)
{
    CALL(Reduce, reduce, FROM_OF_ROOT, to, count, type, op, ROOT, comm);
}
static void allreduce(void *from, void *to)
{
    CALL(Allreduce, allreduce, FROM, to, count, type, op, comm);
}
static void reduce_scatter(void *from, void *to)
{
    CALL(Reduce_scatter, reduce_scatter, FROM, to, counts, type, op, comm);
}
static void reduce_scatter_block(void *from, void *to)
{
    CALL(Reduce_scatter_block, reduce_scatter_block, FROM, to, count, type, op, comm);
}
static void scan(void *from, void *to)
{
    CALL(Scan, scan, FROM, to, count, type, op, comm);
}
static void exscan(void *from, void *to)
{
    CALL(Exscan, exscan, FROM, to, count, type, op, comm);
}
static void reduce_local(void *from, void *to)
{
    MPI_Reduce_local(from, to, count, type, op);
}

typedef struct {
    const char *name;
    void (*call)(void *from, void *to);
    int has_in_place;
} Collective;

static const Collective moving[] = {
    {"Bcast", bcast, 0}, {"Gather", gather, 1}, {"Gatherv", gatherv, 1}, {"Scatter", scatter, 1},
    {"Scatterv", scatterv, 1}, {"Allgather", allgather, 1}, {"Allgatherv", allgatherv, 1}, {"Alltoall", alltoall, 1},
    {"Alltoallv", alltoallv, 1}, {"Alltoallw", alltoallw, 1}, {"Neighbor_allgather", neighbor_allgather, 0},
    {"Neighbor_allgatherv", neighbor_allgatherv, 0}, {"Neighbor_alltoall", neighbor_alltoall, 0},
    {"Neighbor_alltoallv", neighbor_alltoallv, 0}, {"Neighbor_alltoallw", neighbor_alltoallw, 0},
};
static const Collective combining[] = {
    {"Reduce", reduce, 1}, {"Allreduce", allreduce, 1}, {"Reduce_scatter", reduce_scatter, 1},
    {"Reduce_scatter_block", reduce_scatter_block, 1}, {"Scan", scan, 1}, {"Exscan", exscan, 1}, {"Reduce_local", reduce_local, 0},
};

/* The kinds of memory of a rank's two buffers: the host's at all ranks, a GPU's, or a mixture. */
enum { HOST, DEVICE, SENT, RECEIVED, ODD_RANKS, MIXED, KINDS };
static int is_device(int kind, int side)
{
    switch (kind) {
    case HOST: return 0;
    case DEVICE: return 1;
    case SENT: return side == 0;
    case RECEIVED: return side == 1;
    case ODD_RANKS: return rank % 2;
    default: return (rank + side) % 2;
    }
}

/* Elements of both buffers of a collective. */
static size_t elements(void)
{
    return (size_t)((count + 2) * (size > 4 ? size : 4));
}

static Buffer prepared(int device, int side)
{
    MPI_Count lower, extent;
    MPI_Type_get_extent_x(type, &lower, &extent);
    Buffer buffer = make(device, (size_t)extent * elements(), (unsigned)(1 + 2 * rank + side));
    /* Values that no sum of a few makes too large, in each word. */
    for (size_t i = 3; i < buffer.bytes; i += 4)
        buffer.host[i] = 0;
    fill(&buffer);
    return buffer;
}

static void try_collective(const Collective *collective)
{
    for (in_place = 0; in_place <= collective->has_in_place; in_place++)
        for (int wanted = 0; wanted < FORMS; wanted++) {
            Buffer from = prepared(0, 0), to = prepared(0, 1);
            form = BLOCKING;
            for (int round = 0; round < (wanted == PERSISTENT && collective->call != reduce_local ? ROUNDS : 1); round++)
                collective->call(from.host, to.host);
            form = wanted;
            for (int kind = 0; kind < KINDS; kind++) {
                Buffer given = prepared(is_device(kind, 0), 0), got = prepared(is_device(kind, 1), 1);
                collective->call(address(&given), address(&got));
                int is_right = memcmp(contents(&got), to.host, to.bytes) == 0;
                int is_intact = memcmp(contents(&given), from.host, from.bytes) == 0;
                if (!is_right || !is_intact) {
                    fprintf(stderr, "rank %d of %d: %s, form %d, in place %d, kind %d, %d elements: wrong %s\n", rank, size,
                            collective->name, form, in_place, kind, count, is_right ? "operand" : "result");
                    is_checked = 0;
                }
                drop(&given);
                drop(&got);
            }
            drop(&from);
            drop(&to);
        }
}

/* Sets what is sent, in numbers of elements. */
static void set(MPI_Datatype wanted, int number)
{
    MPI_Count lower, extent;
    type = wanted;
    count = number;
    MPI_Type_get_extent_x(type, &lower, &extent);
    int place = 0;
    for (int i = 0; i < MOST; i++) {
        counts[i] = i % 2 ? count : count / 2;
        places[i] = place;
        place += count + i % 2;
        lengths[i] = count;
        types[i] = type;
        offsets[i] = places[i] * (int)extent;
        addresses[i] = offsets[i];
    }
}

/* Adds the integers of elements of the sparse type. */
static void add(void *in, void *inout, int *length, MPI_Datatype *datatype)
{
    MPI_Count lower, extent;
    MPI_Type_get_extent_x(*datatype, &lower, &extent);
    for (int i = 0; i < *length; i++)
        for (int j = 0; j < 3; j++) {
            size_t at = (size_t)extent * (size_t)i + (size_t)j * 2 * sizeof(int);
            *(int *)(void *)((char *)inout + at) += *(int *)(void *)((char *)in + at);
        }
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    comm = MPI_COMM_WORLD;
    /* A line, whose ends have a neighbour that is MPI_PROC_NULL. */
    MPI_Cart_create(comm, 1, &size, &(int){0}, 0, &grid);
    MPI_Datatype sparse;
    MPI_Op addition;
    MPI_Type_vector(3, 1, 2, MPI_INT, &sparse);
    MPI_Type_commit(&sparse);
    MPI_Op_create(add, 1, &addition);
    const int numbers[] = {1, 7, 3000};
    for (int step = 0; step < 3; step++) {
        MPI_Datatype moved[] = {MPI_INT, sparse};
        for (int i = 0; i < 2; i++) {
            set(moved[i], i == 1 && step == 2 ? 500 : numbers[step]);
            for (size_t j = 0; j < sizeof moving / sizeof *moving; j++)
                try_collective(&moving[j]);
        }
        MPI_Datatype combined[] = {MPI_INT, MPI_2INT, MPI_LONG_INT, sparse};
        MPI_Op operations[] = {MPI_SUM, MPI_MAXLOC, MPI_MINLOC, addition};
        for (int i = 0; i < 4; i++) {
            set(combined[i], i > 1 && step == 2 ? 300 : numbers[step]);
            op = operations[i];
            for (size_t j = 0; j < sizeof combining / sizeof *combining; j++)
                try_collective(&combining[j]);
        }
    }
    CHECK(is_checked);
    MPI_Op_free(&addition);
    MPI_Type_free(&sparse);
    MPI_Comm_free(&grid);
    return finish(rank);
}
