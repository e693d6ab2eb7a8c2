/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Accesses to files whose buffers are in the memory of a GPU: what is written is read again, in all kinds of calls. */
#include "device.h"

enum { INDEPENDENT, NONBLOCKING, COLLECTIVE, COLLECTIVE_NONBLOCKING, SPLIT, WAYS };

static MPI_File file;

static int transfer(int way, int writes, MPI_Offset place, void *buffer, int count, MPI_Datatype type)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    int found;
    switch (way) {
    case INDEPENDENT:
        if (writes)
            MPI_File_write_at(file, place, buffer, count, type, &status);
        else
            MPI_File_read_at(file, place, buffer, count, type, &status);
        break;
    case NONBLOCKING:
        if (writes)
            MPI_File_iwrite_at(file, place, buffer, count, type, &request);
        else
            MPI_File_iread_at(file, place, buffer, count, type, &request);
        MPI_Wait(&request, &status);
        break;
    case COLLECTIVE:
        if (writes)
            MPI_File_write_at_all(file, place, buffer, count, type, &status);
        else
            MPI_File_read_at_all(file, place, buffer, count, type, &status);
        break;
    case COLLECTIVE_NONBLOCKING:
        if (writes)
            MPI_File_iwrite_at_all(file, place, buffer, count, type, &request);
        else
            MPI_File_iread_at_all(file, place, buffer, count, type, &request);
        MPI_Wait(&request, &status);
        break;
    default:
        if (writes) {
            MPI_File_write_at_all_begin(file, place, buffer, count, type);
            MPI_File_write_at_all_end(file, buffer, &status);
        } else {
            MPI_File_read_at_all_begin(file, place, buffer, count, type);
            MPI_File_read_at_all_end(file, buffer, &status);
        }
    }
    MPI_Get_count(&status, MPI_DOUBLE, &found);
    return found;
}

/* Writes from one kind of memory and reads into another; the file's end comes before the last element. */
static void round_trip(int way, int kind, MPI_Datatype type, int count)
{
    int elements;
    MPI_Count lower, extent;
    MPI_Type_get_extent_x(type, &lower, &extent);
    MPI_Type_size(type, &elements);
    elements = elements / (int)sizeof(double) * count;
    size_t bytes = (size_t)extent * (size_t)(count + 1);
    MPI_Offset place = rank * elements;
    Buffer from = make(kind & 1, bytes, 3 + (unsigned)rank), to = make(kind >> 1, bytes, 40);
    Buffer given = make(0, bytes, 3 + (unsigned)rank), wanted = make(0, bytes, 40);
    MPI_File_set_size(file, 0);
    CHECK(transfer(way, 1, place, address(&from), count, type) == elements);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    int is_last = rank == size - 1;
    CHECK(transfer(way, 0, place, address(&to), count + is_last, type) == elements);
    MPI_Sendrecv(given.host, count, type, 0, 0, wanted.host, count, type, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    CHECK(memcmp(contents(&to), wanted.host, bytes) == 0);
    drop(&from);
    drop(&to);
    drop(&given);
    drop(&wanted);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Datatype sparse;
    MPI_Type_vector(4, 1, 2, MPI_DOUBLE, &sparse);
    MPI_Type_commit(&sparse);
    char name[64];
    long number = (long)getpid();
    MPI_Bcast(&number, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    snprintf(name, sizeof name, "gpu-files.%ld", number);
    int mode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
    CHECK(MPI_File_open(MPI_COMM_WORLD, name, mode, MPI_INFO_NULL, &file) == MPI_SUCCESS);
    static const char *const representations[] = {"native", "external32"};
    for (int i = 0; i < 2; i++) {
        MPI_File_set_view(file, 0, MPI_DOUBLE, MPI_DOUBLE, representations[i], MPI_INFO_NULL);
        for (int way = 0; way < WAYS; way++)
            for (int kind = 1; kind < 4; kind++) {
                round_trip(way, kind, MPI_DOUBLE, 100);
                round_trip(way, kind, sparse, 30);
            }
    }
    MPI_File_close(&file);
    MPI_Type_free(&sparse);
    return finish(rank);
}
