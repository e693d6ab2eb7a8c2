/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Product of block-sparse matrices, C = A B, by MPI_Get and MPI_Accumulate: ranks take units of work from a counter, get the two tiles
 * that a unit multiplies, and add a tile of C to its owner's when they go on to another one. One thread in each rank;
 * examples/apps/bspmm.c has several.
 *
 *     mpicc examples/rma/bspmm.c -o bspmm
 *     mpiexec -n 4 ./bspmm [tiles of a row [band]] */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EDGE = 16, TILE = EDGE * EDGE };

typedef struct {
    int i, j, k;
} unit_t;

static int rank, size, tiles, band;
/* The number of each tile that is not zero, or -1; tiles are dealt to the ranks in their order. */
static int *number;

static int is_there(int i, int j)
{
    return abs(i - j) <= band;
}

static int owner(int i, int j)
{
    return number[i * tiles + j] % size;
}

/* Displacement of a tile in its owner's window, in numbers. */
static MPI_Aint place(int i, int j)
{
    return (MPI_Aint)(number[i * tiles + j] / size) * TILE;
}

/* Small integers, so that sums are exact in any order. */
static double value(int matrix, int i, int j, int at)
{
    return (matrix * 31 + i * 7 + j * 3 + at * 5) % 11 - 5;
}

static void multiply(const double *a, const double *b, double *c)
{
    for (int row = 0; row < EDGE; row++)
        for (int inner = 0; inner < EDGE; inner++)
            for (int column = 0; column < EDGE; column++)
                c[row * EDGE + column] += a[row * EDGE + inner] * b[inner * EDGE + column];
}

/* Numbers the tiles of a matrix for which `kept` holds; gives how many there are. */
static int deal(int (*kept)(int, int))
{
    int count = 0;
    for (int at = 0; at < tiles * tiles; at++)
        number[at] = kept(at / tiles, at % tiles) ? count++ : -1;
    return count;
}

static int is_in_product(int i, int j)
{
    return abs(i - j) <= 2 * band;
}

static double *make(int kept, MPI_Win *window)
{
    double *base;
    MPI_Aint bytes = (MPI_Aint)((kept + size - 1) / size) * TILE * (MPI_Aint)sizeof *base;
    MPI_Win_allocate(bytes, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base, window);
    memset(base, 0, (size_t)bytes);
    return base;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tiles = argc > 1 ? atoi(argv[1]) : 8;
    band = argc > 2 ? atoi(argv[2]) : 1;
    number = malloc(sizeof *number * (size_t)(tiles * tiles));

    /* A, B and the counter of units. */
    MPI_Win window[3], counter;
    double *memory[3];
    int kept = deal(is_there);
    for (int matrix = 0; matrix < 2; matrix++) {
        memory[matrix] = make(kept, &window[matrix]);
        for (int i = 0; i < tiles; i++)
            for (int j = 0; j < tiles; j++)
                if (is_there(i, j) && owner(i, j) == rank)
                    for (int at = 0; at < TILE; at++)
                        memory[matrix][place(i, j) + at] = value(matrix, i, j, at);
    }
    int *sources = malloc(sizeof *sources * (size_t)(tiles * tiles)), *results = NULL;
    memcpy(sources, number, sizeof *sources * (size_t)(tiles * tiles));
    results = malloc(sizeof *results * (size_t)(tiles * tiles));
    int products = deal(is_in_product);
    memcpy(results, number, sizeof *results * (size_t)(tiles * tiles));
    memory[2] = make(products, &window[2]);
    int64_t *next, one = 1, at = 0, taken = 0;
    MPI_Win_allocate(sizeof *next, sizeof *next, MPI_INFO_NULL, MPI_COMM_WORLD, &next, &counter);
    *next = 0;

    unit_t *units = malloc(sizeof *units * (size_t)(tiles * tiles * (2 * band + 1)));
    int64_t count = 0;
    for (int i = 0; i < tiles; i++)
        for (int j = 0; j < tiles; j++)
            for (int k = 0; k < tiles; k++)
                if (is_there(i, k) && is_there(k, j))
                    units[count++] = (unit_t){i, j, k};
    MPI_Barrier(MPI_COMM_WORLD);

    double a[TILE], b[TILE], c[TILE] = {0};
    unit_t last = {-1, -1, -1};
    for (int matrix = 0; matrix < 3; matrix++)
        MPI_Win_lock_all(0, window[matrix]);
    MPI_Win_lock_all(0, counter);
    for (;;) {
        MPI_Fetch_and_op(&one, &at, MPI_INT64_T, 0, 0, MPI_SUM, counter);
        MPI_Win_flush(0, counter);
        int is_end = at >= count;
        if (last.i >= 0 && (is_end || units[at].i != last.i || units[at].j != last.j)) {
            number = results;
            int to = owner(last.i, last.j);
            MPI_Accumulate(c, TILE, MPI_DOUBLE, to, place(last.i, last.j), TILE, MPI_DOUBLE, MPI_SUM, window[2]);
            MPI_Win_flush(to, window[2]);
            memset(c, 0, sizeof c);
        }
        if (is_end)
            break;
        last = units[at];
        number = sources;
        MPI_Get(a, TILE, MPI_DOUBLE, owner(last.i, last.k), place(last.i, last.k), TILE, MPI_DOUBLE, window[0]);
        MPI_Get(b, TILE, MPI_DOUBLE, owner(last.k, last.j), place(last.k, last.j), TILE, MPI_DOUBLE, window[1]);
        MPI_Win_flush_all(window[0]);
        MPI_Win_flush_all(window[1]);
        multiply(a, b, c);
        taken++;
    }
    MPI_Win_unlock_all(counter);
    for (int matrix = 0; matrix < 3; matrix++)
        MPI_Win_unlock_all(window[matrix]);
    MPI_Barrier(MPI_COMM_WORLD);

    int64_t wrong = 0, sums[2], mine[2];
    number = results;
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window[2]);
    for (int i = 0; i < tiles; i++)
        for (int j = 0; j < tiles; j++) {
            if (!is_in_product(i, j) || owner(i, j) != rank)
                continue;
            double expected[TILE] = {0};
            for (int k = 0; k < tiles; k++) {
                if (!is_there(i, k) || !is_there(k, j))
                    continue;
                for (int n = 0; n < TILE; n++) {
                    a[n] = value(0, i, k, n);
                    b[n] = value(1, k, j, n);
                }
                multiply(a, b, expected);
            }
            wrong += memcmp(expected, memory[2] + place(i, j), sizeof expected) != 0;
        }
    MPI_Win_unlock(rank, window[2]);
    mine[0] = wrong;
    mine[1] = taken;
    MPI_Allreduce(mine, sums, 2, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    int is_wrong = sums[0] != 0 || sums[1] != count;
    if (rank == 0)
        printf("bspmm: %d ranks, %d tiles of A and B, %lld units, %d tiles of C: %s\n", size, kept, (long long)count,
               products, is_wrong ? "wrong" : "verified");
    for (int matrix = 0; matrix < 3; matrix++)
        MPI_Win_free(&window[matrix]);
    MPI_Win_free(&counter);
    free(units);
    free(sources);
    free(results);
    MPI_Finalize();
    return is_wrong;
}
