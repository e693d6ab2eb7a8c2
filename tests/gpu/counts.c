/* SPDX-License-Identifier: MIT OR Apache-2.0
 * How many functions of the driver a call takes in steady state, counted by the double. The program opens the driver after MPI_Init, and the
 * library does not initialise it. */
#include "device.h"

#include <sys/mman.h>

enum { ROUNDS = 5 };

static double of_program[16];

/* What one side of a message takes: all calls, and some of them. */
typedef struct {
    size_t all, queries, launches, copies, allocations, waits;
} Counts;

static size_t called(const char *first, const char *second)
{
    return cu_calls(first) + (second ? cu_calls(second) : 0);
}

static Counts now(void)
{
    return (Counts){cu_calls(NULL), called("cuPointerGetAttributes", NULL), called("cuLaunchKernel", NULL),
                    called("cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2"), called("cuMemAlloc_v2", "cuMemFree_v2"),
                    called("cuStreamSynchronize", NULL)};
}

/* Compares the calls of some rounds with so many for each. */
static void expect(const char *what, Counts before, Counts each)
{
    Counts after = now();
    const size_t *first = &before.all, *last = &after.all, *one = &each.all;
    static const char *names[] = {"calls", "queries", "launches", "copies", "allocations", "waits"};
    for (int i = 0; i < 6; i++)
        if (last[i] - first[i] != ROUNDS * one[i]) {
            fprintf(stderr, "rank %d: %s: %zu %s in %d rounds, expected %zu in each\n", rank, what, last[i] - first[i], names[i], ROUNDS,
                    one[i]);
            MPI_Abort(MPI_COMM_WORLD, 99);
        }
}

/* A message from each even rank to the next one. */
static void message(void *buffer, int count, MPI_Datatype type)
{
    int peer = rank ^ 1;
    if (peer >= size)
        return;
    if (rank % 2 == 0)
        MPI_Send(buffer, count, type, peer, 1, MPI_COMM_WORLD);
    else
        MPI_Recv(buffer, count, type, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void messages(const char *what, void *buffer, int count, MPI_Datatype type, Counts sent, Counts received)
{
    message(buffer, count, type);
    Counts before = now();
    for (int round = 0; round < ROUNDS; round++)
        message(buffer, count, type);
    if ((rank ^ 1) < size)
        expect(what, before, rank % 2 == 0 ? sent : received);
}

enum { PUT, GET, ACCUMULATE, FETCH, SWAP };

/* Rounds of an operation on the window of the next rank and a fence; what the memory of that window takes. */
static void accesses(const char *what, void *origin, MPI_Datatype type, int call, MPI_Win win, Counts each)
{
    int next = (rank + 1) % size;
    Counts before = {0};
    for (int round = -1; round < ROUNDS; round++) {
        /* Nobody begins while others count. */
        MPI_Barrier(MPI_COMM_WORLD);
        if (call == PUT)
            MPI_Put(origin, 4, MPI_DOUBLE, next, 0, 1, type, win);
        else if (call == GET)
            MPI_Get(origin, 4, MPI_DOUBLE, next, 0, 1, type, win);
        else if (call == ACCUMULATE)
            MPI_Accumulate(origin, 4, MPI_DOUBLE, next, 0, 1, type, MPI_SUM, win);
        else if (call == FETCH)
            MPI_Get_accumulate(NULL, 0, MPI_DOUBLE, origin, 4, MPI_DOUBLE, next, 0, 1, type, MPI_NO_OP, win);
        else
            MPI_Compare_and_swap(&(long){1}, &(long){-1}, origin, MPI_LONG, next, 0, win);
        MPI_Win_fence(0, win);
        if (round < 0)
            before = now();
    }
    expect(what, before, each);
}

static void windows(void *there, double *in_heap)
{
    MPI_Win win;
    MPI_Datatype dense, vector, indexed;
    MPI_Type_contiguous(4, MPI_DOUBLE, &dense);
    MPI_Type_vector(4, 1, 2, MPI_DOUBLE, &vector);
    MPI_Type_indexed(2, (int[]){3, 1}, (int[]){7, 0}, MPI_DOUBLE, &indexed);
    MPI_Type_commit(&dense);
    MPI_Type_commit(&vector);
    MPI_Type_commit(&indexed);
    MPI_Win_create(there, 8000, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    /* Push, copy, pop; the kind of the window's memory is known. */
    Counts copied = {.all = 3, .copies = 1}, combined = {.all = 6, .copies = 2};
    accesses("a put", in_heap, dense, PUT, win, copied);
    accesses("a get", in_heap, dense, GET, win, copied);
    accesses("an accumulate", in_heap, dense, ACCUMULATE, win, combined);
    accesses("a fetch", in_heap, dense, FETCH, win, copied);
    accesses("a swap that changes nothing", in_heap, dense, SWAP, win, copied);
    Counts unpacked = {.all = 5, .launches = 1, .copies = 1, .waits = 1}, packed = {.all = 4, .launches = 1, .copies = 1};
    Counts both = {.all = 9, .launches = 2, .copies = 2, .waits = 1};
    accesses("a put into a vector", in_heap, vector, PUT, win, unpacked);
    accesses("a get of a vector", in_heap, vector, GET, win, packed);
    accesses("an accumulate into a vector", in_heap, vector, ACCUMULATE, win, both);
    accesses("a put into a list", in_heap, indexed, PUT, win, unpacked);
    accesses("a get of a list", in_heap, indexed, GET, win, packed);
    accesses("an accumulate into a list", in_heap, indexed, ACCUMULATE, win, both);
    MPI_Win_free(&win);
    MPI_Type_free(&dense);
    MPI_Type_free(&vector);
    MPI_Type_free(&indexed);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double on_stack[16] = {0}, *in_heap = malloc(128);
    void *elsewhere = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    /* Nobody has initialised the driver: no address is a GPU's, and it stays as it is. */
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    *(void **)&cu_calls = symbol(library, "cuda_double_calls");
    messages("a driver that is not initialised", elsewhere, 3, MPI_DOUBLE, (Counts){.all = 1, .queries = 1},
             (Counts){.all = 1, .queries = 1});
    CHECK(cu_calls("cuInit") == 0);

    load_driver();
    MPI_Datatype vector, indexed;
    MPI_Type_vector(50, 2, 3, MPI_DOUBLE, &vector);
    MPI_Type_indexed(3, (int[]){1, 3, 2}, (int[]){0, 2, 9}, MPI_DOUBLE, &indexed);
    MPI_Type_commit(&vector);
    MPI_Type_commit(&indexed);
    Buffer device = make(1, 8192, 1), other = make(1, 8192, 2);
    void *there = address(&device);

    Counts none = {0}, asked = {.all = 1, .queries = 1};
    messages("the stack", on_stack, 1, MPI_DOUBLE, none, none);
    messages("the heap", in_heap, 16, MPI_DOUBLE, none, none);
    messages("the program's data", of_program, 16, MPI_DOUBLE, none, none);
    messages("other memory of the host", elsewhere, 1000, MPI_DOUBLE, asked, asked);
    /* Push, copy, pop. */
    Counts dense = {.all = 5, .queries = 2, .copies = 1};
    messages("8 bytes of a GPU", there, 1, MPI_DOUBLE, dense, dense);
    messages("8000 bytes of a GPU", there, 1000, MPI_DOUBLE, dense, dense);
    /* A kernel more, and for the receive a wait for it. */
    Counts packed = {.all = 6, .queries = 2, .launches = 1, .copies = 1};
    Counts unpacked = {.all = 7, .queries = 2, .launches = 1, .copies = 1, .waits = 1};
    messages("a vector", there, 2, vector, packed, unpacked);
    messages("a list", there, 5, indexed, packed, unpacked);

    /* A collective fetches its operand and stores its result, whatever messages there are between. */
    MPI_Allreduce(there, address(&other), 100, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    Counts before = now();
    for (int round = 0; round < ROUNDS; round++)
        MPI_Allreduce(there, address(&other), 100, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    Counts after = now();
    CHECK(after.copies - before.copies == 2 * ROUNDS && after.launches == before.launches && after.allocations == before.allocations);
    before = after;
    for (int round = 0; round < ROUNDS; round++)
        MPI_Alltoall(there, 10, MPI_INT, address(&other), 10, MPI_INT, MPI_COMM_WORLD);
    after = now();
    CHECK(after.copies - before.copies == 2 * ROUNDS && after.launches == before.launches && after.allocations == before.allocations);
    before = after;
    for (int round = 0; round < ROUNDS; round++)
        MPI_Allreduce(in_heap, of_program, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    expect("a collective on the host", before, none);
    windows(there, in_heap);
    CHECK(cu_calls("cuInit") == 1);

    /* The table of `mpiexec --stats` has the same; each copy takes one kernel here. */
    long counted[2] = {(long)now().queries, (long)now().launches}, all[2];
    MPI_Reduce(counted, all, 2, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("STAT device_queries %ld\nSTAT device_packs %ld\n", all[0], all[1]);

    drop(&device);
    drop(&other);
    free(in_heap);
    MPI_Type_free(&vector);
    MPI_Type_free(&indexed);
    return finish(rank);
}
