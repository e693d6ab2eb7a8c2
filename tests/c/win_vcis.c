/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 4
 * ENV: RANKPOINT_RMA=message
 * ENV: RANKPOINT_RMA=message RANKPOINT_PROGRESS=global
 * ENV: RANKPOINT_RMA=message RANKPOINT_PROGRESS=vci
 * ENV: RANKPOINT_RMA=message RANKPOINT_PROGRESS_THREAD=1
 * ENV: RANKPOINT_RMA=message RANKPOINT_LOCKS=global
 * ENV: RANKPOINT_RMA=
 * Threads of each rank put, get and accumulate in one window whose hint asks for a VCI for each of them; fences, locks and epochs of
 * MPI_Win_start complete what all have done. */
#include "check.h"
#include <pthread.h>
#include <stdint.h>

enum { THREADS = 4, MOST_RANKS = 4, ROUNDS = 30, WORDS = 3000, COUNTERS = 2 };

static int rank, size;
static MPI_Win win;
static int64_t *memory;
static pthread_barrier_t together;

/* The words of a thread of a rank, the same at every rank. */
static MPI_Aint place(int from, int thread)
{
    return COUNTERS + ((MPI_Aint)from * THREADS + thread) * WORDS;
}

static int64_t word(int from, int thread, int round, int i)
{
    return ((int64_t)round << 40) + ((int64_t)from << 32) + ((int64_t)thread << 24) + i;
}

/* Short and long transfers in turn. */
static int words_of(int round)
{
    return round % 3 == 0 ? WORDS : 1 + round;
}

static void fill(int64_t *data, int from, int thread, int round)
{
    for (int i = 0; i < words_of(round); ++i)
        data[i] = word(from, thread, round, i);
}

static void verify(const int64_t *data, int from, int thread, int round)
{
    for (int i = 0; i < words_of(round); ++i)
        CHECK(data[i] == word(from, thread, round, i));
}

/* What the threads put between two calls of the main thread, and what is expected then. */
static int round_now;

static void *put_everywhere(void *argument)
{
    int thread = (int)(intptr_t)argument, count = words_of(round_now);
    int64_t *data = malloc(WORDS * sizeof *data);
    fill(data, rank, thread, round_now);
    for (int i = 0; i < size; ++i)
        MPI_Put(data, count, MPI_INT64_T, (rank + i) % size, place(rank, thread), count, MPI_INT64_T, win);
    return data;
}

static void all_put(int round, int64_t *kept[THREADS])
{
    pthread_t threads[THREADS];
    round_now = round;
    for (int i = 0; i < THREADS; ++i)
        CHECK(pthread_create(&threads[i], NULL, put_everywhere, (void *)(intptr_t)i) == 0);
    for (int i = 0; i < THREADS; ++i)
        pthread_join(threads[i], (void **)&kept[i]);
}

static void verify_all(int round, int64_t *kept[THREADS])
{
    for (int from = 0; from < size; ++from)
        for (int thread = 0; thread < THREADS; ++thread)
            verify(memory + place(from, thread), from, thread, round);
    for (int i = 0; i < THREADS; ++i)
        free(kept[i]);
}

/* Puts, gets and counts inside an epoch of all threads, with flushes and with requests. */
static void *flush_alone(void *argument)
{
    int thread = (int)(intptr_t)argument;
    int64_t *data = malloc(WORDS * sizeof *data), *found = malloc(WORDS * sizeof *found), one = 1, old;
    pthread_barrier_wait(&together);
    for (int round = 0; round < ROUNDS; ++round) {
        int target = (rank + thread + round) % size, count = words_of(round);
        MPI_Aint there = place(rank, thread);
        MPI_Request request;
        fill(data, rank, thread, round);
        memset(found, 0, WORDS * sizeof *found);
        if (round % 2 == 0) {
            MPI_Put(data, count, MPI_INT64_T, target, there, count, MPI_INT64_T, win);
            MPI_Win_flush(target, win);
            MPI_Get(found, count, MPI_INT64_T, target, there, count, MPI_INT64_T, win);
            MPI_Win_flush_local(target, win);
        } else {
            MPI_Rput(data, count, MPI_INT64_T, target, there, count, MPI_INT64_T, win, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            MPI_Win_flush_all(win);
            MPI_Rget(found, count, MPI_INT64_T, target, there, count, MPI_INT64_T, win, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        verify(found, rank, thread, round);
        MPI_Accumulate(&one, 1, MPI_INT64_T, target, 0, 1, MPI_INT64_T, MPI_SUM, win);
        MPI_Fetch_and_op(&one, &old, MPI_INT64_T, 0, 1, MPI_SUM, win);
        MPI_Win_flush_all(win);
        CHECK(old >= 0 && old < (int64_t)ROUNDS * THREADS * size);
    }
    free(found);
    free(data);
    return NULL;
}

static void in_one_epoch(void)
{
    pthread_t threads[THREADS];
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < THREADS; ++i)
        CHECK(pthread_create(&threads[i], NULL, flush_alone, (void *)(intptr_t)i) == 0);
    for (int i = 0; i < THREADS; ++i)
        pthread_join(threads[i], NULL);
    MPI_Win_unlock_all(win);
    MPI_Win_fence(0, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    int64_t counted = memory[0], total = 0;
    MPI_Allreduce(&counted, &total, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    CHECK(total == (int64_t)ROUNDS * THREADS * size);
    CHECK(rank != 0 || memory[1] == (int64_t)ROUNDS * THREADS * size);
}

/* A counter that the exclusive lock protects. */
static void under_a_lock(void)
{
    int64_t number;
    for (int i = 0; i < ROUNDS; ++i) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, size - 1, 0, win);
        MPI_Get(&number, 1, MPI_INT64_T, size - 1, 0, 1, MPI_INT64_T, win);
        MPI_Win_flush(size - 1, win);
        ++number;
        MPI_Put(&number, 1, MPI_INT64_T, size - 1, 0, 1, MPI_INT64_T, win);
        MPI_Win_unlock(size - 1, win);
    }
}

static void use(const char *ordering)
{
    MPI_Info info, used;
    MPI_Group everyone;
    int64_t *kept[THREADS];
    char text[MPI_MAX_INFO_VAL];
    int flag;
    MPI_Aint bytes = (MPI_Aint)sizeof *memory * place(size, 0);
    MPI_Info_create(&info);
    MPI_Info_set(info, "rankpoint_num_vcis", "4");
    MPI_Info_set(info, "accumulate_ordering", ordering);
    MPI_Win_allocate(bytes, sizeof *memory, info, MPI_COMM_WORLD, &memory, &win);
    memset(memory, 0, (size_t)bytes);
    MPI_Win_get_info(win, &used);
    MPI_Info_get(used, "rankpoint_num_vcis", MPI_MAX_INFO_VAL - 1, text, &flag);
    CHECK(flag && (strcmp(text, "4") == 0 || strcmp(text, "1") == 0));
    MPI_Info_free(&used);
    MPI_Win_get_group(win, &everyone);
    for (int round = 0; round < ROUNDS; round += 2) {
        MPI_Win_fence(0, win);
        all_put(round, kept);
        MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
        verify_all(round, kept);
        MPI_Win_post(everyone, 0, win);
        MPI_Win_start(everyone, 0, win);
        all_put(round + 1, kept);
        MPI_Win_complete(win);
        MPI_Win_wait(win);
        verify_all(round + 1, kept);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    in_one_epoch();
    int64_t before = memory[0];
    MPI_Barrier(MPI_COMM_WORLD);
    under_a_lock();
    MPI_Win_fence(0, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    CHECK(memory[0] - before == (rank == size - 1 ? (int64_t)ROUNDS * size : 0));
    MPI_Group_free(&everyone);
    MPI_Info_free(&info);
    MPI_Win_free(&win);
}

int main(void)
{
    int provided;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size <= MOST_RANKS);
    pthread_barrier_init(&together, NULL, THREADS);
    use("none");
    use("rar,raw,war,waw");
    pthread_barrier_destroy(&together);
    return finish(rank);
}
