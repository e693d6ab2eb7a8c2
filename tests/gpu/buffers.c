/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Messages from and to the memory of a GPU. The driver is loaded before MPI_Init or, with the argument `late`, after it and after some
 * calls; in our tests it is a double whose device memory faults when the processor touches it. */
#include "device.h"


/* How a message travels. */
enum { BLOCKING, NONBLOCKING, UNEXPECTED, SYNCHRONOUS, BUFFERED, PERSISTENT, SENDRECV, PROBED, WAYS };

static void exchange(void *from, void *to, int count, MPI_Datatype type, int way)
{
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Request requests[2];
    MPI_Status status;
    MPI_Message message;
    switch (way) {
    case BLOCKING:
        if (rank == 0 && size > 1) {
            MPI_Send(from, count, type, next, way, MPI_COMM_WORLD);
            MPI_Recv(to, count, type, before, way, MPI_COMM_WORLD, &status);
        } else {
            MPI_Irecv(to, count, type, before, way, MPI_COMM_WORLD, &requests[0]);
            MPI_Send(from, count, type, next, way, MPI_COMM_WORLD);
            MPI_Wait(&requests[0], &status);
        }
        break;
    case UNEXPECTED:
        MPI_Isend(from, count, type, next, way, MPI_COMM_WORLD, &requests[0]);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Recv(to, count, type, before, way, MPI_COMM_WORLD, &status);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        break;
    case BUFFERED:
        MPI_Bsend(from, count, type, next, way, MPI_COMM_WORLD);
        MPI_Recv(to, count, type, MPI_ANY_SOURCE, way, MPI_COMM_WORLD, &status);
        break;
    case PERSISTENT:
        MPI_Recv_init(to, count, type, before, way, MPI_COMM_WORLD, &requests[0]);
        MPI_Send_init(from, count, type, next, way, MPI_COMM_WORLD, &requests[1]);
        for (int round = 0; round < 2; round++) {
            MPI_Startall(2, requests);
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        }
        MPI_Request_free(&requests[0]);
        MPI_Request_free(&requests[1]);
        return;
    case SENDRECV:
        MPI_Sendrecv(from, count, type, next, way, to, count, type, before, way, MPI_COMM_WORLD, &status);
        break;
    case PROBED:
        MPI_Isend(from, count, type, next, way, MPI_COMM_WORLD, &requests[0]);
        MPI_Mprobe(before, way, MPI_COMM_WORLD, &message, &status);
        MPI_Mrecv(to, count, type, &message, &status);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        break;
    default:
        MPI_Irecv(to, count, type, before, way, MPI_COMM_WORLD, &requests[0]);
        if (way == SYNCHRONOUS)
            MPI_Issend(from, count, type, next, way, MPI_COMM_WORLD, &requests[1]);
        else
            MPI_Isend(from, count, type, next, way, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        return;
    }
    int found;
    MPI_Get_count(&status, type, &found);
    CHECK(found == count && status.MPI_SOURCE == before);
}

/* Sends elements in a ring, between any two kinds of memory, and compares with a copy on the host. */
static void travel(MPI_Datatype type, int count, int way, int from_device, int to_device)
{
    MPI_Count lower, extent;
    MPI_Type_get_extent_x(type, &lower, &extent);
    size_t bytes = (size_t)extent * (size_t)count;
    int before = (rank + size - 1) % size;
    Buffer from = make(from_device, bytes, 1 + (unsigned)rank);
    Buffer to = make(to_device, bytes, 50);
    Buffer sent = make(0, bytes, 1 + (unsigned)before), wanted = make(0, bytes, 50);
    exchange(address(&from), address(&to), count, type, way);
    /* What should be there: packed and unpacked by the processor. */
    int length, position = 0;
    MPI_Pack_size(count, type, MPI_COMM_SELF, &length);
    char *packed = malloc((size_t)length + 1);
    MPI_Pack(sent.host, count, type, packed, length, &position, MPI_COMM_SELF);
    position = 0;
    MPI_Unpack(packed, length, &position, wanted.host, count, type, MPI_COMM_SELF);
    CHECK(memcmp(contents(&to), wanted.host, bytes) == 0);
    free(packed);
    drop(&from);
    drop(&to);
    drop(&sent);
    drop(&wanted);
}

static void pack_and_unpack(MPI_Datatype type, int count, int laid_out_on_device, int packed_on_device)
{
    MPI_Count lower, extent;
    MPI_Type_get_extent_x(type, &lower, &extent);
    size_t bytes = (size_t)extent * (size_t)count;
    int length, position = 3;
    MPI_Pack_size(count, type, MPI_COMM_SELF, &length);
    Buffer laid_out = make(laid_out_on_device, bytes, 4), packed = make(packed_on_device, (size_t)length + 5, 9);
    Buffer wanted = make(0, (size_t)length + 5, 9), same = make(0, bytes, 4);
    MPI_Pack(same.host, count, type, wanted.host, length + 5, &position, MPI_COMM_SELF);
    CHECK(position == length + 3);
    position = 3;
    MPI_Pack(address(&laid_out), count, type, address(&packed), length + 5, &position, MPI_COMM_SELF);
    CHECK(position == length + 3);
    CHECK(memcmp(contents(&packed), wanted.host, wanted.bytes) == 0);
    Buffer target = make(laid_out_on_device, bytes, 20), image = make(0, bytes, 20);
    position = 3;
    MPI_Unpack(address(&packed), length + 5, &position, address(&target), count, type, MPI_COMM_SELF);
    position = 3;
    MPI_Unpack(wanted.host, length + 5, &position, image.host, count, type, MPI_COMM_SELF);
    CHECK(memcmp(contents(&target), image.host, bytes) == 0);
    drop(&laid_out);
    drop(&packed);
    drop(&wanted);
    drop(&same);
    drop(&target);
    drop(&image);
}

/* Data that leave the allocation are refused before a kernel starts: the error names the GPU, the allocation and how far they reach beyond it.
 * A GPU may have other memory there, which is no error. */
static void left(int code)
{
    char text[MPI_MAX_ERROR_STRING];
    int class, length;
    MPI_Error_class(code, &class);
    MPI_Error_string(code, text, &length);
    CHECK(class == MPI_ERR_BUFFER);
    CHECK(strstr(text, "in the memory of GPU 0") && strstr(text, "has 80 bytes") && strstr(text, "end 232 bytes before"));
}

static void leave_the_allocation(const Buffer *one)
{
    MPI_Request request;
    MPI_Datatype far;
    MPI_Type_vector(20, 1, 2, MPI_DOUBLE, &far);
    MPI_Type_commit(&far);
    size_t launches = cu_calls("cuLaunchKernel");
    left(MPI_Send(address(one), 1, far, rank, 6, MPI_COMM_WORLD));
    left(MPI_Irecv(address(one), 1, far, rank, 7, MPI_COMM_WORLD, &request));
    left(MPI_Bcast(address(one), 1, far, 0, MPI_COMM_SELF));
    left(MPI_Alltoall(address(one), 39, MPI_DOUBLE, address(one), 39, MPI_DOUBLE, MPI_COMM_SELF));
    CHECK(cu_calls("cuLaunchKernel") == launches);
    MPI_Type_free(&far);
}

/* Elements in two kinds of memory: the first byte and the last one say so. */
static void mixed(const Buffer *one)
{
    static double here[2];
    MPI_Aint places[2];
    MPI_Datatype both;
    for (int first = 0; first < 2; first++) {
        MPI_Get_address(here, &places[first]);
        MPI_Get_address(address(one), &places[1 - first]);
        MPI_Type_create_hindexed(2, (int[]){2, 2}, places, MPI_DOUBLE, &both);
        MPI_Type_commit(&both);
        int class, code = MPI_Send(MPI_BOTTOM, 1, both, rank, 6, MPI_COMM_WORLD);
        MPI_Error_class(code, &class);
        CHECK(class == MPI_ERR_BUFFER);
        MPI_Type_free(&both);
    }
}

/* What is refused is an error, and no access. */
static void errors(void)
{
    Buffer one = make(1, 80, 1);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    int class, code;
    /* A message that is too long gives what fits. */
    double nine[9];
    for (int i = 0; i < 9; i++)
        nine[i] = rank + i;
    MPI_Request request;
    MPI_Irecv(address(&one), 4, MPI_DOUBLE, rank, 5, MPI_COMM_WORLD, &request);
    MPI_Send(nine, 9, MPI_DOUBLE, rank, 5, MPI_COMM_WORLD);
    code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Error_class(code, &class);
    CHECK(class == MPI_ERR_TRUNCATE);
    CHECK(memcmp(contents(&one), nine, 32) == 0);
    if (is_double)
        leave_the_allocation(&one);
    mixed(&one);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    drop(&one);
}

int main(int argc, char **argv)
{
    int is_late = argc > 1 && strcmp(argv[1], "late") == 0;
    if (!is_late)
        load_driver();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (is_late) {
        int left = -1;
        MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &left, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        CHECK(left == (rank + size - 1) % size);
        load_driver();
        /* The first call after that has a buffer of the GPU. */
        travel(MPI_BYTE, 8, NONBLOCKING, 1, 1);
    }
    static char attached[1 << 20];
    MPI_Buffer_attach(attached, sizeof attached);

    MPI_Datatype types[5];
    int lengths[] = {1, 3, 2}, places[] = {0, 2, 7};
    MPI_Aint offsets[] = {0, 8, 16};
    MPI_Datatype parts[] = {MPI_INT, MPI_DOUBLE, MPI_CHAR};
    int ones[] = {1, 1, 6};
    MPI_Type_contiguous(1, MPI_INT, &types[0]);
    MPI_Type_vector(5, 1, 3, MPI_DOUBLE, &types[1]);
    MPI_Type_indexed(3, lengths, places, MPI_INT, &types[2]);
    MPI_Type_create_struct(3, ones, offsets, parts, &types[3]);
    MPI_Type_vector(300, 2, 4, MPI_SHORT, &types[4]);
    int counts[][3] = {{1, 2000, 40000}, {1, 40, 300}, {2, 60, 900}, {1, 50, 900}, {1, 3, 20}};
    for (int type = 0; type < 5; type++) {
        MPI_Type_commit(&types[type]);
        for (int step = 0; step < 3; step++) {
            int count = counts[type][step];
            for (int kind = 1; kind < 4; kind++) {
                for (int way = 0; way < WAYS; way++)
                    travel(types[type], count, way, kind & 1, kind >> 1);
                pack_and_unpack(types[type], count, kind & 1, kind >> 1);
            }
        }
        MPI_Type_free(&types[type]);
    }
    travel(MPI_DOUBLE, 1, BLOCKING, 1, 1);
    travel(MPI_BYTE, 1, NONBLOCKING, 1, 0);
    travel(MPI_BYTE, 3, BLOCKING, 0, 0);
    errors();
    MPI_Buffer_detach(&(void *){NULL}, &(int){0});
    return finish(rank);
}
