/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2
 * Errors of files go to the handler of the file, those of calls without a file to that of MPI_FILE_NULL, which at first is MPI_ERRORS_RETURN
 * and which files get when they are opened, whatever the handlers of communicators do (MPI-5.0, section 14.7). */
#include "check.h"

static int calls, last, changes;
static MPI_File seen;

static void note(MPI_File *file, int *code, ...)
{
    seen = *file;
    ++calls;
    last = *code;
    if (changes)
        *code = MPI_SUCCESS;
}

static void of_class(int code, int wanted, const char *text)
{
    char said[MPI_MAX_ERROR_STRING] = "";
    int length, class = -1;
    MPI_Error_class(code, &class);
    MPI_Error_string(code, said, &length);
    if (class != wanted || !strstr(said, text))
        fprintf(stderr, "class %d: %s\n", class, said);
    CHECK(class == wanted && strstr(said, text));
}

int main(int argc, char **argv)
{
    int rank, value = 7;
    char name[64];
    MPI_File file, other;
    MPI_Offset bytes;
    MPI_Request request;
    MPI_Errhandler handler, found;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    sprintf(name, "file_errhandler-%d", rank);

    /* The communicators' handlers are fatal. */
    of_class(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &file), MPI_ERR_NO_SUCH_FILE, "MPI_File_open: ");
    CHECK(file == MPI_FILE_NULL);
    of_class(MPI_File_open(MPI_COMM_NULL, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &file), MPI_ERR_COMM, "MPI_File_open: ");
    of_class(MPI_File_open(MPI_COMM_SELF, NULL, MPI_MODE_RDONLY, MPI_INFO_NULL, &file), MPI_ERR_ARG, "'filename'");
    of_class(MPI_File_delete(name, MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE, "MPI_File_delete: ");
    of_class(MPI_File_get_size(MPI_FILE_NULL, &bytes), MPI_ERR_FILE, "MPI_File_get_size: ");
    of_class(MPI_File_close(&file), MPI_ERR_FILE, "MPI_File_close: ");
    of_class(MPI_File_write_at_all(file, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_FILE, "MPI_File_write_at_all: ");

    CHECK(MPI_File_get_errhandler(MPI_FILE_NULL, &found) == MPI_SUCCESS && found == MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&found);
    CHECK(MPI_File_create_errhandler(note, &handler) == MPI_SUCCESS);
    CHECK(MPI_File_set_errhandler(MPI_FILE_NULL, handler) == MPI_SUCCESS);
    MPI_Errhandler_free(&handler);
    of_class(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &file), MPI_ERR_NO_SUCH_FILE, name);
    CHECK(calls == 1 && last == MPI_ERR_NO_SUCH_FILE && seen == MPI_FILE_NULL);
    changes = 1;
    CHECK(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &file) == MPI_SUCCESS);
    CHECK(calls == 2 && file == MPI_FILE_NULL);
    changes = 0;
    CHECK(MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_AMODE) == MPI_SUCCESS && calls == 3 && last == MPI_ERR_AMODE);

    /* A file keeps the handler that it was opened with. */
    int amode = MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE;
    CHECK(MPI_File_open(MPI_COMM_SELF, name, amode, MPI_INFO_NULL, &file) == MPI_SUCCESS);
    CHECK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_File_open(MPI_COMM_SELF, name, amode, MPI_INFO_NULL, &other) == MPI_SUCCESS);
    of_class(MPI_File_read_at_c(file, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ACCESS, "MPI_File_read_at_c: ");
    CHECK(calls == 4 && seen == file);
    of_class(MPI_File_read_at(other, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ACCESS, "MPI_File_read_at: ");
    of_class(MPI_File_write_at(file, 0, &value, -1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_COUNT, "MPI_File_write_at: ");
    of_class(MPI_File_write_at(file, 0, NULL, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_BUFFER, "MPI_File_write_at: ");
    of_class(MPI_File_write_at(file, 0, &value, 1, MPI_DATATYPE_NULL, MPI_STATUS_IGNORE), MPI_ERR_TYPE, "MPI_File_write_at: ");
    of_class(MPI_File_get_size(file, NULL), MPI_ERR_ARG, "'size'");
    CHECK(calls == 8 && seen == file);

    /* So do the errors of its requests: the size of a file has an end. */
    static char large[8];
    MPI_Offset end = 0x7ffffffffffffff0;
    of_class(MPI_File_iwrite_at(file, end, large, 8, MPI_BYTE, &request), MPI_SUCCESS, "");
    int code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(code != MPI_SUCCESS && calls == 9 && seen == file);
    CHECK(MPI_File_close(&other) == MPI_SUCCESS && other == MPI_FILE_NULL);
    of_class(MPI_File_get_size(other, &bytes), MPI_ERR_FILE, "");
    CHECK(calls == 9);
    /* The other one has deleted the name. */
    of_class(MPI_File_close(&file), MPI_ERR_NO_SUCH_FILE, "MPI_File_close: ");
    CHECK(calls == 10 && file == MPI_FILE_NULL);
    return finish(rank);
}
