/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 3 4
 * ENV: RANKPOINT_CHECK=rma
 * ENV: RANKPOINT_CHECK=rma,collectives
 * Operations that nothing orders are named; those that a flush, a lock or a fence orders are not. */
#include "check.h"

static int rank, size, last;

/* The call fails with this class, and its text names the window and all of these. */
#define TELLS(call, expected, ...)                                                                      \
    do {                                                                                                \
        int code_ = (call), class_ = -1, length_;                                                       \
        char text_[MPI_MAX_ERROR_STRING];                                                               \
        MPI_Error_class(code_, &class_);                                                                \
        MPI_Error_string(code_, text_, &length_);                                                       \
        const char *words_[] = {"of tiles", __VA_ARGS__};                                               \
        for (size_t word_ = 0; word_ < sizeof words_ / sizeof *words_; ++word_)                         \
            if (class_ != (expected) || !strstr(text_, words_[word_])) {                                \
                fprintf(stderr, "class %d, without '%s': %s\n", class_, words_[word_], text_);          \
                CHECK(!"the error names all");                                                          \
            }                                                                                           \
    } while (0)

static void between_fences(MPI_Win win)
{
    int numbers[4] = {rank, rank, rank, rank};
    MPI_Win_fence(0, win);
    MPI_Put(numbers, 1, MPI_INT, last, rank, 1, MPI_INT, win);
    CHECK(MPI_Win_fence(0, win) == MPI_SUCCESS);
    if (rank == 0) {
        MPI_Put(numbers, 2, MPI_INT, last, 4, 2, MPI_INT, win);
        MPI_Accumulate(numbers, 2, MPI_INT, last, 5, 2, MPI_INT, MPI_SUM, win);
    }
    TELLS(MPI_Win_fence(0, win), MPI_ERR_RMA_CONFLICT, "MPI_Win_fence: ", "a put of rank 0",
          "an accumulate (MPI_SUM of MPI_INT) of rank 0", "bytes 20..24");
    MPI_Accumulate(numbers, 4, MPI_INT, last, 0, 4, MPI_INT, MPI_SUM, win);
    CHECK(MPI_Win_fence(0, win) == MPI_SUCCESS);
    MPI_Put(numbers, 1, MPI_INT, last, rank, 1, MPI_INT, win);
    if (size > 1) {
        int got;
        if (rank == 1)
            MPI_Get(&got, 1, MPI_INT, last, 0, 1, MPI_INT, win);
        TELLS(MPI_Win_fence(0, win), MPI_ERR_RMA_CONFLICT, "a put of rank 0", "a get of rank 1", "bytes 0..4");
    }
    CHECK(MPI_Win_fence(MPI_MODE_NOPUT, win) == MPI_SUCCESS);
    if (rank == 0)
        MPI_Put(numbers, 1, MPI_INT, last, 9, 1, MPI_INT, win);
    TELLS(MPI_Win_fence(MPI_MODE_NOSUCCEED, win), MPI_ERR_RMA_CONFLICT, "a put of rank 0", "bytes 36..40", "MPI_MODE_NOPUT");
}

static void with_locks(MPI_Win win)
{
    int number = rank, got = -1;
    MPI_Request request;
    for (int round = 0; round < 20; ++round) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, last, 0, win);
        MPI_Get(&got, 1, MPI_INT, last, 0, 1, MPI_INT, win);
        CHECK(MPI_Win_flush(last, win) == MPI_SUCCESS);
        MPI_Put(&number, 1, MPI_INT, last, 0, 1, MPI_INT, win);
        CHECK(MPI_Win_unlock(last, win) == MPI_SUCCESS);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    for (int round = 0; round < 20; ++round) {
        int one = 1;
        MPI_Fetch_and_op(&one, &got, MPI_INT, last, 0, MPI_SUM, win);
        MPI_Win_flush_local(last, win);
        MPI_Rget(&got, 1, MPI_INT, last, 1, 1, MPI_INT, win, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Compare_and_swap(&one, &number, &got, MPI_INT, last, 0, win);
        CHECK(MPI_Win_flush(last, win) == MPI_SUCCESS);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    /* One after the other. */
    for (int next = 0; next < size; ++next) {
        if (next == rank) {
            MPI_Put(&number, 1, MPI_INT, last, 0, 1, MPI_INT, win);
            CHECK(MPI_Win_flush(last, win) == MPI_SUCCESS);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    CHECK(MPI_Win_unlock_all(win) == MPI_SUCCESS);
    MPI_Win_lock(MPI_LOCK_SHARED, last, 0, win);
    if (rank == 0) {
        MPI_Put(&number, 1, MPI_INT, last, 3, 1, MPI_INT, win);
        MPI_Get(&got, 1, MPI_INT, last, 3, 1, MPI_INT, win);
        TELLS(MPI_Win_unlock(last, win), MPI_ERR_RMA_CONFLICT, "MPI_Win_unlock: ", "a put of rank 0 and a get of rank 0",
              "bytes 12..16");
    } else
        CHECK(MPI_Win_unlock(last, win) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Complete operations conflict, too, unless something orders them. */
static void in_turn(MPI_Win win)
{
    int number = rank;
    int told = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (size > 1 && rank < 2) {
        for (int round = 0; round < 3; ++round) {
            int code;
            MPI_Win_lock(MPI_LOCK_SHARED, last, 0, win);
            MPI_Put(&number, 1, MPI_INT, last, 12, 1, MPI_INT, win);
            code = MPI_Win_unlock(last, win);
            told += code != MPI_SUCCESS;
            if (code != MPI_SUCCESS)
                TELLS(code, MPI_ERR_RMA_CONFLICT, "a put of rank 0", "a put of rank 1", "bytes 48..52");
        }
    }
    /* The earlier one learns it now. */
    int code = MPI_Win_fence(0, win);
    told += code != MPI_SUCCESS;
    if (code != MPI_SUCCESS)
        TELLS(code, MPI_ERR_RMA_CONFLICT, "a put of rank 0", "a put of rank 1", "bytes 48..52");
    /* Or now, if it was in the fence before the other one. */
    told += MPI_Win_fence(MPI_MODE_NOSUCCEED, win) != MPI_SUCCESS;
    CHECK((told > 0) == (size > 1 && rank < 2));
    for (int next = 0; next < size; ++next) {
        if (next == rank) {
            MPI_Win_lock(MPI_LOCK_SHARED, last, 0, win);
            MPI_Put(&number, 1, MPI_INT, last, 12, 1, MPI_INT, win);
            CHECK(MPI_Win_unlock(last, win) == MPI_SUCCESS);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* Buffers of other calls are loads and stores of the window's memory. */
static void buffers(MPI_Win win, int *base)
{
    int number = rank, sums[2];
    MPI_Win_fence(0, win);
    if (rank == 0)
        MPI_Put(&number, 1, MPI_INT, last, 2, 1, MPI_INT, win);
    MPI_Allreduce(base + 1, sums, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    TELLS(MPI_Win_fence(0, win), MPI_ERR_RMA_CONFLICT, "MPI_Allreduce of rank", "which reads its own window", "a put of rank 0", "bytes 8..12");
    if (rank == 0)
        MPI_Put(&number, 1, MPI_INT, last, 3, 1, MPI_INT, win);
    MPI_Allreduce(base + 1, sums, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Sendrecv(&number, 1, MPI_INT, rank, 0, base + 4, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(MPI_Win_fence(0, win) == MPI_SUCCESS);
    if (rank == 0)
        MPI_Get(sums, 1, MPI_INT, last, 4, 1, MPI_INT, win);
    MPI_Sendrecv(base + 4, 1, MPI_INT, rank, 0, sums + 1, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(MPI_Win_fence(0, win) == MPI_SUCCESS);
    if (rank == 0)
        MPI_Get(sums, 1, MPI_INT, last, 4, 1, MPI_INT, win);
    MPI_Request request;
    MPI_Irecv(base + 4, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &request);
    MPI_Send(&number, 1, MPI_INT, rank, 0, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    TELLS(MPI_Win_fence(MPI_MODE_NOSUCCEED, win), MPI_ERR_RMA_CONFLICT, "MPI_Irecv of rank", "which stores into its own window", "a get of rank 0",
          "bytes 16..20");
}

/* Persistent requests use their buffers when they are started. */
static void planned_buffers(MPI_Win win, int *base)
{
    int number = rank, got;
    MPI_Request receive, send, bcast;
    MPI_Recv_init(base + 4, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &receive);
    MPI_Send_init(base + 5, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &send);
    MPI_Bcast_init(base + 6, 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &bcast);
    MPI_Win_fence(0, win);
    if (rank == 0) {
        MPI_Put(&number, 1, MPI_INT, last, 4, 1, MPI_INT, win);
        MPI_Put(&number, 1, MPI_INT, last, 5, 1, MPI_INT, win);
        MPI_Put(&number, 1, MPI_INT, last, 6, 1, MPI_INT, win);
    }
    CHECK(MPI_Win_fence(0, win) == MPI_SUCCESS);
    for (int round = 0; round < 2; ++round) {
        if (rank == 0)
            MPI_Get(&got, 1, MPI_INT, last, 4, 1, MPI_INT, win);
        MPI_Start(&receive);
        MPI_Send(&number, 1, MPI_INT, rank, 0, MPI_COMM_WORLD);
        MPI_Wait(&receive, MPI_STATUS_IGNORE);
        TELLS(MPI_Win_fence(0, win), MPI_ERR_RMA_CONFLICT, "MPI_Recv_init of rank", "which stores into its own window", "a get of rank 0",
              "bytes 16..20");
        if (rank == 0)
            MPI_Put(&number, 1, MPI_INT, last, 5, 1, MPI_INT, win);
        MPI_Startall(1, &send);
        MPI_Recv(&got, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
        TELLS(MPI_Win_fence(0, win), MPI_ERR_RMA_CONFLICT, "MPI_Send_init of rank", "which reads its own window", "a put of rank 0",
              "bytes 20..24");
        if (rank == 0)
            MPI_Put(&number, 1, MPI_INT, last, 6, 1, MPI_INT, win);
        MPI_Start(&bcast);
        MPI_Wait(&bcast, MPI_STATUS_IGNORE);
        TELLS(MPI_Win_fence(0, win), MPI_ERR_RMA_CONFLICT, "MPI_Bcast_init of rank", "its own window", "a put of rank 0", "bytes 24..28");
    }
    CHECK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win) == MPI_SUCCESS);
    MPI_Request_free(&receive);
    MPI_Request_free(&send);
    MPI_Request_free(&bcast);
}

static void exposed(MPI_Win win)
{
    MPI_Group all, first, target;
    int number = rank, zero = 0;
    MPI_Win_get_group(win, &all);
    MPI_Group_incl(all, 1, &zero, &first);
    MPI_Group_incl(all, 1, &last, &target);
    if (rank == last)
        MPI_Win_post(first, 0, win);
    if (rank == 0) {
        MPI_Win_start(target, 0, win);
        MPI_Put(&number, 1, MPI_INT, last, 6, 1, MPI_INT, win);
        MPI_Put(&number, 1, MPI_INT, last, 6, 1, MPI_INT, win);
        TELLS(MPI_Win_complete(win), MPI_ERR_RMA_CONFLICT, "MPI_Win_complete: ", "two operations, each a put of rank 0", "bytes 24..28");
    }
    if (rank == last)
        TELLS(MPI_Win_wait(win), MPI_ERR_RMA_CONFLICT, "MPI_Win_wait: ", "two operations, each a put of rank 0", "bytes 24..28");
    MPI_Group_free(&all);
    MPI_Group_free(&first);
    MPI_Group_free(&target);
}

int main(int argc, char **argv)
{
    int *base;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    last = size - 1;
    MPI_Win_allocate(64, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Win_set_name(win, "of tiles");
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    between_fences(win);
    with_locks(win);
    exposed(win);
    in_turn(win);
    buffers(win, base);
    planned_buffers(win, base);
    MPI_Win_free(&win);
    return finish(rank);
}
