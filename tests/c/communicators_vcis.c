/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 3
 * ENV: RANKPOINT_VCIS=64
 * Communicators with VCIs of their own take little memory until they are used, and endpoints are made in one call for all processes. */
#include "check.h"
#include <unistd.h>

enum { COMMS = 100, MOST_BYTES = 64 << 10, ENDPOINTS = 64 };

int MPIX_Comm_create_endpoints(MPI_Comm, int, MPI_Info, MPI_Comm *) __attribute__((weak));

/* Resident memory in bytes. */
static long resident(void)
{
    long size = 0, pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file && fscanf(file, "%ld %ld", &size, &pages) == 2);
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

int main(int argc, char **argv)
{
    int provided, rank, size, value = 0;
    MPI_Comm comms[COMMS], first;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    /* The first communicator takes memory that all share. */
    MPI_Comm_dup(MPI_COMM_WORLD, &first);
    MPI_Barrier(first);
    long before = resident();
    for (int i = 0; i < COMMS; ++i)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    long each = (resident() - before) / COMMS;
    if (rank == 0)
        fprintf(stderr, "a communicator takes %ld bytes until it is used\n", each);
    CHECK(each <= MOST_BYTES);
    for (int i = 0; i < COMMS; ++i) {
        MPI_Allreduce(&rank, &value, 1, MPI_INT, MPI_SUM, comms[i]);
        CHECK(value == size * (size - 1) / 2);
        MPI_Comm_free(&comms[i]);
    }
    MPI_Comm_free(&first);
    if (MPIX_Comm_create_endpoints) {
        static MPI_Comm endpoints[ENDPOINTS];
        double start = MPI_Wtime();
        CHECK(MPIX_Comm_create_endpoints(MPI_COMM_WORLD, ENDPOINTS, MPI_INFO_NULL, endpoints) == MPI_SUCCESS);
        double took = MPI_Wtime() - start;
        if (rank == 0)
            fprintf(stderr, "%d processes made %d endpoints each in %.2f ms\n", size, ENDPOINTS, took * 1e3);
        for (int i = 0; i < ENDPOINTS; ++i) {
            int number, all;
            MPI_Comm_rank(endpoints[i], &number);
            MPI_Comm_size(endpoints[i], &all);
            CHECK(number == rank * ENDPOINTS + i && all == size * ENDPOINTS);
        }
        for (int i = 0; i < ENDPOINTS; ++i)
            MPI_Comm_free(&endpoints[i]);
    }
    return finish(rank);
}
