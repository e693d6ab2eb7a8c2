/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2
 * NEEDS: checked arguments
 * Without an attached buffer MPI behaves as with a buffer of no bytes (MPI-5.0, section 3.6): a buffered send does not fit,
 * there is nothing to wait for, and detaching gives null and 0. A buffer of 0 bytes may be attached. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, value = 1, bytes = 5;
    void *address = &value;
    MPI_Request request;
    MPI_Session session;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);

    for (int round = 0; round < 2; ++round) {
        CHECK(MPI_Bsend(&value, 1, MPI_INT, rank, 0, MPI_COMM_WORLD) == MPI_ERR_BUFFER);
        CHECK(MPI_Buffer_flush() == MPI_SUCCESS && MPI_Comm_flush_buffer(MPI_COMM_WORLD) == MPI_SUCCESS);
        CHECK(MPI_Session_flush_buffer(session) == MPI_SUCCESS);
        CHECK(MPI_Buffer_iflush(&request) == MPI_SUCCESS && MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(MPI_Comm_iflush_buffer(MPI_COMM_WORLD, &request) == MPI_SUCCESS);
        CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(MPI_Bsend(&value, 1, MPI_INT, rank, 0, MPI_COMM_WORLD) == MPI_ERR_BUFFER);
        CHECK(MPI_Buffer_detach(&address, &bytes) == MPI_SUCCESS && address == NULL && bytes == 0);
        address = &value, bytes = 5;
        CHECK(MPI_Comm_detach_buffer(MPI_COMM_WORLD, &address, &bytes) == MPI_SUCCESS && address == NULL && bytes == 0);

        CHECK(MPI_Comm_attach_buffer(MPI_COMM_WORLD, &value, 0) == MPI_SUCCESS);
        CHECK(MPI_Comm_attach_buffer(MPI_COMM_WORLD, &value, 0) == MPI_ERR_BUFFER);
        CHECK(MPI_Bsend(&value, 1, MPI_INT, rank, 0, MPI_COMM_WORLD) == MPI_ERR_BUFFER);
        CHECK(MPI_Comm_detach_buffer(MPI_COMM_WORLD, &address, &bytes) == MPI_SUCCESS && address == &value && bytes == 0);
        CHECK(MPI_Comm_attach_buffer(MPI_COMM_WORLD, &value, -1) == MPI_ERR_ARG);
        CHECK(MPI_Comm_attach_buffer((MPI_Comm)0, &value, 8) == MPI_ERR_COMM);
        CHECK(MPI_Comm_detach_buffer((MPI_Comm)0, &address, &bytes) == MPI_ERR_COMM);
        address = &value, bytes = 5;
    }

    /* A handle that was freed is none, also for MPI_Comm_free itself. */
    MPI_Comm twin, copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    copy = twin;
    CHECK(MPI_Comm_free(&twin) == MPI_SUCCESS && twin == MPI_COMM_NULL);
    CHECK(MPI_Comm_free(&copy) == MPI_ERR_COMM && MPI_Comm_free(&twin) == MPI_ERR_COMM);
    /* Nothing is reduced in place locally (MPI-5.0, section 6.9.7). */
    int sum[2] = {1, 2};
    CHECK(MPI_Reduce_local(MPI_IN_PLACE, sum, 2, MPI_INT, MPI_SUM) == MPI_ERR_BUFFER);
    CHECK(MPI_Reduce_local(sum, sum, 2, MPI_INT, MPI_SUM) == MPI_ERR_BUFFER && sum[0] == 1 && sum[1] == 2);
    MPI_Session_finalize(&session);
    return finish(rank);
}
