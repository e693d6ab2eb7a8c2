/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 2 1
 * ENV: RANKPOINT_FABRIC=null
 * The transport that carries nothing: sends complete at once, receives stay posted, and calls that would wait for another rank
 * return an error instead. */
#include "check.h"

int main(int argc, char **argv)
{
    static char data[1 << 20];
    const int lengths[] = {0, 1, 48, 49, 8192, 100000};
    int rank, size, flag, class;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int peer = (rank + 1) % size;
    for (int i = 0; i < 10000; ++i)
        CHECK(MPI_Send(data, lengths[i % 6], MPI_BYTE, peer, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Irecv(data, 8, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &request) == MPI_SUCCESS);
    CHECK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && !flag);
    CHECK(MPI_Cancel(&request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    int error = MPI_Recv(data, 8, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Error_class(error, &class);
    CHECK(class == MPI_ERR_UNSUPPORTED_OPERATION);
    error = MPI_Ssend(data, 8, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
    MPI_Error_class(error, &class);
    CHECK(class == MPI_ERR_UNSUPPORTED_OPERATION);
    if (size > 1) {
        error = MPI_Barrier(MPI_COMM_WORLD);
        MPI_Error_class(error, &class);
        CHECK(class == MPI_ERR_UNSUPPORTED_OPERATION);
    }
    if (rank == 0)
        printf("PASS\n");
    MPI_Finalize();
    return 0;
}
