/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 2
 * ENV: RANKPOINT_VCIS=1
 * ENV: RANKPOINT_VCIS=4
 * Threads of a process with collective accesses to files of their own and accesses to one that they share, all at once. */
#include "check.h"
#include <pthread.h>

#define THREADS 3
#define ROUNDS 30
#define PIECE 50
#define PIECES 20

/* What a thread gets. */
struct job {
    MPI_Comm comm;
    int number;
};

static int rank, size;
static MPI_File shared;

static MPI_File open_file(MPI_Comm comm, const char *name, const char *protocol)
{
    MPI_File file;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "rankpoint_file_protocol", protocol);
    MPI_Info_set(info, "cb_buffer_size", "700");
    int mode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
    CHECK(MPI_File_open(comm, name, mode, info, &file) == MPI_SUCCESS);
    MPI_Info_free(&info);
    return file;
}

static void *work(void *argument)
{
    static const char *protocols[] = {"direct", "two-phase", "auto"};
    MPI_Comm comm = ((struct job *)argument)->comm;
    int number = ((struct job *)argument)->number;
    char name[64], data[PIECE * PIECES], back[PIECE * PIECES];
    int record[2], seen[2];
    MPI_Datatype piece, unit;
    MPI_Request request;
    snprintf(name, sizeof name, "files-threads-test-%d", number);
    MPI_File file = open_file(comm, name, protocols[number]);
    MPI_Type_contiguous(PIECE, MPI_CHAR, &piece);
    MPI_Type_create_resized(piece, 0, (MPI_Aint)PIECE * size, &unit);
    MPI_Type_commit(&unit);
    CHECK(MPI_File_set_view(file, (MPI_Offset)rank * PIECE, MPI_CHAR, unit, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    for (int round = 0; round < ROUNDS; ++round) {
        memset(data, 'a' + (round + rank + number) % 26, sizeof data);
        if (round % 2) {
            CHECK(MPI_File_iwrite_at_all(file, 0, data, sizeof data, MPI_CHAR, &request) == MPI_SUCCESS);
            CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        } else
            CHECK(MPI_File_write_at_all(file, 0, data, sizeof data, MPI_CHAR, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(MPI_File_read_at(file, 0, back, sizeof back, MPI_CHAR, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(!memcmp(data, back, sizeof data));
        /* Records of this thread in the file of all threads. */
        MPI_Offset at = 8 * (((MPI_Offset)round * size + rank) * THREADS + number);
        record[0] = round * size + rank;
        record[1] = number;
        CHECK(MPI_File_write_at(shared, at, record, 2, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(MPI_File_iread_at(shared, at, seen, 2, MPI_INT, &request) == MPI_SUCCESS);
        CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS && !memcmp(record, seen, 8));
        CHECK(MPI_File_write_shared(shared, "x", 1, MPI_CHAR, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
    MPI_Type_free(&piece);
    MPI_Type_free(&unit);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    return NULL;
}

int main(int argc, char **argv)
{
    struct job jobs[THREADS];
    pthread_t threads[THREADS];
    MPI_Offset position;
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(level == MPI_THREAD_MULTIPLE);
    shared = open_file(MPI_COMM_WORLD, "files-threads-test", "auto");
    CHECK(MPI_File_seek_shared(shared, 8 * ROUNDS * THREADS * size, MPI_SEEK_SET) == MPI_SUCCESS);
    for (int i = 0; i < THREADS; ++i) {
        MPI_Comm_dup(MPI_COMM_WORLD, &jobs[i].comm);
        jobs[i].number = i;
    }
    for (int i = 0; i < THREADS; ++i)
        CHECK(pthread_create(&threads[i], NULL, work, &jobs[i]) == 0);
    for (int i = 0; i < THREADS; ++i) {
        pthread_join(threads[i], NULL);
        MPI_Comm_free(&jobs[i].comm);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_get_position_shared(shared, &position) == MPI_SUCCESS);
    CHECK(position == (8 + 1) * ROUNDS * THREADS * size);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_close(&shared) == MPI_SUCCESS);
    return finish(rank);
}
