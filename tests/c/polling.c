/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 2 3 8
 * A token goes round, and every rank waits for it by asking again and again: by MPI_Test, by MPI_Iprobe, and all at once by
 * MPI_Test of an MPI_Iallreduce. With an argument, that many laps, and what a lap takes. */
#include "check.h"

static int rank, size;

static int receive_testing(int from)
{
    MPI_Request request;
    int token = -1, is_complete = 0;
    MPI_Irecv(&token, 1, MPI_INT, from, 0, MPI_COMM_WORLD, &request);
    while (!is_complete)
        MPI_Test(&request, &is_complete, MPI_STATUS_IGNORE);
    return token;
}

static int receive_probing(int from)
{
    int token = -1, is_there = 0;
    while (!is_there)
        MPI_Iprobe(from, 0, MPI_COMM_WORLD, &is_there, MPI_STATUS_IGNORE);
    MPI_Recv(&token, 1, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return token;
}

/* Each rank adds one to the token. */
static void pass_round(int lap, int (*receive)(int))
{
    int token = lap, before = (rank + size - 1) % size, behind = (rank + 1) % size;
    if (rank == 0)
        MPI_Send(&token, 1, MPI_INT, behind, 0, MPI_COMM_WORLD);
    token = receive(before);
    CHECK(token == lap + before);
    ++token;
    if (rank != 0)
        MPI_Send(&token, 1, MPI_INT, behind, 0, MPI_COMM_WORLD);
}

static void by_test(int lap)
{
    pass_round(lap, receive_testing);
}

static void by_probe(int lap)
{
    pass_round(lap, receive_probing);
}

static void by_allreduce(int lap)
{
    MPI_Request request;
    int sum = 0, is_complete = 0;
    MPI_Iallreduce(&lap, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    while (!is_complete)
        MPI_Test(&request, &is_complete, MPI_STATUS_IGNORE);
    CHECK(sum == size * lap);
}

int main(int count, char **words)
{
    static const struct {
        const char *name;
        void (*lap)(int);
    } ways[] = {{"MPI_Test", by_test}, {"MPI_Iprobe", by_probe}, {"MPI_Iallreduce and MPI_Test", by_allreduce}};
    int laps = count > 1 ? atoi(words[1]) : 50;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (size_t way = 0; way < sizeof ways / sizeof *ways; ++way) {
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime();
        for (int lap = 0; lap < laps; ++lap)
            ways[way].lap(lap);
        double each = (MPI_Wtime() - start) / laps * 1e6;
        if (rank == 0 && count > 1)
            printf("%d ranks, %s: %.1f us a lap\n", size, ways[way].name, each);
    }
    return finish(rank);
}
