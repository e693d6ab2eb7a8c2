/* SPDX-License-Identifier: MIT OR Apache-2.0
 * One-sided calls whose buffers or whose windows are in the memory of a GPU, in windows of all flavours and all kinds of epochs. Each call is made
 * twice, with buffers of the host and with others, on two halves of the window: what is there afterwards is the same. The driver is loaded before
 * MPI_Init or, with the argument `late`, after it. */
#include "device.h"

#include <stddef.h>

/* The last four have memory of a GPU: all of it, that of every other rank, what is attached, and the second half of what is attached. */
enum { CREATED, ALLOCATED, SHARED, DYNAMIC, ON_DEVICE, ON_SOME, ATTACHED_ON_DEVICE, HALF_ATTACHED_ON_DEVICE, FLAVOURS };
enum { FENCE, LOCK, LOCK_ALL, POST, EPOCHS };

/* Elements of a slot, and of which each rank has one at every target, in either half. */
enum { SLOT = 64, MOST = 8 };

typedef struct {
    double number;
    int place;
} Pair;

/* What an origin has at a target. */
typedef struct {
    double put[SLOT], sum[SLOT], fetched[SLOT];
    Pair pairs[SLOT];
    long words[SLOT];
} Slot;

static MPI_Win win;
/* Where the halves of each rank's window begin: addresses in a dynamic one, else displacements. */
static MPI_Aint bases[MOST][2];
static MPI_Group all;
static MPI_Datatype sparse;

static void begin(int epoch, int target)
{
    if (epoch == FENCE)
        MPI_Win_fence(0, win);
    else if (epoch == LOCK)
        MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
    else if (epoch == LOCK_ALL)
        MPI_Win_lock_all(0, win);
    else {
        MPI_Win_post(all, 0, win);
        MPI_Win_start(all, 0, win);
    }
}

static void end(int epoch, int target)
{
    if (epoch == FENCE)
        MPI_Win_fence(0, win);
    else if (epoch == LOCK)
        MPI_Win_unlock(target, win);
    else if (epoch == LOCK_ALL)
        MPI_Win_unlock_all(win);
    else {
        MPI_Win_complete(win);
        MPI_Win_wait(win);
    }
}

/* The displacement of a part of this rank's slot. */
static MPI_Aint at(int target, int half, size_t offset)
{
    return bases[target][half] + (MPI_Aint)((size_t)rank * sizeof(Slot) + offset);
}

static Buffer doubles(int is_device, int count, int seed)
{
    Buffer buffer = make(is_device, (size_t)count * sizeof(double), 0);
    double *values = (double *)(void *)buffer.host;
    for (int i = 0; i < count; i++)
        values[i] = seed + i;
    fill(&buffer);
    return buffer;
}

static Buffer longs(int is_device, int count, int seed)
{
    Buffer buffer = make(is_device, (size_t)count * sizeof(long), 0);
    long *values = (long *)(void *)buffer.host;
    for (int i = 0; i < count; i++)
        values[i] = seed + i;
    fill(&buffer);
    return buffer;
}

static void same(Buffer *host, Buffer *other)
{
    CHECK(memcmp(contents(host), contents(other), host->bytes) == 0);
    drop(host);
    drop(other);
}

/* Puts and accumulates. */
static void give(int epoch, int target, int half, int device)
{
    int has_requests = epoch == LOCK || epoch == LOCK_ALL;
    MPI_Request request;
    Buffer dense = doubles(device, 2 * SLOT, 10 + rank), terms = doubles(device, 2 * SLOT, 100 * rank);
    Buffer pairs = make(device, SLOT * sizeof(Pair), 0);
    memset(pairs.host, 0, pairs.bytes);
    for (int i = 0; i < SLOT; i++)
        ((Pair *)(void *)pairs.host)[i] = (Pair){(i * 7) % 5, rank + i};
    fill(&pairs);
    begin(epoch, target);
    MPI_Aint put = at(target, half, offsetof(Slot, put)), sum = at(target, half, offsetof(Slot, sum));
    MPI_Put(address(&dense), 10, MPI_DOUBLE, target, put, 10, MPI_DOUBLE, win);
    MPI_Put(address(&dense), 1, sparse, target, put + 80, 4, MPI_DOUBLE, win);
    MPI_Put(address(&dense), 4, MPI_DOUBLE, target, put + 160, 1, sparse, win);
    MPI_Put(address(&dense), 0, MPI_DOUBLE, target, put, 0, MPI_DOUBLE, win);
    MPI_Accumulate(address(&terms), SLOT, MPI_DOUBLE, target, sum, SLOT, MPI_DOUBLE, MPI_SUM, win);
    MPI_Accumulate(address(&terms), 1, sparse, target, sum, 4, MPI_DOUBLE, MPI_SUM, win);
    MPI_Accumulate(address(&pairs), SLOT, MPI_DOUBLE_INT, target, at(target, half, offsetof(Slot, pairs)), SLOT,
                   MPI_DOUBLE_INT, MPI_MAXLOC, win);
    if (has_requests) {
        MPI_Rput(address(&dense), 5, MPI_DOUBLE, target, put + 320, 5, MPI_DOUBLE, win, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Raccumulate(address(&terms), 3, MPI_DOUBLE, target, sum, 3, MPI_DOUBLE, MPI_SUM, win, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    end(epoch, target);
    drop(&dense);
    drop(&terms);
    drop(&pairs);
}

/* Gets, and calls that fetch; the results stay in the buffers. */
static void take(int epoch, int target, int half, int origin, int result, Buffer found[7])
{
    int has_requests = epoch == LOCK || epoch == LOCK_ALL;
    MPI_Request request;
    Buffer terms = doubles(origin, 2 * SLOT, 1000), one = longs(origin, 1, 5), compare = longs(result, 1, 0);
    for (int i = 0; i < 4; i++)
        found[i] = doubles(result, 2 * SLOT, -1 - i);
    for (int i = 4; i < 7; i++)
        found[i] = longs(result, 1, -5);
    MPI_Aint put = at(target, half, offsetof(Slot, put)), fetched = at(target, half, offsetof(Slot, fetched));
    MPI_Aint words = at(target, half, offsetof(Slot, words));
    begin(epoch, target);
    MPI_Get(address(&found[0]), 20, MPI_DOUBLE, target, put, 20, MPI_DOUBLE, win);
    MPI_Get(address(&found[1]), 1, sparse, target, put, 4, MPI_DOUBLE, win);
    MPI_Get_accumulate(address(&terms), SLOT, MPI_DOUBLE, address(&found[2]), SLOT, MPI_DOUBLE, target, fetched, SLOT, MPI_DOUBLE,
                       MPI_SUM, win);
    MPI_Get_accumulate(address(&terms), 4, MPI_DOUBLE, address(&found[3]), 1, sparse, target, fetched, 1, sparse, MPI_SUM, win);
    MPI_Fetch_and_op(address(&one), address(&found[4]), MPI_LONG, target, words, MPI_SUM, win);
    MPI_Fetch_and_op(NULL, address(&found[5]), MPI_LONG, target, words, MPI_NO_OP, win);
    MPI_Compare_and_swap(address(&one), address(&compare), address(&found[6]), MPI_LONG, target, words + 8, win);
    if (has_requests) {
        char *rest = (char *)address(&found[0]) + 20 * sizeof(double);
        MPI_Rget(rest, 5, MPI_DOUBLE, target, put, 5, MPI_DOUBLE, win, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        rest = (char *)address(&found[2]) + SLOT * sizeof(double);
        MPI_Rget_accumulate(address(&terms), 7, MPI_DOUBLE, rest, 7, MPI_DOUBLE, target, fetched, 7, MPI_DOUBLE, MPI_REPLACE,
                            win, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    end(epoch, target);
    drop(&terms);
    drop(&one);
    drop(&compare);
}

/* Nothing comes from MPI_PROC_NULL, and what is refused leaves the buffer alone. */
static void leave_alone(void)
{
    Buffer buffer = longs(1, 4, 3), before = longs(0, 4, 3);
    MPI_Win_lock_all(0, win);
    MPI_Get(address(&buffer), 4, MPI_LONG, MPI_PROC_NULL, 0, 4, MPI_LONG, win);
    MPI_Fetch_and_op(NULL, address(&buffer), MPI_LONG, MPI_PROC_NULL, 0, MPI_NO_OP, win);
    MPI_Win_unlock_all(win);
    int class, code;
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_lock_all(0, win);
    code = MPI_Get(address(&buffer), 4, MPI_LONG, size, 0, 4, MPI_LONG, win);
    MPI_Error_class(code, &class);
    CHECK(class == MPI_ERR_RANK);
    code = MPI_Put(address(&buffer), 5, MPI_LONG, 0, bases[0][0], 5, MPI_LONG, win);
    MPI_Error_class(code, &class);
    CHECK(class == MPI_ERR_BUFFER);
    MPI_Win_unlock_all(win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_ARE_FATAL);
    same(&before, &buffer);
}

/* Makes a window with two halves of so many bytes, which may be one behind the other. */
static void make_window(int flavour, Buffer halves[2], size_t bytes)
{
    char *memory = NULL;
    int is_dynamic = flavour == DYNAMIC || flavour >= ATTACHED_ON_DEVICE;
    int on_device = flavour == ON_DEVICE || flavour == ATTACHED_ON_DEVICE || (flavour == ON_SOME && rank % 2 == 0);
    MPI_Aint all_bytes = (MPI_Aint)(2 * bytes), places[2] = {0, (MPI_Aint)bytes};
    if (flavour == ALLOCATED)
        MPI_Win_allocate(all_bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    else if (flavour == SHARED)
        MPI_Win_allocate_shared(all_bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    if (memory != NULL) {
        halves[0] = (Buffer){0, bytes, (unsigned char *)memory, 0};
        halves[1] = (Buffer){0, bytes, (unsigned char *)memory + bytes, 0};
    } else if (flavour == HALF_ATTACHED_ON_DEVICE)
        for (int half = 0; half < 2; half++)
            halves[half] = make(half, bytes, 0);
    else {
        halves[0] = make(on_device, 2 * bytes, 0);
        halves[0].bytes = bytes;
        halves[1] = (Buffer){on_device, bytes, halves[0].host + bytes, halves[0].device + bytes};
    }
    if (is_dynamic) {
        MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        for (int half = 0; half < 2; half++) {
            MPI_Win_attach(win, address(&halves[half]), (MPI_Aint)bytes);
            MPI_Get_address(address(&halves[half]), &places[half]);
        }
    } else if (memory == NULL)
        MPI_Win_create(address(&halves[0]), all_bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Allgather(places, 2, MPI_AINT, bases, 2, MPI_AINT, MPI_COMM_WORLD);
}

static void free_window(int flavour, Buffer halves[2])
{
    if (flavour == DYNAMIC || flavour >= ATTACHED_ON_DEVICE)
        for (int half = 0; half < 2; half++)
            MPI_Win_detach(win, address(&halves[half]));
    MPI_Win_free(&win);
    if (flavour == ALLOCATED || flavour == SHARED)
        return;
    drop(&halves[0]);
    if (flavour == HALF_ATTACHED_ON_DEVICE)
        drop(&halves[1]);
}

static void try_window(int flavour)
{
    size_t bytes = (size_t)size * sizeof(Slot);
    Buffer halves[2];
    make_window(flavour, halves, bytes);
    int has_device = flavour >= ON_DEVICE;
    for (int epoch = 0; epoch < EPOCHS; epoch++)
        for (int kind = has_device ? 0 : 1; kind < 4; kind++) {
            int target = (rank + epoch) % size, origin_rank = (rank + size - epoch % size) % size;
            Buffer found[2][7];
            MPI_Win_fence(0, win);
            for (int half = 0; half < 2; half++) {
                memset(halves[half].host, 0, bytes);
                fill(&halves[half]);
            }
            MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
            for (int half = 0; half < 2; half++) {
                int origin = half ? kind & 1 : 0, result = half ? kind >> 1 : 0;
                give(epoch, target, half, origin);
                MPI_Barrier(MPI_COMM_WORLD);
                take(epoch, target, half, origin, result, found[half]);
            }
            for (int i = 0; i < 7; i++)
                same(&found[0][i], &found[1][i]);
            MPI_Barrier(MPI_COMM_WORLD);
            MPI_Win_fence(0, win);
            Slot *slots[2];
            for (int half = 0; half < 2; half++)
                slots[half] = (Slot *)(void *)contents(&halves[half]);
            CHECK(memcmp(slots[0], slots[1], bytes) == 0);
            CHECK(slots[0][origin_rank].put[3] == 13 + origin_rank && slots[0][origin_rank].sum[3] == 200 * origin_rank + 9);
            MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
        }
    leave_alone();
    free_window(flavour, halves);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Type_vector(4, 1, 2, MPI_DOUBLE, &sparse);
    MPI_Type_commit(&sparse);
    MPI_Comm node;
    int members;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &members);
    MPI_Comm_free(&node);
    for (int flavour = 0; flavour < FLAVOURS; flavour++)
        if (flavour != SHARED || members == size)
            try_window(flavour);
    MPI_Type_free(&sparse);
    MPI_Group_free(&all);
    return finish(rank);
}
