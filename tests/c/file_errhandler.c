/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2
 * Calls on files are not written yet. They fail with MPI_ERR_UNSUPPORTED_OPERATION through the handler of MPI_FILE_NULL, which at first is
 * MPI_ERRORS_RETURN, whatever the handlers of communicators do (MPI-5.0, section 14.7). */
#include "check.h"

static int calls, last;

static void note(MPI_File *file, int *code, ...)
{
    CHECK(*file == MPI_FILE_NULL);
    ++calls;
    last = *code;
}

static void unsupported(int code, const char *call)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length, class = -1;
    MPI_Error_class(code, &class);
    MPI_Error_string(code, text, &length);
    if (class != MPI_ERR_UNSUPPORTED_OPERATION || !strstr(text, call))
        fprintf(stderr, "%s: class %d, %s\n", call, class, text);
    CHECK(class == MPI_ERR_UNSUPPORTED_OPERATION && strstr(text, call) && strstr(text, "not implemented yet"));
}

int main(int argc, char **argv)
{
    int rank, value = 7;
    MPI_File file;
    MPI_Offset bytes;
    MPI_Errhandler handler, found;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);

    /* The communicators' handlers are fatal. */
    unsupported(MPI_File_open(MPI_COMM_WORLD, "x", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file), "MPI_File_open: ");
    unsupported(MPI_File_open(MPI_COMM_SELF, "x", MPI_MODE_RDONLY, MPI_INFO_NULL, &file), "MPI_File_open: ");
    unsupported(MPI_File_delete("x", MPI_INFO_NULL), "MPI_File_delete: ");
    file = MPI_FILE_NULL;
    unsupported(MPI_File_get_size(file, &bytes), "MPI_File_get_size: ");
    unsupported(MPI_File_write_at_all(file, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE), "MPI_File_write_at_all: ");

    CHECK(MPI_File_get_errhandler(MPI_FILE_NULL, &found) == MPI_SUCCESS && found == MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&found);
    CHECK(MPI_File_create_errhandler(note, &handler) == MPI_SUCCESS);
    CHECK(MPI_File_set_errhandler(MPI_FILE_NULL, handler) == MPI_SUCCESS);
    MPI_Errhandler_free(&handler);
    unsupported(MPI_File_open(MPI_COMM_WORLD, "x", MPI_MODE_RDONLY, MPI_INFO_NULL, &file), "MPI_File_open: ");
    CHECK(calls == 1 && last == MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK(MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_AMODE) == MPI_SUCCESS && calls == 2 && last == MPI_ERR_AMODE);
    CHECK(MPI_File_get_errhandler(MPI_FILE_NULL, &handler) == MPI_SUCCESS && handler != MPI_ERRHANDLER_NULL);
    CHECK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    MPI_Errhandler_free(&handler);
    return finish(rank);
}
