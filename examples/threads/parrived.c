/* SPDX-License-Identifier: MIT OR Apache-2.0
 * A partitioned message whose first half is used before the other one has arrived (docs/partitioned.md). */
#include <mpi.h>
#include <omp.h>
#include <stdio.h>

enum { PARTITIONS = 6, COUNT = 1000, HALF = PARTITIONS * COUNT / 2 };
static double out[PARTITIONS * COUNT], in[PARTITIONS * COUNT];

int main(int argc, char **argv)
{
    int provided, rank, size;
    MPI_Request send, receive;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    MPI_Psend_init(out, PARTITIONS, COUNT, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &send);
    MPI_Precv_init(in, 2, HALF, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &receive);
    for (int step = 0; step < 10; ++step) {
        int arrived = 0;
        MPI_Start(&receive);
        MPI_Start(&send);
#pragma omp parallel for schedule(static, 1)
        for (int partition = 0; partition < PARTITIONS; ++partition) {
            for (int i = partition * COUNT; i < (partition + 1) * COUNT; ++i)
                out[i] = i + step;
            MPI_Pready(partition, send);
        }
        while (!arrived)
            MPI_Parrived(receive, 0, &arrived);
        if (in[HALF - 1] != HALF - 1 + step) /* The first half can be used, whether the other one is here or not. */
            MPI_Abort(MPI_COMM_WORLD, 1);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
        MPI_Wait(&receive, MPI_STATUS_IGNORE);
    }
    printf("rank %d: %d threads made %d partitions ready\n", rank, omp_get_max_threads(), PARTITIONS);
    MPI_Request_free(&send);
    MPI_Request_free(&receive);
    MPI_Finalize();
    return 0;
}
