/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Conjugate gradients with the mass matrix of spectral elements, as in Nekbone: each iteration sums the points that elements share, by
 * one message to each neighbour, and needs two sums over all points. A sweep goes from many points a rank to few, where messages are
 * most of the time. docs/mini-apps.md describes options and what to read from the times.
 *
 *     mpicc -O2 mass_cg.c -lm -o mass_cg
 *     mpiexec -n 2 ./mass_cg --calls promises */
#include "shortest_path.h"
#include <math.h>

enum { MAX_EDGE = 16, DIRECTIONS = 27, MAX_ITERATIONS = 1000, MAX_SOLVES = 1000 };

/* A rank with which this one shares points: a box of them in its grid. */
struct neighbour {
    int rank, direction, first[3], count[3], points;
    double *outgoing, *incoming;
};

static int row_count = 9, elements_of_rows[MAX_ROWS] = {256, 128, 64, 32, 16, 8, 4, 2, 1}, edge = 4, budget_ms = 100, is_faulty;
static int has_grid, grid[3]; /* Elements along each axis, of all ranks. */
static int first_element[3], elements[3], points[3]; /* Of this rank. */
static int length, *place; /* Points of all its elements, shared ones more than once; where each lies in the rank's grid of points. */
static double *sums;       /* The values of that grid. */
static double *mass, *weight, *x, *r, *p, *w, *f;
static struct neighbour neighbours[DIRECTIONS];
static int neighbour_count, room, is_losing; /* Room is that of the longest message. */

static uint64_t hash(uint64_t value)
{
    value = (value ^ (value >> 31)) * 0x9e3779b97f4a7c15u;
    return value ^ (value >> 29);
}

/* The weights of Gauss-Lobatto quadrature: its points are the ends and the zeros of the derivative of a Legendre polynomial. */
static void weights(double *weight_of)
{
    int degree = edge - 1;
    for (int i = 0; i < edge; i++) {
        double at = cos(acos(-1) * i / degree), value = 1;
        for (int step = 0; step < 50; step++) {
            double before = 1;
            value = at;
            for (int k = 2; k <= degree; k++) {
                double next = ((2 * k - 1) * at * value - (k - 1) * before) / k;
                before = value;
                value = next;
            }
            at -= (at * value - before) / (edge * value);
        }
        weight_of[i] = 2 / (degree * edge * value * value);
    }
}

static double *value_at(const struct neighbour *it, int i)
{
    int along = it->first[0] + i % it->count[0], across = it->first[1] + i / it->count[0] % it->count[1];
    int up = it->first[2] + i / (it->count[0] * it->count[1]);
    return &sums[(up * points[1] + across) * points[0] + along];
}

/* Adds what the neighbours have at shared points. A receive with promises takes the next message of any sender, so the first number of
 * a message is the direction that it comes from. The sum over all ranks after each exchange keeps messages of the next one away. */
static void exchange(void)
{
    MPI_Request requests[2 * DIRECTIONS];
    const double *from[DIRECTIONS] = {NULL};
    int count = 0;
    for (struct neighbour *it = neighbours; it < neighbours + neighbour_count; it++)
        for (int i = 0; i < it->points; i++)
            it->outgoing[1 + i] = *value_at(it, i);
    double since = time_in_mpi_begins();
    if (calls == PROMISES) {
        for (int n = 0; n < neighbour_count; n++)
            MPIX_Irecv_all_opts(neighbours[n].incoming, room, MPI_DOUBLE, MPIX_COMM_1);
        for (int n = 0; n < neighbour_count; n++)
            MPIX_Isend_all_opts(neighbours[n].outgoing, 1 + neighbours[n].points, MPI_DOUBLE, neighbours[n].rank, MPIX_COMM_1);
        MPIX_Comm_waitall(MPIX_COMM_1);
    } else {
        for (int n = 0; n < neighbour_count; n++)
            MPI_Irecv(neighbours[n].incoming + 1, neighbours[n].points, MPI_DOUBLE, neighbours[n].rank, 0, MPI_COMM_WORLD,
                      &requests[count++]);
        for (int n = 0; n < neighbour_count; n++)
            MPI_Isend(neighbours[n].outgoing + 1, neighbours[n].points, MPI_DOUBLE, neighbours[n].rank, 0, MPI_COMM_WORLD,
                      &requests[count++]);
        MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    }
    time_in_mpi_ends(since);
    for (int n = 0; n < neighbour_count; n++)
        from[calls == PROMISES ? (int)neighbours[n].incoming[0] : neighbours[n].direction] = neighbours[n].incoming + 1;
    /* In one order, whichever message came first: the same rounding in each run. */
    for (int n = 0; n < neighbour_count - is_losing; n++)
        for (int i = 0; i < neighbours[n].points; i++)
            *value_at(&neighbours[n], i) += from[neighbours[n].direction][i];
}

/* Each point of each element gets the sum over all elements that share it. */
static void gather_scatter(double *values)
{
    memset(sums, 0, sizeof *sums * (size_t)points[0] * (size_t)points[1] * (size_t)points[2]);
    for (int i = 0; i < length; i++)
        sums[place[i]] += values[i];
    exchange();
    for (int i = 0; i < length; i++)
        values[i] = sums[place[i]];
}

static double dot(const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < length; i++)
        sum += weight[i] * a[i] * b[i];
    double since = time_in_mpi_begins();
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    time_in_mpi_ends(since);
    return sum;
}

/* Solves mass x = f; gives the number of iterations, or MAX_ITERATIONS if that was not enough. */
static int solve(void)
{
    size_t bytes = sizeof *x * (size_t)length;
    int iteration = 0;
    memset(x, 0, bytes);
    memcpy(r, f, bytes);
    memcpy(p, f, bytes);
    double residual = dot(r, r);
    const double goal = 1e-24 * residual;
    for (; residual > goal && iteration < MAX_ITERATIONS; iteration++) {
        for (int i = 0; i < length; i++)
            w[i] = mass[i] * p[i];
        gather_scatter(w);
        double alpha = residual / dot(p, w), before = residual;
        for (int i = 0; i < length; i++) {
            x[i] += alpha * p[i];
            r[i] -= alpha * w[i];
        }
        residual = dot(r, r);
        for (int i = 0; i < length; i++)
            p[i] = r[i] + residual / before * p[i];
    }
    return iteration;
}

/* The elements of this rank, and the neighbours in all directions. */
static void divide(int elements_of_rank)
{
    int box[3] = {0};
    if (!has_grid)
        MPI_Dims_create(elements_of_rank, 3, box);
    for (int axis = 0; axis < 3; axis++) {
        if (!has_grid)
            grid[axis] = box[axis] * dims[axis];
        first_element[axis] = (int)((int64_t)grid[axis] * coords[axis] / dims[axis]);
        elements[axis] = (int)((int64_t)grid[axis] * (coords[axis] + 1) / dims[axis]) - first_element[axis];
        points[axis] = elements[axis] * (edge - 1) + 1;
    }
    room = 1 + points[0] * points[1] + points[1] * points[2] + points[2] * points[0];
    neighbour_count = 0;
    for (int direction = 0; direction < DIRECTIONS; direction++) {
        const int by[3] = {direction % 3 - 1, direction / 3 % 3 - 1, direction / 9 - 1};
        struct neighbour *it = &neighbours[neighbour_count];
        int there[3], is_inside = direction != DIRECTIONS / 2;
        it->direction = direction;
        it->points = 1;
        for (int axis = 0; axis < 3; axis++) {
            there[axis] = coords[axis] + by[axis];
            is_inside = is_inside && there[axis] >= 0 && there[axis] < dims[axis];
            it->first[axis] = by[axis] > 0 ? points[axis] - 1 : 0;
            it->count[axis] = by[axis] ? 1 : points[axis];
            it->points *= it->count[axis];
        }
        if (!is_inside)
            continue;
        it->rank = (there[2] * dims[1] + there[1]) * dims[0] + there[0];
        it->outgoing = allocate((size_t)room, sizeof(double));
        it->incoming = allocate((size_t)room, sizeof(double));
        it->outgoing[0] = DIRECTIONS - 1 - direction;
        neighbour_count++;
    }
}

/* Number of a point of an element in the whole grid, and whether this element is the one that counts it. */
static int64_t global_point(int element, int point, int *counts)
{
    const int of_element[3] = {element % elements[0], element / elements[0] % elements[1], element / (elements[0] * elements[1])};
    const int within[3] = {point % edge, point / edge % edge, point / (edge * edge)};
    int64_t number = 0;
    *counts = 1;
    for (int axis = 2; axis >= 0; axis--) {
        int there = first_element[axis] + of_element[axis];
        *counts = *counts && (there == 0 || within[axis] > 0);
        number = number * (grid[axis] * (edge - 1) + 1) + there * (edge - 1) + within[axis];
    }
    return number;
}

/* The exact solution: numbers of three digits. */
static double solution(int64_t point)
{
    return ((double)(hash((uint64_t)point) % 2001) - 1000) / 1000;
}

/* Matrix, right side and weights, such that the solution is known. */
static void prepare(void)
{
    int cube = edge * edge * edge, counts;
    double of_edge[MAX_EDGE], **all[] = {&mass, &weight, &x, &r, &p, &w, &f};
    length = elements[0] * elements[1] * elements[2] * cube;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        *all[i] = allocate((size_t)length, sizeof(double));
    sums = allocate((size_t)points[0] * (size_t)points[1] * (size_t)points[2], sizeof *sums);
    place = allocate((size_t)length, sizeof *place);
    weights(of_edge);
    for (int i = 0; i < length; i++) {
        int element = i / cube, point = i % cube;
        int along = element % elements[0] * (edge - 1) + point % edge;
        int across = element / elements[0] % elements[1] * (edge - 1) + point / edge % edge;
        int up = element / (elements[0] * elements[1]) * (edge - 1) + point / (edge * edge);
        place[i] = (up * points[1] + across) * points[0] + along;
        /* Elements differ in size; the number of the first point names an element on any number of ranks. */
        double size = 1 + (double)(hash((uint64_t)global_point(element, 0, &counts) + 7) % 8) / 16;
        mass[i] = size * of_edge[point % edge] * of_edge[point / edge % edge] * of_edge[point / (edge * edge)];
        f[i] = mass[i] * solution(global_point(element, point, &counts));
        weight[i] = 1;
    }
    gather_scatter(f);
    MPI_Barrier(MPI_COMM_WORLD);
    gather_scatter(weight);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < length; i++)
        weight[i] = 1 / weight[i];
}

/* Compares x with the solution; gives the number of wrong points of all ranks, and the checksum of the rounded ones. */
static uint64_t check(uint64_t *checksum)
{
    uint64_t sum[2] = {0};
    int cube = edge * edge * edge, counts;
    for (int i = 0; i < length; i++) {
        int64_t point = global_point(i / cube, i % cube, &counts);
        sum[0] += !(fabs(x[i] - solution(point)) < 1e-6);
        if (counts)
            sum[1] += (2 * (uint64_t)point + 1) * (uint64_t)llround(1000 * x[i]);
    }
    MPI_Allreduce(MPI_IN_PLACE, sum, 2, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    *checksum = sum[1];
    return sum[0];
}

/* Measures a size; gives whether the solution is right. */
static int measure(struct row *row)
{
    static double times[MAX_SOLVES];
    is_losing = is_faulty && rank == ranks - 1;
    int iterations = solve();
    uint64_t wrong = check(&row->checksum);
    double since = MPI_Wtime();
    solve();
    int solves = (int)fmin(MAX_SOLVES, fmax(3, budget_ms * 1e-3 / (MPI_Wtime() - since)));
    MPI_Bcast(&solves, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; i < solves; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        since = MPI_Wtime();
        solve();
        times[i] = (MPI_Wtime() - since) / iterations;
    }
    row->seconds = median_of_slowest(times, solves);
    is_clocked = 1;
    in_mpi = 0;
    since = MPI_Wtime();
    for (int i = 0; i < solves; i++)
        solve();
    row->share = share_in_mpi(MPI_Wtime() - since);
    is_clocked = is_losing = 0;
    row->per_rank = (double)grid[0] * grid[1] * grid[2] * (edge - 1) * (edge - 1) * (edge - 1) / ranks;
    return wrong == 0 && iterations < MAX_ITERATIONS;
}

static int take_option(const char *name, const char *text)
{
    if (!strcmp(name, "--elements"))
        row_count = numbers_of(name, text, 1, elements_of_rows, MAX_ROWS);
    else if (!strcmp(name, "--grid"))
        has_grid = row_count = numbers_of(name, text, 1, grid, 3) == 3;
    else if (!strcmp(name, "--edge"))
        edge = number_of(name, text, 2);
    else if (!strcmp(name, "--budget-ms"))
        budget_ms = number_of(name, text, 0);
    else if (!strcmp(name, "--fault") && !strcmp(text, "lost-border"))
        is_faulty = 1;
    else
        return 0;
    return 1;
}

static void check_options(void)
{
    if (edge > MAX_EDGE)
        refuse("mass_cg: --edge %d: expected 2 to %d points", edge, MAX_EDGE);
    if (row_count == 0)
        refuse("mass_cg: --grid: expected three numbers of elements");
    double most = has_grid;
    for (int axis = 0; axis < 3; axis++) {
        if (has_grid && grid[axis] < dims[axis])
            refuse("mass_cg: --grid: %d elements cannot be dealt to %d ranks along axis %d", grid[axis], dims[axis], axis);
        most *= grid[axis] / dims[axis] + 1;
    }
    for (int i = 0; i < row_count && !has_grid; i++)
        most = fmax(most, elements_of_rows[i]);
    if (most * edge * edge * edge > 1e9)
        refuse("mass_cg: %.0f elements of a rank, with %d points along an edge, are too many: expected 10^9 points at most", most, edge);
    if (is_faulty && ranks == 1)
        refuse("mass_cg: --fault lost-border: a single rank has no borders");
}

int main(int argc, char **argv)
{
    struct row rows[MAX_ROWS];
    int is_verified = 1;
    start_mpi(&argc, &argv);
    read_options("mass_cg", argv, take_option);
    check_options();
    if (calls == PROMISES)
        MPIX_Comm_dup_predefined(MPI_COMM_WORLD, MPIX_COMM_1);
    if (rank == 0 && !is_json)
        printf("mass_cg, calls %s, %d ranks, elements of %d x %d x %d points\n", calls_names[calls], ranks, edge, edge, edge);
    for (int i = 0; i < row_count; i++) {
        divide(elements_of_rows[i]);
        prepare();
        is_verified &= measure(&rows[i]);
        release_all();
    }
    print_rows("mass_cg", "points", "an iteration", rows, row_count, is_verified);
    if (calls == PROMISES) {
        MPI_Comm comm = MPIX_COMM_1;
        MPI_Comm_free(&comm);
    }
    MPI_Finalize();
    return !is_verified;
}
