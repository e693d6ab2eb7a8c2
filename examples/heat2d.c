/* SPDX-License-Identifier: MIT OR Apache-2.0
 * The 2-D heat equation on a unit square: Jacobi iterations with halo exchange, until the residual is small.
 * The square is cut into blocks of a 2-D process grid; rows travel as they lie, columns as a vector type. The result does not
 * depend on the number of ranks, which the checksum of the field shows.
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 240, MAX_STEPS = 4000 };

static void grid_shape(int size, int *rows, int *columns)
{
    *rows = (int)sqrt((double)size);
    while (size % *rows != 0)
        --*rows;
    *columns = size / *rows;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size, rows, columns;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    grid_shape(size, &rows, &columns);
    int row = rank / columns, column = rank % columns;
    int first_y = N * row / rows, ny = N * (row + 1) / rows - first_y;
    int first_x = N * column / columns, nx = N * (column + 1) / columns - first_x;
    int up = row > 0 ? rank - columns : MPI_PROC_NULL, down = row + 1 < rows ? rank + columns : MPI_PROC_NULL;
    int left = column > 0 ? rank - 1 : MPI_PROC_NULL, right = column + 1 < columns ? rank + 1 : MPI_PROC_NULL;
    int pitch = nx + 2;

    double *now = calloc((size_t)pitch * (ny + 2), sizeof *now), *next = calloc((size_t)pitch * (ny + 2), sizeof *next);
    if (!now || !next)
        MPI_Abort(MPI_COMM_WORLD, 1);
    /* The upper edge of the square is hot, the others are cold. */
    if (up == MPI_PROC_NULL)
        for (int x = 0; x < pitch; ++x)
            now[x] = next[x] = 1.0;

    MPI_Datatype column_type;
    MPI_Type_vector(ny, 1, pitch, MPI_DOUBLE, &column_type);
    MPI_Type_commit(&column_type);

    double residual = 1.0;
    int step = 0;
    for (; step < MAX_STEPS && residual > 1e-4; ++step) {
        MPI_Request requests[8];
        MPI_Irecv(now + 1, nx, MPI_DOUBLE, up, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(now + (size_t)(ny + 1) * pitch + 1, nx, MPI_DOUBLE, down, 1, MPI_COMM_WORLD, &requests[1]);
        MPI_Irecv(now + pitch, 1, column_type, left, 2, MPI_COMM_WORLD, &requests[2]);
        MPI_Irecv(now + pitch + nx + 1, 1, column_type, right, 3, MPI_COMM_WORLD, &requests[3]);
        MPI_Isend(now + (size_t)ny * pitch + 1, nx, MPI_DOUBLE, down, 0, MPI_COMM_WORLD, &requests[4]);
        MPI_Isend(now + pitch + 1, nx, MPI_DOUBLE, up, 1, MPI_COMM_WORLD, &requests[5]);
        MPI_Isend(now + pitch + nx, 1, column_type, right, 2, MPI_COMM_WORLD, &requests[6]);
        MPI_Isend(now + pitch + 1, 1, column_type, left, 3, MPI_COMM_WORLD, &requests[7]);
        MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);

        double largest = 0.0;
        for (int y = 1; y <= ny; ++y)
            for (int x = 1; x <= nx; ++x) {
                size_t at = (size_t)y * pitch + x;
                next[at] = 0.25 * (now[at - 1] + now[at + 1] + now[at - pitch] + now[at + pitch]);
                largest = fmax(largest, fabs(next[at] - now[at]));
            }
        MPI_Allreduce(&largest, &residual, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        double *swap = now;
        now = next;
        next = swap;
    }

    /* A checksum over the bits of all points, weighted by position: equal only if every point is. */
    unsigned long long sum = 0, all = 0;
    for (int y = 1; y <= ny; ++y)
        for (int x = 1; x <= nx; ++x) {
            union {
                double value;
                unsigned long long bits;
            } point = {now[(size_t)y * pitch + x]};
            sum += point.bits * (2ULL * ((unsigned long long)(first_y + y) * N + first_x + x) + 1);
        }
    MPI_Reduce(&sum, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%d ranks, %d steps, residual %.6e\n", size, step, residual);
        printf("field checksum %016llx\n", all);
    }
    MPI_Type_free(&column_type);
    free(now);
    free(next);
    MPI_Finalize();
    return 0;
}
