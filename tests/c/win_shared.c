/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 3 4 7
 * Shared windows: loads and stores in the memory of others, contiguous and not, and which memory MPI_Win_shared_query shows. */
#include "check.h"

static int rank, size;

/* Every rank but each third has memory, each another length. */
static int length_of(int of) { return of % 3 == 2 ? 0 : of + 2; }

static int *segment_of(MPI_Win win, int of, int *length)
{
    MPI_Aint bytes;
    int unit, *base;
    CHECK(MPI_Win_shared_query(win, of, &bytes, &unit, &base) == MPI_SUCCESS && unit == sizeof(int));
    *length = (int)(bytes / (MPI_Aint)sizeof(int));
    return base;
}

static void loads_and_stores(const char *noncontiguous)
{
    MPI_Win win;
    MPI_Info info;
    int *mine, length, *before = NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "alloc_shared_noncontig", strcmp(noncontiguous, "some") ? noncontiguous : rank % 2 ? "true" : "false");
    MPI_Aint bytes = (MPI_Aint)sizeof(int) * length_of(rank);
    CHECK(MPI_Win_allocate_shared(bytes, sizeof(int), info, MPI_COMM_WORLD, &mine, &win) == MPI_SUCCESS);
    MPI_Info_free(&info);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < length_of(rank); ++i)
        mine[i] = 1000 * rank + i;
    MPI_Win_sync(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(win);
    for (int of = 0; of < size; ++of) {
        int *there = segment_of(win, of, &length);
        CHECK(length == length_of(of) && (of != rank || there == mine));
        for (int i = 0; i < length; ++i)
            CHECK(there[i] == 1000 * of + i);
        /* Without the hint at all ranks one segment starts where the one before ends. */
        if (strcmp(noncontiguous, "true") != 0) {
            CHECK(before == NULL || there == before);
            before = there + length;
        }
    }
    /* The first that has memory. */
    CHECK(segment_of(win, MPI_PROC_NULL, &length) == segment_of(win, 0, &length) && length == length_of(0));
    MPI_Barrier(MPI_COMM_WORLD);
    int next = (rank + 1) % size, *there = segment_of(win, next, &length);
    if (length > 0)
        there[length - 1] = rank;
    MPI_Win_sync(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(win);
    if (length_of(rank) > 0)
        CHECK(mine[length_of(rank) - 1] == (rank + size - 1) % size);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    MPI_Win win;
    int length;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    loads_and_stores("false");
    loads_and_stores("true");
    loads_and_stores("some");
    /* Windows of other kinds show memory that is shared, and their own. */
    static int own[4];
    MPI_Win_create(own, sizeof own, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    CHECK(segment_of(win, rank, &length) == own && length == 4);
    CHECK(segment_of(win, (rank + 1) % size, &length) == (size == 1 ? own : NULL) && length == (size == 1 ? 4 : 0));
    MPI_Win_free(&win);
    int *memory;
    MPI_Win_allocate(sizeof own, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    CHECK(segment_of(win, rank, &length) == memory && length == 4);
    CHECK(segment_of(win, (rank + 1) % size, &length) != NULL && length == 4);
    MPI_Win_free(&win);
    return finish(rank);
}
