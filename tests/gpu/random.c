/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Random one-sided operations on two windows: one in memory of the host, and one of which each rank has memory of a kind of its own. Origins, results
 * and datatypes are random, too, and buffers are allocated and freed all the time, so addresses change their kind. Afterwards both windows hold
 * the same. The second argument is the number of windows, the third the first seed; threads do the same with windows of their own. */
#include "device.h"

#include <pthread.h>

enum { HOST, DEVICE, ALLOCATED, ALLOCATED_ON_DEVICE, ATTACHED, ATTACHED_ON_DEVICE, KINDS };
enum { FENCES, LOCKS, LOCK_ALL, GROUPS, EPOCHS };
/* Bytes of an operation's place at a target, and the most operations of an epoch. */
enum { PLACE = 40000, MOST = 6, THREADS = 2, TYPES = 4 };

static MPI_Datatype types[TYPES];
/* Elements that fit into a place. */
static const int most[TYPES] = {PLACE / 8 - 2, PLACE / 8 - 2, 60, 40};
static MPI_Datatype basics[TYPES];

/* A sequence of numbers that is the same at all ranks, or one of this rank's own. */
typedef struct {
    uint64_t state;
} Random;

static unsigned below(Random *random, unsigned bound)
{
    random->state = random->state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)((random->state >> 33) % bound);
}

typedef struct {
    MPI_Comm comm;
    MPI_Group group;
    MPI_Win plain, other;
    /* Memory of both windows. */
    Buffer plain_memory, memory;
    MPI_Aint *bases;
    int kind, epoch;
} Windows;

static size_t window_bytes(void)
{
    return (size_t)size * MOST * PLACE;
}

static void make_windows(Windows *it, Random *shared, Random *own)
{
    size_t bytes = window_bytes();
    static const int groups[][2] = {{HOST, DEVICE}, {ALLOCATED, ALLOCATED_ON_DEVICE}, {ATTACHED, ATTACHED_ON_DEVICE}};
    it->kind = groups[below(shared, 3)][below(own, 2)];
    int shift = (int)below(own, 8), is_device = it->kind == DEVICE || it->kind == ATTACHED_ON_DEVICE;
    MPI_Aint base = 0;
    it->plain_memory = make(0, bytes, (unsigned)rank);
    MPI_Win_create(it->plain_memory.host, (MPI_Aint)bytes, 1, MPI_INFO_NULL, it->comm, &it->plain);
    if (it->kind == ALLOCATED || it->kind == ALLOCATED_ON_DEVICE) {
        void *memory;
        MPI_Info info;
        MPI_Info_create(&info);
        if (it->kind == ALLOCATED_ON_DEVICE)
            MPI_Info_set(info, "rankpoint_memory", "cuda:device");
        MPI_Win_allocate((MPI_Aint)bytes, 1, info, it->comm, &memory, &it->other);
        MPI_Info_free(&info);
        is_device = it->kind == ALLOCATED_ON_DEVICE;
        it->memory = (Buffer){is_device, bytes, is_device ? malloc(bytes) : memory, is_device ? (Device)(uintptr_t)memory : 0};
    } else {
        /* The memory does not begin at an aligned address. */
        it->memory = make(is_device, bytes + 8, 0);
        it->memory.bytes = bytes;
        it->memory.host += shift;
        it->memory.device += is_device ? (Device)shift : 0;
        if (it->kind == HOST || it->kind == DEVICE)
            MPI_Win_create(address(&it->memory), (MPI_Aint)bytes, 1, MPI_INFO_NULL, it->comm, &it->other);
        else {
            MPI_Win_create_dynamic(MPI_INFO_NULL, it->comm, &it->other);
            MPI_Win_attach(it->other, address(&it->memory), (MPI_Aint)bytes);
            MPI_Get_address(address(&it->memory), &base);
        }
    }
    memcpy(it->memory.host, it->plain_memory.host, bytes);
    fill(&it->memory);
    it->bases = malloc((size_t)size * sizeof base);
    MPI_Allgather(&base, 1, MPI_AINT, it->bases, 1, MPI_AINT, it->comm);
    if (it->kind < ALLOCATED || it->kind >= ATTACHED) {
        it->memory.host -= shift;
        it->memory.device -= is_device ? (Device)shift : 0;
        it->memory.bytes = (size_t)shift;
    }
}

/* Compares both windows, and frees them. */
static void free_windows(Windows *it)
{
    size_t bytes = window_bytes(), shift = it->memory.bytes;
    int is_allocated = it->kind == ALLOCATED || it->kind == ALLOCATED_ON_DEVICE;
    MPI_Barrier(it->comm);
    Buffer part = {it->memory.is_device, bytes, it->memory.host + (is_allocated ? 0 : shift),
                   it->memory.device + (is_allocated || !it->memory.is_device ? 0 : (Device)shift)};
    CHECK(memcmp(contents(&part), it->plain_memory.host, bytes) == 0);
    MPI_Barrier(it->comm);
    if (it->kind >= ATTACHED)
        MPI_Win_detach(it->other, address(&part));
    MPI_Win_free(&it->plain);
    MPI_Win_free(&it->other);
    if (!is_allocated)
        drop(&it->memory);
    else if (it->memory.is_device)
        free(it->memory.host);
    drop(&it->plain_memory);
    free(it->bases);
}

static void begin(MPI_Win win, const Windows *it, int target)
{
    if (it->epoch == FENCES)
        MPI_Win_fence(0, win);
    else if (it->epoch == LOCKS)
        MPI_Win_lock(target % 2 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, target, 0, win);
    else if (it->epoch == LOCK_ALL)
        MPI_Win_lock_all(0, win);
    else {
        MPI_Win_post(it->group, 0, win);
        MPI_Win_start(it->group, 0, win);
    }
}

static void end(MPI_Win win, const Windows *it, int target)
{
    if (it->epoch == FENCES)
        MPI_Win_fence(0, win);
    else if (it->epoch == LOCKS)
        MPI_Win_unlock(target, win);
    else if (it->epoch == LOCK_ALL)
        MPI_Win_unlock_all(win);
    else {
        MPI_Win_complete(win);
        MPI_Win_wait(win);
    }
}

/* One operation, as a few numbers; the same on either window. */
typedef struct {
    int call, type, count, offset, op;
} Operation;

static void operate(const Operation *it, MPI_Win win, MPI_Aint there, int target, void *origin, void *result)
{
    static const MPI_Op ops[] = {MPI_SUM, MPI_REPLACE, MPI_MAX, MPI_NO_OP};
    MPI_Datatype type = types[it->type], basic = basics[it->type];
    MPI_Op op = ops[it->op];
    MPI_Aint at = there + it->offset;
    int count = it->count;
    switch (it->call) {
    case 0:
        MPI_Put(origin, count, type, target, at, count, type, win);
        break;
    case 1:
        MPI_Get(result, count, type, target, at, count, type, win);
        break;
    case 2:
        MPI_Accumulate(origin, count, type, target, at, count, type, op == MPI_NO_OP ? MPI_SUM : op, win);
        break;
    case 3:
        MPI_Get_accumulate(origin, count, type, result, count, type, target, at, count, type, op, win);
        break;
    case 4:
        MPI_Fetch_and_op(origin, result, basic, target, at, op, win);
        break;
    default:
        if (basic == MPI_LONG || basic == MPI_INT)
            MPI_Compare_and_swap(origin, (char *)origin + 64, result, basic, target, at, win);
    }
}

/* Some operations of one epoch, on both windows. */
static void epoch(Windows *it, Random *shared, Random *own)
{
    it->epoch = (int)below(shared, EPOCHS);
    int target = (int)below(own, (unsigned)size), operations = 1 + (int)below(own, MOST), kinds[2] = {0, 0};
    Operation list[MOST];
    Buffer origins[2][MOST], results[2][MOST];
    for (int i = 0; i < operations; i++) {
        int type = (int)below(own, TYPES);
        list[i] = (Operation){(int)below(own, 6), type, (int)below(own, below(own, 3) ? 9 : (unsigned)most[type]), (int)below(own, 9), (int)below(own, 4)};
        unsigned seed = below(own, 1000);
        kinds[0] = (int)below(own, 2);
        kinds[1] = (int)below(own, 2);
        for (int half = 0; half < 2; half++) {
            origins[half][i] = make(half && kinds[0], PLACE, seed);
            results[half][i] = make(half && kinds[1], PLACE, seed + 1);
        }
    }
    for (int half = 0; half < 2; half++) {
        MPI_Win win = half ? it->other : it->plain;
        begin(win, it, target);
        for (int i = 0; i < operations; i++) {
            MPI_Aint there = (half ? it->bases[target] : 0) + (MPI_Aint)(((size_t)rank * MOST + (size_t)i) * PLACE);
            operate(&list[i], win, there, target, address(&origins[half][i]), address(&results[half][i]));
        }
        end(win, it, target);
    }
    for (int i = 0; i < operations; i++) {
        int same = memcmp(contents(&results[0][i]), contents(&results[1][i]), PLACE) == 0;
        if (!same)
            fprintf(stderr, "rank %d: call %d, type %d, %d elements, offset %d, op %d, epoch %d, kind %d\n", rank, list[i].call, list[i].type,
                    list[i].count, list[i].offset, list[i].op, it->epoch, it->kind);
        CHECK(same);
        for (int half = 0; half < 2; half++) {
            drop(&origins[half][i]);
            drop(&results[half][i]);
        }
    }
}

static int windows, first_seed;

static void *run(void *argument)
{
    Windows it = {.comm = *(MPI_Comm *)argument};
    DRIVER(cu_set_current(context));
    MPI_Comm_group(it.comm, &it.group);
    for (int i = 0; i < windows; i++) {
        Random shared = {(uint64_t)(first_seed + i) * 77}, own = {(uint64_t)(first_seed + i) * 99 + (uint64_t)rank};
        make_windows(&it, &shared, &own);
        for (int count = 0; count < 12; count++)
            epoch(&it, &shared, &own);
        free_windows(&it);
    }
    MPI_Group_free(&it.group);
    return NULL;
}

int main(int argc, char **argv)
{
    int level;
    load_driver();
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    windows = argc > 2 ? atoi(argv[2]) : 4;
    first_seed = argc > 3 ? atoi(argv[3]) : 1;
    basics[0] = basics[1] = MPI_LONG;
    basics[2] = MPI_INT;
    basics[3] = MPI_LONG;
    MPI_Type_contiguous(1, MPI_LONG, &types[0]);
    MPI_Type_dup(MPI_LONG, &types[1]);
    MPI_Type_vector(20, 3, 5, MPI_INT, &types[2]);
    MPI_Type_indexed(4, (int[]){3, 1, 9, 2}, (int[]){70, 0, 30, 9}, MPI_LONG, &types[3]);
    for (int i = 0; i < TYPES; i++)
        MPI_Type_commit(&types[i]);
    pthread_t threads[THREADS];
    MPI_Comm comms[THREADS + 1];
    for (int i = 0; i <= THREADS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    run(&comms[THREADS]);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, run, &comms[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i <= THREADS; i++)
        MPI_Comm_free(&comms[i]);
    for (int i = 0; i < TYPES; i++)
        MPI_Type_free(&types[i]);
    return finish(rank);
}
