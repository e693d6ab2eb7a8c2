/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 3
 * NEEDS: checked arguments
 * A rank without a free handle, or with a wrong info object, the first or the last: making a window fails at all ranks, and leaves
 * nothing of it under way. */
#include "check.h"
#include <stdint.h>

enum { MOST = 100000, ROUNDS = 3 };

static MPI_Win made[MOST];
static MPI_Comm world = MPI_COMM_WORLD;
static int rank, size;

static void is_told(int code, int full, int expected)
{
    int class, length;
    char text[MPI_MAX_ERROR_STRING], name[32];
    MPI_Error_class(code, &class);
    CHECK(class == expected);
    MPI_Error_string(code, text, &length);
    sprintf(name, "rank %d could not", full);
    CHECK(rank == full || strstr(text, name) != NULL);
}

/* All kinds of windows, with an info object that is right at all ranks or not. */
static void fails(int full, MPI_Info info, int expected)
{
    MPI_Win win = MPI_WIN_NULL;
    long *base = NULL, memory[4];
    is_told(MPI_Win_allocate(sizeof memory, 8, info, world, &base, &win), full, expected);
    is_told(MPI_Win_allocate_shared(sizeof memory, 8, info, world, &base, &win), full, expected);
    is_told(MPI_Win_create(memory, sizeof memory, 8, info, world, &win), full, expected);
    is_told(MPI_Win_create_dynamic(info, world, &win), full, expected);
    CHECK(win == MPI_WIN_NULL && base == NULL);
}

static void works(void)
{
    MPI_Win win;
    long one = 1, *sum;
    CHECK(MPI_Win_allocate(8, 8, MPI_INFO_NULL, world, &sum, &win) == MPI_SUCCESS);
    *sum = 0;
    MPI_Win_fence(0, win);
    MPI_Accumulate(&one, 1, MPI_LONG, size - 1, 0, 1, MPI_LONG, MPI_SUM, win);
    MPI_Win_fence(0, win);
    CHECK(*sum == (rank == size - 1 ? size : 0));
    CHECK(MPI_Win_free(&win) == MPI_SUCCESS);
}

static void with_full(int full)
{
    int count = 0, code = MPI_SUCCESS;
    if (rank == full) {
        while (count < MOST && code == MPI_SUCCESS) {
            code = MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_SELF, &made[count]);
            count += code == MPI_SUCCESS;
        }
        is_told(code, rank, MPI_ERR_NO_MEM);
        CHECK(count < MOST);
    }
    for (int round = 0; round < ROUNDS; ++round)
        fails(full, MPI_INFO_NULL, MPI_ERR_NO_MEM);
    MPI_Barrier(world);
    while (count > 0)
        CHECK(MPI_Win_free(&made[--count]) == MPI_SUCCESS);
    works();
}

int main(int argc, char **argv)
{
    MPI_Info info;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    with_full(0);
    if (size > 1)
        with_full(size - 1);
    MPI_Info_create(&info);
    if (rank == size - 1)
        MPI_Info_free(&info);
    fails(size - 1, rank == size - 1 ? (MPI_Info)(intptr_t)0x1234567 : info, rank == size - 1 ? MPI_ERR_INFO : MPI_ERR_OTHER);
    if (rank < size - 1)
        MPI_Info_free(&info);
    works();
    return finish(rank);
}
