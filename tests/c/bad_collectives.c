/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 4
 * NEEDS: checked arguments
 * Every collective in every form, with each of its arguments wrong in turn, on one group, two groups and topologies: the error class of the
 * standard, through the right handler, once, with a text that names call, argument, value, communicator and rank. An argument `print`
 * shows the texts. */
#include "check.h"

#define RANKS 4

enum form { NOW, NOW_C, STARTED, STARTED_C, PLANNED, PLANNED_C, FORMS };

/* The arguments of any collective; a call takes those that it has. The count and the type of a reduction are what is sent. */
struct arguments {
    const void *sendbuf;
    void *recvbuf;
    int sendcount, recvcount, root;
    const int *sendcounts, *recvcounts, *sdispls, *rdispls;
    MPI_Datatype sendtype, recvtype;
    const MPI_Datatype *sendtypes, *recvtypes;
    MPI_Op op;
    MPI_Comm comm;
    MPI_Info info;
    MPI_Request *request;
};

/* Copies for the forms with large counts, and addresses; null stays null. */
static const MPI_Count *wide(const int *small, MPI_Count *large)
{
    for (int i = 0; small && i < RANKS; ++i)
        large[i] = small[i];
    return small ? large : NULL;
}

static MPI_Count large_[4][RANKS];
_Static_assert(sizeof(MPI_Count) == sizeof(MPI_Aint), "one array serves both");
#define SENDCOUNTS wide(a->sendcounts, large_[0])
#define RECVCOUNTS wide(a->recvcounts, large_[1])
#define SDISPLS ((const MPI_Aint *)wide(a->sdispls, large_[2]))
#define RDISPLS ((const MPI_Aint *)wide(a->rdispls, large_[3]))

#define UNPACK(...) __VA_ARGS__
#define CALL(Name, name, small, large)                                                                                      \
    static int call_##Name(enum form form, const struct arguments *a)                                                       \
    {                                                                                                                       \
        switch (form) {                                                                                                     \
        case NOW: return MPI_##Name(UNPACK small, a->comm);                                                                 \
        case NOW_C: return MPI_##Name##_c(UNPACK large, a->comm);                                                           \
        case STARTED: return MPI_I##name(UNPACK small, a->comm, a->request);                                                \
        case STARTED_C: return MPI_I##name##_c(UNPACK large, a->comm, a->request);                                          \
        case PLANNED: return MPI_##Name##_init(UNPACK small, a->comm, a->info, a->request);                                 \
        default: return MPI_##Name##_init_c(UNPACK large, a->comm, a->info, a->request);                                    \
        }                                                                                                                   \
    }
#define SAME(Name, name, ...) CALL(Name, name, (__VA_ARGS__), (__VA_ARGS__))

#define SENT a->sendbuf, a->sendcount, a->sendtype
#define RECEIVED a->recvbuf, a->recvcount, a->recvtype
#define VECTOR a->sendbuf, a->recvbuf, a->sendcount, a->sendtype, a->op
#define SENT_V a->sendbuf, a->sendcounts, a->sdispls, a->sendtype
#define SENT_V_C a->sendbuf, SENDCOUNTS, SDISPLS, a->sendtype
#define RECEIVED_V a->recvbuf, a->recvcounts, a->rdispls, a->recvtype
#define RECEIVED_V_C a->recvbuf, RECVCOUNTS, RDISPLS, a->recvtype
#define BOTH_W a->sendbuf, a->sendcounts, a->sdispls, a->sendtypes, a->recvbuf, a->recvcounts, a->rdispls, a->recvtypes
#define BOTH_W_FAR a->sendbuf, a->sendcounts, SDISPLS, a->sendtypes, a->recvbuf, a->recvcounts, RDISPLS, a->recvtypes
#define BOTH_W_C a->sendbuf, SENDCOUNTS, SDISPLS, a->sendtypes, a->recvbuf, RECVCOUNTS, RDISPLS, a->recvtypes

SAME(Bcast, bcast, (void *)a->sendbuf, a->sendcount, a->sendtype, a->root)
SAME(Gather, gather, SENT, RECEIVED, a->root)
CALL(Gatherv, gatherv, (SENT, RECEIVED_V, a->root), (SENT, RECEIVED_V_C, a->root))
SAME(Scatter, scatter, SENT, RECEIVED, a->root)
CALL(Scatterv, scatterv, (SENT_V, RECEIVED, a->root), (SENT_V_C, RECEIVED, a->root))
SAME(Allgather, allgather, SENT, RECEIVED)
CALL(Allgatherv, allgatherv, (SENT, RECEIVED_V), (SENT, RECEIVED_V_C))
SAME(Alltoall, alltoall, SENT, RECEIVED)
CALL(Alltoallv, alltoallv, (SENT_V, RECEIVED_V), (SENT_V_C, RECEIVED_V_C))
CALL(Alltoallw, alltoallw, (BOTH_W), (BOTH_W_C))
SAME(Reduce, reduce, VECTOR, a->root)
SAME(Allreduce, allreduce, VECTOR)
SAME(Scan, scan, VECTOR)
SAME(Exscan, exscan, VECTOR)
SAME(Reduce_scatter_block, reduce_scatter_block, VECTOR)
CALL(Reduce_scatter, reduce_scatter, (a->sendbuf, a->recvbuf, a->recvcounts, a->sendtype, a->op),
     (a->sendbuf, a->recvbuf, RECVCOUNTS, a->sendtype, a->op))
SAME(Neighbor_allgather, neighbor_allgather, SENT, RECEIVED)
CALL(Neighbor_allgatherv, neighbor_allgatherv, (SENT, RECEIVED_V), (SENT, RECEIVED_V_C))
SAME(Neighbor_alltoall, neighbor_alltoall, SENT, RECEIVED)
CALL(Neighbor_alltoallv, neighbor_alltoallv, (SENT_V, RECEIVED_V), (SENT_V_C, RECEIVED_V_C))
CALL(Neighbor_alltoallw, neighbor_alltoallw, (BOTH_W_FAR), (BOTH_W_C))

static int call_Barrier(enum form form, const struct arguments *a)
{
    switch (form) {
    case NOW: return MPI_Barrier(a->comm);
    case STARTED: return MPI_Ibarrier(a->comm, a->request);
    case PLANNED: return MPI_Barrier_init(a->comm, a->info, a->request);
    default: return -1;
    }
}

/* What arguments a call has, and where they count. */
enum {
    SEND = 1, SEND_V = 2, SEND_W = 4, RECV = 8, RECV_V = 16, RECV_W = 32,
    OP = 64, ROOT = 128, RECV_COUNTS = 256, RECV_VECTOR = 512,
    SENDS_AT_ROOT = 1024, RECVS_AT_ROOT = 2048,
    NEIGHBOURS = 4096, INTRA = 8192, PLACE_SEND = 16384, PLACE_RECV = 32768, ONE_BUFFER = 65536, LARGE = 131072
};

static const struct row {
    const char *name, *small;
    int (*call)(enum form, const struct arguments *);
    unsigned traits;
} rows[] = {
#define ROW(Name, name, traits) {#Name, "I" #name, call_##Name, traits}
    ROW(Barrier, barrier, 0),
    ROW(Bcast, bcast, LARGE | SEND | ROOT | ONE_BUFFER),
    ROW(Gather, gather, LARGE | SEND | RECV | ROOT | RECVS_AT_ROOT | PLACE_SEND),
    ROW(Gatherv, gatherv, LARGE | SEND | RECV_V | ROOT | RECVS_AT_ROOT | PLACE_SEND),
    ROW(Scatter, scatter, LARGE | SEND | RECV | ROOT | SENDS_AT_ROOT | PLACE_RECV),
    ROW(Scatterv, scatterv, LARGE | SEND_V | RECV | ROOT | SENDS_AT_ROOT | PLACE_RECV),
    ROW(Allgather, allgather, LARGE | SEND | RECV | PLACE_SEND),
    ROW(Allgatherv, allgatherv, LARGE | SEND | RECV_V | PLACE_SEND),
    ROW(Alltoall, alltoall, LARGE | SEND | RECV | PLACE_SEND),
    ROW(Alltoallv, alltoallv, LARGE | SEND_V | RECV_V | PLACE_SEND),
    ROW(Alltoallw, alltoallw, LARGE | SEND_W | RECV_W | PLACE_SEND),
    ROW(Reduce, reduce, LARGE | SEND | RECV_VECTOR | OP | ROOT | RECVS_AT_ROOT | PLACE_SEND),
    ROW(Allreduce, allreduce, LARGE | SEND | RECV_VECTOR | OP | PLACE_SEND),
    ROW(Scan, scan, LARGE | SEND | RECV_VECTOR | OP | INTRA | PLACE_SEND),
    ROW(Exscan, exscan, LARGE | SEND | RECV_VECTOR | OP | INTRA | PLACE_SEND),
    ROW(Reduce_scatter_block, reduce_scatter_block, LARGE | SEND | RECV_VECTOR | OP | PLACE_SEND),
    ROW(Reduce_scatter, reduce_scatter, LARGE | RECV_COUNTS | RECV_VECTOR | OP | PLACE_SEND),
    ROW(Neighbor_allgather, neighbor_allgather, LARGE | SEND | RECV | NEIGHBOURS | INTRA),
    ROW(Neighbor_allgatherv, neighbor_allgatherv, LARGE | SEND | RECV_V | NEIGHBOURS | INTRA),
    ROW(Neighbor_alltoall, neighbor_alltoall, LARGE | SEND | RECV | NEIGHBOURS | INTRA),
    ROW(Neighbor_alltoallv, neighbor_alltoallv, LARGE | SEND_V | RECV_V | NEIGHBOURS | INTRA),
    ROW(Neighbor_alltoallw, neighbor_alltoallw, LARGE | SEND_W | RECV_W | NEIGHBOURS | INTRA),
};

static int a_[64], b_[64];
static const int ones[RANKS] = {1, 1, 1, 1}, places[RANKS] = {0, 1, 2, 3}, negative[RANKS] = {-3, 1, 1, 1};
static MPI_Datatype ints[RANKS], nulls[RANKS], raws[RANKS], raw, dead, twice, twices[RANKS], pairs;
static MPI_Op dead_op, any_op;
static MPI_Comm dead_comm, plain;
static MPI_Info dead_info;
static MPI_Request request;

enum { ALL, GIVEN, GOT };

/* The fault, which calls have it, on which side it is, its class, the argument that is blamed, what is said of that, and how it is made. */
#define ANY_SEND (SEND | SEND_V | RECV_COUNTS)
#define ANY_RECV (RECV | RECV_V)
#define FAULTS(X)                                                                                                           \
    X(null_comm, 0, ALL, MPI_ERR_COMM, "comm", "is MPI_COMM_NULL", a->comm = MPI_COMM_NULL)                                 \
    X(zero_comm, 0, ALL, MPI_ERR_COMM, "comm", "is 0, which is no handle", a->comm = (MPI_Comm)0)                           \
    X(freed_comm, 0, ALL, MPI_ERR_COMM, "comm", "which was freed", a->comm = dead_comm)                                     \
    X(foreign_comm, 0, ALL, MPI_ERR_COMM, "comm", "is MPI_INT", a->comm = (MPI_Comm)MPI_INT)                                \
    X(invented_comm, 0, ALL, MPI_ERR_COMM, "comm", "no handle of this kind", a->comm = (MPI_Comm)0x123456789abcUL)          \
    X(no_topology, NEIGHBOURS, ALL, MPI_ERR_TOPOLOGY, "comm", "topology", a->comm = plain)                                  \
    X(null_type, ANY_SEND, GIVEN, MPI_ERR_TYPE, "sendtype", "is MPI_DATATYPE_NULL", a->sendtype = MPI_DATATYPE_NULL)        \
    X(freed_type, ANY_SEND, GIVEN, MPI_ERR_TYPE, "sendtype", "which was freed", a->sendtype = dead)                         \
    X(foreign_type, ANY_SEND, GIVEN, MPI_ERR_TYPE, "sendtype", "is MPI_SUM", a->sendtype = (MPI_Datatype)MPI_SUM)           \
    X(raw_type, ANY_SEND, GIVEN, MPI_ERR_TYPE, "sendtype", "committed", (a->sendtype = raw, a->op = any_op))               \
    X(negative_count, SEND, GIVEN, MPI_ERR_COUNT, "sendcount", "is -1", a->sendcount = -1)                                  \
    X(null_buffer, ANY_SEND | SEND_W, GIVEN, MPI_ERR_BUFFER, "sendbuf", "is null", a->sendbuf = NULL)                       \
    X(null_counts, SEND_V | SEND_W, GIVEN, MPI_ERR_ARG, "sendcounts", "is null", a->sendcounts = NULL)                      \
    X(negative_counts, SEND_V | SEND_W, GIVEN, MPI_ERR_COUNT, "sendcounts", "is -3 at index 0", a->sendcounts = negative)   \
    X(null_places, SEND_V | SEND_W, GIVEN, MPI_ERR_ARG, "sdispls", "is null", a->sdispls = NULL)                            \
    X(null_types, SEND_W, GIVEN, MPI_ERR_ARG, "sendtypes", "is null", a->sendtypes = NULL)                                  \
    X(a_null_type, SEND_W, GIVEN, MPI_ERR_TYPE, "sendtypes", "is MPI_DATATYPE_NULL at index 0", a->sendtypes = nulls)       \
    X(a_raw_type, SEND_W, GIVEN, MPI_ERR_TYPE, "sendtypes", "committed", a->sendtypes = raws)                               \
    X(null_rtype, ANY_RECV, GOT, MPI_ERR_TYPE, "recvtype", "is MPI_DATATYPE_NULL", a->recvtype = MPI_DATATYPE_NULL)         \
    X(freed_rtype, ANY_RECV, GOT, MPI_ERR_TYPE, "recvtype", "which was freed", a->recvtype = dead)                          \
    X(foreign_rtype, ANY_RECV, GOT, MPI_ERR_TYPE, "recvtype", "is MPI_SUM", a->recvtype = (MPI_Datatype)MPI_SUM)            \
    X(raw_rtype, ANY_RECV, GOT, MPI_ERR_TYPE, "recvtype", "committed", a->recvtype = raw)                                   \
    X(double_rtype, ANY_RECV, GOT, MPI_ERR_TYPE, "recvtype", "twice", a->recvtype = twice)                                  \
    X(negative_rcount, RECV, GOT, MPI_ERR_COUNT, "recvcount", "is -1", a->recvcount = -1)                                   \
    X(null_rbuffer, ANY_RECV | RECV_W | RECV_VECTOR, GOT, MPI_ERR_BUFFER, "recvbuf", "is null", a->recvbuf = NULL)          \
    X(null_rcounts, RECV_V | RECV_W | RECV_COUNTS, GOT, MPI_ERR_ARG, "recvcounts", "is null", a->recvcounts = NULL)         \
    X(negative_rcounts, RECV_V | RECV_W | RECV_COUNTS, GOT, MPI_ERR_COUNT, "recvcounts", "is -3 at index 0", a->recvcounts = negative) \
    X(null_rplaces, RECV_V | RECV_W, GOT, MPI_ERR_ARG, "rdispls", "is null", a->rdispls = NULL)                             \
    X(null_rtypes, RECV_W, GOT, MPI_ERR_ARG, "recvtypes", "is null", a->recvtypes = NULL)                                   \
    X(a_null_rtype, RECV_W, GOT, MPI_ERR_TYPE, "recvtypes", "is MPI_DATATYPE_NULL at index 0", a->recvtypes = nulls)        \
    X(a_raw_rtype, RECV_W, GOT, MPI_ERR_TYPE, "recvtypes", "committed", a->recvtypes = raws)                                \
    X(a_double_rtype, RECV_W, GOT, MPI_ERR_TYPE, "recvtypes", "twice", a->recvtypes = twices)                               \
    X(null_op, OP, GIVEN, MPI_ERR_OP, "op", "is MPI_OP_NULL", a->op = MPI_OP_NULL)                                          \
    X(freed_op, OP, GIVEN, MPI_ERR_OP, "op", "which was freed", a->op = dead_op)                                            \
    X(foreign_op, OP, GIVEN, MPI_ERR_OP, "op", "is MPI_INT", a->op = (MPI_Op)MPI_INT)                                       \
    X(replace, OP, GIVEN, MPI_ERR_OP, "op", "is MPI_REPLACE", a->op = MPI_REPLACE)                                          \
    X(no_op, OP, GIVEN, MPI_ERR_OP, "op", "is MPI_NO_OP", a->op = MPI_NO_OP)                                                \
    X(bits_of_doubles, OP, GIVEN, MPI_ERR_OP, "op", "is MPI_BAND", (a->op = MPI_BAND, a->sendtype = MPI_DOUBLE))            \
    X(place_of_ints, OP, GIVEN, MPI_ERR_OP, "op", "is MPI_MAXLOC", a->op = MPI_MAXLOC)                                      \
    X(sum_of_pairs, OP, GIVEN, MPI_ERR_OP, "op", "is MPI_SUM", a->sendtype = MPI_2INT)                                      \
    X(sum_of_derived, OP, GIVEN, MPI_ERR_OP, "op", "is MPI_SUM", a->sendtype = pairs)                                       \
    X(root_beyond, ROOT, ALL, MPI_ERR_ROOT, "root", "is 4", a->root = RANKS)                                                \
    X(root_below, ROOT, ALL, MPI_ERR_ROOT, "root", "is -77", a->root = -77)                                                 \
    X(root_any, ROOT, ALL, MPI_ERR_ROOT, "root", "MPI_ANY_SOURCE", a->root = MPI_ANY_SOURCE)                                \
    X(root_none, ROOT, ALL, MPI_ERR_ROOT, "root", "MPI_PROC_NULL", a->root = MPI_PROC_NULL)                                 \
    X(root_here, ROOT, ALL, MPI_ERR_ROOT, "root", "MPI_ROOT", a->root = MPI_ROOT)                                           \
    X(placed_send, SEND | SEND_V | SEND_W | RECV_COUNTS, GIVEN, MPI_ERR_BUFFER, "sendbuf", "is MPI_IN_PLACE", a->sendbuf = MPI_IN_PLACE) \
    X(placed_recv, ANY_RECV | RECV_W | RECV_VECTOR, GOT, MPI_ERR_BUFFER, "recvbuf", "is MPI_IN_PLACE", a->recvbuf = MPI_IN_PLACE) \
    X(aliased, ANY_RECV | RECV_W | RECV_VECTOR, GOT, MPI_ERR_BUFFER, "sendbuf", "the same memory as 'recvbuf'", a->recvbuf = a_) \
    X(wrong_info, 0, ALL, MPI_ERR_INFO, "info", "which was freed", a->info = dead_info)                                     \
    X(null_request, 0, ALL, MPI_ERR_ARG, "request", "is null", a->request = NULL)

enum fault {
#define X(name, needs, side, class, argument, said, make) name,
    FAULTS(X)
#undef X
    LAST
};

static const struct {
    const char *name;
    unsigned needs;
    int side, class;
    const char *argument, *said;
} faults[] = {
#define X(name, needs, side, class, argument, said, make) {#name, needs, side, class, argument, said},
    FAULTS(X)
#undef X
};

static void make(enum fault fault, struct arguments *a)
{
    switch (fault) {
#define X(name, needs, side, class, argument, said, make) \
    case name: make; break;
        FAULTS(X)
#undef X
    case LAST: break;
    }
}

/* What the call calls an argument. */
static const char *called(const struct row *row, const char *argument)
{
    int is_count = strcmp(argument, "sendcount") == 0, is_type = strcmp(argument, "sendtype") == 0;
    int both = row->traits & (SEND_V | SEND_W) && row->traits & (RECV_V | RECV_W);
    if (strstr(argument, "displs") && !both)
        return "displs";
    if (!(row->traits & (OP | ONE_BUFFER)))
        return argument;
    if (row->traits & ONE_BUFFER && strcmp(argument, "sendbuf") == 0)
        return "buffer";
    if (is_count)
        return strcmp(row->name, "Reduce_scatter_block") ? "count" : "recvcount";
    return is_type ? "datatype" : argument;
}

/* Where a rank stands: one group or two, and whether it is the root, has one, or is beside it in its group. */
enum place { ONE_GROUP, AT_ROOT, OTHER_GROUP, BESIDE };

/* Whether a call has the fault, as this rank makes it. */
static int has(const struct row *row, enum fault fault, enum place place, int is_root, enum form form)
{
    unsigned traits = row->traits, needs = faults[fault].needs;
    int side = faults[fault].side;
    if ((needs && !(traits & needs)) || (!(traits & LARGE) && form % 2))
        return 0;
    if ((fault == wrong_info && form < PLANNED) || (fault == null_request && form < STARTED))
        return 0;
    if (fault == aliased && traits & ROOT && (place != ONE_GROUP || !is_root))
        return 0;
    if ((fault == root_none || fault == root_here) && place != ONE_GROUP)
        return 0;
    int in_place = place == ONE_GROUP && (fault == placed_send ? traits & PLACE_SEND : fault == placed_recv ? traits & PLACE_RECV : 0);
    if (in_place && (!(traits & ROOT) || is_root))
        return 0;
    if (!(traits & ROOT) || side == ALL)
        return 1;
    if (place == BESIDE)
        return 0;
    if (traits & SENDS_AT_ROOT)
        return side == GIVEN ? is_root : place != AT_ROOT;
    if (traits & RECVS_AT_ROOT) {
        /* The op and the type of a reduction count at its root, too; what it gives does not between two groups. */
        if (traits & OP && place == AT_ROOT && side == GIVEN)
            return fault != null_buffer && fault != placed_send;
        return side == GOT ? is_root : place != AT_ROOT;
    }
    return 1;
}

static MPI_Comm told = MPI_COMM_NULL;
static int handled, rank, world_rank, size, prints, covered;
static char now[256];

static void handler(MPI_Comm *comm, int *code, ...)
{
    (void)code;
    told = *comm;
    ++handled;
}

static void name_call(const struct row *row, enum form form, char *name)
{
    const char *forms[FORMS] = {"", "_c", "", "_c", "_init", "_init_c"};
    int is_started = form == STARTED || form == STARTED_C;
    sprintf(name, "MPI_%s%s", is_started ? row->small : row->name, forms[form]);
}

static struct arguments good(MPI_Comm comm, int root)
{
    struct arguments a = {a_, b_, 1, 1, root, ones, ones, places, places, MPI_INT, MPI_INT, ints, ints, MPI_SUM, comm, MPI_INFO_NULL, &request};
    return a;
}

#define EXPECT(condition)                                                                             \
    do {                                                                                              \
        if (!(condition)) {                                                                           \
            fprintf(stderr, "rank %d: %s: not %s; '%s'\n", rank, now, #condition, text);              \
            if (!prints)                                                                              \
                MPI_Abort(MPI_COMM_WORLD, 98);                                                        \
        }                                                                                             \
    } while (0)

static void check(const struct row *row, enum form form, enum fault fault, const struct arguments *a, const char *comm_name)
{
    char call[64], text[MPI_MAX_ERROR_STRING] = "", expected[256];
    int class = -1, length;
    name_call(row, form, call);
    snprintf(now, sizeof now, "%s on %s: %s", call, comm_name, faults[fault].name);
    handled = 0;
    request = (MPI_Request)0x1234;
    int code = row->call(form, a);
    MPI_Error_class(code, &class);
    MPI_Error_string(code, text, &length);
    if (prints && rank == 0)
        printf("%-16s %s\n", faults[fault].name, strstr(text, "here: ") ? strstr(text, "here: ") + 6 : text);
    EXPECT(class == faults[fault].class);
    snprintf(expected, sizeof expected, "%s: argument '%s' ", call, called(row, faults[fault].argument));
    EXPECT(strstr(text, expected) && strstr(text, faults[fault].said));
    EXPECT(handled == 1);
    int has_comm = faults[fault].class != MPI_ERR_COMM;
    EXPECT(told == (has_comm ? a->comm : MPI_COMM_SELF));
    if (has_comm)
        snprintf(expected, sizeof expected, "(communicator %s, rank %d)", fault == no_topology ? "plain" : comm_name, rank);
    else
        snprintf(expected, sizeof expected, "(rank %d of the job)", world_rank);
    EXPECT(strstr(text, expected));
    EXPECT(form < STARTED || fault == null_request || request == MPI_REQUEST_NULL);
    ++covered;
}

/* All calls with all of their faults, and then without any. */
static void all(MPI_Comm comm, const char *name, int neighbours, enum place place, int root, int is_root)
{
    MPI_Comm_set_name(comm, name);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        const struct row *row = &rows[i];
        if (!(row->traits & NEIGHBOURS) != !neighbours || (place != ONE_GROUP && row->traits & INTRA))
            continue;
        for (enum form form = NOW; form < FORMS; ++form) {
            for (enum fault fault = 0; fault < LAST; ++fault) {
                struct arguments a = good(comm, root);
                make(fault, &a);
                if (has(row, fault, place, is_root, form))
                    check(row, form, fault, &a, name);
            }
            struct arguments a = good(comm, root);
            if (!(row->traits & LARGE) && form % 2)
                continue;
            name_call(row, form, now);
            CHECK(row->call(form, &a) == MPI_SUCCESS);
            CHECK(form < PLANNED || MPI_Start(&request) == MPI_SUCCESS);
            CHECK(form < STARTED || MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
            CHECK(form < PLANNED || MPI_Request_free(&request) == MPI_SUCCESS);
        }
    }
}

/* A function that is never called. */
static void nothing(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)count, (void)type;
}

static void prepare(void)
{
    MPI_Type_contiguous(2, MPI_INT, &raw);
    MPI_Type_dup(MPI_INT, &dead);
    MPI_Datatype type = dead;
    MPI_Type_free(&type);
    MPI_Type_vector(2, 1, 0, MPI_INT, &twice);
    MPI_Type_commit(&twice);
    MPI_Type_contiguous(2, MPI_INT, &pairs);
    MPI_Type_commit(&pairs);
    for (int i = 0; i < RANKS; ++i)
        ints[i] = nulls[i] = raws[i] = twices[i] = MPI_INT;
    nulls[0] = MPI_DATATYPE_NULL, raws[0] = raw, twices[0] = twice;
    MPI_Op_create(nothing, 1, &any_op);
    MPI_Op_create(nothing, 1, &dead_op);
    MPI_Op op = dead_op;
    MPI_Op_free(&op);
    MPI_Info_create(&dead_info);
    MPI_Info info = dead_info;
    MPI_Info_free(&info);
    MPI_Comm_dup(MPI_COMM_SELF, &dead_comm);
    MPI_Comm comm = dead_comm;
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    prints = argc > 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Errhandler own;
    MPI_Comm_create_errhandler(handler, &own);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, own);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, own);
    prepare();
    world_rank = rank;

    MPI_Comm_dup(MPI_COMM_WORLD, &plain);
    MPI_Comm_set_name(plain, "plain");
    all(plain, "plain", 0, ONE_GROUP, 0, rank == 0);

    int ring = 1;
    MPI_Comm grid, graph, self;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &ring, 0, &grid);
    all(grid, "ring", 1, ONE_GROUP, 0, 0);
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    all(graph, "graph", 1, ONE_GROUP, 0, 0);

    /* Each rank is the root. */
    rank = 0;
    MPI_Comm_dup(MPI_COMM_SELF, &self);
    all(self, "alone", 0, ONE_GROUP, 0, 1);
    rank = world_rank;

    if (size > 1) {
        MPI_Comm half, both;
        int group = rank % 2, root = group ? 0 : rank ? MPI_PROC_NULL : MPI_ROOT;
        MPI_Comm_split(MPI_COMM_WORLD, group, rank, &half);
        MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - group, 1, &both);
        MPI_Comm_rank(both, &rank);
        all(both, "bridge", 0, group ? OTHER_GROUP : rank ? BESIDE : AT_ROOT, root, !group && !rank);
        /* Calls that two groups do not have. */
        for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
            for (enum form form = NOW; rows[i].traits & INTRA && form < FORMS; ++form) {
                struct arguments a = good(both, 0);
                int class;
                MPI_Error_class(rows[i].call(form, &a), &class);
                CHECK(class == MPI_ERR_COMM);
            }
        }
        rank = world_rank;
        MPI_Comm_free(&both);
        MPI_Comm_free(&half);
    }
    CHECK(covered > 4000);
    MPI_Errhandler_free(&own);
    return finish(rank);
}
