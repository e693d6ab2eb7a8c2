/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Communicators with topologies whose ranks may change: each process has the neighbours of the rank that it plays, and gets their data.
 *
 *     placement NODES WHAT
 *
 * NODES is the node of each rank of MPI_COMM_WORLD, a list that is repeated at its end. WHAT is `any`: graphs at random; `better`: the
 * same, and less than before crosses nodes; `best`: rings and halos, of which as little as possible crosses nodes; `wrong`: wrong
 * arguments. Rank 0 prints the weight of the edges between nodes before and after. Without layer, `any` and `wrong` pass, too. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 64
#define MOST_EDGES 512

static int world, nodes[MOST], wrong, handled, key;
static long long before, after;
static const char *doing = "";
static int is_better, is_best;

#define CHECK(condition)                                                                                                           \
    do {                                                                                                                           \
        if (!(condition)) {                                                                                                        \
            printf("rank %d line %d: %s: %s\n", world, __LINE__, doing, #condition);                                               \
            ++wrong;                                                                                                               \
        }                                                                                                                          \
    } while (0)

static unsigned long long state;

/* The same number on all ranks. */
static int below(int limit)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (unsigned)limit);
}

struct edge {
    int from, to, weight;
};

/* What the ranks of the communicator under test exchange. */
static struct edge edges[MOST_EDGES];
static int count, is_weighted;

static void add(int from, int to, int weight)
{
    edges[count++] = (struct edge){from, to, is_weighted ? weight : 1};
}

/* The weight between nodes, if these processes play the ranks. */
static long long crossing(const int *processes)
{
    long long sum = 0;
    for (int i = 0; i < count; ++i)
        if (nodes[processes[edges[i].from]] != nodes[processes[edges[i].to]])
            sum += edges[i].weight;
    return sum;
}

/* The least such weight of all divisions of `size` ranks between two nodes, of which one has `first` ranks. */
static long long least(int size, int first)
{
    long long best = -1;
    for (int chosen = 0; chosen < 1 << size; ++chosen) {
        long long sum = 0;
        if (__builtin_popcount((unsigned)chosen) != first)
            continue;
        for (int i = 0; i < count; ++i)
            if ((chosen >> edges[i].from & 1) != (chosen >> edges[i].to & 1))
                sum += edges[i].weight;
        if (best < 0 || sum < best)
            best = sum;
    }
    return best;
}

/* How many nodes these processes are on. */
static int number_of_nodes(const int *processes, int size)
{
    int number = 0;
    for (int i = 0; i < size; ++i) {
        int is_new = 1;
        for (int j = 0; j < i; ++j)
            is_new = is_new && nodes[processes[j]] != nodes[processes[i]];
        number += is_new;
    }
    return number;
}

/* The processes of the new communicator are `expected` of the old one; gives the processes by their ranks in it, and counts what crosses nodes. */
static void members(MPI_Comm old, MPI_Comm new, int expected, int *processes)
{
    int size, rank, mine[2] = {world, -1}, all[MOST][2], inside = 0, first = 0, was[MOST];
    MPI_Comm_size(old, &size);
    MPI_Comm_rank(old, &rank);
    if (new != MPI_COMM_NULL)
        MPI_Comm_rank(new, &mine[1]);
    MPI_Allgather(mine, 2, MPI_INT, all, 2, MPI_INT, old);
    for (int i = 0; i < size; ++i)
        processes[i] = -1;
    for (int i = 0; i < size; ++i) {
        was[i] = all[i][0];
        first += nodes[was[i]] == nodes[was[0]];
        if (all[i][1] < 0)
            continue;
        CHECK(all[i][1] < expected && processes[all[i][1]] == -1);
        processes[all[i][1]] = was[i];
        ++inside;
    }
    CHECK(inside == expected);
    int on = number_of_nodes(was, size);
    /* The layer does not look at graphs on one node, and on nodes of one process. */
    if (rank == 0 && on > 1 && on < size) {
        before += crossing(was);
        after += crossing(processes);
    }
    if (is_better)
        CHECK(crossing(processes) <= crossing(was));
    if (is_best && on == 2)
        CHECK(crossing(processes) == least(size, first));
}

/* What all new communicators have of the old one: its error handler, and no attributes. */
static void inherited(MPI_Comm new)
{
    int has, calls = handled;
    void *value;
    MPI_Comm_call_errhandler(new, MPI_ERR_OTHER);
    CHECK(handled == calls + 1);
    MPI_Comm_get_attr(new, key, &value, &has);
    CHECK(!has);
}

static int number(int rank, const int *processes)
{
    return 1000 * (rank + 1) + processes[rank];
}

static int order(const void *one, const void *other)
{
    const int *a = one, *b = other;
    return a[0] != b[0] ? a[0] - b[0] : a[1] - b[1];
}

/* The edges of a rank at one end, with the rank at the other. */
static int ends(int rank, int arriving, int (*found)[2])
{
    int number = 0;
    for (int i = 0; i < count; ++i)
        if ((arriving ? edges[i].to : edges[i].from) == rank) {
            found[number][0] = arriving ? edges[i].from : edges[i].to;
            found[number++][1] = edges[i].weight;
        }
    return number;
}

/* The neighbours of this process are those of its rank; in the order of the edges, if that is defined. */
static void neighbours(MPI_Comm new, const int *processes, int is_ordered)
{
    static int expected[2][MOST_EDGES][2], list[2][MOST_EDGES], weights[2][MOST_EDGES], got[MOST_EDGES];
    int rank, degrees[2], weighted;
    MPI_Comm_rank(new, &rank);
    MPI_Dist_graph_neighbors_count(new, &degrees[0], &degrees[1], &weighted);
    CHECK(degrees[0] == ends(rank, 1, expected[0]) && degrees[1] == ends(rank, 0, expected[1]) && !weighted == !is_weighted);
    MPI_Dist_graph_neighbors(new, degrees[0], list[0], is_weighted ? weights[0] : MPI_UNWEIGHTED, degrees[1], list[1],
                             is_weighted ? weights[1] : MPI_UNWEIGHTED);
    int mine = number(rank, processes);
    MPI_Neighbor_allgather(&mine, 1, MPI_INT, got, 1, MPI_INT, new);
    for (int i = 0; i < degrees[0]; ++i)
        CHECK(got[i] == number(list[0][i], processes));
    for (int end = 0; end < 2; ++end) {
        int found[MOST_EDGES][2];
        for (int i = 0; i < degrees[end]; ++i)
            found[i][0] = list[end][i], found[i][1] = is_weighted ? weights[end][i] : 1;
        if (!is_ordered) {
            qsort(found, (size_t)degrees[end], sizeof *found, order);
            qsort(expected[end], (size_t)degrees[end], sizeof *found, order);
        }
        CHECK(memcmp(found, expected[end], (size_t)degrees[end] * sizeof *found) == 0);
    }
}

static void adjacent(MPI_Comm old)
{
    int size, rank, found[2][MOST_EDGES][2], degrees[2], list[2][MOST_EDGES], weights[2][MOST_EDGES], processes[MOST];
    const int *given[2];
    MPI_Comm new;
    doing = "MPI_Dist_graph_create_adjacent";
    MPI_Comm_size(old, &size);
    MPI_Comm_rank(old, &rank);
    for (int end = 0; end < 2; ++end) {
        degrees[end] = ends(rank, !end, found[end]);
        for (int i = 0; i < degrees[end]; ++i)
            list[end][i] = found[end][i][0], weights[end][i] = found[end][i][1];
        given[end] = !is_weighted ? MPI_UNWEIGHTED : degrees[end] ? weights[end] : MPI_WEIGHTS_EMPTY;
    }
    MPI_Dist_graph_create_adjacent(old, degrees[0], list[0], given[0], degrees[1], list[1], given[1], MPI_INFO_NULL, 1, &new);
    members(old, new, size, processes);
    neighbours(new, processes, 1);
    inherited(new);
    MPI_Comm_free(&new);
}

/* Each process names some edges of any ranks. */
static void general(MPI_Comm old)
{
    int size, rank, given = 0, all = 0, sources[MOST_EDGES], degrees[MOST_EDGES], targets[MOST_EDGES], weights[MOST_EDGES], processes[MOST];
    MPI_Comm new;
    doing = "MPI_Dist_graph_create";
    MPI_Comm_size(old, &size);
    MPI_Comm_rank(old, &rank);
    for (int i = 0; i < count; ++i) {
        if (i * 7 / 3 % size != rank)
            continue;
        if (given == 0 || sources[given - 1] != edges[i].from)
            sources[given] = edges[i].from, degrees[given++] = 0;
        ++degrees[given - 1];
        targets[all] = edges[i].to, weights[all++] = edges[i].weight;
    }
    const int *passed = !is_weighted ? MPI_UNWEIGHTED : all ? weights : MPI_WEIGHTS_EMPTY;
    MPI_Dist_graph_create(old, given, sources, degrees, targets, passed, MPI_INFO_NULL, 1, &new);
    members(old, new, size, processes);
    neighbours(new, processes, 0);
    inherited(new);
    MPI_Comm_free(&new);
}

/* The first `size` ranks have edges, which must be symmetric and without weights. */
static void graph(MPI_Comm old, int size)
{
    int index[MOST], list[MOST_EDGES], all = 0, rank, processes[MOST], found[MOST_EDGES][2], got[MOST_EDGES], degree, status;
    MPI_Comm new;
    doing = "MPI_Graph_create";
    for (int from = 0; from < size; ++from) {
        int number = ends(from, 0, found);
        for (int i = 0; i < number; ++i)
            list[all++] = found[i][0];
        index[from] = all;
    }
    MPI_Graph_create(old, size, index, list, 1, &new);
    members(old, new, size, processes);
    if (new == MPI_COMM_NULL)
        return;
    MPI_Comm_rank(new, &rank);
    MPI_Topo_test(new, &status);
    MPI_Graph_neighbors_count(new, rank, &degree);
    CHECK(status == MPI_GRAPH && degree == ends(rank, 0, found));
    MPI_Graph_neighbors(new, rank, degree, list);
    int mine = number(rank, processes);
    MPI_Neighbor_allgather(&mine, 1, MPI_INT, got, 1, MPI_INT, new);
    for (int i = 0; i < degree; ++i)
        CHECK(list[i] == found[i][0] && got[i] == number(list[i], processes));
    inherited(new);
    MPI_Comm_free(&new);
}

/* The rank at some coordinates, or none beyond an end of the grid. */
static int place(int ndims, const int *dims, const int *periods, const int *coords)
{
    int rank = 0;
    for (int i = 0; i < ndims; ++i) {
        if (!periods[i] && (coords[i] < 0 || coords[i] >= dims[i]))
            return MPI_PROC_NULL;
        rank = rank * dims[i] + (coords[i] + dims[i]) % dims[i];
    }
    return rank;
}

static void coords_of(int ndims, const int *dims, int rank, int *coords)
{
    for (int i = ndims; i-- > 0; rank /= dims[i])
        coords[i] = rank % dims[i];
}

static void cart(MPI_Comm old, int ndims, const int *dims, const int *periods)
{
    int size = 1, rank, processes[MOST], status, coords[3], found[3][3];
    MPI_Comm new;
    doing = "MPI_Cart_create";
    count = is_weighted = 0;
    for (int i = 0; i < ndims; ++i)
        size *= dims[i];
    for (int from = 0; from < size; ++from)
        for (int i = 0; i < ndims; ++i) {
            coords_of(ndims, dims, from, coords);
            ++coords[i];
            int to = place(ndims, dims, periods, coords);
            if (to != MPI_PROC_NULL)
                add(from, to, 1);
        }
    MPI_Cart_create(old, ndims, dims, periods, 1, &new);
    members(old, new, size, processes);
    if (new == MPI_COMM_NULL)
        return;
    MPI_Comm_rank(new, &rank);
    MPI_Topo_test(new, &status);
    MPI_Cart_get(new, 3, found[0], found[1], found[2]);
    coords_of(ndims, dims, rank, coords);
    CHECK(status == MPI_CART);
    for (int i = 0; i < ndims; ++i) {
        CHECK(found[0][i] == dims[i] && !found[1][i] == !periods[i] && found[2][i] == coords[i]);
        int up, down, mine = number(rank, processes), got = -1;
        MPI_Cart_shift(new, i, 1, &down, &up);
        ++coords[i];
        CHECK(up == place(ndims, dims, periods, coords));
        coords[i] -= 2;
        CHECK(down == place(ndims, dims, periods, coords));
        ++coords[i];
        MPI_Sendrecv(&mine, 1, MPI_INT, up, i, &got, 1, MPI_INT, down, i, new, MPI_STATUS_IGNORE);
        CHECK(got == (down == MPI_PROC_NULL ? -1 : number(down, processes)));
    }
    inherited(new);
    MPI_Comm_free(&new);
}

static void random_graphs(MPI_Comm old)
{
    int size;
    MPI_Comm_size(old, &size);
    for (int round = 0; round < 12; ++round) {
        state = (unsigned long long)(1000 * size + round);
        is_weighted = round % 3 != 0;
        count = 0;
        for (int wanted = below(4 * size + 1); count < wanted;) {
            /* In some graphs, many ranks have no edges. */
            int from = below(round % 4 ? size : (size + 2) / 3);
            add(from, below(size), below(10));
        }
        adjacent(old);
        general(old);
        int inside = size - (size > 2 && round % 2);
        is_weighted = count = 0;
        for (int wanted = below(2 * size + 1); count < 2 * wanted;) {
            int from = below(inside), to = below(inside);
            add(from, to, 1);
            add(to, from, 1);
        }
        graph(old, inside);
        int dims[3], periods[3], left = size;
        for (int i = 0; i < 3; ++i) {
            dims[i] = 1 + below(left), periods[i] = below(2);
            left /= dims[i];
        }
        cart(old, 1 + round % 3, dims, periods);
    }
}

/* A ring of all ranks, and a halo of 2 x 2 x 2 whose dimensions have other weights. */
static void rings_and_halos(MPI_Comm old)
{
    int size, cube[3] = {2, 2, 2}, yes[3] = {1, 1, 1}, no[3] = {0, 0, 0};
    MPI_Comm_size(old, &size);
    cart(old, 1, &size, yes);
    count = is_weighted = 0;
    for (int i = 0; i < size; ++i) {
        add(i, (i + 1) % size, 1);
        add((i + 1) % size, i, 1);
    }
    graph(old, size);
    adjacent(old);
    general(old);
    if (size != 8)
        return;
    cart(old, 3, cube, no);
    cart(old, 3, cube, yes);
    for (int heavy = 0; heavy < 3; ++heavy) {
        count = 0, is_weighted = 1;
        for (int from = 0; from < 8; ++from)
            for (int bit = 0; bit < 3; ++bit)
                add(from, from ^ 1 << bit, bit == heavy ? 100 : bit == (heavy + 1) % 3 ? 10 : 1);
        adjacent(old);
        general(old);
    }
}

static int class_of(int code)
{
    int found;
    MPI_Error_class(code, &found);
    return found;
}

/* The library reports the same as for its own call. MPICH does not check all arguments. */
#define SAME(call, ...)                                                                                                            \
    do {                                                                                                                           \
        MPI_Comm new[2] = {MPI_COMM_NULL, MPI_COMM_NULL};                                                                          \
        doing = #call;                                                                                                             \
        int plain = class_of(P##call(__VA_ARGS__, 0, &new[0])), placed = class_of(call(__VA_ARGS__, 1, &new[1]));                  \
        CHECK(plain == placed && (is_mpich || placed != MPI_SUCCESS));                                                             \
        for (int made = 0; made < 2; ++made)                                                                                       \
            if (!placed && new[made] != MPI_COMM_NULL)                                                                             \
                MPI_Comm_free(&new[made]);                                                                                         \
    } while (0)

static void wrong_arguments(MPI_Comm old)
{
    int size, rank, one[2] = {1, 1}, none[2] = {0, 0}, length;
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    MPI_Comm_size(old, &size);
    MPI_Comm_rank(old, &rank);
    MPI_Get_library_version(version, &length);
    int is_mpich = strstr(version, "MPICH") != NULL;
    int large[2] = {size, 2}, huge[2] = {1 << 16, 1 << 16}, negative[1] = {-1}, falling[2] = {2, 1};
    SAME(MPI_Cart_create, old, 2, large, one);
    SAME(MPI_Cart_create, old, 2, huge, one);
    SAME(MPI_Cart_create, old, 1, negative, one);
    SAME(MPI_Cart_create, old, -1, one, one);
    SAME(MPI_Graph_create, old, size + 1, none, none);
    SAME(MPI_Graph_create, old, 1, one, &size);
    if (size > 1)
        SAME(MPI_Graph_create, old, 2, falling, none);
    /* MPICH ends the process here. */
    if (!is_mpich) {
        SAME(MPI_Dist_graph_create, old, 1, &size, one, none, one, MPI_INFO_NULL);
        SAME(MPI_Dist_graph_create, old, 1, none, one, &size, one, MPI_INFO_NULL);
        SAME(MPI_Dist_graph_create_adjacent, old, 1, &size, one, 0, none, one, MPI_INFO_NULL);
        SAME(MPI_Dist_graph_create_adjacent, old, 0, none, one, 1, negative, one, MPI_INFO_NULL);
    }
    SAME(MPI_Cart_create, MPI_COMM_NULL, 1, one, one);
    MPI_Comm half, between;
    MPI_Comm_split(old, rank % 2, rank, &half);
    if (size > 1) {
        MPI_Intercomm_create(half, 0, old, 1 - rank % 2, 0, &between);
        MPI_Comm_set_errhandler(between, MPI_ERRORS_RETURN);
        SAME(MPI_Cart_create, between, 1, one, one);
        SAME(MPI_Dist_graph_create, between, 0, none, none, none, one, MPI_INFO_NULL);
        MPI_Comm_free(&between);
    }
    MPI_Comm_free(&half);
}

static void handle(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    CHECK(*code == MPI_ERR_OTHER);
    ++handled;
}

int main(int argc, char **argv)
{
    int size;
    long long sums[2];
    MPI_Errhandler handler;
    MPI_Comm all, some;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc != 3 || size > MOST)
        MPI_Abort(MPI_COMM_WORLD, 2);
    const char *text = argv[1];
    for (int i = 0; i < size; ++i) {
        nodes[i] = atoi(text);
        text = strchr(text, ',');
        text = text ? text + 1 : argv[1];
    }
    is_best = strcmp(argv[2], "best") == 0;
    is_better = is_best || strcmp(argv[2], "better") == 0;

    MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_dup(MPI_COMM_WORLD, &all);
    /* Two communicators, in other orders. */
    MPI_Comm_split(MPI_COMM_WORLD, world % 4 == 1, -world, &some);
    for (int i = 0; i < 2; ++i) {
        MPI_Comm old = i ? some : all;
        MPI_Comm_set_attr(old, key, &world);
        MPI_Comm_set_errhandler(old, handler);
        if (strcmp(argv[2], "wrong") == 0) {
            MPI_Comm_set_errhandler(old, MPI_ERRORS_RETURN);
            MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
            MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
            wrong_arguments(old);
        } else if (is_best) {
            rings_and_halos(old);
        } else {
            random_graphs(old);
        }
    }
    long long mine[2] = {before, after};
    MPI_Reduce(mine, sums, 2, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (world == 0)
        printf("crossing %lld %lld\n", sums[0], sums[1]);
    MPI_Comm_free(&some);
    MPI_Comm_free(&all);
    if (!wrong)
        puts("PASS");
    MPI_Finalize();
    return wrong != 0;
}
