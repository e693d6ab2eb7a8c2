/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 2 3 4
 * ENV: RANKPOINT_SHARED_COLLECTIVES=0
 * ENV: RANKPOINT_SHARED_COLLECTIVES=0 RANKPOINT_CHECK=collectives
 * A collective that has no memory for its work returns an error on every rank, which then goes on. The buffers are never touched:
 * algorithms take their memory first. */
#include "check.h"

#define HUGE_COUNT ((MPI_Count)1 << 56)

/* The error of a request. */
static int ended(MPI_Request *request)
{
    int error = MPI_Wait(request, MPI_STATUS_IGNORE), class;
    MPI_Error_class(error, &class);
    CHECK(*request == MPI_REQUEST_NULL || MPI_Request_free(request) == MPI_SUCCESS);
    return class;
}

static int class_of(int error)
{
    int class;
    MPI_Error_class(error, &class);
    return class;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    double value = 7;
    MPI_Request request;
#define WORK MPI_IN_PLACE, &value, HUGE_COUNT, MPI_DOUBLE
    for (int round = 0; round < 3; ++round) {
        CHECK(class_of(MPI_Allreduce_c(WORK, MPI_SUM, MPI_COMM_WORLD)) == MPI_ERR_NO_MEM);
        CHECK(class_of(MPI_Scan_c(WORK, MPI_SUM, MPI_COMM_WORLD)) == MPI_ERR_NO_MEM);
        CHECK(class_of(MPI_Exscan_c(WORK, MPI_MAX, MPI_COMM_WORLD)) == MPI_ERR_NO_MEM);
        CHECK(class_of(MPI_Reduce_scatter_block_c(WORK, MPI_SUM, MPI_COMM_WORLD)) == MPI_ERR_NO_MEM);
        CHECK(class_of(MPI_Alltoall_c(MPI_IN_PLACE, 0, MPI_BYTE, &value, HUGE_COUNT, MPI_DOUBLE, MPI_COMM_WORLD)) ==
              MPI_ERR_NO_MEM);
        CHECK(MPI_Iallreduce_c(WORK, MPI_SUM, MPI_COMM_WORLD, &request) == MPI_SUCCESS);
        CHECK(ended(&request) == MPI_ERR_NO_MEM);
        CHECK(MPI_Iscan_c(WORK, MPI_SUM, MPI_COMM_WORLD, &request) == MPI_SUCCESS);
        CHECK(ended(&request) == MPI_ERR_NO_MEM);
        CHECK(MPI_Allreduce_init_c(WORK, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request) == MPI_SUCCESS);
        CHECK(MPI_Start(&request) == MPI_SUCCESS);
        CHECK(ended(&request) == MPI_ERR_NO_MEM);

        /* The communicator works on. */
        double one = 1, sum = 0;
        CHECK(MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS && sum == size);
    }
    return finish(rank);
}
