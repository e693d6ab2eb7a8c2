/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 3 4
 * Calls on files: columns of a matrix through views, both forms of each family, pointers, split accesses, hints and information. */
#include "check.h"

#define ROWS 40
#define EACH 6

static MPI_File file;
static int rank, size;

static void expect(MPI_Status *status, int wanted)
{
    int count = -1;
    CHECK(MPI_Get_count(status, MPI_INT, &count) == MPI_SUCCESS && count == wanted);
}

/* The columns of this rank, of which `EACH` lie together. */
static MPI_Datatype columns(void)
{
    int whole[2] = {ROWS, EACH * size}, mine[2] = {ROWS, EACH}, start[2] = {0, EACH * rank};
    MPI_Datatype type;
    MPI_Type_create_subarray(2, whole, mine, start, MPI_ORDER_C, MPI_INT, &type);
    MPI_Type_commit(&type);
    return type;
}

static void fill(int *data, int salt)
{
    for (int i = 0; i < ROWS * EACH; ++i)
        data[i] = salt + rank * 100000 + i;
}

static void compare(const int *data, int salt)
{
    for (int i = 0; i < ROWS * EACH; ++i)
        CHECK(data[i] == salt + rank * 100000 + i);
}

int main(int argc, char **argv)
{
    static int data[ROWS * EACH], back[ROWS * EACH];
    const int count = ROWS * EACH;
    char datarep[MPI_MAX_DATAREP_STRING], value[MPI_MAX_INFO_VAL];
    int flag, amode;
    MPI_Status status;
    MPI_Request request;
    MPI_Offset offset, bytes;
    MPI_Info info;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_buffer_size", "1000");
    MPI_Info_set(info, "cb_block_size", "64");
    MPI_Info_set(info, "unknown", "x");
    int wanted = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
    CHECK(MPI_File_open(MPI_COMM_WORLD, "ufs:files-test", wanted, info, &file) == MPI_SUCCESS);
    MPI_Info_free(&info);
    CHECK(MPI_File_get_info(file, &info) == MPI_SUCCESS);
    MPI_Info_get(info, "cb_buffer_size", 100, value, &flag);
    CHECK(flag && strcmp(value, "1000") == 0);
    MPI_Info_get(info, "unknown", 100, value, &flag);
    CHECK(!flag);
    MPI_Info_get(info, "filename", MPI_MAX_INFO_VAL - 1, value, &flag);
    CHECK(flag && value[0] == '/' && strstr(value, "/files-test"));
    MPI_Info_free(&info);
    CHECK(MPI_File_get_amode(file, &amode) == MPI_SUCCESS && amode == wanted);
    CHECK(MPI_File_fromint(MPI_File_toint(file)) == file);

    MPI_Datatype type = columns(), etype, filetype;
    const char *protocols[] = {"auto", "direct", "two-phase"};
    for (int turn = 0; turn < 3; ++turn) {
        MPI_Info_create(&info);
        MPI_Info_set(info, "rankpoint_file_protocol", protocols[turn]);
        CHECK(MPI_File_set_view(file, 16, MPI_INT, type, "native", info) == MPI_SUCCESS);
        MPI_Info_free(&info);
        fill(data, turn);
        CHECK(MPI_File_write_all(file, data, count, MPI_INT, &status) == MPI_SUCCESS);
        expect(&status, count);
        CHECK(MPI_File_get_position(file, &offset) == MPI_SUCCESS && offset == count);
        memset(back, 0, sizeof back);
        CHECK(MPI_File_read_at_all_c(file, 0, back, count, MPI_INT, &status) == MPI_SUCCESS);
        expect(&status, count);
        compare(back, turn);
        /* The end of the file is behind the last rank's last column. */
        CHECK(MPI_File_read_all(file, back, 5, MPI_INT, &status) == MPI_SUCCESS);
        expect(&status, 0);
        CHECK(MPI_File_get_position(file, &offset) == MPI_SUCCESS && offset == count);

        fill(data, 7 + turn);
        CHECK(MPI_File_iwrite_at_all(file, 0, data, count, MPI_INT, &request) == MPI_SUCCESS);
        CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
        expect(&status, count);
        memset(back, 0, sizeof back);
        CHECK(MPI_File_iread_at_c(file, 0, back, count, MPI_INT, &request) == MPI_SUCCESS);
        CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
        expect(&status, count);
        compare(back, 7 + turn);

        fill(data, 13 + turn);
        CHECK(MPI_File_write_at_all_begin(file, 0, data, count, MPI_INT) == MPI_SUCCESS);
        CHECK(MPI_File_write_at_all_end(file, data, &status) == MPI_SUCCESS);
        expect(&status, count);
        CHECK(MPI_File_seek(file, 0, MPI_SEEK_SET) == MPI_SUCCESS);
        memset(back, 0, sizeof back);
        CHECK(MPI_File_read_all_begin_c(file, back, count, MPI_INT) == MPI_SUCCESS);
        CHECK(MPI_File_read_all_end(file, back, &status) == MPI_SUCCESS);
        expect(&status, count);
        compare(back, 13 + turn);
    }
    CHECK(MPI_File_get_view(file, &offset, &etype, &filetype, datarep) == MPI_SUCCESS);
    CHECK(offset == 16 && etype == MPI_INT && filetype != type && strcmp(datarep, "native") == 0);
    MPI_Type_free(&filetype);
    MPI_Type_free(&type);
    CHECK(MPI_File_get_byte_offset(file, EACH, &offset) == MPI_SUCCESS && offset == 16 + 4 * EACH * (size + rank));
    CHECK(MPI_File_get_size(file, &bytes) == MPI_SUCCESS && bytes == 16 + 4 * count * size);

    /* The shared pointer, in rank order and in any order. */
    CHECK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "internal", MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_set_size(file, 0) == MPI_SUCCESS);
    fill(data, 1);
    CHECK(MPI_File_write_ordered(file, data, rank + 1, MPI_INT, &status) == MPI_SUCCESS);
    expect(&status, rank + 1);
    CHECK(MPI_File_get_position_shared(file, &offset) == MPI_SUCCESS && offset == size * (size + 1) / 2);
    CHECK(MPI_File_read_at(file, rank * (rank + 1) / 2, back, rank + 1, MPI_INT, &status) == MPI_SUCCESS);
    expect(&status, rank + 1);
    CHECK(memcmp(back, data, 4 * (rank + 1)) == 0);
    CHECK(MPI_File_seek_shared(file, 0, MPI_SEEK_END) == MPI_SUCCESS);
    CHECK(MPI_File_write_shared(file, data, 2, MPI_INT, &status) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_get_size(file, &bytes) == MPI_SUCCESS && bytes == 4 * (size * (size + 1) / 2 + 2 * size));
    CHECK(MPI_File_seek_shared(file, 1, MPI_SEEK_SET) == MPI_SUCCESS);
    CHECK(MPI_File_iread_shared(file, back, 1, MPI_INT, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
    expect(&status, 1);

    CHECK(MPI_File_set_atomicity(file, 1) == MPI_SUCCESS);
    CHECK(MPI_File_get_atomicity(file, &flag) == MPI_SUCCESS && flag);
    CHECK(MPI_File_write_at_all(file, 0, data, 1, MPI_INT, &status) == MPI_SUCCESS);
    CHECK(MPI_File_preallocate(file, 4096) == MPI_SUCCESS);
    CHECK(MPI_File_sync(file) == MPI_SUCCESS);
    MPI_Aint extent;
    MPI_Count large;
    CHECK(MPI_File_get_type_extent(file, MPI_DOUBLE, &extent) == MPI_SUCCESS && extent == 8);
    CHECK(MPI_File_get_type_extent_c(file, MPI_SHORT, &large) == MPI_SUCCESS && large == 2);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS && file == MPI_FILE_NULL);
    CHECK(MPI_File_delete("files-test", MPI_INFO_NULL) == MPI_ERR_NO_SUCH_FILE);
    return finish(rank);
}
