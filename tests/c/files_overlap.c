/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 4
 * Many accesses at once: writes that overlap in atomic mode are done in some order, each whole; shared pointers give each record a place of
 * its own; a rank whose arguments are wrong holds nobody up; views without bytes, offsets where files end, and two hundred open files. */
#include "check.h"
#include <limits.h>
#include <stdint.h>

#define SPAN 5000
#define MODE (MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE)

static int rank, size;
static char data[2 * SPAN], back[2 * SPAN];

static int class_of(int code)
{
    int class = MPI_SUCCESS;
    MPI_Error_class(code, &class);
    return class;
}

static MPI_File open_file(const char *name, const char *protocol, const char *sieve)
{
    MPI_File file;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "rankpoint_file_protocol", protocol);
    MPI_Info_set(info, "romio_ds_write", sieve);
    MPI_Info_set(info, "ind_wr_buffer_size", "1000");
    MPI_Info_set(info, "cb_buffer_size", "1500");
    MPI_Info_set(info, "cb_block_size", "512");
    CHECK(MPI_File_open(MPI_COMM_WORLD, name, MODE, info, &file) == MPI_SUCCESS);
    MPI_Info_free(&info);
    return file;
}

/* Every other byte from the rank's number on, or all bytes. */
static void see(MPI_File file, int with_gaps)
{
    MPI_Datatype type;
    if (!with_gaps) {
        CHECK(MPI_File_set_view(file, 0, MPI_CHAR, MPI_CHAR, "native", MPI_INFO_NULL) == MPI_SUCCESS);
        return;
    }
    MPI_Type_create_resized(MPI_CHAR, 0, 2, &type);
    MPI_Type_commit(&type);
    CHECK(MPI_File_set_view(file, 0, MPI_CHAR, type, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    MPI_Type_free(&type);
}

static void check_uniform(const char *bytes, int count)
{
    for (int i = 1; i < count; ++i)
        CHECK(bytes[i] == bytes[0]);
}

/* All ranks write the same bytes at once and read them meanwhile. */
static void whole_writes(const char *protocol, int with_gaps)
{
    MPI_File file = open_file("files-overlap-test", protocol, "automatic");
    MPI_Status status;
    int count;
    see(file, with_gaps);
    CHECK(MPI_File_set_atomicity(file, 1) == MPI_SUCCESS);
    for (int round = 0; round < 12; ++round) {
        memset(data, 'a' + (round * size + rank) % 26, SPAN);
        if (round % 3 == 2)
            CHECK(MPI_File_write_at_all(file, 0, data, SPAN, MPI_CHAR, &status) == MPI_SUCCESS);
        else
            CHECK(MPI_File_write_at(file, 0, data, SPAN, MPI_CHAR, &status) == MPI_SUCCESS);
        MPI_Get_count(&status, MPI_CHAR, &count);
        CHECK(count == SPAN);
        CHECK(MPI_File_read_at(file, 0, back, SPAN, MPI_CHAR, &status) == MPI_SUCCESS);
        MPI_Get_count(&status, MPI_CHAR, &count);
        CHECK(count == SPAN);
        check_uniform(back, SPAN);
    }
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

/* Each rank has every size-th piece of any length; nobody's bytes are lost, whatever covers the gaps. */
static void neighbours(const char *protocol, const char *sieve, int length)
{
    MPI_File file = open_file("files-overlap-test", protocol, sieve);
    MPI_Datatype piece, unit;
    MPI_Request requests[4];
    MPI_Status status;
    int count, pieces = 200 / length + 3, each = pieces * length;
    MPI_Type_contiguous(length, MPI_CHAR, &piece);
    MPI_Type_create_resized(piece, 0, (MPI_Aint)length * size, &unit);
    MPI_Type_commit(&unit);
    CHECK(MPI_File_set_view(file, (MPI_Offset)rank * length, MPI_CHAR, unit, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    for (int round = 0; round < 6; ++round) {
        for (int i = 0; i < 4 * each; ++i)
            data[i] = (char)(rank * 31 + round * 7 + i);
        if (round % 2) {
            for (int i = 0; i < 4; ++i)
                CHECK(MPI_File_iwrite_at(file, (MPI_Offset)i * each, data + i * each, each, MPI_CHAR, &requests[i]) == MPI_SUCCESS);
            CHECK(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
        } else {
            /* The last rank has less. */
            CHECK(MPI_File_write_at_all(file, 0, data, rank == size - 1 ? 4 * each - 1 : 4 * each, MPI_CHAR, MPI_STATUS_IGNORE) == MPI_SUCCESS);
            if (rank == size - 1)
                CHECK(MPI_File_write_at(file, 4 * each - 1, data + 4 * each - 1, 1, MPI_CHAR, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        memset(back, 0, sizeof back);
        CHECK(MPI_File_read_at_all(file, 0, back, 4 * each + 5, MPI_CHAR, &status) == MPI_SUCCESS);
        MPI_Get_count(&status, MPI_CHAR, &count);
        CHECK(count == 4 * each && !memcmp(back, data, 4 * each));
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Type_free(&piece);
    MPI_Type_free(&unit);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

/* Records of all ranks, by every call with the shared pointer: each is in the file once. */
static void records(void)
{
    enum { EACH = 60, ORDERED = 5 };
    MPI_File file = open_file("files-overlap-test", "auto", "automatic");
    MPI_Datatype record;
    MPI_Request request;
    MPI_Offset position;
    int64_t own[2] = {rank, 0};
    MPI_Type_contiguous(2, MPI_INT64_T, &record);
    MPI_Type_commit(&record);
    CHECK(MPI_File_set_view(file, 24, record, record, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    for (int i = 0; i < EACH; ++i) {
        own[1] = i;
        if (i % 10 == 9)
            CHECK(MPI_File_write_ordered(file, own, 1, record, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        else if (i % 3) {
            CHECK(MPI_File_iwrite_shared(file, own, 1, record, &request) == MPI_SUCCESS);
            CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        } else
            CHECK(MPI_File_write_shared(file, own, 1, record, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_get_position_shared(file, &position) == MPI_SUCCESS && position == EACH * size);
    int64_t(*all)[2] = malloc((size_t)EACH * size * sizeof *all);
    CHECK(MPI_File_read_at(file, 0, all, EACH * size, record, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    int next[64] = {0};
    for (int i = 0; i < EACH * size; ++i) {
        CHECK(all[i][0] >= 0 && all[i][0] < size && all[i][1] == next[all[i][0]]);
        ++next[all[i][0]];
    }
    free(all);
    MPI_Type_free(&record);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

/* One rank's arguments are wrong in each kind of collective call; the others' accesses are done, and the file goes on. */
static void wrong_at_one(const char *protocol)
{
    MPI_File file = open_file("files-overlap-test", protocol, "automatic");
    MPI_Datatype raw, wide;
    MPI_Request request;
    MPI_Offset position;
    int code, is_wrong = rank == size / 2;
    MPI_Type_contiguous(3, MPI_CHAR, &raw);
    MPI_Type_contiguous(4, MPI_CHAR, &wide);
    MPI_Type_commit(&wide);
    memset(data, '0' + rank, 64);
    for (int kind = 0; kind < 6; ++kind) {
        int count = is_wrong && kind % 3 == 0 ? -1 : 16;
        MPI_Datatype type = is_wrong && kind % 3 == 1 ? raw : MPI_CHAR;
        void *buffer = is_wrong && kind % 3 == 2 ? NULL : data;
        CHECK(MPI_File_seek(file, 16 * rank, MPI_SEEK_SET) == MPI_SUCCESS);
        if (kind < 3)
            code = MPI_File_write_all(file, buffer, count, type, MPI_STATUS_IGNORE);
        else {
            code = MPI_File_iwrite_all(file, buffer, count, type, &request);
            if (code == MPI_SUCCESS)
                code = MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        CHECK((code != MPI_SUCCESS) == is_wrong);
        CHECK(MPI_File_get_position(file, &position) == MPI_SUCCESS && position == 16 * rank + (is_wrong ? 0 : 16));
        code = MPI_File_write_ordered(file, buffer, count, type, MPI_STATUS_IGNORE);
        CHECK((code != MPI_SUCCESS) == is_wrong);
    }
    CHECK(MPI_File_set_view(file, 0, is_wrong ? raw : wide, wide, "native", MPI_INFO_NULL) != MPI_SUCCESS);
    CHECK(MPI_File_set_view(file, 0, wide, wide, is_wrong ? "other" : "native", MPI_INFO_NULL) != MPI_SUCCESS);
    CHECK(MPI_File_set_view(file, 0, wide, wide, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    /* No whole number of etypes. */
    code = MPI_File_write_at_all(file, 4 * rank, data, is_wrong ? 15 : 16, MPI_CHAR, MPI_STATUS_IGNORE);
    CHECK(class_of(code) == (is_wrong ? MPI_ERR_IO : MPI_SUCCESS));
    code = MPI_File_write_at_all_begin(file, 4 * rank, data, is_wrong ? 15 : 16, MPI_CHAR);
    if (code == MPI_SUCCESS)
        code = MPI_File_write_at_all_end(file, data, MPI_STATUS_IGNORE);
    CHECK((code != MPI_SUCCESS) == is_wrong);
    /* All ranks give one size. */
    CHECK(class_of(MPI_File_set_size(file, is_wrong && size > 1 ? 1 : 64)) == (size > 1 ? MPI_ERR_NOT_SAME : MPI_SUCCESS));
    MPI_Type_free(&raw);
    MPI_Type_free(&wide);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

/* Where files end, and where views have nothing. */
static void ends(const char *protocol)
{
    MPI_File file = open_file("files-overlap-test", protocol, "automatic");
    MPI_Datatype none;
    MPI_Status status;
    MPI_Offset position;
    MPI_Request request;
    int count = -1;
    const MPI_Offset last = (MPI_Offset)1 << 62;
    CHECK(MPI_File_seek(file, INT64_MAX - 2, MPI_SEEK_SET) == MPI_SUCCESS);
    CHECK(MPI_File_write(file, data, 16, MPI_CHAR, &status) != MPI_SUCCESS);
    CHECK(MPI_File_get_position(file, &position) == MPI_SUCCESS && position == INT64_MAX - 2);
    CHECK(MPI_File_write_all(file, data, 16, MPI_CHAR, &status) != MPI_SUCCESS);
    CHECK(MPI_File_get_position(file, &position) == MPI_SUCCESS && position == INT64_MAX - 2);
    CHECK(MPI_File_iwrite(file, data, 16, MPI_CHAR, &request) != MPI_SUCCESS);
    CHECK(MPI_File_get_position(file, &position) == MPI_SUCCESS && position == INT64_MAX - 2);
    CHECK(MPI_File_read(file, back, 1, MPI_CHAR, &status) == MPI_SUCCESS);
    CHECK(MPI_Get_count(&status, MPI_CHAR, &count) == MPI_SUCCESS && count == 0);
    CHECK(MPI_File_write_at(file, INT64_MAX, data, 1, MPI_CHAR, &status) != MPI_SUCCESS);
    CHECK(MPI_File_write_at(file, -1, data, 1, MPI_CHAR, &status) != MPI_SUCCESS);
    CHECK(MPI_File_read_at_all(file, last, back, 5, MPI_CHAR, &status) == MPI_SUCCESS);
    CHECK(MPI_Get_count(&status, MPI_CHAR, &count) == MPI_SUCCESS && count == 0);
    /* The file is empty. */
    CHECK(MPI_File_seek(file, -1, MPI_SEEK_CUR) == MPI_SUCCESS);
    CHECK(MPI_File_seek(file, -1, MPI_SEEK_END) != MPI_SUCCESS);
    /* A rank of two sees nothing. */
    MPI_Type_contiguous(0, MPI_CHAR, &none);
    MPI_Type_commit(&none);
    CHECK(MPI_File_set_view(file, 0, MPI_CHAR, rank % 2 ? none : MPI_CHAR, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    memset(data, 'x', 32);
    CHECK(MPI_File_write_at_all(file, 32 * rank, data, rank % 2 ? 0 : 32, MPI_CHAR, &status) == MPI_SUCCESS);
    CHECK(MPI_File_read_at_all(file, 0, back, rank % 2 ? 0 : 32, MPI_CHAR, &status) == MPI_SUCCESS);
    CHECK(MPI_Get_count(&status, MPI_CHAR, &count) == MPI_SUCCESS && count == (rank % 2 ? 0 : 32));
    if (rank % 2)
        CHECK(MPI_File_write_at(file, 0, data, 1, MPI_CHAR, &status) != MPI_SUCCESS);
    MPI_Type_free(&none);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

/* Files of several communicators, closed in another order than they were opened in; their communicators are gone by then. */
static void many(void)
{
    enum { FILES = 200 };
    static MPI_File files[FILES];
    char name[64];
    for (int i = 0; i < FILES; ++i) {
        MPI_Comm comm;
        int part = i % 2 ? 0 : rank % 2;
        MPI_Comm_split(MPI_COMM_WORLD, part, -rank, &comm);
        snprintf(name, sizeof name, "files-overlap-test-%d-%d", i, part);
        CHECK(MPI_File_open(comm, name, MODE, MPI_INFO_NULL, &files[i]) == MPI_SUCCESS);
        MPI_Comm_free(&comm);
    }
    for (int i = 0; i < FILES; i += 7)
        CHECK(MPI_File_write_at_all(files[i], 8 * rank, data, 8, MPI_CHAR, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    for (int i = FILES - 1; i >= 0; --i)
        CHECK(MPI_File_close(&files[i * 3 % FILES]) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    static const char *protocols[] = {"direct", "two-phase", "auto"}, *sieves[] = {"enable", "disable"};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int protocol = 0; protocol < 3; ++protocol) {
        whole_writes(protocols[protocol], 0);
        whole_writes(protocols[protocol], 1);
        for (int sieve = 0; sieve < 2; ++sieve)
            for (int length = 1; length < 200; length = length * 3 + 1)
                neighbours(protocols[protocol], sieves[sieve], length);
        wrong_at_one(protocols[protocol]);
        ends(protocols[protocol]);
    }
    records();
    many();
    return finish(rank);
}
