/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 4
 * Attributes of windows: keys, callbacks and their order, and what MPI_Win_free does with them. */
#include "check.h"

static int rank, deleted[3], deletions;

static int note(MPI_Win win, int key, void *value, void *state)
{
    (void)win;
    (void)key;
    deleted[deletions++] = *(int *)value + *(int *)state;
    return MPI_SUCCESS;
}

static int refuse(MPI_Win win, int key, void *value, void *state)
{
    (void)win;
    (void)key;
    (void)value;
    return *(int *)state ? MPI_ERR_OTHER : MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    int keys[3], values[3] = {10, 20, 30}, state = 1, flag, refuses = 1, stubborn, other;
    void *value;
    char *memory;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_allocate(16, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < 3; ++i) {
        CHECK(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, note, &keys[i], &state) == MPI_SUCCESS);
        CHECK(MPI_Win_get_attr(win, keys[i], &value, &flag) == MPI_SUCCESS && !flag);
        CHECK(MPI_Win_set_attr(win, keys[i], &values[i]) == MPI_SUCCESS);
        CHECK(MPI_Win_get_attr(win, keys[i], &value, &flag) == MPI_SUCCESS && flag && value == &values[i]);
    }
    /* Another value deletes the old one. */
    MPI_Win_set_attr(win, keys[0], &values[2]);
    CHECK(deletions == 1 && deleted[0] == 11);
    CHECK(MPI_Win_delete_attr(win, keys[0]) == MPI_SUCCESS);
    CHECK(deletions == 2 && deleted[1] == 31);
    CHECK(MPI_Win_delete_attr(win, keys[0]) == MPI_ERR_KEYVAL);
    /* A key that was freed while it is in use. */
    int freed = keys[1];
    CHECK(MPI_Win_free_keyval(&keys[1]) == MPI_SUCCESS && keys[1] == MPI_KEYVAL_INVALID);
    CHECK(MPI_Win_get_attr(win, freed, &value, &flag) == MPI_SUCCESS && flag && value == &values[1]);
    /* Keys of other objects, and those of the library. */
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &other, NULL);
    CHECK(MPI_Win_set_attr(win, other, &state) == MPI_ERR_KEYVAL);
    CHECK(MPI_Win_get_attr(win, other, &value, &flag) == MPI_ERR_KEYVAL);
    CHECK(MPI_Comm_set_attr(MPI_COMM_WORLD, keys[0], &state) == MPI_ERR_KEYVAL);
    CHECK(MPI_Win_set_attr(win, MPI_WIN_SIZE, &state) == MPI_ERR_KEYVAL);
    CHECK(MPI_Win_get_attr(win, MPI_TAG_UB, &value, &flag) == MPI_ERR_KEYVAL);
    CHECK(MPI_Win_get_attr(win, MPI_KEYVAL_INVALID, &value, &flag) == MPI_ERR_KEYVAL);
    MPI_Comm_free_keyval(&other);
    /* MPI_Win_free deletes the latest first; a callback that fails keeps the window. */
    MPI_Win_create_keyval(MPI_WIN_DUP_FN, refuse, &stubborn, &refuses);
    MPI_Win_set_attr(win, stubborn, &state);
    deletions = 0;
    CHECK(MPI_Win_free(&win) == MPI_ERR_OTHER && win != MPI_WIN_NULL && deletions == 0);
    refuses = 0;
    CHECK(MPI_Win_free(&win) == MPI_SUCCESS && win == MPI_WIN_NULL);
    CHECK(deletions == 2 && deleted[0] == 31 && deleted[1] == 21);
    MPI_Win_free_keyval(&stubborn);
    MPI_Win_free_keyval(&keys[0]);
    MPI_Win_free_keyval(&keys[2]);
    MPI_Win_create_keyval(MPI_WIN_DUP_FN, MPI_WIN_NULL_DELETE_FN, &other, NULL);
    MPI_Win_free_keyval(&other);
    return finish(rank);
}
