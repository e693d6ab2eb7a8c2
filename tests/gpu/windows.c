/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Windows in the memory of a GPU: long and irregular transfers, places that are not aligned, counters that all ranks increment at once, what is
 * refused, and memory that is freed before its window. */
#include "device.h"

enum { LONG = 300000, BLOCKS = 700 };

static MPI_Win win;

static MPI_Win created(Buffer *memory, int unit)
{
    MPI_Win made;
    MPI_Win_create(address(memory), (MPI_Aint)memory->bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &made);
    return made;
}

/* Puts elements of a type to the next rank, and gets those of the rank before. */
static void exchange(MPI_Datatype here, MPI_Datatype there, size_t bytes, int on_device)
{
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    Buffer memory = make(1, bytes, 200 + (unsigned)rank), origin = make(on_device, bytes, (unsigned)rank), result = make(on_device, bytes, 90);
    Buffer wanted = make(0, bytes, 200 + (unsigned)rank), given = make(0, bytes, (unsigned)before), got = make(0, bytes, 90);
    win = created(&memory, 1);
    MPI_Win_fence(0, win);
    MPI_Put(address(&origin), 1, here, next, 0, 1, there, win);
    MPI_Win_fence(0, win);
    MPI_Sendrecv(given.host, 1, here, 0, 0, wanted.host, 1, there, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    CHECK(memcmp(contents(&memory), wanted.host, bytes) == 0);
    MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win);
    MPI_Get(address(&result), 1, here, next, 0, 1, there, win);
    MPI_Win_unlock(next, win);
    Buffer source = make(0, bytes, 200 + (unsigned)next);
    MPI_Sendrecv(origin.host, 1, here, 0, 0, source.host, 1, there, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Sendrecv(source.host, 1, there, 0, 0, got.host, 1, here, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    CHECK(memcmp(contents(&result), got.host, bytes) == 0);
    MPI_Win_free(&win);
    Buffer *all[] = {&memory, &origin, &result, &wanted, &given, &got, &source};
    for (int i = 0; i < 7; i++)
        drop(all[i]);
}

static void transfers(void)
{
    MPI_Datatype dense, vector, list, tail;
    int lengths[BLOCKS], places[BLOCKS];
    for (int i = 0, at = 0; i < BLOCKS; i++) {
        lengths[i] = 1 + i * i % 5;
        places[i] = at;
        at += lengths[i] + i % 3;
    }
    int sum = 0;
    for (int i = 0; i < BLOCKS; i++)
        sum += lengths[i];
    MPI_Type_contiguous(LONG, MPI_BYTE, &dense);
    MPI_Type_vector(LONG / 300, 100, 200, MPI_BYTE, &vector);
    MPI_Type_indexed(BLOCKS, lengths, places, MPI_BYTE, &list);
    MPI_Type_contiguous(sum, MPI_BYTE, &tail);
    MPI_Datatype *all[] = {&dense, &vector, &list, &tail};
    for (int i = 0; i < 4; i++)
        MPI_Type_commit(all[i]);
    for (int on_device = 0; on_device < 2; on_device++) {
        exchange(dense, dense, LONG, on_device);
        exchange(vector, vector, LONG, on_device);
        exchange(list, list, LONG, on_device);
        exchange(tail, list, LONG, on_device);
        exchange(list, tail, LONG, on_device);
    }
    for (int i = 0; i < 4; i++)
        MPI_Type_free(all[i]);
}

/* All ranks increment the counters of rank 0, and swap its words. */
static void counters(void)
{
    enum { TIMES = 20 };
    int is_here = rank == 0;
    Buffer memory = make(is_here, 64, 0);
    memset(memory.host, 0, 64);
    fill(&memory);
    win = created(&memory, 8);
    long one = 1, before, last = -1, mine = rank + 1, none = 0, found;
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < TIMES; i++) {
        MPI_Fetch_and_op(&one, &before, MPI_LONG, 0, 0, MPI_SUM, win);
        MPI_Win_flush(0, win);
        CHECK(before > last && before < TIMES * size);
        last = before;
        MPI_Accumulate(&one, 1, MPI_LONG, 0, 1, 1, MPI_LONG, MPI_SUM, win);
        do {
            MPI_Compare_and_swap(&mine, &none, &found, MPI_LONG, 0, 2, win);
            MPI_Win_flush(0, win);
        } while (found != 0);
        MPI_Get_accumulate(NULL, 0, MPI_LONG, &found, 1, MPI_LONG, 0, 2, 1, MPI_LONG, MPI_NO_OP, win);
        MPI_Win_flush(0, win);
        CHECK(found == mine);
        MPI_Accumulate(&none, 1, MPI_LONG, 0, 2, 1, MPI_LONG, MPI_REPLACE, win);
        MPI_Win_flush(0, win);
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (is_here) {
        long *words = (long *)(void *)contents(&memory);
        CHECK(words[0] == TIMES * size && words[1] == TIMES * size && words[2] == 0 && words[3] == 0);
    }
    MPI_Win_free(&win);
    drop(&memory);
}

/* Elements at odd addresses, of no bytes, and in a window without any. */
static void unaligned(void)
{
    Buffer memory = make(1, 200, 0);
    memset(memory.host, 0, 200);
    fill(&memory);
    double terms[20], results[20];
    for (int i = 0; i < 20; i++)
        terms[i] = 1 + i;
    MPI_Win_create((char *)address(&memory) + 3, 190, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < 2; i++)
        MPI_Accumulate(terms, 20, MPI_DOUBLE, rank, 2, 20, MPI_DOUBLE, MPI_SUM, win);
    MPI_Accumulate(terms, 0, MPI_DOUBLE, rank, 190, 0, MPI_DOUBLE, MPI_SUM, win);
    MPI_Put(terms, 0, MPI_DOUBLE, rank, 190, 0, MPI_DOUBLE, win);
    MPI_Win_fence(0, win);
    MPI_Get(results, 20, MPI_DOUBLE, rank, 2, 20, MPI_DOUBLE, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < 20; i++)
        CHECK(results[i] == 2 * terms[i]);
    contents(&memory);
    CHECK(memory.host[4] == 0 && memory.host[165] == 0);
    MPI_Win_free(&win);
    MPI_Win_create(rank % 2 ? address(&memory) : NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    MPI_Put(terms, 0, MPI_DOUBLE, (rank + 1) % size, 0, 0, MPI_DOUBLE, win);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
    drop(&memory);
}

static void memory_is(MPI_Win win, const char *expected)
{
    MPI_Info info;
    char value[64] = "";
    int flag, length = sizeof value;
    MPI_Win_get_info(win, &info);
    MPI_Info_get_string(info, "rankpoint_memory", &length, value, &flag);
    CHECK(flag && strcmp(value, expected) == 0);
    MPI_Info_free(&info);
}

/* Memory that the library allocates on a GPU, at one rank or at all; what it cannot have there is the host's. */
static void allocated(void)
{
    static const char *const values[] = {"cuda:device", "cuda:device:0", "system", "cuda:device:77"};
    for (int value = 0; value < 4; value++)
        for (int all = 0; all < 2; all++) {
            int asks = all || rank == 0, is_device = asks && value < 2, next = (rank + 1) % size;
            MPI_Info info;
            MPI_Info_create(&info);
            if (asks)
                MPI_Info_set(info, "rankpoint_memory", values[value]);
            long *base, given = 7 * rank + value, found = -1, sum = 0;
            MPI_Win_allocate(64, 8, info, MPI_COMM_WORLD, &base, &win);
            memory_is(win, is_device ? values[value] : "system");
            MPI_Win_fence(0, win);
            MPI_Put(&given, 1, MPI_LONG, next, 3, 1, MPI_LONG, win);
            MPI_Win_fence(0, win);
            MPI_Accumulate(&given, 1, MPI_LONG, next, 3, 1, MPI_LONG, MPI_SUM, win);
            MPI_Win_fence(0, win);
            MPI_Get(&found, 1, MPI_LONG, rank, 3, 1, MPI_LONG, win);
            MPI_Win_fence(0, win);
            CHECK(found == 2 * (7 * ((rank + size - 1) % size) + value));
            if (is_device)
                DRIVER(cu_out(&sum, (Device)(uintptr_t)(base + 3), sizeof sum));
            else
                sum = base[3];
            CHECK(sum == found);
            MPI_Win_free(&win);

            /* The same of memory for messages. */
            MPI_Alloc_mem(64, info, &base);
            MPI_Sendrecv(&given, 1, MPI_LONG, rank, 0, base, 1, MPI_LONG, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (is_device)
                DRIVER(cu_out(&sum, (Device)(uintptr_t)base, sizeof sum));
            else
                sum = *base;
            CHECK(sum == given);
            MPI_Free_mem(base);
            MPI_Win_allocate_shared(64, 8, info, MPI_COMM_SELF, &base, &win);
            memory_is(win, "system");
            base[0] = 1;
            MPI_Win_free(&win);
            MPI_Info_free(&info);
        }
}

static void refused(void)
{
    Buffer memory = make(1, 80, 1);
    double terms[20] = {0};
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (is_double) {
        /* It ends outside the memory of the GPU; at one rank, which lets all fail. */
        int code = MPI_Win_create(address(&memory), rank == 0 ? 96 : 80, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        if (rank == 0)
            FAILED(MPI_ERR_BUFFER, "argument 'base'", code);
        else
            FAILED(MPI_ERR_OTHER, "rank 0 could not take part", code);
        MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
        FAILED(MPI_ERR_BUFFER, "argument 'base'", MPI_Win_attach(win, address(&memory), 96));
        MPI_Win_free(&win);
    }
    win = created(&memory, 1);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    FAILED(MPI_ERR_RMA_RANGE, "target_disp", MPI_Put(terms, 1, MPI_DOUBLE, 0, 73, 1, MPI_DOUBLE, win));
    FAILED(MPI_ERR_DISP, "target_disp", MPI_Get(terms, 1, MPI_DOUBLE, 0, -1, 1, MPI_DOUBLE, win));
    MPI_Win_unlock(0, win);
    MPI_Win_free(&win);

    /* Memory that is attached no more, and some beside what is. */
    MPI_Aint place;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_attach(win, (char *)address(&memory) + 16, 32);
    MPI_Get_address(address(&memory), &place);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
    CHECK(MPI_Put(terms, 4, MPI_DOUBLE, rank, place + 16, 4, MPI_DOUBLE, win) == MPI_SUCCESS);
    CHECK(MPI_Win_flush(rank, win) == MPI_SUCCESS);
    int code = MPI_Put(terms, 1, MPI_DOUBLE, rank, place + 44, 1, MPI_DOUBLE, win);
    FAILED(MPI_ERR_RMA_RANGE, "attach", code == MPI_SUCCESS ? MPI_Win_flush(rank, win) : code);
    FAILED(MPI_ERR_RMA_ATTACH, "attached", MPI_Win_attach(win, (char *)address(&memory) + 40, 32));
    MPI_Win_detach(win, (char *)address(&memory) + 16);
    code = MPI_Put(terms, 4, MPI_DOUBLE, rank, place + 16, 4, MPI_DOUBLE, win);
    FAILED(MPI_ERR_RMA_RANGE, "attach", code == MPI_SUCCESS ? MPI_Win_flush(rank, win) : code);
    MPI_Win_unlock(rank, win);
    MPI_Win_free(&win);
    contents(&memory);
    for (int i = 16; i < 48; i++)
        CHECK(memory.host[i] == 0);
    CHECK(memory.host[48] == (unsigned char)(37 + 48 * 7));
    drop(&memory);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* A program that frees the memory too early gets an error where an operation needs it, and goes on. */
static void freed(void)
{
    Buffer memory = make(1, 4096, 1);
    double terms[200] = {0}, results[200];
    int target = (rank + 1) % size;
    win = created(&memory, 1);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    drop(&memory);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
    CHECK(MPI_Put(terms, 200, MPI_DOUBLE, target, 0, 200, MPI_DOUBLE, win) == MPI_SUCCESS);
    FAILED(MPI_ERR_BUFFER, "in the memory of a GPU", MPI_Win_flush(target, win));
    MPI_Accumulate(terms, 200, MPI_DOUBLE, target, 0, 200, MPI_DOUBLE, MPI_SUM, win);
    FAILED(MPI_ERR_BUFFER, "in the memory of a GPU", MPI_Win_flush(target, win));
    MPI_Get(results, 200, MPI_DOUBLE, target, 0, 200, MPI_DOUBLE, win);
    FAILED(MPI_ERR_BUFFER, "in the memory of a GPU", MPI_Win_flush(target, win));
    CHECK(MPI_Win_flush(target, win) == MPI_SUCCESS);
    CHECK(MPI_Win_unlock(target, win) == MPI_SUCCESS);
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    transfers();
    counters();
    unaligned();
    allocated();
    refused();
    if (is_double)
        freed();
    return finish(rank);
}
