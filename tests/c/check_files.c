/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 4
 * ENV: RANKPOINT_CHECK=files
 * ENV: RANKPOINT_CHECK=files,collectives
 * Accesses of two ranks to the same bytes of a file are named unless MPI_File_sync, a barrier and MPI_File_sync lie between them. */
#include "check.h"

#define BYTES 64

static MPI_File file;
static int rank, size, next;
static char mine[BYTES], back[4 * BYTES];

/* All ranks get the error, once, and its text has both words; without words there is none. */
static void expect(int code, const char *first, const char *second)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length, class = MPI_SUCCESS;
    MPI_Error_class(code, &class);
    if (code != MPI_SUCCESS)
        MPI_Error_string(code, text, &length);
    int right = size == 1 || !first ? code == MPI_SUCCESS
                                    : class == MPI_ERR_IO && strstr(text, first) && strstr(text, second) && strstr(text, "MPI_File_sync");
    if (!right)
        fprintf(stderr, "class %d, without '%s' or '%s': %s\n", class, first ? first : "", second ? second : "", text);
    CHECK(right);
}

static void sync_all(const char *first, const char *second)
{
    expect(MPI_File_sync(file), first, second);
}

static void write_mine(int at)
{
    CHECK(MPI_File_write_at(file, at, mine, BYTES, MPI_CHAR, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

static void read_next(void)
{
    CHECK(MPI_File_read_at(file, (MPI_Offset)next * BYTES, back, BYTES, MPI_CHAR, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    next = (rank + 1) % size;
    memset(mine, 'a' + rank, BYTES);
    /* A conflict goes past MPI_ERRORS_RETURN, which files have at first. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int mode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
    CHECK(MPI_File_open(MPI_COMM_WORLD, "check-files-test", mode, MPI_INFO_NULL, &file) == MPI_SUCCESS);

    /* In order, and each rank its own bytes. */
    for (int round = 0; round < 3; ++round) {
        write_mine(rank * BYTES);
        sync_all(NULL, NULL);
        MPI_Barrier(MPI_COMM_WORLD);
        sync_all(NULL, NULL);
        read_next();
        CHECK(back[0] == 'a' + next && back[BYTES - 1] == 'a' + next);
        sync_all(NULL, NULL);
        MPI_Barrier(MPI_COMM_WORLD);
        sync_all(NULL, NULL);
    }

    /* No sync at all: a barrier alone does not do, although it works on this computer. */
    write_mine(rank * BYTES);
    MPI_Barrier(MPI_COMM_WORLD);
    read_next();
    sync_all("bytes 0..64", "no MPI_File_sync lies between");
    MPI_Barrier(MPI_COMM_WORLD);
    sync_all(NULL, NULL);

    /* One sync. */
    write_mine(rank * BYTES);
    sync_all(NULL, NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    read_next();
    sync_all("wrote bytes", "only one MPI_File_sync lies between");
    sync_all(NULL, NULL);

    /* Writes that overlap, of one collective access through a view with gaps. */
    MPI_Datatype every;
    MPI_Type_vector(4, 1, 2, MPI_INT, &every);
    MPI_Type_commit(&every);
    CHECK(MPI_File_set_view(file, 0, MPI_INT, every, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_write_at_all(file, 0, mine, 4, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    sync_all("rank 0 wrote bytes 0..4", "rank 1 wrote bytes 0..4");
    sync_all(NULL, NULL);
    sync_all(NULL, NULL);
    MPI_Type_free(&every);
    CHECK(MPI_File_set_view(file, 0, MPI_CHAR, MPI_CHAR, "native", MPI_INFO_NULL) == MPI_SUCCESS);

    /* Atomic mode orders what overlaps. */
    CHECK(MPI_File_set_atomicity(file, 1) == MPI_SUCCESS);
    write_mine(0);
    read_next();
    sync_all(NULL, NULL);
    CHECK(MPI_File_set_atomicity(file, 0) == MPI_SUCCESS);
    sync_all(NULL, NULL);

    /* The last chance is closing; a file of one rank has no conflicts. */
    MPI_File own;
    char name[64];
    snprintf(name, sizeof name, "check-files-test-%d", rank);
    CHECK(MPI_File_open(MPI_COMM_SELF, name, mode, MPI_INFO_NULL, &own) == MPI_SUCCESS);
    CHECK(MPI_File_write(own, mine, BYTES, MPI_CHAR, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_read_at(own, 0, back, BYTES, MPI_CHAR, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_close(&own) == MPI_SUCCESS);
    write_mine(8);
    expect(MPI_File_close(&file), "rank 0 wrote bytes 8..72", "rank 1 wrote bytes 8..72");
    CHECK(file == MPI_FILE_NULL);
    return finish(rank);
}
