/* SPDX-License-Identifier: MIT OR Apache-2.0
 * OpenMP threads that fill the parts of one message: each part travels when its thread has made it ready.
 *
 *     mpicc -fopenmp examples/threads/partitioned.c -o partitioned
 *     OMP_NUM_THREADS=4 mpiexec -n 2 ./partitioned */
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { PART = 1000, STEPS = 100 };

static double cell(int from, int step, int index)
{
    return from + 0.5 * step + index;
}

int main(int argc, char **argv)
{
    int provided, rank, size, wrong = 0, threads = omp_get_max_threads();
    char vcis[12];
    MPI_Info info;
    MPI_Request requests[2];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided != MPI_THREAD_MULTIPLE)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    double *out = malloc(threads * PART * sizeof *out), *in = malloc(threads * PART * sizeof *in);

    snprintf(vcis, sizeof vcis, "%d", threads > 64 ? 64 : threads);
    MPI_Info_create(&info);
    MPI_Info_set(info, "rankpoint_num_vcis", vcis);
    MPI_Precv_init(in, threads, PART, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPI_Psend_init(out, threads, PART, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, info, &requests[1]);
    MPI_Info_free(&info);
    for (int step = 0; step < STEPS; step++) {
        MPI_Startall(2, requests);

        #pragma omp parallel num_threads(threads)
        {
            int part = omp_get_thread_num();
            for (int i = part * PART; i < (part + 1) * PART; i++)
                out[i] = cell(rank, step, i);
            MPI_Pready(part, requests[1]);
        }

        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < threads * PART; i++)
            wrong += in[i] != cell(left, step, i);
    }

    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    free(out);
    free(in);
    printf("rank %d: %d threads, %d cells wrong\n", rank, threads, wrong);
    MPI_Finalize();
    return wrong != 0;
}
