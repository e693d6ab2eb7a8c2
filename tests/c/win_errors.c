/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 4
 * ENV: RANKPOINT_RMA=
 * ENV: RANKPOINT_RMA=message
 * NEEDS: checked arguments
 * Wrong arguments and wrong epochs: classes, texts, and which handler gets the error. */
#include "check.h"
#include <stdint.h>

static int rank, size, of_win, of_comm;
static MPI_Win seen;

static void on_win(MPI_Win *win, int *code, ...)
{
    (void)code;
    seen = *win;
    ++of_win;
}

static void on_comm(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    ++of_comm;
}

/* The class of a call's result, and whether the error's text has this part. */
static int is(int result, int class, const char *part)
{
    char text[MPI_MAX_ERROR_STRING];
    int length, found;
    MPI_Error_class(result, &found);
    MPI_Error_string(result, text, &length);
    if (found == class && strstr(text, part))
        return 1;
    fprintf(stderr, "%d instead of %d: %s (wanted '%s')\n", found, class, text, part);
    return 0;
}

static void epochs(MPI_Win win)
{
    int value = 1, flag;
    MPI_Group group;
    MPI_Win_get_group(win, &group);
    CHECK(is(MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC, "no access epoch"));
    CHECK(is(MPI_Get(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC, "MPI_Win_fence"));
    CHECK(is(MPI_Win_complete(win), MPI_ERR_RMA_SYNC, "MPI_Win_start"));
    CHECK(is(MPI_Win_wait(win), MPI_ERR_RMA_SYNC, "MPI_Win_post"));
    CHECK(is(MPI_Win_test(win, &flag), MPI_ERR_RMA_SYNC, "MPI_Win_post"));
    CHECK(is(MPI_Win_unlock(0, win), MPI_ERR_RMA_SYNC, "not locked"));
    CHECK(is(MPI_Win_unlock_all(win), MPI_ERR_RMA_SYNC, "MPI_Win_lock_all"));
    CHECK(is(MPI_Win_flush(0, win), MPI_ERR_RMA_SYNC, "MPI_Win_lock"));
    CHECK(is(MPI_Win_flush_all(win), MPI_ERR_RMA_SYNC, "MPI_Win_lock"));
    CHECK(is(MPI_Win_flush_local(0, win), MPI_ERR_RMA_SYNC, "MPI_Win_lock"));
    CHECK(is(MPI_Win_flush_local_all(win), MPI_ERR_RMA_SYNC, "MPI_Win_lock"));
    /* Epochs of two kinds at once. */
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    CHECK(is(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win), MPI_ERR_RMA_SYNC, "locked"));
    CHECK(is(MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC, "MPI_Win_unlock was not"));
    CHECK(is(MPI_Win_start(group, 0, win), MPI_ERR_RMA_SYNC, "MPI_Win_unlock was not"));
    CHECK(is(MPI_Win_fence(0, win), MPI_ERR_RMA_SYNC, "MPI_Win_unlock was not"));
    CHECK(is(MPI_Win_free(&win), MPI_ERR_RMA_SYNC, "MPI_Win_unlock was not") && win != MPI_WIN_NULL);
    MPI_Win_unlock(0, win);
    MPI_Win_lock_all(0, win);
    CHECK(is(MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC, "MPI_Win_unlock_all was not"));
    CHECK(is(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win), MPI_ERR_RMA_SYNC, "MPI_Win_unlock_all was not"));
    CHECK(is(MPI_Win_unlock(0, win), MPI_ERR_RMA_SYNC, "MPI_Win_lock"));
    MPI_Win_unlock_all(win);
    /* Operations after a fence begin an epoch that a fence ends. */
    MPI_Win_fence(0, win);
    int put = 1;
    MPI_Put(&put, 1, MPI_INT, rank, 0, 1, MPI_INT, win);
    CHECK(is(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win), MPI_ERR_RMA_SYNC, "no MPI_Win_fence"));
    CHECK(is(MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC, "no MPI_Win_fence"));
    CHECK(is(MPI_Win_start(group, 0, win), MPI_ERR_RMA_SYNC, "no MPI_Win_fence"));
    CHECK(is(MPI_Win_post(group, 0, win), MPI_ERR_RMA_SYNC, "no MPI_Win_fence"));
    MPI_Win_fence(0, win);
    CHECK(MPI_Win_lock_all(0, win) == MPI_SUCCESS && MPI_Win_unlock_all(win) == MPI_SUCCESS);
    CHECK(is(MPI_Put(&put, 1, MPI_INT, rank, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC, "no access epoch"));
    MPI_Group_free(&group);
}

static void arguments(MPI_Win win)
{
    int value = 1, values[100] = {0};
    MPI_Datatype fresh;
    MPI_Win_lock_all(0, win);
    CHECK(is(MPI_Put(&value, 1, MPI_INT, size, 0, 1, MPI_INT, win), MPI_ERR_RANK, "target_rank"));
    CHECK(is(MPI_Put(&value, 1, MPI_INT, -5, 0, 1, MPI_INT, win), MPI_ERR_RANK, "target_rank"));
    CHECK(is(MPI_Put(&value, 1, MPI_INT, 0, -1, 1, MPI_INT, win), MPI_ERR_DISP, "target_disp"));
    CHECK(is(MPI_Put(&value, 1, MPI_INT, 0, 4, 1, MPI_INT, win), MPI_ERR_RMA_RANGE, "16 bytes"));
    CHECK(is(MPI_Put(values, 5, MPI_INT, 0, 0, 5, MPI_INT, win), MPI_ERR_RMA_RANGE, "16 bytes"));
    CHECK(is(MPI_Put(&value, 1, MPI_INT, 0, PTRDIFF_MAX / 2, 1, MPI_INT, win), MPI_ERR_RMA_RANGE, "target_disp"));
    CHECK(is(MPI_Get(values, 5, MPI_INT, 0, 0, 5, MPI_INT, win), MPI_ERR_RMA_RANGE, "MPI_Get"));
    CHECK(is(MPI_Put(&value, 1, MPI_INT, 0, 0, 2, MPI_INT, win), MPI_ERR_ARG, "target_count"));
    CHECK(is(MPI_Put(&value, -1, MPI_INT, 0, 0, 1, MPI_INT, win), MPI_ERR_COUNT, "origin_count"));
    CHECK(is(MPI_Put(&value, 1, MPI_INT, 0, 0, -1, MPI_INT, win), MPI_ERR_COUNT, "target_count"));
    CHECK(is(MPI_Put_c(&value, 1, MPI_INT, 0, 0, -1, MPI_INT, win), MPI_ERR_COUNT, "MPI_Put_c"));
    CHECK(is(MPI_Put(&value, 1, MPI_DATATYPE_NULL, 0, 0, 1, MPI_INT, win), MPI_ERR_TYPE, "origin_datatype"));
    CHECK(is(MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_DATATYPE_NULL, win), MPI_ERR_TYPE, "target_datatype"));
    MPI_Type_contiguous(1, MPI_INT, &fresh);
    CHECK(is(MPI_Put(&value, 1, fresh, 0, 0, 1, MPI_INT, win), MPI_ERR_TYPE, "MPI_Type_commit"));
    CHECK(is(MPI_Put(&value, 1, MPI_INT, 0, 0, 1, fresh, win), MPI_ERR_TYPE, "target_datatype"));
    MPI_Type_free(&fresh);
    CHECK(is(MPI_Put(NULL, 1, MPI_INT, 0, 0, 1, MPI_INT, win), MPI_ERR_BUFFER, "origin_addr"));
    CHECK(is(MPI_Win_flush(size, win), MPI_ERR_RANK, "rank"));
    MPI_Win_unlock_all(win);
    CHECK(is(MPI_Win_lock(MPI_LOCK_SHARED, size, 0, win), MPI_ERR_RANK, "rank"));
    CHECK(is(MPI_Win_lock(7, 0, 0, win), MPI_ERR_LOCKTYPE, "lock_type"));
    CHECK(is(MPI_Win_lock(MPI_LOCK_SHARED, 0, 1, win), MPI_ERR_ASSERT, "assert"));
    CHECK(is(MPI_Win_lock_all(1, win), MPI_ERR_ASSERT, "assert"));
    CHECK(is(MPI_Win_fence(1, win), MPI_ERR_ASSERT, "assert"));
    CHECK(is(MPI_Win_post(MPI_GROUP_NULL, 0, win), MPI_ERR_GROUP, "group"));
    CHECK(is(MPI_Win_start(MPI_GROUP_NULL, 0, win), MPI_ERR_GROUP, "group"));
    CHECK(is(MPI_Win_set_info(win, MPI_INFO_NULL), MPI_ERR_INFO, "info"));
}

/* Of making windows: errors go to the communicator. */
static void construction(void)
{
    MPI_Win win;
    int *memory, before = of_comm;
    CHECK(is(MPI_Win_allocate(-1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win), MPI_ERR_SIZE, "-1"));
    CHECK(win == MPI_WIN_NULL && of_comm == before + 1);
    CHECK(is(MPI_Win_allocate(8, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win), MPI_ERR_ARG, "disp_unit"));
    CHECK(is(MPI_Win_create(NULL, 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win), MPI_ERR_BASE, "base"));
    CHECK(of_comm == before + 3);
    /* An error of one rank is one of all. */
    int bad = MPI_Win_allocate(rank == size - 1 ? -1 : 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    CHECK(is(bad, rank == size - 1 ? MPI_ERR_SIZE : MPI_ERR_OTHER, "MPI_Win_allocate"));
    CHECK(of_comm == before + 4);
    int sink;
    CHECK(is(MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_NULL, &memory, &win), MPI_ERR_COMM, "comm"));
    CHECK(is(MPI_Win_fence(0, MPI_WIN_NULL), MPI_ERR_WIN, "MPI_WIN_NULL"));
    CHECK(is(MPI_Put(&sink, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_WIN_NULL), MPI_ERR_WIN, "MPI_Put"));
    CHECK(is(MPI_Win_free(&win), MPI_ERR_WIN, "win"));
}

int main(int argc, char **argv)
{
    MPI_Win win, stale;
    MPI_Errhandler handler, found;
    int *memory;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_create_errhandler(on_comm, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Errhandler_free(&handler);
    MPI_Win_allocate(16, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    /* Whatever the communicator has, a window starts with MPI_ERRORS_ARE_FATAL. */
    MPI_Win_get_errhandler(win, &found);
    CHECK(found == MPI_ERRORS_ARE_FATAL);
    MPI_Win_create_errhandler(on_win, &handler);
    CHECK(MPI_Win_set_errhandler(win, handler) == MPI_SUCCESS);
    MPI_Win_get_errhandler(win, &found);
    CHECK(found == handler);
    MPI_Errhandler_free(&found);
    MPI_Errhandler_free(&handler);
    CHECK(is(MPI_Win_set_errhandler(win, MPI_ERRHANDLER_NULL), MPI_ERR_ERRHANDLER, "errhandler"));
    CHECK(of_win == 1 && seen == win);
    CHECK(MPI_Win_call_errhandler(win, MPI_ERR_OTHER) == MPI_SUCCESS && of_win == 2);
    MPI_Win_set_name(win, "wall");
    CHECK(is(MPI_Win_fence(1, win), MPI_ERR_ASSERT, "window wall"));
    epochs(win);
    arguments(win);
    CHECK(of_comm == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    stale = win;
    MPI_Win_free(&win);
    CHECK(is(MPI_Win_fence(0, stale), MPI_ERR_WIN, "freed"));
    construction();
    return finish(rank);
}
