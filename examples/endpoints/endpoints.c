/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Four threads of each process are ranks of one communicator, and add up their ranks. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

// Weak: other libraries do not have it. Without `rankpoint endpoints` its address is null there.
__attribute__((weak)) int MPIX_Comm_create_endpoints(MPI_Comm parent_comm, int my_num_ep, MPI_Info info, MPI_Comm ep_comm[]);

enum { THREADS = 4 };

static void *add_ranks(void *endpoint) {
    MPI_Comm comm = *(MPI_Comm *)endpoint;
    int rank, sum;
    MPI_Comm_rank(comm, &rank);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    printf("rank %d: the sum is %d\n", rank, sum);
    MPI_Comm_free(&comm);
    return NULL;
}

int main(int argc, char **argv) {
    MPI_Comm endpoints[THREADS];
    pthread_t threads[THREADS];
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (!MPIX_Comm_create_endpoints) {
        fprintf(stderr, "no endpoints: run this under rankpoint endpoints -n 2 -e 4 -- mpiexec\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPIX_Comm_create_endpoints(MPI_COMM_WORLD, THREADS, MPI_INFO_NULL, endpoints);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, add_ranks, &endpoints[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return MPI_Finalize();
}
