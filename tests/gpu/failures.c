/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Programs that are wrong about their GPU: work on a buffer that is not complete when a call begins (RANKPOINT_CHECK=gpu), and a kernel that fails
 * for good at one rank. */
#include "device.h"

#include <sys/mman.h>

static void (*fail)(int);
static void (*store_late)(Device, unsigned char);

/* Work on a buffer goes on after the call began. */
static void late_work(void)
{
    MPI_Request request;
    MPI_Datatype sparse;
    MPI_Type_vector(3, 1, 2, MPI_INT, &sparse);
    MPI_Type_commit(&sparse);
    Buffer from = make(1, 64, 1), to = make(1, 64, 2);
    int sum[4] = {0};
    MPI_Sendrecv(address(&from), 16, MPI_INT, rank, 0, address(&to), 16, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    store_late(from.device + 8, 77);
    FAILED(MPI_ERR_BUFFER, "byte 8 of 64 has changed", MPI_Send(address(&from), 16, MPI_INT, rank, 0, MPI_COMM_WORLD));
    store_late(from.device + 8, 78);
    FAILED(MPI_ERR_BUFFER, "byte 4 of 12 has changed", MPI_Isend(address(&from), 1, sparse, rank, 0, MPI_COMM_WORLD, &request));
    store_late(from.device + 8, 79);
    FAILED(MPI_ERR_BUFFER, "MPI_Allreduce", MPI_Allreduce(address(&from), sum, 4, MPI_INT, MPI_SUM, MPI_COMM_SELF));
    /* Outside of what the call reads. */
    store_late(from.device + 12, 80);
    MPI_Irecv(address(&to), 1, sparse, rank, 0, MPI_COMM_WORLD, &request);
    MPI_Send(address(&from), 1, sparse, rank, 0, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Type_free(&sparse);
    drop(&from);
    drop(&to);
}

/* A kernel of rank 0 fails: its calls with memory of the GPU fail from then on, without the driver, and all others go on. */
static void failed_kernel(void)
{
    Buffer device = make(1, 4096, 1);
    int *elsewhere = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), left;
    MPI_Win win;
    MPI_Win_create(address(&device), 4096, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        fail(719);
    double number = 3, sum = 0;
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    MPI_Accumulate(&number, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, MPI_SUM, win);
    int code = MPI_Win_unlock(0, win);
    FAILED(MPI_ERR_OTHER, "has failed", code);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        FAILED(MPI_ERR_OTHER, "(719)", MPI_Send(address(&device), 8, MPI_INT, rank, 1, MPI_COMM_WORLD));
        size_t calls = cu_calls(NULL);
        FAILED(MPI_ERR_OTHER, "(719)", MPI_Send(address(&device), 8, MPI_INT, rank, 1, MPI_COMM_WORLD));
        FAILED(MPI_ERR_OTHER, "(719)", MPI_Recv(address(&device), 8, MPI_INT, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        FAILED(MPI_ERR_OTHER, "(719)", MPI_Put(address(&device), 8, MPI_INT, MPI_PROC_NULL, 0, 8, MPI_INT, win));
        CHECK(cu_calls(NULL) == calls);
    } else {
        MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
        MPI_Put(&number, 1, MPI_DOUBLE, rank, 8, 1, MPI_DOUBLE, win);
        CHECK(MPI_Win_unlock(rank, win) == MPI_SUCCESS);
    }
    elsewhere[0] = rank;
    MPI_Sendrecv(elsewhere, 1, MPI_INT, (rank + 1) % size, 2, &left, 1, MPI_INT, (rank + size - 1) % size, 2, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    CHECK(left == (rank + size - 1) % size);
    MPI_Allreduce(&number, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == 3 * size);
    CHECK(MPI_Win_free(&win) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    *(void **)&fail = symbol(library, "cuda_double_fail");
    *(void **)&store_late = symbol(library, "cuda_double_store_late");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    late_work();
    failed_kernel();
    return finish(rank);
}
