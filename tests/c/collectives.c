/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 3 4 5 7 8
 * Collectives, blocking and not, against what each rank can compute alone; a user operation that does not commute. */
#include "check.h"

static int rank, size;

static int value(int owner, int index) { return owner * 1000 + index; }

/* 2 x 2 matrices modulo a prime: associative, not commutative. */
static void multiply(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    long *a = in, *b = inout;
    for (int i = 0; i < *count; ++i, a += 4, b += 4) {
        long r[4] = {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]};
        for (int k = 0; k < 4; ++k)
            b[k] = r[k] % 1000003;
    }
}

static void matrix_of(int owner, long *m)
{
    m[0] = owner + 1, m[1] = 2 * owner + 3, m[2] = owner * owner + 1, m[3] = 5;
}

static void ordered_product(int first, int last, long *result)
{
    matrix_of(first, result);
    for (int owner = first + 1; owner <= last; ++owner) {
        long m[4], left[4];
        int one = 1;
        memcpy(left, result, sizeof left);
        matrix_of(owner, m);
        multiply(left, m, &one, NULL);
        memcpy(result, m, sizeof m);
    }
}

static void data_movement(int count)
{
    int *mine = malloc((count + 1) * sizeof(int)), *all = malloc(((size_t)count * size + 1) * sizeof(int)), *out = malloc(((size_t)count * size + 1) * sizeof(int));
    for (int root = 0; root < size; ++root) {
        for (int i = 0; i < count; ++i)
            mine[i] = rank == root ? value(root, i) : -1;
        MPI_Bcast(mine, count, MPI_INT, root, MPI_COMM_WORLD);
        for (int i = 0; i < count; ++i)
            CHECK(mine[i] == value(root, i));
        for (int i = 0; i < count; ++i)
            mine[i] = value(rank, i);
        memset(all, 0xff, (size_t)count * size * sizeof(int));
        MPI_Gather(mine, count, MPI_INT, all, count, MPI_INT, root, MPI_COMM_WORLD);
        if (rank == root)
            for (int i = 0; i < count * size; ++i)
                CHECK(all[i] == value(i / count, i % count));
        for (int i = 0; i < count; ++i)
            mine[i] = -1;
        if (rank == root)
            for (int i = 0; i < count * size; ++i)
                all[i] = value(i / count, i % count);
        MPI_Request request;
        MPI_Iscatter(all, count, MPI_INT, mine, count, MPI_INT, root, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int i = 0; i < count; ++i)
            CHECK(mine[i] == value(rank, i));
    }
    memset(all, 0xff, (size_t)count * size * sizeof(int));
    MPI_Allgather(mine, count, MPI_INT, all, count, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < count * size; ++i)
        CHECK(all[i] == value(i / count, i % count));
    for (int i = 0; i < count * size; ++i)
        out[i] = value(rank, i);
    memset(all, 0xff, (size_t)count * size * sizeof(int));
    MPI_Alltoall(out, count, MPI_INT, all, count, MPI_INT, MPI_COMM_WORLD);
    for (int from = 0; from < size; ++from)
        for (int i = 0; i < count; ++i)
            CHECK(all[from * count + i] == value(from, rank * count + i));
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, out, count, MPI_INT, MPI_COMM_WORLD);
    CHECK(count == 0 || memcmp(out, all, (size_t)count * size * sizeof(int)) == 0);
    free(mine);
    free(all);
    free(out);
}

static void varying_counts(void)
{
    int *counts = malloc(size * sizeof(int)), *starts = malloc(size * sizeof(int)), total = 0;
    for (int r = 0; r < size; ++r) {
        counts[r] = r + 1;
        starts[r] = total + r;
        total += counts[r];
    }
    int mine[64], *all = calloc(total + size, sizeof(int));
    for (int i = 0; i <= rank; ++i)
        mine[i] = value(rank, i);
    MPI_Allgatherv(mine, rank + 1, MPI_INT, all, counts, starts, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < size; ++r)
        for (int i = 0; i < counts[r]; ++i)
            CHECK(all[starts[r] + i] == value(r, i));
    memset(mine, 0, sizeof mine);
    MPI_Scatterv(all, counts, starts, MPI_INT, mine, rank + 1, MPI_INT, size - 1, MPI_COMM_WORLD);
    for (int i = 0; i <= rank; ++i)
        CHECK(mine[i] == value(rank, i));
    free(counts);
    free(starts);
    free(all);
}

static void reductions(int count)
{
    double *in = malloc((count + 1) * sizeof *in), *out = malloc((count + 1) * sizeof *out);
    for (int i = 0; i < count; ++i)
        in[i] = rank + i;
    MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < count; ++i)
        CHECK(out[i] == size * (size - 1) / 2.0 + (double)size * i);
    for (int root = 0; root < size; ++root) {
        memcpy(out, in, count * sizeof *in);
        MPI_Reduce(rank == root ? MPI_IN_PLACE : in, out, count, MPI_DOUBLE, MPI_MAX, root, MPI_COMM_WORLD);
        for (int i = 0; rank == root && i < count; ++i)
            CHECK(out[i] == size - 1 + i);
    }
    MPI_Scan(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < count; ++i)
        CHECK(out[i] == rank * (rank + 1) / 2.0 + (rank + 1.0) * i);
    free(in);
    free(out);
}

static void ordered(void)
{
    MPI_Op op;
    MPI_Datatype matrix;
    MPI_Type_contiguous(4, MPI_LONG, &matrix);
    MPI_Type_commit(&matrix);
    MPI_Op_create(multiply, 0, &op);
    long mine[4], result[4], expected[4];
    ordered_product(0, size - 1, expected);
    matrix_of(rank, mine);
    MPI_Allreduce(mine, result, 1, matrix, op, MPI_COMM_WORLD);
    CHECK(memcmp(result, expected, sizeof result) == 0);
    for (int root = 0; root < size; ++root) {
        memset(result, 0, sizeof result);
        MPI_Reduce(mine, result, 1, matrix, op, root, MPI_COMM_WORLD);
        CHECK(rank != root || memcmp(result, expected, sizeof result) == 0);
    }
    ordered_product(0, rank, expected);
    MPI_Scan(mine, result, 1, matrix, op, MPI_COMM_WORLD);
    CHECK(memcmp(result, expected, sizeof result) == 0);
    MPI_Exscan(mine, result, 1, matrix, op, MPI_COMM_WORLD);
    if (rank > 0) {
        ordered_product(0, rank - 1, expected);
        CHECK(memcmp(result, expected, sizeof result) == 0);
    }
    MPI_Op_free(&op);
    MPI_Type_free(&matrix);
}

static void several_at_once(void)
{
    enum { COUNT = 16 };
    int in[COUNT], out[COUNT];
    MPI_Request requests[COUNT + 1];
    MPI_Comm other;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &other);
    int reversed;
    MPI_Comm_rank(other, &reversed);
    CHECK(reversed == size - 1 - rank);
    for (int i = 0; i < COUNT; ++i) {
        in[i] = rank + i;
        MPI_Iallreduce(&in[i], &out[i], 1, MPI_INT, MPI_SUM, i % 2 ? other : MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Ibarrier(other, &requests[COUNT]);
    MPI_Waitall(COUNT + 1, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < COUNT; ++i)
        CHECK(out[i] == size * (size - 1) / 2 + size * i);
    MPI_Comm_free(&other);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    static const int counts[] = {0, 1, 3, 12, 13, 1000, 5000, 40000};
    for (int k = 0; k < 8; ++k) {
        data_movement(counts[k]);
        reductions(counts[k]);
    }
    varying_counts();
    ordered();
    several_at_once();
    return finish(rank);
}
