/* SPDX-License-Identifier: MIT OR Apache-2.0
 * OpenMP threads on one communicator: tags name the sending and the receiving thread, and hints say so to the library.
 *
 *     mpicc -fopenmp examples/threads/hints.c -o hints
 *     OMP_NUM_THREADS=4 mpiexec -n 2 ./hints */
#include <mpi.h>
#include <omp.h>
#include <stdio.h>

enum { THREAD_BITS = 6, ROUNDS = 1000 };

static int rank, size;

/* Sends to the next thread of the right neighbour and receives from the thread before of the left one; gives how often that was wrong. */
static int exchange(MPI_Comm comm, int thread, int threads)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size, wrong = 0;
    int next = (thread + 1) % threads, before = (thread + threads - 1) % threads;
    int send_tag = thread << THREAD_BITS | next, receive_tag = before << THREAD_BITS | thread;
    for (int round = 0; round < ROUNDS; round++) {
        int out = rank * 1000 + thread + round, in;
        MPI_Sendrecv(&out, 1, MPI_INT, right, send_tag, &in, 1, MPI_INT, left, receive_tag, comm, MPI_STATUS_IGNORE);
        wrong += in != left * 1000 + before + round;
    }
    return wrong;
}

int main(int argc, char **argv)
{
    int provided, wrong = 0, threads = omp_get_max_threads();
    char vcis[16];
    MPI_Info info;
    MPI_Comm comm;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided != MPI_THREAD_MULTIPLE || threads > 1 << THREAD_BITS)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(vcis, sizeof vcis, "%d", threads);

    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
    MPI_Info_set(info, "rankpoint_num_vcis", vcis);
    MPI_Info_set(info, "rankpoint_num_tag_bits_for_vci", "6");
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
    MPI_Info_free(&info);

    #pragma omp parallel num_threads(threads) reduction(+ : wrong)
    {
        wrong += exchange(comm, omp_get_thread_num(), threads);
    }

    MPI_Comm_free(&comm);
    printf("rank %d: %d threads, %d messages wrong\n", rank, threads, wrong);
    MPI_Finalize();
    return wrong != 0;
}
