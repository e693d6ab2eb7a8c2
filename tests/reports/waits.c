/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Four ranks that wait. "waits cycle": three for each other, for ever. "waits endpoints": all for endpoints of each other, for ever.
 * "waits chain": for the last one, which waits for the end of its standard input, and then everything goes on. "waits left_out" and
 * "waits not_started": in a nonblocking and in a persistent collective that the last one leaves out, for ever. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { UNWANTED = 99, WANTED = 5, LAST = 3 };

static void wait_in_a_cycle(MPI_Comm ring, int rank)
{
    int value = rank;
    if (rank == 1)
        MPI_Send(&value, 1, MPI_INT, 0, UNWANTED, ring);
    MPI_Recv(&value, 1, MPI_INT, (rank + 1) % LAST, WANTED + rank, ring, MPI_STATUS_IGNORE);
}

/* The second endpoint of each process waits for the first one of the next process, which has another VCI. */
static void wait_for_endpoints(int rank)
{
    int (*create)(MPI_Comm, int, MPI_Info, MPI_Comm *), value;
    MPI_Comm endpoints[2];
    *(void **)&create = dlsym(RTLD_DEFAULT, "MPIX_Comm_create_endpoints");
    create(MPI_COMM_WORLD, 2, MPI_INFO_NULL, endpoints);
    MPI_Recv(&value, 1, MPI_INT, (rank + 1) % 4 * 2, WANTED, endpoints[1], MPI_STATUS_IGNORE);
}

static void wait_in_a_chain(MPI_Comm ring, MPI_Comm copy, int rank)
{
    int value = rank;
    MPI_Request request;
    switch (rank) {
    case 0:
        MPI_Probe(1, WANTED, ring, MPI_STATUS_IGNORE);
        MPI_Recv(&value, 1, MPI_INT, 1, WANTED, ring, MPI_STATUS_IGNORE);
        break;
    case 1:
        MPI_Ssend(&value, 1, MPI_INT, 2, WANTED, ring);
        MPI_Send(&value, 1, MPI_INT, 0, WANTED, ring);
        break;
    case 2:
        MPI_Irecv(&value, 1, MPI_INT, LAST, WANTED, copy, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Recv(&value, 1, MPI_INT, 1, WANTED, ring, MPI_STATUS_IGNORE);
        break;
    default:
        while (getchar() != EOF)
            ;
        MPI_Send(&value, 1, MPI_INT, 2, WANTED, copy);
    }
}

/* Rank 1 tests, the others wait. */
static void complete(MPI_Request *request, int rank)
{
    int flag = 0;
    if (rank != 1)
        MPI_Wait(request, MPI_STATUS_IGNORE);
    while (rank == 1 && !flag)
        MPI_Test(request, &flag, MPI_STATUS_IGNORE);
}

static void leave_out(MPI_Comm copy, int rank, int is_persistent)
{
    int mine = rank, sum;
    MPI_Request request;
    if (is_persistent)
        MPI_Allreduce_init(&mine, &sum, 1, MPI_INT, MPI_SUM, copy, MPI_INFO_NULL, &request);
    for (int round = 0; round < 4; ++round) {
        if (rank == LAST && round == 3)
            break;
        if (is_persistent)
            MPI_Start(&request);
        else
            MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, copy, &request);
        complete(&request, rank);
    }
    MPI_Finalize();
}

int main(int count, char **words)
{
    int rank, level;
    MPI_Comm ring, copy;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank < LAST, rank, &ring);
    MPI_Comm_set_name(ring, "ring of three");
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    if (count > 1 && strcmp(words[1], "chain") == 0)
        wait_in_a_chain(ring, copy, rank);
    else if (count > 1 && strcmp(words[1], "endpoints") == 0)
        wait_for_endpoints(rank);
    else if (count > 1 && strcmp(words[1], "left_out") == 0)
        leave_out(copy, rank, 0);
    else if (count > 1 && strcmp(words[1], "not_started") == 0)
        leave_out(copy, rank, 1);
    else if (rank < LAST)
        wait_in_a_cycle(ring, rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        puts("PASS");
    return MPI_Finalize();
}
