/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 3
 * ENV: RANKPOINT_RMA=
 * ENV: RANKPOINT_RMA=attach
 * ENV: RANKPOINT_RMA=message
 * A thousand windows at once, and many made and freed one after the other: memory and descriptors return. */
#include "check.h"
#include <dirent.h>

enum { MANY = 1000, CYCLES = 500, WARM = 100, MOST_GROWTH = 2 << 20 };

static MPI_Win wins[MANY];
static long words[MANY];
static int rank, size;

static int descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int count = 0;
    CHECK(folder != NULL);
    while (readdir(folder))
        ++count;
    closedir(folder);
    return count;
}

/* Memory of the process alone: that of the node is shared with the other ranks. */
static long held(void)
{
    long pages, resident, shared;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file && fscanf(file, "%ld %ld %ld", &pages, &resident, &shared) == 3);
    fclose(file);
    return (resident - shared) * 4096;
}

static void at_once(void)
{
    for (int i = 0; i < MANY; ++i) {
        words[i] = 0;
        CHECK(MPI_Win_create(&words[i], sizeof(long), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &wins[i]) == MPI_SUCCESS);
    }
    for (int i = 0; i < MANY; i += 9) {
        long one = 1 + i;
        MPI_Win_fence(0, wins[i]);
        for (int to = 0; to < size; ++to)
            MPI_Accumulate(&one, 1, MPI_LONG, to, 0, 1, MPI_LONG, MPI_SUM, wins[i]);
        MPI_Win_fence(0, wins[i]);
        CHECK(words[i] == size * one);
    }
    for (int i = MANY - 1; i >= 0; --i)
        CHECK(MPI_Win_free(&wins[i]) == MPI_SUCCESS);
}

static void one_after_the_other(int cycles)
{
    MPI_Win win;
    void *base;
    for (int i = 0; i < cycles; ++i) {
        if (i % 2)
            MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
        else
            MPI_Win_create(words, sizeof words, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        CHECK(MPI_Win_free(&win) == MPI_SUCCESS);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    at_once();
    one_after_the_other(WARM);
    int open = descriptors();
    long before = held();
    at_once();
    one_after_the_other(CYCLES);
    CHECK(descriptors() == open);
    CHECK(held() - before < MOST_GROWTH);
    return finish(rank);
}
