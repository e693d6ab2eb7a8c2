/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 3 4 7
 * ENV: RANKPOINT_RMA=
 * ENV: RANKPOINT_RMA=attach
 * ENV: RANKPOINT_RMA=message
 * Accumulates and atomic operations from all ranks at once: their results, and that no update is lost. */
#include "check.h"
#include <stdint.h>

enum { TIMES = 200, WIDTH = 5 };

static int rank, size;

/* Tickets: each number is drawn once. */
static void tickets(void)
{
    MPI_Win win;
    int64_t *counter, one = 1, ticket, sum = 0, all, last = -1;
    MPI_Win_allocate(rank == 0 ? sizeof *counter : 0, sizeof *counter, MPI_INFO_NULL, MPI_COMM_WORLD, &counter, &win);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < TIMES; ++i) {
        CHECK(MPI_Fetch_and_op(&one, &ticket, MPI_INT64_T, 0, 0, MPI_SUM, win) == MPI_SUCCESS);
        MPI_Win_flush(0, win);
        CHECK(ticket > last);
        last = ticket;
        sum += ticket;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Allreduce(&sum, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    int64_t n = (int64_t)TIMES * size;
    CHECK(all == n * (n - 1) / 2);
    CHECK(MPI_Fetch_and_op(NULL, &ticket, MPI_INT64_T, 0, 0, MPI_NO_OP, win) == MPI_SUCCESS);
    MPI_Win_flush(0, win);
    CHECK(ticket == n);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        int64_t fresh = -1;
        MPI_Fetch_and_op(&fresh, &ticket, MPI_INT64_T, 0, 0, MPI_REPLACE, win);
        MPI_Win_flush(0, win);
        CHECK(ticket == n && *counter == -1);
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
}

/* A lock of compare-and-swap guards a counter that is read and written. */
static void spin_lock(void)
{
    MPI_Win win;
    int *words, mine = rank + 1, none = 0, found, value;
    MPI_Win_allocate(rank == size - 1 ? 2 * sizeof *words : 0, sizeof *words, MPI_INFO_NULL, MPI_COMM_WORLD, &words, &win);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < 20; ++i) {
        do {
            CHECK(MPI_Compare_and_swap(&mine, &none, &found, MPI_INT, size - 1, 0, win) == MPI_SUCCESS);
            MPI_Win_flush(size - 1, win);
            CHECK(found != mine);
            if (found != 0)
                MPI_Win_sync(win);
        } while (found != 0);
        MPI_Get(&value, 1, MPI_INT, size - 1, 1, 1, MPI_INT, win);
        MPI_Win_flush(size - 1, win);
        ++value;
        MPI_Put(&value, 1, MPI_INT, size - 1, 1, 1, MPI_INT, win);
        MPI_Win_flush(size - 1, win);
        MPI_Compare_and_swap(&none, &mine, &found, MPI_INT, size - 1, 0, win);
        MPI_Win_flush(size - 1, win);
        CHECK(found == mine);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_unlock_all(win);
    if (rank == size - 1)
        CHECK(words[0] == 0 && words[1] == 20 * size);
    MPI_Win_free(&win);
}

/* Vectors of doubles, added with fences, and with a derived type at the target. */
static void vectors(void)
{
    MPI_Win win;
    MPI_Datatype every_other;
    double *memory, mine[WIDTH], before[WIDTH];
    MPI_Win_allocate(2 * WIDTH * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Type_vector(WIDTH, 1, 2, MPI_DOUBLE, &every_other);
    MPI_Type_commit(&every_other);
    for (int i = 0; i < WIDTH; ++i)
        mine[i] = rank + i;
    memset(memory, 0, 2 * WIDTH * sizeof(double));
    MPI_Win_fence(0, win);
    for (int to = 0; to < size; ++to)
        for (int n = 0; n < TIMES; ++n)
            CHECK(MPI_Accumulate(mine, WIDTH, MPI_DOUBLE, to, 0, 1, every_other, MPI_SUM, win) == MPI_SUCCESS);
    MPI_Win_fence(0, win);
    double ranks = size * (size - 1) / 2.0;
    for (int i = 0; i < WIDTH; ++i)
        CHECK(memory[2 * i] == TIMES * (ranks + size * i) && memory[2 * i + 1] == 0);
    MPI_Win_fence(0, win);
    /* Only one rank at a time gets the sum and doubles it. */
    for (int turn = 0; turn < size; ++turn) {
        if (rank == turn)
            CHECK(MPI_Get_accumulate(mine, WIDTH, MPI_DOUBLE, before, WIDTH, MPI_DOUBLE, 0, 0, 1, every_other, MPI_MAX, win) == MPI_SUCCESS);
        MPI_Win_fence(0, win);
        for (int i = 0; rank == 0 && turn == 0 && i < WIDTH; ++i)
            CHECK(before[i] == TIMES * (ranks + size * i));
    }
    CHECK(MPI_Get_accumulate(NULL, 0, MPI_DATATYPE_NULL, before, WIDTH, MPI_DOUBLE, 0, 0, 1, every_other, MPI_NO_OP, win) == MPI_SUCCESS);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    for (int i = 0; i < WIDTH; ++i) {
        double sum = TIMES * (ranks + size * i), largest = size - 1 + i;
        CHECK(before[i] == (sum > largest ? sum : largest));
    }
    MPI_Type_free(&every_other);
    MPI_Win_free(&win);
}

/* All with a request. */
static void requests(void)
{
    MPI_Win win;
    int *memory, value = rank + 1, got = -1, sum = size * (size + 1) / 2, one = 1, next = (rank + 1) % size;
    MPI_Request request[2];
    MPI_Win_allocate(4 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    memset(memory, 0, 4 * sizeof(int));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    CHECK(MPI_Rput(&value, 1, MPI_INT, next, 0, 1, MPI_INT, win, &request[0]) == MPI_SUCCESS);
    CHECK(MPI_Raccumulate(&value, 1, MPI_INT, 0, 1, 1, MPI_INT, MPI_SUM, win, &request[1]) == MPI_SUCCESS);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    CHECK(request[0] == MPI_REQUEST_NULL && request[1] == MPI_REQUEST_NULL);
    MPI_Win_flush_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_Rget(&got, 1, MPI_INT, next, 0, 1, MPI_INT, win, &request[0]) == MPI_SUCCESS);
    MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    CHECK(got == value);
    CHECK(MPI_Rget_c(&got, 1, MPI_INT, 0, 1, 1, MPI_INT, win, &request[0]) == MPI_SUCCESS);
    MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    CHECK(got == sum);
    CHECK(MPI_Rget_accumulate(&one, 1, MPI_INT, &got, 1, MPI_INT, 0, 2, 1, MPI_INT, MPI_SUM, win, &request[0]) == MPI_SUCCESS);
    MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    CHECK(got >= 0 && got < size);
    CHECK(MPI_Raccumulate_c(&one, 1, MPI_INT, MPI_PROC_NULL, 2, 1, MPI_INT, MPI_SUM, win, &request[0]) == MPI_SUCCESS);
    MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_unlock_all(win);
    if (rank == 0)
        CHECK(memory[2] == size);
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tickets();
    spin_lock();
    vectors();
    requests();
    return finish(rank);
}
