/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Data in the memory of a GPU between two ranks, with the layer for datatypes: bytes, statuses, order, and how often the driver is called.
 *
 *     devices early|late exact|launches all|host
 *
 * The driver is loaded before MPI_Init or after it and after messages. `exact` counts all its calls, `launches` those of kernels, where the
 * MPI library calls the driver, too. With `all`, contiguous data of GPUs are sent; with `host`, data of the host only, and no call is made
 * for them. The driver is a double whose device memory faults when the processor touches it. */
#include "../gpu/device.h"
#include <malloc.h>

static int rank, is_exact;

enum { SEND, SSEND, BSEND, ISEND, ISSEND, IBSEND, LATE, PERSISTENT, SENDRECV, ISENDRECV, REPLACE, MRECV, IMRECV, TEST, FORMS };

static const char *const FORM[] = {"Send", "Ssend", "Bsend", "Isend", "Issend", "Ibsend", "Isend unexpected", "persistent", "Sendrecv",
                                   "Isendrecv", "Sendrecv_replace", "Mrecv", "Imrecv", "Test"};

#define ROUNDS 2

/* Each rank sends elements to the other one. */
static void exchange(int form, void *from, void *to, int count, MPI_Datatype type)
{
    int other = 1 - rank, flag, found;
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Request requests[2];
    MPI_Message message;
    MPI_Status status[2];
    switch (form) {
    case SEND:
    case SSEND:
    case BSEND:
        for (int turn = 0; turn < 2; ++turn) {
            if (turn == rank)
                (form == SEND ? MPI_Send : form == SSEND ? MPI_Ssend : MPI_Bsend)(from, count, type, other, form, comm);
            else
                MPI_Recv(to, count, type, MPI_ANY_SOURCE, form, comm, &status[0]);
        }
        break;
    case PERSISTENT:
        MPI_Recv_init(to, count, type, other, form, comm, &requests[0]);
        MPI_Send_init(from, count, type, other, form, comm, &requests[1]);
        for (int round = 0; round < ROUNDS; ++round) {
            if (round == 0)
                MPI_Startall(2, requests);
            else
                MPI_Start(&requests[0]), MPI_Start(&requests[1]);
            MPI_Waitall(2, requests, status);
        }
        MPI_Request_free(&requests[0]);
        MPI_Request_free(&requests[1]);
        break;
    case SENDRECV:
        MPI_Sendrecv(from, count, type, other, form, to, count, type, other, form, comm, &status[0]);
        break;
    case ISENDRECV:
        /* What it receives is the library's. */
        MPI_Irecv(to, count, type, other, form, comm, &requests[0]);
        MPI_Isendrecv(from, count, type, other, form, NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, comm, &requests[1]);
        MPI_Waitall(2, requests, status);
        break;
    case REPLACE:
        MPI_Sendrecv_replace(to, count, type, other, form, other, form, comm, &status[0]);
        break;
    case MRECV:
    case IMRECV:
        MPI_Isend(from, count, type, other, form, comm, &requests[1]);
        MPI_Mprobe(other, form, comm, &message, &status[0]);
        MPI_Get_count(&status[0], type, &found);
        CHECK(found == count);
        if (form == MRECV)
            MPI_Mrecv(to, count, type, &message, &status[0]);
        else {
            MPI_Imrecv(to, count, type, &message, &requests[0]);
            MPI_Wait(&requests[0], &status[0]);
        }
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        break;
    case LATE:
        MPI_Isend(from, count, type, other, form, comm, &requests[1]);
        MPI_Barrier(comm);
        MPI_Irecv(to, count, type, other, form, comm, &requests[0]);
        MPI_Waitall(2, requests, status);
        break;
    default:
        MPI_Irecv(to, count, type, other, form, comm, &requests[0]);
        (form == ISSEND ? MPI_Issend : form == IBSEND ? MPI_Ibsend : MPI_Isend)(from, count, type, other, form, comm, &requests[1]);
        if (form == TEST) {
            for (flag = 0; !flag;)
                MPI_Test(&requests[0], &flag, &status[0]);
            MPI_Waitany(1, &requests[1], &found, &status[1]);
        } else
            MPI_Waitall(2, requests, status);
    }
    MPI_Get_count(&status[0], type, &found);
    CHECK(found == count && status[0].MPI_SOURCE == other && status[0].MPI_TAG == form);
}

/* Calls of the driver so far. */
struct calls {
    size_t all, launches, pinned, device;
};

static struct calls calls_so_far(void)
{
    struct calls calls = {cu_calls(NULL), cu_calls("cuLaunchKernel"), cu_calls("cuMemHostAlloc"), cu_calls("cuMemAlloc_v2")};
    return calls;
}

/* The owner of memory outside of the heap is asked for by one call. A kernel, and the wait for it, take three calls each, because the context
 * of the memory is made current; a copy takes three. */
static size_t calls_of(int is_device, int is_run, int runs)
{
    return is_device ? (size_t)(1 + runs * (is_run ? 3 : 6)) : 0;
}

/* What a receive makes of a buffer: packed and unpacked by the processor. */
static void expect(Buffer *wanted, const Buffer *sent, int bytes, int count, MPI_Datatype type)
{
    int length, position = 0;
    MPI_Pack_size(count, type, MPI_COMM_SELF, &length);
    char *packed = malloc((size_t)length + 1), *old = malloc((size_t)length + 1);
    MPI_Pack(sent->host, count, type, packed, length, &position, MPI_COMM_SELF);
    position = 0;
    MPI_Pack(wanted->host, count, type, old, length, &position, MPI_COMM_SELF);
    if (bytes >= 0)
        memcpy(packed + bytes, old + bytes, (size_t)(length - bytes));
    position = 0;
    MPI_Unpack(packed, length, &position, wanted->host, count, type, MPI_COMM_SELF);
    free(packed);
    free(old);
}

static size_t span_of(MPI_Datatype type, int count)
{
    MPI_Count lower, extent;
    MPI_Type_get_extent_x(type, &lower, &extent);
    return (size_t)extent * (size_t)count;
}

/* A message in each form, between any two kinds of memory: the second time, when kernels and tables are there, each side calls the driver as
 * often as its memory needs. */
static void travel(int form, MPI_Datatype type, int count, int is_run, int from_device, int to_device)
{
    size_t bytes = span_of(type, count);
    int is_passing = is_run && !from_device && !to_device;
    if (form == REPLACE && from_device != to_device)
        return;
    for (int time = 0; time < 2; ++time) {
        Buffer from = make(from_device, bytes, 1 + (unsigned)rank), to = make(to_device, bytes, form == REPLACE ? 1 + (unsigned)rank : 50);
        Buffer sent = make(0, bytes, 2 - (unsigned)rank), wanted = make(0, bytes, form == REPLACE ? 1 + (unsigned)rank : 50);
        struct calls before = calls_so_far();
        exchange(form, address(&from), address(&to), count, type);
        struct calls after = calls_so_far();
        int runs = form == PERSISTENT ? ROUNDS : 1;
        size_t launches = is_run ? 0 : (size_t)(runs * (from_device + to_device));
        size_t all = calls_of(from_device, is_run, runs) + calls_of(to_device, is_run, runs);
        if (form == REPLACE)
            all -= (size_t)from_device;
        int is_right = after.launches - before.launches == launches;
        /* How many blocks there are depends on when messages arrive. */
        all += 3 * (after.pinned - before.pinned);
        if (is_exact && time == 1)
            is_right = is_right && (is_passing || after.all - before.all == all) && after.device == before.device;
        if (!is_right) {
            fprintf(stderr, "%s, %d to %d, %d elements: %zu calls of the driver, expected %zu; %zu launches, expected %zu\n", FORM[form],
                    from_device, to_device, count, after.all - before.all, all, after.launches - before.launches, launches);
            CHECK(!"as many calls of the driver as expected");
        }
        expect(&wanted, &sent, -1, count, type);
        CHECK(memcmp(contents(&to), wanted.host, bytes) == 0);
        drop(&from), drop(&to), drop(&sent), drop(&wanted);
    }
}

/* Fewer bytes than the receive has room for, ending inside an element; and a message that is too long, of which nothing may be written. */
static void receive_a_part(MPI_Datatype type, int count)
{
    int size, found;
    size_t bytes = span_of(type, count);
    MPI_Type_size(type, &size);
    char *packed = malloc((size_t)(size * count) + 64);
    const int parts[] = {0, 1, 13, size, size * count - 3, size * count};
    for (int i = 0; i < 6; ++i) {
        Buffer to = make(1, bytes, 50), wanted = make(0, bytes, 50), sent = make(0, bytes, 60);
        int position = 0;
        MPI_Request request;
        MPI_Status status;
        size_t launches = cu_calls("cuLaunchKernel");
        MPI_Irecv(address(&to), count, type, 1 - rank, 7, MPI_COMM_WORLD, &request);
        MPI_Pack(sent.host, count, type, packed, size * count, &position, MPI_COMM_SELF);
        MPI_Send(packed, parts[i], MPI_PACKED, 1 - rank, 7, MPI_COMM_WORLD);
        MPI_Wait(&request, &status);
        MPI_Get_count(&status, MPI_PACKED, &found);
        CHECK(found == parts[i] && cu_calls("cuLaunchKernel") - launches == (parts[i] > 0));
        expect(&wanted, &sent, parts[i], count, type);
        CHECK(memcmp(contents(&to), wanted.host, bytes) == 0);
        drop(&to), drop(&wanted), drop(&sent);
    }
    Buffer to = make(1, bytes, 50), wanted = make(0, bytes, 50);
    size_t launches = cu_calls("cuLaunchKernel");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    memset(packed, 0, (size_t)(size * count) + 64);
    MPI_Request request;
    MPI_Isend(packed, size * count + 64, MPI_PACKED, rank, 8, MPI_COMM_WORLD, &request);
    int code = MPI_Recv(address(&to), count, type, rank, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE), class;
    MPI_Error_class(code, &class);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    CHECK(class == MPI_ERR_TRUNCATE && cu_calls("cuLaunchKernel") == launches);
    CHECK(memcmp(contents(&to), wanted.host, bytes) == 0);
    drop(&to), drop(&wanted);
    free(packed);
}

/* Types and requests that the program frees while messages are on their way. */
static void free_before_completion(void)
{
    MPI_Datatype type, twin;
    MPI_Request request;
    size_t bytes;
    MPI_Type_vector(30, 1, 3, MPI_INT, &twin);
    MPI_Type_commit(&twin);
    bytes = span_of(twin, 1);
    Buffer from = make(1, bytes, 1 + (unsigned)rank), to = make(1, bytes, 50);
    Buffer sent = make(0, bytes, 2 - (unsigned)rank), wanted = make(0, bytes, 50);
    MPI_Type_vector(30, 1, 3, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Irecv(address(&to), 1, type, 1 - rank, 9, MPI_COMM_WORLD, &request);
    MPI_Type_free(&type);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Datatype other;
    MPI_Type_vector(30, 1, 3, MPI_INT, &other);
    MPI_Type_commit(&other);
    MPI_Request gone;
    MPI_Isend(address(&from), 1, other, 1 - rank, 9, MPI_COMM_WORLD, &gone);
    MPI_Type_free(&other);
    MPI_Request_free(&gone);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(&wanted, &sent, -1, 1, twin);
    CHECK(memcmp(contents(&to), wanted.host, bytes) == 0);
    MPI_Type_free(&twin);
    MPI_Barrier(MPI_COMM_WORLD);
    drop(&from), drop(&to), drop(&sent), drop(&wanted);
}

/* Messages of one tag arrive in the order in which they were sent, packed on a GPU or not. */
static void keep_the_order(MPI_Datatype type)
{
    size_t bytes = span_of(type, 1);
    int size, other = 1 - rank;
    MPI_Type_size(type, &size);
    Buffer from = make(1, bytes, 3);
    char *first = malloc((size_t)size), *second = malloc((size_t)size);
    MPI_Request requests[2];
    MPI_Status status;
    int found;
    MPI_Isend(address(&from), 1, type, other, 4, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend("after", 5, MPI_CHAR, other, 4, MPI_COMM_WORLD, &requests[1]);
    MPI_Recv(first, size, MPI_PACKED, other, 4, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_PACKED, &found);
    CHECK(found == size);
    MPI_Recv(second, size, MPI_CHAR, other, 4, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_CHAR, &found);
    CHECK(found == 5 && memcmp(second, "after", 5) == 0);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    free(first);
    free(second);
    drop(&from);
}

/* MPI_Pack and MPI_Unpack of data of a GPU, into memory of the host or of the GPU. */
static void pack_and_unpack(MPI_Datatype type, int count, int is_run, int packed_on_device)
{
    size_t bytes = span_of(type, count);
    int length, position = 3;
    MPI_Pack_size(count, type, MPI_COMM_SELF, &length);
    Buffer laid_out = make(1, bytes, 4), packed = make(packed_on_device, (size_t)length + 5, 9);
    Buffer wanted = make(0, (size_t)length + 5, 9), same = make(0, bytes, 4);
    MPI_Pack(same.host, count, type, wanted.host, length + 5, &position, MPI_COMM_SELF);
    CHECK(position == length + 3);
    position = 3;
    size_t launches = cu_calls("cuLaunchKernel");
    MPI_Pack(address(&laid_out), count, type, address(&packed), length + 5, &position, MPI_COMM_SELF);
    CHECK(position == length + 3 && cu_calls("cuLaunchKernel") - launches == !is_run);
    CHECK(memcmp(contents(&packed), wanted.host, wanted.bytes) == 0);
    Buffer target = make(1, bytes, 20), image = make(0, bytes, 20);
    position = 3;
    launches = cu_calls("cuLaunchKernel");
    MPI_Unpack(address(&packed), length + 5, &position, address(&target), count, type, MPI_COMM_SELF);
    CHECK(position == length + 3 && cu_calls("cuLaunchKernel") - launches == !is_run);
    position = 3;
    MPI_Unpack(wanted.host, length + 5, &position, image.host, count, type, MPI_COMM_SELF);
    CHECK(memcmp(contents(&target), image.host, bytes) == 0);
    drop(&laid_out), drop(&packed), drop(&wanted), drop(&same), drop(&target), drop(&image);
}

/* Data of the host before the driver is there; the layer does not load it. */
static void host_only(MPI_Datatype type, int count)
{
    size_t bytes = span_of(type, count);
    for (int form = 0; form < FORMS; ++form) {
        Buffer from = make(0, bytes, 1 + (unsigned)rank), to = make(0, bytes, form == REPLACE ? 1 + (unsigned)rank : 50);
        Buffer sent = make(0, bytes, 2 - (unsigned)rank), wanted = make(0, bytes, form == REPLACE ? 1 + (unsigned)rank : 50);
        exchange(form, from.host, to.host, count, type);
        expect(&wanted, &sent, -1, count, type);
        CHECK(memcmp(to.host, wanted.host, bytes) == 0);
        drop(&from), drop(&to), drop(&sent), drop(&wanted);
    }
}

/* Elements that leave the allocation: the first call that finds that ends with an error. */
static void report_what_fails(void)
{
    MPI_Datatype far;
    MPI_Request request = MPI_REQUEST_NULL;
    double twenty[20] = {0};
    int code, class;
    Buffer one = make(1, 80, 5), wanted = make(0, 80, 5);
    MPI_Type_vector(20, 1, 2, MPI_DOUBLE, &far);
    MPI_Type_commit(&far);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    code = MPI_Irecv(address(&one), 1, far, rank, 5, MPI_COMM_WORLD, &request);
    if (code == MPI_SUCCESS) {
        MPI_Send(twenty, 20, MPI_DOUBLE, rank, 5, MPI_COMM_WORLD);
        code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Error_class(code, &class);
    CHECK(class == MPI_ERR_BUFFER && request == MPI_REQUEST_NULL);
    drop(&one);
    one = make(1, 80, 5);
    code = MPI_Send_init(address(&one), 1, far, rank, 5, MPI_COMM_WORLD, &request);
    if (code == MPI_SUCCESS)
        code = MPI_Start(&request);
    MPI_Error_class(code, &class);
    CHECK(class == MPI_ERR_BUFFER);
    if (request != MPI_REQUEST_NULL)
        MPI_Request_free(&request);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    CHECK(memcmp(contents(&one), wanted.host, 80) == 0);
    MPI_Type_free(&far);
    drop(&one), drop(&wanted);
}

/* Regular, nested, listed, of unequal parts, and longer than what the rule of `auto` sends through the host. */
static int make_types(MPI_Datatype *types, int *counts)
{
    MPI_Datatype row, parts[3] = {MPI_INT, MPI_DOUBLE, MPI_CHAR};
    int lengths[40], places[40], sizes[3] = {1, 1, 6};
    MPI_Aint offsets[3] = {0, 8, 16};
    for (int i = 0; i < 40; ++i)
        lengths[i] = 1 + i * i % 3, places[i] = 4 * i + i % 2;
    MPI_Type_vector(37, 1, 3, MPI_DOUBLE, &types[0]);
    MPI_Type_vector(5, 2, 4, MPI_SHORT, &row);
    MPI_Type_create_hvector(7, 1, 64, row, &types[1]);
    MPI_Type_free(&row);
    MPI_Type_indexed(40, lengths, places, MPI_SHORT, &types[2]);
    MPI_Type_create_struct(3, sizes, offsets, parts, &row);
    MPI_Type_create_resized(row, 0, 32, &types[3]);
    MPI_Type_free(&row);
    MPI_Type_vector(9000, 1, 2, MPI_DOUBLE, &types[4]);
    for (int i = 0; i < 5; ++i) {
        MPI_Type_commit(&types[i]);
        counts[i] = i == 3 ? 20 : i == 4 ? 1 : 2;
    }
    return 5;
}

int main(int argc, char **argv)
{
    int size, counts[5];
    MPI_Datatype types[5], row;
    int is_late = argc > 1 && strcmp(argv[1], "late") == 0, is_all = argc > 3 && strcmp(argv[3], "all") == 0;
    int is_host = argc > 3 && strcmp(argv[3], "host") == 0;
    is_exact = argc > 2 && strcmp(argv[2], "exact") == 0;
    /* All memory of the host that the test has is in the heap below the break. */
    mallopt(M_MMAP_MAX, 0);
    if (!is_late)
        load_driver();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size == 2);
    static char buffered[1 << 20];
    MPI_Buffer_attach(buffered, sizeof buffered);
    int number = make_types(types, counts);
    for (int i = 0; is_late && i < number; ++i)
        host_only(types[i], counts[i]);
    if (is_late) {
        CHECK(dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_NOW) == NULL);
        load_driver();
    }
    CHECK(cu_calls != NULL);
    if (is_host) {
        size_t before = cu_calls(NULL);
        for (int i = 0; i < number; ++i)
            host_only(types[i], counts[i]);
        host_only(MPI_DOUBLE, 100);
        CHECK(cu_calls(NULL) == before);
        return finish(rank);
    }
    for (int i = 0; i < number; ++i)
        for (int form = 0; form < FORMS; ++form)
            for (int way = 0; way < 4; ++way)
                travel(form, types[i], counts[i], 0, way & 1, way >> 1);
    MPI_Type_contiguous(5, MPI_INT, &row);
    MPI_Type_commit(&row);
    for (int form = 0; form < FORMS; ++form)
        for (int way = 0; way < (is_all ? 4 : 1); ++way) {
            travel(form, MPI_DOUBLE, 100, 1, way & 1, way >> 1);
            travel(form, row, 3, 1, way & 1, way >> 1);
        }
    size_t before = cu_calls(NULL);
    if (!is_all && is_exact) {
        host_only(MPI_DOUBLE, 100);
        CHECK(cu_calls(NULL) == before);
    }
    for (int i = 0; i < number; ++i) {
        receive_a_part(types[i], counts[i]);
        keep_the_order(types[i]);
        pack_and_unpack(types[i], counts[i], 0, 0);
        pack_and_unpack(types[i], counts[i], 0, 1);
    }
    for (int on_device = 0; is_all && on_device < 2; ++on_device)
        pack_and_unpack(row, 3, 1, on_device);
    free_before_completion();
    report_what_fails();
    MPI_Type_free(&row);
    for (int i = 0; i < number; ++i)
        MPI_Type_free(&types[i]);
    void *address_;
    int bytes;
    MPI_Buffer_detach(&address_, &bytes);
    return finish(rank);
}
