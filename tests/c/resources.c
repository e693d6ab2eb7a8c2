/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 3 8
 * Splits by what ranks share: of ranks that may run anywhere, of bound ones, and until they are alone; and what a rank is told to have
 * to itself. Ranks bind themselves, so the test does the same wherever it is started. */
#define _GNU_SOURCE
#include "check.h"
#include <sched.h>

static int rank, size;
static cpu_set_t all;
static int processors[2], found; /* The first two of those that every rank may use, and how many these are. */

static void bind(int processor)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    CHECK(sched_setaffinity(0, sizeof set, &set) == 0);
}

/* What mpiexec bound the rank to is given up for all that the node has, as far as that is allowed. */
static void find_processors(void)
{
    cpu_set_t mine;
    unsigned char here[CPU_SETSIZE], everywhere[CPU_SETSIZE];
    CPU_ZERO(&all);
    for (int i = 0; i < CPU_SETSIZE; ++i)
        CPU_SET(i, &all);
    sched_setaffinity(0, sizeof all, &all);
    CHECK(sched_getaffinity(0, sizeof mine, &mine) == 0);
    for (int i = 0; i < CPU_SETSIZE; ++i)
        here[i] = CPU_ISSET(i, &mine) != 0;
    MPI_Allreduce(here, everywhere, CPU_SETSIZE, MPI_UNSIGNED_CHAR, MPI_MIN, MPI_COMM_WORLD);
    CPU_ZERO(&all);
    for (int i = 0; i < CPU_SETSIZE; ++i)
        if (everywhere[i]) {
            CPU_SET(i, &all);
            if (found < 2)
                processors[found] = i;
            ++found;
        }
    CHECK(found > 0);
    CHECK(sched_setaffinity(0, sizeof all, &all) == 0);
}

/* The members of a split, 0 if there is none, and the kind of resource that they share. */
static MPI_Comm split(MPI_Comm comm, int type, const char *name, int *members, char *kind)
{
    MPI_Comm part;
    MPI_Info info;
    int flag, length = 64;
    MPI_Info_create(&info);
    if (name)
        MPI_Info_set(info, "mpi_hw_resource_type", name);
    CHECK(MPI_Comm_split_type(comm, type, -rank, info, &part) == MPI_SUCCESS);
    *members = 0;
    if (part != MPI_COMM_NULL)
        MPI_Comm_size(part, members);
    MPI_Info_get_string(info, "mpi_hw_resource_type", &length, kind, &flag);
    /* Who gets a communicator without having named a kind is told it. */
    CHECK(flag == (name || (type == MPI_COMM_TYPE_HW_UNGUIDED && part != MPI_COMM_NULL)));
    MPI_Info_free(&info);
    return part;
}

static int guided(int type, const char *name)
{
    int members;
    char kind[64];
    MPI_Comm part = split(MPI_COMM_WORLD, type, name, &members, kind);
    if (part != MPI_COMM_NULL)
        MPI_Comm_free(&part);
    return members;
}

static void guided_splits(void)
{
    static const int types[] = {MPI_COMM_TYPE_HW_GUIDED, MPI_COMM_TYPE_RESOURCE_GUIDED};
    int here = rank % 2 ? size / 2 : size - size / 2; /* Ranks on this one's processor. */
    for (int i = 0; i < 2; ++i) {
        sched_setaffinity(0, sizeof all, &all);
        CHECK(guided(types[i], "mpi_shared_memory") == size);
        CHECK(guided(types[i], "hwloc://Machine") == size);
        CHECK(guided(types[i], "hwloc://PU") == (found > 1 ? 0 : size));
        CHECK(guided(types[i], "hwloc://Nothing") == 0);
        if (found < 2)
            continue;
        bind(processors[rank % 2]);
        CHECK(guided(types[i], "hwloc://PU") == here);
        CHECK(guided(types[i], "PU") == here);
        CHECK(guided(types[i], "mpi_shared_memory") == size);
        /* Rank 0 alone may run on both. */
        if (rank == 0)
            sched_setaffinity(0, sizeof all, &all);
        CHECK(guided(types[i], "hwloc://PU") == (rank == 0 ? 0 : rank % 2 ? here : here - 1));
    }
}

static void unguided_splits(void)
{
    int members, before = size;
    char kind[64], largest[64] = "";
    MPI_Comm part, comm;
    if (found < 2)
        return;
    bind(processors[rank % 2]);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (;;) {
        part = split(comm, MPI_COMM_TYPE_HW_UNGUIDED, NULL, &members, kind);
        if (part == MPI_COMM_NULL)
            break;
        CHECK(members < before);
        int same, sum;
        MPI_Comm guide = split(comm, MPI_COMM_TYPE_HW_GUIDED, kind, &same, kind);
        MPI_Comm_compare(part, guide, &same);
        CHECK(same == MPI_CONGRUENT);
        MPI_Comm_free(&guide);
        MPI_Allreduce(&(int){1}, &sum, 1, MPI_INT, MPI_SUM, part);
        CHECK(sum == members);
        if (!*largest)
            strcpy(largest, kind);
        before = members;
        MPI_Comm_free(&comm);
        comm = part;
    }
    MPI_Comm_size(comm, &members);
    /* Two processors, which differ in something: who is left is on one of them. */
    CHECK(members == (rank % 2 ? size / 2 : size - size / 2));
    CHECK(size < 2 || strncmp(largest, "hwloc://", 8) == 0);
    MPI_Comm_free(&comm);

    /* One processor for all: nothing divides them. */
    bind(processors[0]);
    part = split(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_UNGUIDED, NULL, &members, kind);
    CHECK(part == MPI_COMM_NULL);
    /* Nor does it where all may run anywhere. */
    sched_setaffinity(0, sizeof all, &all);
    part = split(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_UNGUIDED, NULL, &members, kind);
    CHECK(part == MPI_COMM_NULL);
    CHECK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_UNGUIDED, 0, MPI_INFO_NULL, &part) == MPI_SUCCESS);
    CHECK(part == MPI_COMM_NULL);
}

/* What the caller is told of a kind of resource: 1 or 0, -1 for nothing. */
static int told(const char *name)
{
    MPI_Info info;
    char value[16];
    int flag, length = sizeof value;
    CHECK(MPI_Get_hw_resource_info(&info) == MPI_SUCCESS);
    MPI_Info_get_string(info, name, &length, value, &flag);
    MPI_Info_free(&info);
    if (!flag)
        return -1;
    CHECK(strcmp(value, "true") == 0 || strcmp(value, "false") == 0);
    return strcmp(value, "true") == 0;
}

static void own_resources(void)
{
    CHECK(told("hwloc://Machine") == 1);
    CHECK(told("hwloc://PU") == (found == 1));
    CHECK(told("hwloc://Nothing") == -1);
    bind(processors[0]);
    CHECK(told("hwloc://PU") == 1);
    /* Who has one hardware thread has one of each larger thing that the node reports. */
    CHECK(told("hwloc://Core") != 0 && told("hwloc://L2Cache") != 0 && told("hwloc://Package") != 0);
    sched_setaffinity(0, sizeof all, &all);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    find_processors();
    guided_splits();
    unguided_splits();
    own_resources();
    return finish(rank);
}
