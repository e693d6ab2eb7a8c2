/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 3 4 7
 * ENV: RANKPOINT_RMA=
 * ENV: RANKPOINT_RMA=attach
 * ENV: RANKPOINT_RMA=message
 * Synchronisation of windows: fences, post-start-complete-wait, locks, flushes. */
#include "check.h"

static int rank, size;
static MPI_Win win;
static int *memory;

static int next_of(int of) { return (of + 1) % size; }
static int before(int of) { return (of + size - 1) % size; }

static void fences(void)
{
    MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
    for (int round = 0; round < 50; ++round) {
        int value = round * size + rank;
        MPI_Put(&value, 1, MPI_INT, next_of(rank), 0, 1, MPI_INT, win);
        MPI_Win_fence(0, win);
        CHECK(memory[0] == round * size + before(rank));
        MPI_Win_fence(MPI_MODE_NOSTORE, win);
    }
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
}

static void group_of(int member, MPI_Group *group)
{
    MPI_Group all;
    MPI_Win_get_group(win, &all);
    MPI_Group_incl(all, 1, &member, group);
    MPI_Group_free(&all);
}

/* Around the ring, by wait and by test. */
static void post_start(void)
{
    MPI_Group to, from;
    group_of(next_of(rank), &to);
    group_of(before(rank), &from);
    for (int round = 0; round < 50; ++round) {
        int value = round * size + rank, over = 0;
        CHECK(MPI_Win_post(from, 0, win) == MPI_SUCCESS);
        CHECK(MPI_Win_start(to, 0, win) == MPI_SUCCESS);
        CHECK(MPI_Put(&value, 1, MPI_INT, next_of(rank), 0, 1, MPI_INT, win) == MPI_SUCCESS);
        CHECK(MPI_Win_complete(win) == MPI_SUCCESS);
        if (round % 2)
            MPI_Win_wait(win);
        else
            while (!over)
                CHECK(MPI_Win_test(win, &over) == MPI_SUCCESS);
        CHECK(memory[0] == round * size + before(rank));
    }
    MPI_Group_free(&to);
    MPI_Group_free(&from);
    /* All to rank 0, which writes to nobody; the group of the others is empty. */
    MPI_Group all, others;
    int zero = 0;
    MPI_Win_get_group(win, &all);
    MPI_Group_excl(all, 1, &zero, &others);
    for (int round = 0; round < 20; ++round) {
        if (rank == 0) {
            MPI_Win_post(others, 0, win);
            MPI_Win_wait(win);
            for (int i = 1; i < size; ++i)
                CHECK(memory[i] == round + i);
        } else {
            int value = round + rank;
            group_of(0, &to);
            MPI_Win_start(to, 0, win);
            MPI_Put(&value, 1, MPI_INT, 0, rank, 1, MPI_INT, win);
            MPI_Win_complete(win);
            MPI_Group_free(&to);
        }
    }
    MPI_Group_free(&others);
    MPI_Group_free(&all);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A counter that every rank reads and writes under an exclusive lock. */
static void exclusive(int times)
{
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
    memory[0] = 0;
    MPI_Win_unlock(rank, win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < times; ++i)
        for (int target = 0; target < size; ++target) {
            int value;
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
            MPI_Get(&value, 1, MPI_INT, target, 0, 1, MPI_INT, win);
            CHECK(MPI_Win_flush(target, win) == MPI_SUCCESS);
            ++value;
            MPI_Put(&value, 1, MPI_INT, target, 0, 1, MPI_INT, win);
            CHECK(MPI_Win_unlock(target, win) == MPI_SUCCESS);
        }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    CHECK(memory[0] == times * size);
    MPI_Win_unlock(rank, win);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void shared(void)
{
    /* Locks of several targets at once. */
    for (int target = 0; target < size; ++target)
        MPI_Win_lock(MPI_LOCK_SHARED, target, rank % 2 ? 0 : MPI_MODE_NOCHECK, win);
    for (int target = 0; target < size; ++target)
        MPI_Put(&rank, 1, MPI_INT, target, rank, 1, MPI_INT, win);
    CHECK(MPI_Win_flush_local_all(win) == MPI_SUCCESS && MPI_Win_flush_all(win) == MPI_SUCCESS);
    for (int target = size - 1; target >= 0; --target)
        MPI_Win_unlock(target, win);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_Win_lock_all(0, win) == MPI_SUCCESS);
    int *all = malloc(sizeof(int) * (size_t)size);
    for (int target = 0; target < size; ++target) {
        MPI_Get(all, size, MPI_INT, target, 0, size, MPI_INT, win);
        CHECK(MPI_Win_flush_local(target, win) == MPI_SUCCESS);
        for (int i = 0; i < size; ++i)
            CHECK(all[i] == i);
    }
    free(all);
    MPI_Barrier(MPI_COMM_WORLD);
    /* A flag and its data: the order of flushed operations. */
    int value = 100 + rank, seen;
    MPI_Put(&value, 1, MPI_INT, next_of(rank), size, 1, MPI_INT, win);
    MPI_Win_flush(next_of(rank), win);
    MPI_Put(&value, 1, MPI_INT, next_of(rank), size + 1, 1, MPI_INT, win);
    MPI_Win_flush(next_of(rank), win);
    do {
        MPI_Win_sync(win);
        MPI_Get(&seen, 1, MPI_INT, rank, size + 1, 1, MPI_INT, win);
        MPI_Win_flush(rank, win);
    } while (seen != 100 + before(rank));
    MPI_Win_sync(win);
    CHECK(memory[size] == 100 + before(rank));
    CHECK(MPI_Win_unlock_all(win) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_Win_lock_all(MPI_MODE_NOCHECK, win) == MPI_SUCCESS);
    MPI_Put(&rank, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win);
    MPI_Put(&rank, 1, MPI_INT, rank, 0, 1, MPI_INT, win);
    MPI_Win_flush_all(win);
    CHECK(memory[0] == rank);
    MPI_Win_unlock_all(win);
}

/* Columns into rows. */
static void layouts(void)
{
    enum { N = 8 };
    MPI_Win grid;
    int *cells, mine[N * N];
    MPI_Datatype column;
    MPI_Win_allocate(sizeof mine, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &cells, &grid);
    MPI_Type_vector(N, 1, N, MPI_INT, &column);
    MPI_Type_commit(&column);
    for (int i = 0; i < N * N; ++i)
        mine[i] = rank * 1000 + i;
    MPI_Win_fence(0, grid);
    for (int i = 0; i < N; ++i)
        MPI_Put(mine + i, 1, column, next_of(rank), i * N, N, MPI_INT, grid);
    MPI_Win_fence(0, grid);
    for (int i = 0; i < N * N; ++i)
        CHECK(cells[i] == before(rank) * 1000 + i % N * N + i / N);
    memset(mine, 0, sizeof mine);
    MPI_Win_fence(0, grid);
    for (int i = 0; i < N; ++i)
        MPI_Get(mine + i * N, N, MPI_INT, next_of(rank), i, 1, column, grid);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, grid);
    for (int i = 0; i < N * N; ++i)
        CHECK(mine[i] == rank * 1000 + i);
    MPI_Type_free(&column);
    MPI_Win_free(&grid);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_allocate((MPI_Aint)sizeof(int) * (size + 2), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    fences();
    post_start();
    exclusive(50);
    shared();
    layouts();
    MPI_Win_free(&win);
    return finish(rank);
}
