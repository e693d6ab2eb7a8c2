/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 3 4 7
 * ENV: RANKPOINT_RMA=
 * ENV: RANKPOINT_RMA=attach
 * ENV: RANKPOINT_RMA=message
 * Dynamic windows: memory of the program and of MPI_Alloc_mem, attached and detached while the window is in use. */
#include "check.h"
#include <stdint.h>

enum { COUNT = 16 };

static int rank, size;
static MPI_Win win;

/* Everybody's address of its memory. */
static MPI_Aint *addresses_of(const void *memory)
{
    MPI_Aint mine, *all = malloc(sizeof *all * (size_t)size);
    MPI_Get_address(memory, &mine);
    MPI_Allgather(&mine, 1, MPI_AINT, all, 1, MPI_AINT, MPI_COMM_WORLD);
    return all;
}

static void use(int *memory)
{
    MPI_Aint *all = addresses_of(memory);
    int next = (rank + 1) % size, before = (rank + size - 1) % size, values[COUNT], got[COUNT];
    for (int i = 0; i < COUNT; ++i) {
        values[i] = rank * 100 + i;
        memory[i] = -1;
    }
    MPI_Win_fence(0, win);
    CHECK(MPI_Put(values, COUNT, MPI_INT, next, all[next], COUNT, MPI_INT, win) == MPI_SUCCESS);
    MPI_Win_fence(0, win);
    for (int i = 0; i < COUNT; ++i)
        CHECK(memory[i] == before * 100 + i);
    MPI_Win_fence(0, win);
    /* One element, away from the start. */
    CHECK(MPI_Get(got, 1, MPI_INT, next, MPI_Aint_add(all[next], 3 * sizeof(int)), 1, MPI_INT, win) == MPI_SUCCESS);
    int one = 1;
    for (int to = 0; to < size; ++to)
        CHECK(MPI_Accumulate(&one, 1, MPI_INT, to, all[to], 1, MPI_INT, MPI_SUM, win) == MPI_SUCCESS);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    CHECK(got[0] == rank * 100 + 3 && memory[0] == before * 100 + size);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win);
    CHECK(MPI_Fetch_and_op(&one, got, MPI_INT, next, all[next], MPI_SUM, win) == MPI_SUCCESS);
    MPI_Win_unlock(next, win);
    CHECK(got[0] == rank * 100 + size);
    MPI_Barrier(MPI_COMM_WORLD);
    free(all);
}

int main(int argc, char **argv)
{
    int *own, *allocated, *more, value = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win) == MPI_SUCCESS);
    void *base;
    int flag;
    MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &flag);
    CHECK(flag && base == MPI_BOTTOM);
    own = malloc(COUNT * sizeof(int));
    MPI_Alloc_mem(COUNT * sizeof(int), MPI_INFO_NULL, &allocated);
    more = malloc(COUNT * sizeof(int));
    CHECK(MPI_Win_attach(win, own, COUNT * sizeof(int)) == MPI_SUCCESS);
    use(own);
    /* More memory, and the first one stays. */
    CHECK(MPI_Win_attach(win, allocated, COUNT * sizeof(int)) == MPI_SUCCESS);
    CHECK(MPI_Win_attach(win, more, COUNT * sizeof(int)) == MPI_SUCCESS);
    use(allocated);
    use(more);
    use(own);
    CHECK(MPI_Win_detach(win, own) == MPI_SUCCESS);
    use(allocated);
    /* Two regions that touch are used as one. */
    int *halves = malloc(COUNT * sizeof(int));
    MPI_Win_attach(win, halves + COUNT / 2, COUNT / 2 * sizeof(int));
    MPI_Win_attach(win, halves, COUNT / 2 * sizeof(int));
    use(halves);
    MPI_Win_detach(win, halves);
    MPI_Win_detach(win, halves + COUNT / 2);
    free(halves);
    /* What is attached no more, or twice. */
    MPI_Aint *all = addresses_of(own);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, (rank + 1) % size, 0, win);
    CHECK(MPI_Put(&value, 1, MPI_INT, (rank + 1) % size, all[(rank + 1) % size], 1, MPI_INT, win) == MPI_ERR_RMA_RANGE
          || MPI_Win_flush((rank + 1) % size, win) == MPI_ERR_RMA_RANGE);
    MPI_Win_unlock((rank + 1) % size, win);
    free(all);
    CHECK(MPI_Win_detach(win, own) == MPI_ERR_RMA_ATTACH);
    CHECK(MPI_Win_attach(win, more, sizeof(int)) == MPI_ERR_RMA_ATTACH);
    CHECK(MPI_Win_attach(win, own, -1) == MPI_ERR_SIZE);
    CHECK(MPI_Win_attach(win, NULL, 16) == MPI_ERR_BASE);
    CHECK(MPI_Win_shared_query(win, 0, &(MPI_Aint){0}, &value, &base) == MPI_ERR_RMA_FLAVOR);
    MPI_Win_set_errhandler(win, MPI_ERRORS_ARE_FATAL);
    /* The window takes what is attached with it. */
    CHECK(MPI_Win_free(&win) == MPI_SUCCESS);
    MPI_Win fixed;
    MPI_Win_create(own, sizeof(int), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &fixed);
    MPI_Win_set_errhandler(fixed, MPI_ERRORS_RETURN);
    CHECK(MPI_Win_attach(fixed, more, sizeof(int)) == MPI_ERR_RMA_FLAVOR);
    MPI_Win_free(&fixed);
    MPI_Free_mem(allocated);
    free(own);
    free(more);
    return finish(rank);
}
