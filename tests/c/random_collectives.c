/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 3 4 7
 * Random programs of collectives in all three forms on several communicators, two groups and a topology: many are under way at once and are
 * waited for or tested in an order of each rank's own, between messages, blocking calls and communicators that come and go. Every result is
 * checked. `random_collectives SECONDS [SEED]` goes on for so long with a new program each time, and says which one fails. */
#include "check.h"

enum { RANKS = 16, MOST = 24, PRIME = 65521, TAG = 3, ROUNDS = 12, STEPS = 150 };

static const int counts[] = {0, 1, 3, 17, 130, 1025, 4100, 20000};
enum { COUNTS = sizeof counts / sizeof *counts };

static unsigned long common, own; /* States of the generators: the same at all ranks, and of each rank. */
static int world_rank, world_size;

static unsigned dice(unsigned long *state, unsigned limit)
{
    *state = *state * 6364136223846793005UL + 1442695040888963407UL;
    return (unsigned)(*state >> 33) % limit;
}

/* Communicators, and how the members and the other group number themselves. */
enum { DUP, BACKWARDS, HALF, GRID, SELF, BRIDGE, SPARE, COMMS };
static MPI_Comm comms[COMMS];
static MPI_Datatype sparse;
static MPI_Op composition;

/* Maps x -> a x + b modulo a prime, as two halves of an int: their composition does not commute. */
static unsigned compose(unsigned f, unsigned g)
{
    unsigned long a = f >> 16, b = f & 0xffff;
    return (unsigned)((a * (g >> 16) % PRIME) << 16 | (a * (g & 0xffff) + b) % PRIME);
}

static void compose_all(void *in, void *inout, int *count, MPI_Datatype *type)
{
    int step = *type == sparse ? 2 : 1;
    unsigned *f = in, *g = inout;
    for (int i = 0; i < *count; ++i)
        g[step * i] = compose(f[step * i], g[step * i]);
}

/* What a rank of a communicator gives as element `i` of an operation. */
static unsigned given(unsigned id, int rank, int i)
{
    unsigned long mixed = (id * 2654435761UL + (unsigned)rank * 40503UL + (unsigned)i * 69069UL) * 2246822519UL;
    return (unsigned)((mixed >> 13) % PRIME << 16 | (mixed >> 29) % PRIME);
}

enum kind {
    BARRIER, BCAST, REDUCE, ALLREDUCE, SCAN, EXSCAN, GATHER, GATHERV, SCATTER, SCATTERV, ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV,
    ALLTOALLW, REDUCE_SCATTER_BLOCK, REDUCE_SCATTER, NEIGHBOR_ALLGATHER, NEIGHBOR_ALLTOALL, KINDS
};
enum form { NOW, STARTED, PLANNED };

struct operation {
    unsigned id;
    enum kind kind;
    enum form form;
    int which, count, root, in_place, holes, combines, rank, size, remote;
    unsigned *from, *into;
    int lengths[RANKS], places[RANKS], bytes[RANKS];
    MPI_Datatype types[RANKS];
    MPI_Request request;
};

static struct operation under_way[MOST];
static int number;
static unsigned next_id;
static char described[200];

static int step_of(const struct operation *o)
{
    return o->holes ? 2 : 1;
}

/* Element `i` of a combination of ranks `first`..`last` - 1. */
static unsigned combined(const struct operation *o, int first, int last, int i)
{
    unsigned sum = given(o->id, first, i);
    for (int rank = first + 1; rank < last; ++rank)
        sum = o->combines ? compose(sum, given(o->id, rank, i)) : sum + given(o->id, rank, i);
    return sum;
}

static int has_root(enum kind kind)
{
    return kind == BCAST || kind == REDUCE || (kind >= GATHER && kind <= SCATTERV);
}

/* How many elements of its own a rank gives, and how many it gets. */
static void room(const struct operation *o, int *gives, int *gets)
{
    int all = o->count * (o->which == BRIDGE ? o->remote : o->size);
    *gives = *gets = o->count;
    switch (o->kind) {
    case GATHER: case GATHERV: case ALLGATHER: case ALLGATHERV: *gets = all; break;
    case SCATTER: case SCATTERV: *gives = all; break;
    case ALLTOALL: case ALLTOALLV: case ALLTOALLW: *gives = *gets = all; break;
    case REDUCE_SCATTER_BLOCK: case REDUCE_SCATTER: *gives = o->count * o->size; break;
    case NEIGHBOR_ALLGATHER: *gets = 2 * o->count; break;
    case NEIGHBOR_ALLTOALL: *gives = *gets = 2 * o->count; break;
    default: break;
    }
}

/* The root as a call between two groups names it; the root is in the group of the even ranks. */
static int named_root(const struct operation *o)
{
    if (o->which != BRIDGE)
        return o->root;
    return world_rank % 2 ? o->root : o->rank == o->root ? MPI_ROOT : MPI_PROC_NULL;
}

static void call(struct operation *o)
{
    MPI_Comm comm = comms[o->which];
    MPI_Datatype type = o->holes ? sparse : MPI_UNSIGNED;
    MPI_Op op = o->combines ? composition : MPI_SUM;
    MPI_Request *request = &o->request;
    int n = o->count, root = named_root(o), *lengths = o->lengths, *places = o->places;
    int at_root = o->which == BRIDGE ? root == MPI_ROOT : o->rank == o->root;
    int gets_in_place = o->in_place && at_root;
    void *into = o->into;
    const void *from = o->in_place ? MPI_IN_PLACE : o->from;
    const void *give = gets_in_place ? MPI_IN_PLACE : (void *)o->from;
    void *take = gets_in_place ? MPI_IN_PLACE : into;
#define FORMS(Name, name, ...)                                                                   \
    switch (o->form) {                                                                           \
    case NOW: CHECK(MPI_##Name(__VA_ARGS__, comm) == MPI_SUCCESS); break;                        \
    case STARTED: CHECK(MPI_I##name(__VA_ARGS__, comm, request) == MPI_SUCCESS); break;          \
    case PLANNED:                                                                                \
        CHECK(MPI_##Name##_init(__VA_ARGS__, comm, MPI_INFO_NULL, request) == MPI_SUCCESS);      \
        CHECK(MPI_Start(request) == MPI_SUCCESS);                                                \
    }                                                                                            \
    break
    switch (o->kind) {
    case BARRIER:
        switch (o->form) {
        case NOW: MPI_Barrier(comm); break;
        case STARTED: MPI_Ibarrier(comm, request); break;
        case PLANNED: MPI_Barrier_init(comm, MPI_INFO_NULL, request), MPI_Start(request);
        }
        break;
    case BCAST: FORMS(Bcast, bcast, at_root ? o->from : into, n, type, root);
    case REDUCE: FORMS(Reduce, reduce, give, into, n, type, op, root);
    case ALLREDUCE: FORMS(Allreduce, allreduce, from, into, n, type, op);
    case SCAN: FORMS(Scan, scan, from, into, n, type, op);
    case EXSCAN: FORMS(Exscan, exscan, from, into, n, type, op);
    case GATHER: FORMS(Gather, gather, give, n, type, into, n, type, root);
    case GATHERV: FORMS(Gatherv, gatherv, give, n, type, into, lengths, places, type, root);
    case SCATTER: FORMS(Scatter, scatter, o->from, n, type, take, n, type, root);
    case SCATTERV: FORMS(Scatterv, scatterv, o->from, lengths, places, type, take, n, type, root);
    case ALLGATHER: FORMS(Allgather, allgather, from, n, type, into, n, type);
    case ALLGATHERV: FORMS(Allgatherv, allgatherv, from, n, type, into, lengths, places, type);
    case ALLTOALL: FORMS(Alltoall, alltoall, from, n, type, into, n, type);
    case ALLTOALLV: FORMS(Alltoallv, alltoallv, from, lengths, places, type, into, lengths, places, type);
    case ALLTOALLW: FORMS(Alltoallw, alltoallw, from, lengths, o->bytes, o->types, into, lengths, o->bytes, o->types);
    case REDUCE_SCATTER_BLOCK: FORMS(Reduce_scatter_block, reduce_scatter_block, from, into, n, type, op);
    case REDUCE_SCATTER: FORMS(Reduce_scatter, reduce_scatter, from, into, lengths, type, op);
    case NEIGHBOR_ALLGATHER: FORMS(Neighbor_allgather, neighbor_allgather, o->from, n, type, into, n, type);
    default: FORMS(Neighbor_alltoall, neighbor_alltoall, o->from, n, type, into, n, type);
    }
}

/* What element `i` of the result has to be; false if nothing is stored there. */
static int expected(const struct operation *o, int i, unsigned *value)
{
    int n = o->count, inter = o->which == BRIDGE, others = inter ? o->remote : o->size;
    int at_root = inter ? named_root(o) == MPI_ROOT : o->rank == o->root;
    int is_member = !inter || world_rank % 2;
    /* Between two groups what the other one gives: its ranks count from 100. */
    int base = inter ? (world_rank % 2 ? 0 : 100) : 0, me = o->rank + (inter && world_rank % 2 ? 100 : 0);
    switch (o->kind) {
    case BARRIER: return 0;
    case BCAST: *value = given(o->id, base + o->root, i); return is_member && !at_root;
    case REDUCE: *value = combined(o, base, base + others, i); return at_root;
    case ALLREDUCE: *value = combined(o, base, base + others, i); return 1;
    case SCAN: *value = combined(o, 0, o->rank + 1, i); return 1;
    case EXSCAN: *value = o->rank ? combined(o, 0, o->rank, i) : 0; return o->rank > 0;
    case GATHER: case GATHERV: *value = given(o->id, base + i / n, i % n); return at_root;
    case SCATTER: case SCATTERV: *value = given(o->id, base + o->root, n * o->rank + i); return is_member;
    case ALLGATHER: case ALLGATHERV: *value = given(o->id, base + i / n, i % n); return 1;
    case ALLTOALL: case ALLTOALLV: case ALLTOALLW: *value = given(o->id, base + i / n, n * (me % 100) + i % n); return 1;
    case REDUCE_SCATTER_BLOCK: case REDUCE_SCATTER: *value = combined(o, base, base + others, n * o->rank + i); return 1;
    default: {
        /* From the rank before and the rank after in a ring; what these sent to this one is their second and first part. */
        int before = i < n, from = (o->rank + (before ? o->size - 1 : 1)) % o->size;
        *value = given(o->id, from, i % n + (o->kind == NEIGHBOR_ALLTOALL && before ? n : 0));
        return 1;
    }
    }
}

static void prepare(struct operation *o)
{
    int gives, gets, step = step_of(o), me = o->rank + (o->which == BRIDGE && world_rank % 2 ? 100 : 0);
    room(o, &gives, &gets);
    int most = step * (gives > gets ? gives : gets) + 1;
    o->from = malloc(sizeof(unsigned) * (size_t)most);
    o->into = malloc(sizeof(unsigned) * (size_t)most);
    for (int i = 0; i < most; ++i)
        o->from[i] = o->into[i] = 0xdeadbeef;
    for (int i = 0; i < gives; ++i)
        o->from[step * i] = given(o->id, me, i);
    if (o->in_place) {
        /* What the rank gives lies where its result will. */
        int is_piece = o->kind == GATHER || o->kind == GATHERV || o->kind == ALLGATHER || o->kind == ALLGATHERV;
        int first = is_piece ? o->count * o->rank : 0;
        for (int i = 0; i < gives && o->kind != SCATTER && o->kind != SCATTERV; ++i)
            o->into[step * (first + i)] = o->from[step * i];
    }
    for (int rank = 0; rank < RANKS; ++rank) {
        o->lengths[rank] = o->count;
        o->places[rank] = o->count * rank;
        o->bytes[rank] = o->places[rank] * step * (int)sizeof(unsigned);
        o->types[rank] = o->holes ? sparse : MPI_UNSIGNED;
    }
}

static void verify(struct operation *o)
{
    int gives, gets, step = step_of(o), at_root = o->rank == o->root;
    room(o, &gives, &gets);
    int is_kept = o->in_place && at_root && (o->kind == SCATTER || o->kind == SCATTERV);
    for (int i = 0; i < gets && !is_kept; ++i) {
        unsigned value;
        if (expected(o, i, &value) && o->into[step * i] != value) {
            fprintf(stderr, "rank %d: %s; operation %u: kind %d form %d on %d count %d root %d in place %d holes %d combines %d: element %d is %#x, not %#x\n",
                    world_rank, described, o->id, o->kind, o->form, o->which, o->count, o->root, o->in_place, o->holes, o->combines, i,
                    o->into[step * i], value);
            MPI_Abort(MPI_COMM_WORLD, 97);
        }
        CHECK(!o->holes || o->into[2 * i + 1] == 0xdeadbeef);
    }
    free(o->from);
    free(o->into);
}

/* The operation is complete: its result is checked, and it makes room. */
static void end(int index)
{
    if (under_way[index].form == PLANNED)
        MPI_Request_free(&under_way[index].request);
    verify(&under_way[index]);
    under_way[index] = under_way[--number];
}

static void wait_for(int index)
{
    CHECK(MPI_Wait(&under_way[index].request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    end(index);
}

static void begin(void)
{
    struct operation o = {.id = next_id++};
    o.which = (int)dice(&common, COMMS);
    o.kind = (enum kind)dice(&common, KINDS);
    o.form = (enum form)dice(&common, 6) % 3;
    o.count = counts[dice(&common, COUNTS)];
    o.combines = (int)dice(&common, 2);
    o.holes = dice(&common, 3) == 0;
    o.combines |= o.holes; /* MPI_SUM has no derived types. */
    o.in_place = dice(&common, 4) == 0;
    unsigned root = dice(&common, 1 << 16);
    if (comms[o.which] == MPI_COMM_NULL)
        o.which = DUP;
    int is_neighbour = o.kind == NEIGHBOR_ALLGATHER || o.kind == NEIGHBOR_ALLTOALL;
    if (is_neighbour)
        o.which = GRID, o.in_place = 0;
    if (o.which == BRIDGE) {
        o.in_place = 0;
        /* Calls that two groups do not have, and those whose parts would have to add up. */
        if (o.kind == SCAN || o.kind == EXSCAN || o.kind == REDUCE_SCATTER || o.kind == REDUCE_SCATTER_BLOCK)
            o.kind = ALLREDUCE;
    }
    /* Ranks of halves and of two groups are as few as the smaller one has. */
    o.root = (int)(root % (unsigned)(o.which == SELF ? 1 : o.which == HALF || o.which == BRIDGE ? world_size / 2 + (world_size == 1) : world_size));
    MPI_Comm_rank(comms[o.which], &o.rank);
    MPI_Comm_size(comms[o.which], &o.size);
    if (o.which == BRIDGE)
        MPI_Comm_remote_size(comms[o.which], &o.remote);
    int at_root = o.rank == o.root;
    if (has_root(o.kind) && !at_root)
        o.in_place = 0;
    if (o.kind == BCAST)
        o.in_place = 0;
    if (o.kind == REDUCE_SCATTER && o.in_place)
        o.kind = REDUCE_SCATTER_BLOCK;
    prepare(&o);
    if (o.form == NOW) {
        call(&o);
        verify(&o);
        return;
    }
    if (number == MOST)
        wait_for((int)dice(&own, MOST));
    under_way[number] = o;
    call(&under_way[number++]);
}

static void pass_message(void)
{
    int next = (world_rank + 1) % world_size, before = (world_rank + world_size - 1) % world_size;
    int length = counts[dice(&common, COUNTS)];
    unsigned *out = malloc(sizeof(unsigned) * (size_t)(length + 1)), *in = malloc(sizeof(unsigned) * (size_t)(length + 1)), id = next_id++;
    for (int i = 0; i < length; ++i)
        out[i] = given(id, world_rank, i);
    MPI_Sendrecv(out, length, MPI_UNSIGNED, next, TAG, in, length, MPI_UNSIGNED, before, TAG, comms[DUP], MPI_STATUS_IGNORE);
    for (int i = 0; i < length; ++i)
        CHECK(in[i] == given(id, before, i));
    free(out);
    free(in);
}

/* The spare communicator is freed, also with operations under way, and made anew. */
static void renew(void)
{
    static MPI_Comm pending = MPI_COMM_NULL;
    static MPI_Request request = MPI_REQUEST_NULL;
    if (pending != MPI_COMM_NULL) {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        comms[SPARE] = pending;
        pending = MPI_COMM_NULL;
    } else if (comms[SPARE] != MPI_COMM_NULL) {
        MPI_Comm_free(&comms[SPARE]);
    } else {
        MPI_Comm_idup(comms[dice(&common, 2) ? BACKWARDS : DUP], &pending, &request);
    }
}

static void make(void)
{
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[DUP]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &comms[BACKWARDS]);
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, world_rank, &comms[HALF]);
    int ring = 1;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &world_size, &ring, 0, &comms[GRID]);
    MPI_Comm_dup(MPI_COMM_SELF, &comms[SELF]);
    comms[BRIDGE] = comms[SPARE] = MPI_COMM_NULL;
    if (world_size > 1)
        MPI_Intercomm_create(comms[HALF], 0, MPI_COMM_WORLD, 1 - world_rank % 2, TAG, &comms[BRIDGE]);
    MPI_Type_create_resized(MPI_UNSIGNED, 0, 2 * sizeof(unsigned), &sparse);
    MPI_Type_commit(&sparse);
    MPI_Op_create(compose_all, 0, &composition);
}

static void program(unsigned long seed)
{
    snprintf(described, sizeof described, "program %lu", seed);
    common = seed * 2 + 1;
    own = seed * 77 + (unsigned long)world_rank * 1001 + 5;
    for (int step = 0; step < STEPS; ++step) {
        switch (dice(&common, 16)) {
        case 0: pass_message(); break;
        case 1: renew(); break;
        default: begin();
        }
        int flag = 0;
        unsigned what = dice(&own, 6);
        if (number > 0 && what == 0)
            wait_for((int)dice(&own, (unsigned)number));
        if (number > 0 && what == 1) {
            int index = (int)dice(&own, (unsigned)number);
            MPI_Test(&under_way[index].request, &flag, MPI_STATUS_IGNORE);
            if (flag)
                end(index);
        }
    }
    while (number > 0)
        wait_for((int)dice(&own, (unsigned)number));
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    double seconds = argc > 1 ? atof(argv[1]) : 0, start = MPI_Wtime();
    unsigned long seed = argc > 2 ? strtoul(argv[2], NULL, 10) : 1, done = 0;
    make();
    for (int goes_on = 1; goes_on; ++seed) {
        program(seed);
        ++done;
        goes_on = argc > 1 ? MPI_Wtime() - start < seconds : done < ROUNDS;
        MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    if (argc > 1 && world_rank == 0)
        printf("%lu programs\n", done);
    return finish(world_rank);
}
