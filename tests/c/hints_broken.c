/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 3 4
 * ENV: RANKPOINT_RMA=
 * ENV: RANKPOINT_RMA=message
 * A program that breaks what it promised by hints runs as it does without them (RANKPOINT_CHECK=hints reports it: check_hints.c). Each
 * rank sends to the next one. */
#include "check.h"

static int rank, size, left, right;

static MPI_Info info_with(int count, const char *keys[])
{
    MPI_Info info;
    MPI_Info_create(&info);
    for (int i = 0; i < count; ++i)
        MPI_Info_set(info, keys[i], "true");
    return info;
}

static void messages(void)
{
    const char *keys[] = {"mpi_assert_no_any_source", "mpi_assert_no_any_tag", "mpi_assert_exact_length", "mpi_assert_allow_overtaking"};
    int in[4] = {-1, -1, -1, -1}, flag = 0, count;
    MPI_Info info = info_with(4, keys);
    MPI_Request request;
    MPI_Status status;
    MPI_Comm comm;
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
    MPI_Info_free(&info);
    for (int round = 0; round < 6; ++round) {
        MPI_Irecv(in, 4, MPI_INT, round % 2 ? left : MPI_ANY_SOURCE, round % 3 ? MPI_ANY_TAG : 7, comm, &request);
        MPI_Send(&rank, 1, MPI_INT, right, 7, comm);
        MPI_Wait(&request, &status);
        MPI_Get_count(&status, MPI_INT, &count);
        CHECK(status.MPI_SOURCE == left && status.MPI_TAG == 7 && count == 1 && in[0] == left);
    }
    MPI_Send(&rank, 1, MPI_INT, right, 8, comm);
    while (!flag)
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, &status);
    MPI_Recv(in, 4, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, comm, MPI_STATUS_IGNORE);
    CHECK(in[0] == left);
    MPI_Comm_free(&comm);
}

/* Of another size and with another unit at each rank. */
static void windows(void)
{
    const char *keys[] = {"no_locks", "same_size", "same_disp_unit"};
    MPI_Info info = info_with(3, keys);
    MPI_Win win;
    int *memory, got = -1;
    MPI_Win_allocate((MPI_Aint)sizeof(int) * (2 + rank), (int)sizeof(int) * (1 + rank), info, MPI_COMM_WORLD, &memory, &win);
    for (int i = 0; i < 2 + rank; ++i)
        memory[i] = -1;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, win);
    MPI_Put(&rank, 1, MPI_INT, right, 1, 1, MPI_INT, win);
    MPI_Win_unlock(right, win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    MPI_Get(&got, 1, MPI_INT, rank, 1, 1, MPI_INT, win);
    MPI_Win_flush(rank, win);
    MPI_Win_unlock_all(win);
    CHECK(got == left);
    MPI_Win_free(&win);
    MPI_Win_create_dynamic(info, MPI_COMM_WORLD, &win);
    MPI_Win_lock_all(0, win);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Info_free(&info);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
    messages();
    windows();
    return finish(rank);
}
