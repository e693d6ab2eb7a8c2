/* SPDX-License-Identifier: MIT OR Apache-2.0
 * A cube of cells on each process of a periodic grid, with ghost cells around it: what halo_pack.c and halo_types.c have in common.
 * docs/interposers.md says how to run them. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { NEIGHBOURS = 26, MOST_PHASES = 3 };

/* In direction k a process sends the cells of `edge[k]` to `to[k]`; those of `ghost[k]` come from `from[k]`, which lies opposite. */
struct halo {
    MPI_Comm comm;
    int rank, ranks, cells, radius, iterations, dims[3], place[3];
    int to[NEIGHBOURS], from[NEIGHBOURS];
    MPI_Datatype edge[NEIGHBOURS], ghost[NEIGHBOURS];
    double *data, times[MOST_PHASES];
};

static size_t all_cells(const struct halo *halo)
{
    size_t side = (size_t)(halo->cells + 2 * halo->radius);
    return side * side * side;
}

static MPI_Datatype part(const struct halo *halo, const int *sizes, const int *starts)
{
    int side = halo->cells + 2 * halo->radius, sides[3] = {side, side, side};
    MPI_Datatype type;
    MPI_Type_create_subarray(3, sides, sizes, starts, MPI_ORDER_C, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    return type;
}

/* The neighbours and the datatypes of direction k. */
static void set_direction(struct halo *halo, int k)
{
    int number = k < NEIGHBOURS / 2 ? k : k + 1, direction[3] = {number / 9 - 1, number / 3 % 3 - 1, number % 3 - 1};
    int sizes[3], edge[3], ghost[3], there[3], back[3];
    for (int axis = 0; axis < 3; axis++) {
        int step = direction[axis], last = halo->cells, radius = halo->radius;
        sizes[axis] = step ? radius : halo->cells;
        edge[axis] = step > 0 ? last : radius;
        ghost[axis] = step > 0 ? 0 : step < 0 ? last + radius : radius;
        there[axis] = halo->place[axis] + step;
        back[axis] = halo->place[axis] - step;
    }
    MPI_Cart_rank(halo->comm, there, &halo->to[k]);
    MPI_Cart_rank(halo->comm, back, &halo->from[k]);
    halo->edge[k] = part(halo, sizes, edge);
    halo->ghost[k] = part(halo, sizes, ghost);
}

/* What the cell at an index holds: a number of its place in the whole grid. `is_ghost` says that it is a neighbour's. */
static double value(const struct halo *halo, size_t index, int *is_ghost)
{
    int side = halo->cells + 2 * halo->radius, at[3] = {(int)(index / side / side), (int)(index / side) % side, (int)index % side};
    double number = 0;
    *is_ghost = 0;
    for (int axis = 0; axis < 3; axis++) {
        int inside = at[axis] - halo->radius, whole = halo->dims[axis] * halo->cells;
        *is_ghost |= inside < 0 || inside >= halo->cells;
        number = number * whole + (halo->place[axis] * halo->cells + inside + whole) % whole;
    }
    return number;
}

/* Starts MPI. Arguments are cells along each edge of the cube, ghost cells on each side, and iterations. */
static void halo_begin(struct halo *halo, int argc, char **argv)
{
    int periods[3] = {1, 1, 1}, is_ghost;
    *halo = (struct halo){.cells = 64, .radius = 2, .iterations = 20};
    MPI_Init(&argc, &argv);
    if (argc > 1)
        halo->cells = atoi(argv[1]);
    if (argc > 2)
        halo->radius = atoi(argv[2]);
    if (argc > 3)
        halo->iterations = atoi(argv[3]);
    if (halo->radius < 1 || halo->cells < halo->radius || halo->iterations < 1) {
        MPI_Comm_rank(MPI_COMM_WORLD, &halo->rank);
        if (halo->rank == 0)
            fprintf(stderr, "usage: %s [CELLS [RADIUS [ITERATIONS]]], with at least RADIUS cells\n", argv[0]);
        MPI_Finalize();
        exit(2);
    }
    MPI_Comm_size(MPI_COMM_WORLD, &halo->ranks);
    MPI_Dims_create(halo->ranks, 3, halo->dims);
    MPI_Cart_create(MPI_COMM_WORLD, 3, halo->dims, periods, 1, &halo->comm);
    MPI_Comm_rank(halo->comm, &halo->rank);
    MPI_Cart_coords(halo->comm, halo->rank, 3, halo->place);
    for (int k = 0; k < NEIGHBOURS; k++)
        set_direction(halo, k);
    halo->data = malloc(all_cells(halo) * sizeof *halo->data);
    for (size_t i = 0; i < all_cells(halo); i++) {
        double number = value(halo, i, &is_ghost);
        halo->data[i] = is_ghost ? -1 : number;
    }
}

/* Calls a function that exchanges the halo, the first time without taking its times. */
static void halo_run(struct halo *halo, void (*exchange)(struct halo *))
{
    for (int i = 0; i <= halo->iterations; i++) {
        if (i == 1)
            halo->times[0] = halo->times[1] = halo->times[2] = 0;
        MPI_Barrier(halo->comm);
        exchange(halo);
    }
}

/* Compares all cells, prints the mean time of each phase at the slowest process, and ends MPI; gives the exit status. */
static int halo_end(struct halo *halo, const char *name, int phases, const char *const *phase_names)
{
    double slowest[MOST_PHASES];
    int wrong = 0, is_ghost;
    for (size_t i = 0; i < all_cells(halo); i++)
        wrong |= halo->data[i] != value(halo, i, &is_ghost);
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, halo->comm);
    MPI_Reduce(halo->times, slowest, MOST_PHASES, MPI_DOUBLE, MPI_MAX, 0, halo->comm);
    if (halo->rank == 0) {
        printf("%s, %d ranks, %d^3 cells, %d ghost cells:", name, halo->ranks, halo->cells, halo->radius);
        for (int i = 0; i < phases; i++)
            printf(" %s %.1f us,", phase_names[i], slowest[i] / halo->iterations * 1e6);
        printf(" %s\n", wrong ? "WRONG" : "verified");
    }
    for (int k = 0; k < NEIGHBOURS; k++) {
        MPI_Type_free(&halo->edge[k]);
        MPI_Type_free(&halo->ghost[k]);
    }
    free(halo->data);
    MPI_Comm_free(&halo->comm);
    MPI_Finalize();
    return wrong;
}
