/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 3
 * ENV: RANKPOINT_RMA=
 * ENV: RANKPOINT_RMA=attach
 * ENV: RANKPOINT_RMA=message
 * A thousand windows of each kind at once, and many made and freed one after the other: memory and descriptors return. A thorough run
 * (RANKPOINT_TEST_SCOPE=thorough) makes 100,000 on two ranks with the paths that the library chooses. */
#include "check.h"
#include <dirent.h>

enum { MANY = 1000, CYCLES = 500, THOROUGH_CYCLES = 100000, WARM = 100, MOST_GROWTH = 2 << 20 };
enum { CREATE, ALLOCATE, SHARED, DYNAMIC, KINDS };

static MPI_Win wins[MANY];
static long words[MANY];
static long *bases[MANY];
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

/* Memory of the process alone, and what it uses of the memory that is shared with the other ranks. */
static void held(long *own, long *shared)
{
    long pages, resident, common;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file && fscanf(file, "%ld %ld %ld", &pages, &resident, &common) == 3);
    fclose(file);
    *own = (resident - common) * 4096;
    *shared = common * 4096;
}

/* A window of a long; the address of the own one. */
static long *make(int kind, long *word, MPI_Win *win)
{
    long *base = word;
    switch (kind) {
    case CREATE:
        CHECK(MPI_Win_create(word, sizeof *word, 1, MPI_INFO_NULL, MPI_COMM_WORLD, win) == MPI_SUCCESS);
        break;
    case ALLOCATE:
        CHECK(MPI_Win_allocate(sizeof *word, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, win) == MPI_SUCCESS);
        break;
    case SHARED:
        CHECK(MPI_Win_allocate_shared(sizeof *word, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, win) == MPI_SUCCESS);
        break;
    default:
        CHECK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, win) == MPI_SUCCESS);
        CHECK(MPI_Win_attach(*win, word, sizeof *word) == MPI_SUCCESS);
    }
    return base;
}

static void end(int kind, long *word, MPI_Win *win)
{
    if (kind == DYNAMIC)
        CHECK(MPI_Win_detach(*win, word) == MPI_SUCCESS);
    CHECK(MPI_Win_free(win) == MPI_SUCCESS);
}

static void at_once(int kind)
{
    MPI_Aint starts[size];
    for (int i = 0; i < MANY; ++i) {
        bases[i] = make(kind, &words[i], &wins[i]);
        *bases[i] = 0;
    }
    for (int i = 0; i < MANY; i += 9) {
        long one = 1 + i;
        MPI_Aint own = 0;
        if (kind == DYNAMIC)
            MPI_Get_address(&words[i], &own);
        MPI_Allgather(&own, 1, MPI_AINT, starts, 1, MPI_AINT, MPI_COMM_WORLD);
        MPI_Win_fence(0, wins[i]);
        for (int to = 0; to < size; ++to)
            MPI_Accumulate(&one, 1, MPI_LONG, to, starts[to], 1, MPI_LONG, MPI_SUM, wins[i]);
        MPI_Win_fence(0, wins[i]);
        CHECK(*bases[i] == size * one);
    }
    for (int i = MANY - 1; i >= 0; --i)
        end(kind, &words[i], &wins[i]);
}

static void one_after_the_other(int cycles)
{
    MPI_Win win;
    for (int i = 0; i < cycles; ++i) {
        make(i % KINDS, words, &win);
        end(i % KINDS, words, &win);
    }
}

static void everything(int cycles)
{
    for (int kind = 0; kind < KINDS; ++kind)
        at_once(kind);
    one_after_the_other(cycles);
}

int main(int argc, char **argv)
{
    const char *scope = getenv("RANKPOINT_TEST_SCOPE"), *path = getenv("RANKPOINT_RMA");
    long own, shared, own_after, shared_after;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int is_thorough = size == 2 && scope && strcmp(scope, "thorough") == 0 && !(path && *path);
    everything(WARM);
    int open = descriptors();
    held(&own, &shared);
    everything(is_thorough ? THOROUGH_CYCLES : CYCLES);
    CHECK(descriptors() == open);
    held(&own_after, &shared_after);
    CHECK(own_after - own < MOST_GROWTH);
    CHECK(shared_after - shared < MOST_GROWTH);
    return finish(rank);
}
