/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 3
 * Writes that the system refuses at one rank only: no call hangs, collective ones with aggregators fail at all ranks alike, what is
 * written is what the statuses say, and the next access works. A file that one rank may not open is open at none. */
#include "check.h"
#include <sys/resource.h>
#include <sys/stat.h>
#include <signal.h>
#include <unistd.h>

/* The last rank may not write behind this byte; each rank has a part of the file on both sides of it. */
#define LIMIT 65536
#define PIECE 1000
#define PIECES 100

static MPI_File file;
static int rank, size;
static char data[PIECES * PIECE], back[PIECES * PIECE];

static int class_of(int code)
{
    int class = MPI_SUCCESS;
    MPI_Error_class(code, &class);
    return class;
}

/* Ranks take turns, piece by piece. */
static void see_pieces(void)
{
    MPI_Datatype piece;
    MPI_Type_contiguous(PIECE, MPI_CHAR, &piece);
    MPI_Type_create_resized(piece, 0, (MPI_Aint)PIECE * size, &piece);
    MPI_Type_commit(&piece);
    CHECK(MPI_File_set_view(file, (MPI_Offset)rank * PIECE, MPI_CHAR, piece, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    MPI_Type_free(&piece);
}

enum family { AT, POINTER, START_AT, START, SHARED, START_SHARED, AT_ALL, ALL, START_AT_ALL, START_ALL, ORDERED, BEGIN_AT_ALL, BEGIN_ALL, BEGIN_ORDERED, FAMILIES };

static int write_by(enum family family, int count, MPI_Status *status)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int code;
    switch (family) {
    case AT: return MPI_File_write_at(file, 0, data, count, MPI_CHAR, status);
    case POINTER: return MPI_File_write(file, data, count, MPI_CHAR, status);
    case SHARED: return MPI_File_write_shared(file, data, count, MPI_CHAR, status);
    case AT_ALL: return MPI_File_write_at_all(file, 0, data, count, MPI_CHAR, status);
    case ALL: return MPI_File_write_all(file, data, count, MPI_CHAR, status);
    case ORDERED: return MPI_File_write_ordered(file, data, count, MPI_CHAR, status);
    case BEGIN_AT_ALL:
        code = MPI_File_write_at_all_begin(file, 0, data, count, MPI_CHAR);
        return code ? code : MPI_File_write_at_all_end(file, data, status);
    case BEGIN_ALL:
        code = MPI_File_write_all_begin(file, data, count, MPI_CHAR);
        return code ? code : MPI_File_write_all_end(file, data, status);
    case BEGIN_ORDERED:
        code = MPI_File_write_ordered_begin(file, data, count, MPI_CHAR);
        return code ? code : MPI_File_write_ordered_end(file, data, status);
    case START_AT: code = MPI_File_iwrite_at(file, 0, data, count, MPI_CHAR, &request); break;
    case START: code = MPI_File_iwrite(file, data, count, MPI_CHAR, &request); break;
    case START_SHARED: code = MPI_File_iwrite_shared(file, data, count, MPI_CHAR, &request); break;
    case START_AT_ALL: code = MPI_File_iwrite_at_all(file, 0, data, count, MPI_CHAR, &request); break;
    default: code = MPI_File_iwrite_all(file, data, count, MPI_CHAR, &request); break;
    }
    return code ? code : MPI_Wait(&request, status);
}

static int is_shared(enum family family)
{
    return family == SHARED || family == START_SHARED || family == ORDERED || family == BEGIN_ORDERED;
}

static int is_collective(enum family family)
{
    return family >= AT_ALL && !is_shared(family);
}

/* The pieces of this rank hold what it wrote, as far as the status says. */
static void compare(int count)
{
    MPI_Status status;
    int read;
    CHECK(MPI_File_read_at(file, 0, back, PIECES * PIECE, MPI_CHAR, &status) == MPI_SUCCESS);
    MPI_Get_count(&status, MPI_CHAR, &read);
    CHECK(read >= count && !memcmp(back, data, count));
}

static void refuse(enum family family, const char *protocol)
{
    MPI_Info info;
    MPI_Status status;
    int written = -1, failed, all;
    MPI_Info_create(&info);
    MPI_Info_set(info, "rankpoint_file_protocol", protocol);
    /* Every rank is an aggregator. */
    MPI_Info_set(info, "cb_nodes", "1000");
    MPI_Info_set(info, "cb_buffer_size", "10000");
    MPI_Info_set(info, "cb_block_size", "1000");
    int mode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
    CHECK(MPI_File_open(MPI_COMM_WORLD, "files-faults-test", mode, info, &file) == MPI_SUCCESS);
    MPI_Info_free(&info);
    see_pieces();
    int count = PIECE * PIECES;
    memset(data, 'a' + family + rank, sizeof data);
    if (is_shared(family)) {
        CHECK(MPI_File_set_view(file, 0, MPI_CHAR, MPI_CHAR, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    }
    failed = class_of(write_by(family, count, &status));
    if (failed != MPI_SUCCESS && failed != MPI_ERR_IO)
        fprintf(stderr, "family %d, %s: class %d\n", family, protocol, failed);
    CHECK(failed == MPI_SUCCESS || failed == MPI_ERR_IO);
    if (rank != size - 1 && !is_collective(family))
        CHECK(failed == MPI_SUCCESS);
    if (rank == size - 1 && (size > 1 ? !is_shared(family) : 1) && !(is_collective(family) && size > 1))
        CHECK(failed == MPI_ERR_IO);
    int class = failed == MPI_SUCCESS ? 0 : 1;
    MPI_Allreduce(&class, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (is_collective(family) && !strcmp(protocol, "two-phase"))
        CHECK(all == 0 || all == size);
    if (is_collective(family))
        CHECK(all > 0);
    if (failed == MPI_SUCCESS) {
        MPI_Get_count(&status, MPI_CHAR, &written);
        CHECK(written == count);
        if (!is_shared(family))
            compare(written);
    } else if (!(family == START_AT || family == START || family == START_AT_ALL || family == START_ALL || is_shared(family))) {
        MPI_Get_count(&status, MPI_CHAR, &written);
        CHECK(written >= 0 && written < count + 1);
        compare(written);
    }
    /* The file goes on working, in front of the limit. */
    MPI_Barrier(MPI_COMM_WORLD);
    see_pieces();
    memset(data, 'A' + rank, PIECE);
    CHECK(MPI_File_write_at_all(file, 0, data, PIECE, MPI_CHAR, &status) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    compare(PIECE);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

/* One rank may not open the file, nor write to the folder. */
static void forbid(void)
{
    if (geteuid() != 0)
        return;
    MPI_File none;
    char folder[] = "files-faults-folder", name[] = "files-faults-folder/file";
    if (rank == 0)
        mkdir(folder, 0700);
    MPI_Barrier(MPI_COMM_WORLD);
    int mode = MPI_MODE_CREATE | MPI_MODE_RDWR;
    if (rank == size - 1)
        CHECK(seteuid(65534) == 0);
    CHECK(class_of(MPI_File_open(MPI_COMM_WORLD, name, mode, MPI_INFO_NULL, &none)) == MPI_ERR_ACCESS && none == MPI_FILE_NULL);
    if (rank == size - 1)
        CHECK(seteuid(0) == 0);
    CHECK(MPI_File_open(MPI_COMM_WORLD, name, mode | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &none) == MPI_SUCCESS);
    CHECK(MPI_File_close(&none) == MPI_SUCCESS);
    if (rank == 0)
        rmdir(folder);
}

int main(int argc, char **argv)
{
    static const char *protocols[] = {"direct", "two-phase", "auto"};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    forbid();
    if (rank == size - 1) {
        struct rlimit limit;
        getrlimit(RLIMIT_FSIZE, &limit);
        limit.rlim_cur = LIMIT;
        setrlimit(RLIMIT_FSIZE, &limit);
        signal(SIGXFSZ, SIG_IGN);
    }
    for (int protocol = 0; protocol < 3; ++protocol)
        for (int family = 0; family < FAMILIES; ++family)
            refuse((enum family)family, protocols[protocol]);
    return finish(rank);
}
