/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Collectives of random datatypes, each process with its own layout of the same data: what arrives, and what stays around it.
 *
 *     collectives SEED COUNT
 *
 * The same call by its profiling name with packed bytes everywhere says what has to arrive; there the library is asked alone.
 */
#include "../types/made.h"

#define MOST_RANKS 8
#define MOST_BLOCKS 8
#define MOST_COUNT 4
#define ELEMENTS (MOST_BLOCKS * (MOST_COUNT + 1))
#define MOST_BYTES (1 << 16)
#define MOST_SPAN (1 << 18)

static int rank, ranks, wrong;
static const char *doing;
static int doing_which, doing_index;

#define CHECK(condition)                                                                                              \
    do {                                                                                                              \
        if (!(condition)) {                                                                                           \
            printf("rank %d of %d line %d call %d index %d: %s: %s\n", rank, ranks, __LINE__, doing_which, doing_index, doing, \
                   #condition);                                                                                       \
            ++wrong;                                                                                                  \
        }                                                                                                             \
    } while (0)

enum { BCAST, GATHER, GATHERV, SCATTER, SCATTERV, ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV, ALLTOALLW,
       NEIGHBOR_ALLGATHER, NEIGHBOR_ALLGATHERV, NEIGHBOR_ALLTOALL, NEIGHBOR_ALLTOALLV, NEIGHBOR_ALLTOALLW, CALLS };

/* Numbers in the types of all calls. */
struct numbers {
    int narrow[MOST_BLOCKS];
    MPI_Count wide[MOST_BLOCKS];
    MPI_Aint address[MOST_BLOCKS];
};

static void put(struct numbers *numbers, int index, long long number)
{
    numbers->narrow[index] = (int)number, numbers->wide[index] = number, numbers->address[index] = (MPI_Aint)number;
}

/* The arguments of one side. */
struct arguments {
    void *base;
    struct numbers counts, places;
    MPI_Datatype types[MOST_BLOCKS];
};

/* One side: blocks of elements of a type, or of their packed bytes behind those. Byte i of the type map is at map[i]. */
struct side {
    MPI_Datatype type;
    int size, blocks, counts[MOST_BLOCKS], places[MOST_BLOCKS], are_packed[MOST_BLOCKS];
    MPI_Aint extent, low, span;
    int *map;
    unsigned char *memory;
};

static size_t bytes_of(const struct side *side)
{
    return (size_t)(side->span + ELEMENTS * side->size);
}

static unsigned char *at(const struct side *side, int block, int byte)
{
    int place = side->places[block] * side->size + byte;
    return side->memory + (side->are_packed[block] ? (int)side->span + place : side->map[place]);
}

/* Whether the elements of a type are apart and of a useful size. */
static int prepare(struct side *side, MPI_Datatype type)
{
    MPI_Aint lb, true_lb, true_extent;
    memset(side, 0, sizeof *side);
    side->type = type;
    MPI_Type_size(type, &side->size);
    MPI_Type_get_extent(type, &lb, &side->extent);
    MPI_Type_get_true_extent(type, &true_lb, &true_extent);
    side->low = true_lb, side->span = true_extent + side->extent * (ELEMENTS - 1);
    int bytes = side->size * ELEMENTS, apart = 1;
    if (side->size == 0 || side->extent < 0 || bytes > MOST_BYTES || side->span > MOST_SPAN)
        return 0;
    side->map = calloc((size_t)bytes, sizeof *side->map);
    side->memory = malloc(bytes_of(side));
    unsigned char *packed = malloc((size_t)bytes), *seen = calloc((size_t)side->span, 1);
    for (int shift = 0; shift < 24; shift += 8) {
        int position = 0;
        for (MPI_Aint i = 0; i < side->span; ++i)
            side->memory[i] = (unsigned char)(i >> shift);
        PMPI_Pack(side->memory - side->low, ELEMENTS, type, packed, bytes, &position, MPI_COMM_WORLD);
        for (int i = 0; i < bytes; ++i)
            side->map[i] |= packed[i] << shift;
    }
    for (int i = 0; i < bytes; ++i)
        apart &= seen[side->map[i]]++ == 0;
    memset(side->memory, 0x5a, bytes_of(side));
    free(packed);
    free(seen);
    return apart;
}

static void done(struct side *side)
{
    free(side->map);
    free(side->memory);
}

/* Places for blocks of these counts: one behind the other, or with gaps and in any order. */
static void lay_out(struct side *side, int blocks, const int *counts, int is_even, int is_mixed)
{
    int all_packed = below(3) == 0, backwards = !is_even && below(2), end = 0;
    side->blocks = blocks;
    for (int i = 0; i < blocks; ++i) {
        int block = backwards ? blocks - 1 - i : i;
        side->counts[block] = counts[block], side->places[block] = end;
        side->are_packed[block] = is_mixed ? (int)below(2) : all_packed;
        end += counts[block] + (is_even ? 0 : (int)below(2));
    }
}

/* What the tested call gets for a side. */
static void describe(const struct side *side, int is_mixed, struct arguments *it)
{
    int is_packed = side->blocks > 0 && side->are_packed[0];
    unsigned char *elements = side->memory - side->low, *packed = side->memory + side->span;
    it->base = is_packed && !is_mixed ? packed : elements;
    for (int i = 0; i < side->blocks; ++i) {
        int unit = side->are_packed[i] ? side->size : 1;
        long long place = (long long)side->places[i] * unit;
        if (is_mixed)
            place = side->are_packed[i] ? (packed - elements) + place : place * side->extent;
        put(&it->counts, i, (long long)side->counts[i] * unit);
        put(&it->places, i, place);
        it->types[i] = side->are_packed[i] ? MPI_PACKED : side->type;
    }
    if (side->blocks == 0)
        put(&it->counts, 0, 0), put(&it->places, 0, 0), it->types[0] = MPI_PACKED;
}

/* What the library gets for it alone: packed bytes, in the order of the blocks. */
static void describe_packed(const struct side *side, unsigned char *bytes, struct arguments *it)
{
    int end = 0;
    it->base = bytes, it->types[0] = MPI_PACKED;
    put(&it->counts, 0, 0);
    for (int i = 0; i < side->blocks; ++i) {
        put(&it->counts, i, side->counts[i] * side->size);
        put(&it->places, i, end);
        it->types[i] = MPI_PACKED;
        end += side->counts[i] * side->size;
    }
}

#define ONE(it, width) (it)->base, (it)->counts.width[0], (it)->types[0]
#define UNEVEN(it, width, place) (it)->base, (it)->counts.width, (it)->places.place, (it)->types[0]
#define MIXED(it, width, place) (it)->base, (it)->counts.width, (it)->places.place, (it)->types
#define COLLECTIVE(name, MPI, C, width, place)                                                                        \
    static int name(int which, const struct arguments *s, const struct arguments *r, int root, MPI_Comm comm)         \
    {                                                                                                                 \
        switch (which) {                                                                                              \
        case BCAST: return MPI##Bcast##C(ONE(r, width), root, comm);                                                  \
        case GATHER: return MPI##Gather##C(ONE(s, width), ONE(r, width), root, comm);                                 \
        case GATHERV: return MPI##Gatherv##C(ONE(s, width), UNEVEN(r, width, place), root, comm);                     \
        case SCATTER: return MPI##Scatter##C(ONE(s, width), ONE(r, width), root, comm);                               \
        case SCATTERV: return MPI##Scatterv##C(UNEVEN(s, width, place), ONE(r, width), root, comm);                   \
        case ALLGATHER: return MPI##Allgather##C(ONE(s, width), ONE(r, width), comm);                                 \
        case ALLGATHERV: return MPI##Allgatherv##C(ONE(s, width), UNEVEN(r, width, place), comm);                     \
        case ALLTOALL: return MPI##Alltoall##C(ONE(s, width), ONE(r, width), comm);                                   \
        case ALLTOALLV: return MPI##Alltoallv##C(UNEVEN(s, width, place), UNEVEN(r, width, place), comm);             \
        case ALLTOALLW: return MPI##Alltoallw##C(MIXED(s, width, place), MIXED(r, width, place), comm);               \
        case NEIGHBOR_ALLGATHER: return MPI##Neighbor_allgather##C(ONE(s, width), ONE(r, width), comm);               \
        case NEIGHBOR_ALLGATHERV: return MPI##Neighbor_allgatherv##C(ONE(s, width), UNEVEN(r, width, place), comm);   \
        case NEIGHBOR_ALLTOALL: return MPI##Neighbor_alltoall##C(ONE(s, width), ONE(r, width), comm);                 \
        case NEIGHBOR_ALLTOALLV:                                                                                      \
            return MPI##Neighbor_alltoallv##C(UNEVEN(s, width, place), UNEVEN(r, width, place), comm);                \
        default: return MPI##Neighbor_alltoallw##C(MIXED(s, width, address), MIXED(r, width, address), comm);         \
        }                                                                                                             \
    }
COLLECTIVE(tested, MPI_, , narrow, narrow)
COLLECTIVE(tested_large, MPI_, _c, wide, address)
COLLECTIVE(expected, PMPI_, , narrow, narrow)

/* A communicator, and the neighbours of this process there; they may be MPI_PROC_NULL. */
struct topology {
    MPI_Comm comm;
    int in, out, sources[MOST_BLOCKS], destinations[MOST_BLOCKS];
};

static void grid(struct topology *it, int dimensions, int first_period, int second_period)
{
    int dims[2] = {0, 0}, periods[2] = {first_period, second_period};
    MPI_Dims_create(ranks, dimensions, dims);
    MPI_Cart_create(MPI_COMM_WORLD, dimensions, dims, periods, 0, &it->comm);
    for (int i = 0; i < dimensions; ++i)
        MPI_Cart_shift(it->comm, i, 1, &it->sources[2 * i], &it->sources[2 * i + 1]);
    it->in = it->out = 2 * dimensions;
    memcpy(it->destinations, it->sources, sizeof it->sources);
}

static void graph(struct topology *it)
{
    it->in = it->out = 0;
    for (int from = 0; from < ranks; ++from)
        for (int to = 0; to < ranks; ++to)
            if (below(2)) {
                if (to == rank)
                    it->sources[it->in++] = from;
                if (from == rank)
                    it->destinations[it->out++] = to;
            }
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, it->in, it->sources, MPI_UNWEIGHTED, it->out, it->destinations, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &it->comm);
}

#define TOPOLOGIES 4
static struct topology topologies[TOPOLOGIES];

/* How many elements each rank sends to each, the same everywhere. */
static int pairs[MOST_RANKS][MOST_RANKS];

static int between_ranks(int from, int to)
{
    return from < 0 || to < 0 ? 1 : pairs[from][to];
}

/* The blocks of both sides: how many, and how long. */
static void plan(int which, int root, const struct topology *topology, struct side *send, struct side *receive)
{
    int counts[2][MOST_BLOCKS] = {{0}}, blocks[2] = {1, 1}, is_root = rank == root;
    int neighbors = which >= NEIGHBOR_ALLGATHER, kind = neighbors ? which - NEIGHBOR_ALLGATHER + ALLGATHER : which;
    int is_even = kind != GATHERV && kind != SCATTERV && kind != ALLGATHERV && kind < ALLTOALLV;
    int to_all = kind >= ALLTOALL, gathers = kind == GATHER || kind == GATHERV || kind >= ALLGATHER;
    int scatters = kind == SCATTER || kind == SCATTERV;
    if (to_all || scatters)
        blocks[0] = neighbors ? topology->out : ranks;
    if (gathers)
        blocks[1] = neighbors ? topology->in : ranks;
    if (!is_root && scatters)
        blocks[0] = 0;
    if ((!is_root && (kind == GATHER || kind == GATHERV)))
        blocks[1] = 0;
    if (kind == BCAST)
        blocks[0] = 0;
    for (int i = 0; i < MOST_BLOCKS; ++i) {
        int to = neighbors ? topology->destinations[i] : i, from = neighbors ? topology->sources[i] : i;
        /* What all get is of one length. */
        counts[0][i] = pairs[0][0], counts[1][i] = pairs[0][0];
        if (!is_even) {
            counts[0][i] = between_ranks(rank % MOST_RANKS, to_all || scatters ? to % MOST_RANKS : 0);
            counts[1][i] = between_ranks(from % MOST_RANKS, to_all ? rank : 0);
        }
    }
    if (kind == SCATTERV)
        counts[1][0] = pairs[root][rank];
    if (kind == ALLGATHERV || kind == GATHERV)
        counts[0][0] = pairs[rank][0];
    lay_out(send, blocks[0], counts[0], is_even, kind == ALLTOALLW);
    lay_out(receive, blocks[1], counts[1], is_even, kind == ALLTOALLW);
}

/* A call, and the same with packed bytes. */
static void collective(int which, int root, struct side *send, struct side *receive, const struct topology *topology, int in_place,
                       int is_large)
{
    struct arguments given[2], packed[2];
    unsigned char *sent = calloc(MOST_BYTES, 1), *arrived = malloc(MOST_BYTES);
    int is_mixed = which == ALLTOALLW || which == NEIGHBOR_ALLTOALLW, end = 0;
    MPI_Comm comm = which >= NEIGHBOR_ALLGATHER ? topology->comm : MPI_COMM_WORLD;
    memset(arrived, 0x5a, MOST_BYTES);
    describe(send, is_mixed, &given[0]);
    describe(receive, is_mixed, &given[1]);
    describe_packed(send, sent, &packed[0]);
    describe_packed(receive, arrived, &packed[1]);
    for (int block = 0; block < send->blocks; ++block)
        for (int i = 0; i < send->counts[block] * send->size; ++i)
            *at(send, block, i) = sent[end++] = (unsigned char)(below(256));
    if (which == BCAST && rank == root)
        for (int i = 0; i < receive->counts[0] * receive->size; ++i)
            *at(receive, 0, i) = arrived[i] = (unsigned char)(below(256));
    CHECK(expected(which, &packed[0], &packed[1], root, comm) == 0);
    /* In place a process has its own block there, or all that it sends. */
    int to_all = which >= ALLTOALL && which <= ALLTOALLW;
    if (in_place && (which == SCATTER || which == SCATTERV)) {
        if (rank == root)
            given[1].base = MPI_IN_PLACE, receive->blocks = 0;
    } else if (in_place && (to_all || which >= ALLGATHER || rank == root)) {
        for (int block = 0; block < send->blocks; ++block)
            for (int i = 0; i < send->counts[block] * send->size; ++i)
                *at(receive, to_all ? block : rank, i) = *at(send, block, i);
        given[0].base = MPI_IN_PLACE;
    }
    CHECK((is_large ? tested_large : tested)(which, &given[0], &given[1], root, comm) == 0);
    unsigned char *wanted = malloc(bytes_of(receive)), *memory = receive->memory;
    memset(wanted, 0x5a, bytes_of(receive));
    receive->memory = wanted, end = 0;
    for (int block = 0; block < receive->blocks; ++block)
        for (int i = 0; i < receive->counts[block] * receive->size; ++i)
            *at(receive, block, i) = arrived[end++];
    receive->memory = memory;
    CHECK(memcmp(wanted, memory, bytes_of(receive)) == 0);
    free(wanted);
    free(arrived);
    free(sent);
}

/* Chooses a call and its arguments: what is the same everywhere first, then the layout of each process. */
static int one(unsigned long long seed, int index)
{
    struct made *made = made_of(seed, index);
    /* Often a pair with padding, and a block whose extent is not its size. */
    if (index % 8 == 0) {
        release(made);
        made->is_named = 1, made->type = MPI_DOUBLE_INT;
        strcpy(made->text, "double_int");
    } else if (index % 8 == 1) {
        release(made);
        made->is_named = 0, MPI_Type_create_resized(MPI_INT, -4, 12, &made->type);
        strcpy(made->text, "resized(-4,12,int)");
    }
    MPI_Type_commit(&made->type);
    struct side send, receive;
    doing = made->text, doing_index = index, doing_which = index % CALLS;
    int is_useful = prepare(&send, made->type) & prepare(&receive, made->type);
    if (is_useful) {
        const struct topology *topology = &topologies[below(TOPOLOGIES)];
        int is_symmetric = doing_which < NEIGHBOR_ALLGATHER && below(2), root = (int)below((unsigned)ranks), is_large = below(3) == 0;
        for (int from = 0; from < MOST_RANKS; ++from)
            for (int to = 0; to < MOST_RANKS; ++to)
                pairs[from][to] = is_symmetric && to < from ? pairs[to][from] : between(0, MOST_COUNT);
        state += (unsigned long long)rank * 0x9e3779b97f4a7c15ULL;
        below(2);
        plan(doing_which, root, topology, &send, &receive);
        collective(doing_which, root, &send, &receive, topology, is_symmetric && doing_which != BCAST, is_large);
    }
    done(&send);
    done(&receive);
    release(made);
    free(made);
    return is_useful;
}

/* Between two groups calls pass, and wrong arguments are the library's to report. */
static void rest(void)
{
    double data[10];
    MPI_Datatype type;
    MPI_Comm half, both, own;
    doing = "the rest";
    MPI_Type_vector(5, 1, 2, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    if (ranks > 1) {
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
        MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 5, &both);
        for (int i = 0; i < 10; ++i)
            data[i] = rank % 2 ? -1 : i;
        int root = rank % 2 ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
        MPI_Bcast(data, 1, type, root, both);
        for (int i = 0; i < 10; ++i)
            CHECK(data[i] == (i % 2 && rank % 2 ? -1 : i));
        MPI_Comm_free(&both);
        MPI_Comm_free(&half);
    }
    MPI_Comm_dup(MPI_COMM_SELF, &own);
    MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
    int class, codes[4] = {MPI_Bcast(data, -1, type, 0, own), MPI_Bcast(data, 1, type, 1, own),
                           MPI_Gather(data, 1, type, data, 1, MPI_DATATYPE_NULL, 0, own),
                           MPI_Neighbor_allgather(data, 1, type, data, 1, type, own)};
    int classes[4] = {MPI_ERR_COUNT, MPI_ERR_ROOT, MPI_ERR_TYPE, MPI_ERR_TOPOLOGY};
    for (int i = 0; i < 4; ++i) {
        MPI_Error_class(codes[i], &class);
        CHECK(class == classes[i]);
    }
    MPI_Comm_free(&own);
    MPI_Type_free(&type);
}

/* The library reports a buffer that is none, at every process. */
static void no_buffer(void)
{
    MPI_Comm comm;
    MPI_Datatype type;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Type_vector(2, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    doing = "no buffer";
    CHECK(MPI_Bcast(NULL, 1, type, 0, comm) != MPI_SUCCESS);
    MPI_Type_free(&type);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    unsigned long long seed = argc > 2 ? strtoull(argv[1], 0, 10) : 1;
    int count = argc > 2 ? atoi(argv[2]) : 300, made = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    grid(&topologies[0], 1, 1, 0);
    grid(&topologies[1], 2, 0, 1);
    grid(&topologies[2], 2, 0, 0);
    state = seed;
    graph(&topologies[3]);
    for (int index = 0; index < count; ++index)
        made += one(seed, index);
    rest();
    no_buffer();
    for (int i = 0; i < TOPOLOGIES; ++i)
        MPI_Comm_free(&topologies[i].comm);
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (wrong == 0 && made >= count / 2)
        printf("PASS\n");
    MPI_Finalize();
    return wrong != 0;
}
