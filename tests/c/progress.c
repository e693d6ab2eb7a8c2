/* SPDX-License-Identifier: MIT OR Apache-2.0
 * The progress thread: a large message and reductions go on while a rank computes, which enters MPI again only when its peers
 * say, through memory that MPI does not know, that they are through.
 *
 * RANKS: 2 4
 * ENV: RANKPOINT_PROGRESS_THREAD=1
 */
#include "check.h"

#include <fcntl.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 20, LONGS = 1 << 19, LIMIT_S = 60 };

static atomic_int *through;

static void compute_until(int count)
{
    time_t start = time(NULL);
    while (atomic_load(through) < count)
        if (time(NULL) - start > LIMIT_S) {
            fprintf(stderr, "nothing happened for %d s\n", LIMIT_S);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
}

/* One page that all ranks map. */
static void share(int rank)
{
    char name[] = "/tmp/progress-XXXXXX";
    int file = rank == 0 ? mkstemp(name) : -1;
    MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank == 0)
        CHECK(ftruncate(file, 4096) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != 0)
        file = open(name, O_RDWR);
    through = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CHECK(through != MAP_FAILED);
    close(file);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        unlink(name);
}

int main(int argc, char **argv)
{
    int rank, size, level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    /* The thread asks for more inside; what the program gets is what it asked for. */
    CHECK(level == MPI_THREAD_FUNNELED);
    MPI_Query_thread(&level);
    CHECK(level == MPI_THREAD_FUNNELED);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    share(rank);
    long *out = malloc(LONGS * sizeof *out), *in = malloc(LONGS * sizeof *in);
    int passed = 0;
    for (int round = 0; round < ROUNDS; round++) {
        int busy = round % size, other = (busy + 1) % size;
        for (int i = 0; i < LONGS; i++)
            out[i] = rank + i + round;
        MPI_Request request = MPI_REQUEST_NULL;
        if (rank == busy) {
            MPI_Irecv(in, LONGS, MPI_LONG, other, 1, MPI_COMM_WORLD, &request);
            compute_until(++passed);
        } else {
            passed++;
            if (rank == other) {
                MPI_Ssend(out, LONGS, MPI_LONG, busy, 1, MPI_COMM_WORLD);
                atomic_fetch_add(through, 1);
            }
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (rank == busy)
            for (int i = 0; i < LONGS; i++)
                CHECK(in[i] == other + i + round);

        int count = round % 2 ? LONGS : 1000;
        MPI_Iallreduce(out, in, count, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, &request);
        passed += size - 1;
        if (rank == busy)
            compute_until(passed);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (rank != busy)
            atomic_fetch_add(through, 1);
        for (int i = 0; i < count; i++)
            CHECK(in[i] == (long)size * (i + round) + (long)size * (size - 1) / 2);
    }
    MPI_Finalize();
    if (rank == 0)
        printf("PASS\n");
    return 0;
}
