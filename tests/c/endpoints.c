/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 3
 * ENV: RANKPOINT_VCIS=0
 * ENV: RANKPOINT_CHECK=threads,hints
 * Threads as ranks: messages, wildcards, collectives and communicators made of endpoints; wrong numbers, groups of processes and endpoints. */
#define _GNU_SOURCE
#include "check.h"
#include <dlfcn.h>
#include <pthread.h>

#define MOST 5
#define LONGEST 200000

static int rank, size;

/* How many endpoints a process asks for: not all the same, and none at the last of three. */
static int count_of(int process)
{
    return process == 2 ? 0 : 2 + 3 * (process % 2);
}

static void exchange(MPI_Comm comm)
{
    static const int lengths[] = {0, 1, 48, 5000, LONGEST};
    int me, ranks;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &ranks);
    unsigned char *out = malloc(LONGEST), *in = malloc(LONGEST);
    for (int round = 0; round < 20; ++round) {
        int length = lengths[round % 5], right = (me + 1) % ranks, left = (me + ranks - 1) % ranks;
        MPI_Status status;
        memset(out, me + round, (size_t)length);
        memset(in, 255, (size_t)length);
        MPI_Sendrecv(out, length, MPI_BYTE, right, round, in, length, MPI_BYTE, round % 2 ? MPI_ANY_SOURCE : left, round,
                     comm, &status);
        CHECK(status.MPI_SOURCE == left && status.MPI_TAG == round);
        for (int index = 0; index < length; ++index)
            CHECK(in[index] == (unsigned char)(left + round));
    }
    free(out);
    free(in);
}

static void *run(void *argument)
{
    MPI_Comm comm = *(MPI_Comm *)argument, copy, part;
    int me, ranks, sum, expected = 0;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &ranks);
    exchange(comm);
    for (int index = 0; index < ranks; ++index)
        expected += index;
    for (int round = 0; round < 50; ++round) {
        MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, comm);
        CHECK(sum == expected);
        int root = round % ranks, word = me == root ? round : -1;
        MPI_Bcast(&word, 1, MPI_INT, root, comm);
        CHECK(word == round);
    }
    MPI_Comm_dup(comm, &copy);
    exchange(copy);
    MPI_Comm_split(copy, me % 2, -me, &part);
    exchange(part);
    MPI_Comm_free(&part);
    MPI_Comm_free(&copy);
    MPI_Comm_free((MPI_Comm *)argument);
    return NULL;
}

int main(int argc, char **argv)
{
    int (*create)(MPI_Comm, int, MPI_Info, MPI_Comm *), level;
    MPI_Comm comms[MOST];
    pthread_t threads[MOST];
    *(void **)&create = dlsym(RTLD_DEFAULT, "MPIX_Comm_create_endpoints");
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    CHECK(level == MPI_THREAD_MULTIPLE && create);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int round = 0; round < 3; ++round) {
        int count = count_of(rank);
        CHECK(create(MPI_COMM_WORLD, count, MPI_INFO_NULL, comms) == MPI_SUCCESS);
        for (int index = 0; index < count; ++index)
            pthread_create(&threads[index], NULL, run, &comms[index]);
        for (int index = 0; index < count; ++index)
            pthread_join(threads[index], NULL);
    }

    int class, wrong[] = {-1, 65};
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int index = 0; index < 2; ++index) {
        /* Rank 0 is right, and learns that another one is not. */
        int count = rank == 0 && size > 1 ? 1 : wrong[index];
        MPI_Error_class(create(MPI_COMM_WORLD, count, MPI_INFO_NULL, comms), &class);
        CHECK(class == MPI_ERR_ARG);
    }
    CHECK(create(MPI_COMM_WORLD, 1, MPI_INFO_NULL, NULL) != MPI_SUCCESS);
    CHECK(create(MPI_COMM_NULL, 1, MPI_INFO_NULL, comms) != MPI_SUCCESS);
    CHECK(create(MPI_COMM_WORLD, 1, MPI_INFO_NULL, comms) == MPI_SUCCESS);
    MPI_Comm_set_errhandler(comms[0], MPI_ERRORS_RETURN);
    MPI_Comm nested[1];
    MPI_Error_class(create(comms[0], 1, MPI_INFO_NULL, nested), &class);
    CHECK(class == MPI_ERR_COMM && nested[0] == MPI_COMM_NULL);
    /* Endpoints are no members of a communicator of processes, and the reverse. */
    MPI_Group processes, of_endpoints, both;
    MPI_Comm_group(MPI_COMM_WORLD, &processes);
    MPI_Comm_group(comms[0], &of_endpoints);
    MPI_Group_union(processes, of_endpoints, &both);
    const struct { MPI_Comm comm; MPI_Group group; } mixed[] = {{MPI_COMM_WORLD, of_endpoints}, {comms[0], processes}, {MPI_COMM_WORLD, both}};
    for (int index = 0; index < 3; ++index) {
        nested[0] = MPI_COMM_NULL;
        MPI_Error_class(MPI_Comm_create_group(mixed[index].comm, mixed[index].group, 0, &nested[0]), &class);
        CHECK(class == MPI_ERR_GROUP && nested[0] == MPI_COMM_NULL);
        MPI_Error_class(MPI_Comm_create(mixed[index].comm, mixed[index].group, &nested[0]), &class);
        CHECK(class == MPI_ERR_GROUP && nested[0] == MPI_COMM_NULL);
    }
    MPI_Group_free(&both);
    MPI_Group_free(&of_endpoints);
    MPI_Group_free(&processes);
    MPI_Comm_free(&comms[0]);
    return finish(rank);
}
