/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2
 * Error handlers come and go without end, live as long as an object or a handle refers to them, and a freed handle is none. */
#include "check.h"

enum { MANY = 200000 };
static int told;

static void note(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    ++told;
}

static void note_window(MPI_Win *win, int *code, ...)
{
    (void)win, (void)code;
    ++told;
}

/* A handler fits the kind of object that its constructor names, and those of MPI fit all. */
static void kinds(void)
{
    int byte = 0;
    MPI_Errhandler of_comms, of_windows;
    MPI_Win win;
    MPI_Session session;
    MPI_Win_create(&byte, sizeof byte, 1, MPI_INFO_NULL, MPI_COMM_SELF, &win);
    MPI_Comm_create_errhandler(note, &of_comms);
    MPI_Win_create_errhandler(note_window, &of_windows);
    CHECK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_Win_set_errhandler(win, of_comms) == MPI_ERR_ERRHANDLER);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, of_windows) == MPI_ERR_ERRHANDLER);
    CHECK(MPI_File_set_errhandler(MPI_FILE_NULL, of_comms) == MPI_ERR_ERRHANDLER);
    CHECK(MPI_Session_init(MPI_INFO_NULL, of_windows, &session) == MPI_ERR_ERRHANDLER && session == MPI_SESSION_NULL);
    CHECK(MPI_Win_set_errhandler(win, of_windows) == MPI_SUCCESS);
    CHECK(MPI_Errhandler_free(&of_comms) == MPI_SUCCESS && MPI_Errhandler_free(&of_windows) == MPI_SUCCESS);
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, number;
    MPI_Errhandler handler, kept, again, copy;
    MPI_Comm comm, twin;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
    kinds();
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);

    /* Only the communicator has it, and then its duplicate. */
    MPI_Comm_create_errhandler(note, &kept);
    MPI_Comm_set_errhandler(comm, kept);
    copy = kept;
    MPI_Errhandler_free(&kept);
    CHECK(kept == MPI_ERRHANDLER_NULL);
    /* No handle is left: it can be neither set nor freed. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, copy) == MPI_ERR_ERRHANDLER);
    again = copy;
    CHECK(MPI_Errhandler_free(&again) == MPI_ERR_ERRHANDLER && again == copy);
    MPI_Comm_dup(comm, &twin);
    MPI_Comm_free(&comm);
    for (int i = 0; i < MANY; ++i) {
        CHECK(MPI_Comm_create_errhandler(note, &handler) == MPI_SUCCESS);
        if (i % 1000 == 0) {
            CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler) == MPI_SUCCESS);
            told = 0;
            CHECK(MPI_Bcast(&number, 1, MPI_INT, -5, MPI_COMM_WORLD) == MPI_ERR_ROOT && told == 1);
        }
        CHECK(MPI_Errhandler_free(&handler) == MPI_SUCCESS);
    }
    told = 0;
    CHECK(MPI_Comm_call_errhandler(twin, MPI_ERR_OTHER) == MPI_SUCCESS && told == 1);
    CHECK(MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_OTHER) == MPI_SUCCESS && told == 2);

    /* A handle that was asked for is one to free. */
    for (int i = 0; i < 3; ++i) {
        CHECK(MPI_Comm_get_errhandler(twin, &again) == MPI_SUCCESS && again == copy);
        CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, again) == MPI_SUCCESS);
        CHECK(MPI_Errhandler_free(&again) == MPI_SUCCESS);
    }
    CHECK(MPI_Comm_set_errhandler(twin, copy) == MPI_ERR_ERRHANDLER);
    MPI_Comm_get_errhandler(MPI_COMM_SELF, &again);
    CHECK(again == MPI_ERRORS_RETURN && MPI_Errhandler_free(&again) == MPI_SUCCESS && again == MPI_ERRHANDLER_NULL);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    MPI_Comm_free(&twin);
    return finish(rank);
}
