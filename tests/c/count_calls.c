/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Calls MPI_Isend (rank 0) and MPI_Irecv (rank 1) as often as its first argument says, with as many bytes as its second one says,
 * for counting instructions. Each receive is posted before its message is sent. A rank alone receives with MPI_Recv what it has sent to
 * itself. */
#include <mpi.h>
#include <stdlib.h>

static char data[4096], into[4096];

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size, calls = argc > 1 ? atoi(argv[1]) : 100, bytes = argc > 2 ? atoi(argv[2]) : 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    char ready = 0;
    MPI_Request request;
    for (int i = 0; i < calls; ++i) {
        if (size == 1) {
            MPI_Isend(data, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &request);
            MPI_Recv(into, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else if (rank == 0) {
            MPI_Recv(&ready, 1, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Isend(data, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else if (rank == 1) {
            MPI_Irecv(data, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &request);
            MPI_Send(&ready, 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
    }
    MPI_Finalize();
    return 0;
}
