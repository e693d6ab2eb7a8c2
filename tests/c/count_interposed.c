/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Calls that pass through the interposing library, on one rank, as often as the first argument says, for counting instructions with and
 * without it. The peer is MPI_PROC_NULL, so each call takes as many instructions whatever else runs; data of a derived type are not in
 * progress. */
#include <mpi.h>
#include <stdlib.h>

static MPI_Request request;
static MPI_Status status;
static int rank, flag, found, position, data[4];
static char packed[64];
static const char *volatile counted; /* Keeps functions of the same text apart. */

#define COUNTED(name, ...)                                                                                                     \
    static __attribute__((noinline)) void counted_##name(void)                                                                 \
    {                                                                                                                          \
        counted = #name;                                                                                                       \
        __VA_ARGS__;                                                                                                           \
    }

#define DATA data, 4, MPI_INT, MPI_PROC_NULL, 0

COUNTED(comm_rank, MPI_Comm_rank(MPI_COMM_WORLD, &rank))
COUNTED(initialized, MPI_Initialized(&flag))
COUNTED(bcast, MPI_Bcast(data, 4, MPI_INT, 0, MPI_COMM_SELF))
COUNTED(send, MPI_Send(DATA, MPI_COMM_WORLD))
COUNTED(recv, MPI_Recv(DATA, MPI_COMM_WORLD, &status))
COUNTED(sendrecv, MPI_Sendrecv(DATA, DATA, MPI_COMM_WORLD, &status))
COUNTED(sendrecv_replace, MPI_Sendrecv_replace(DATA, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status))
COUNTED(pack, MPI_Pack(data, 4, MPI_INT, packed, sizeof packed, &position, MPI_COMM_WORLD))
COUNTED(unpack, MPI_Unpack(packed, sizeof packed, &position, data, 4, MPI_INT, MPI_COMM_WORLD))
COUNTED(isend, MPI_Isend(DATA, MPI_COMM_WORLD, &request))
COUNTED(wait, MPI_Wait(&request, &status))
COUNTED(irecv, MPI_Irecv(DATA, MPI_COMM_WORLD, &request))
COUNTED(test, MPI_Test(&request, &flag, &status))
COUNTED(waitall, MPI_Waitall(1, &request, &status))
COUNTED(testany, MPI_Testany(1, &request, &found, &flag, &status))
COUNTED(send_init, MPI_Send_init(DATA, MPI_COMM_WORLD, &request))
COUNTED(start, MPI_Start(&request))
COUNTED(request_free, MPI_Request_free(&request))

int main(int argc, char **argv)
{
    int calls = argc > 1 ? atoi(argv[1]) : 64;
    MPI_Init(&argc, &argv);
    for (int i = 0; i < calls; ++i) {
        counted_comm_rank();
        counted_initialized();
        counted_bcast();
        counted_send();
        counted_recv();
        counted_sendrecv();
        counted_sendrecv_replace();
        position = 0;
        counted_pack();
        position = 0;
        counted_unpack();
        counted_isend();
        counted_wait();
        counted_irecv();
        counted_test();
        MPI_Irecv(DATA, MPI_COMM_WORLD, &request);
        counted_waitall();
        MPI_Irecv(DATA, MPI_COMM_WORLD, &request);
        counted_testany();
        counted_send_init();
        counted_start();
        MPI_Wait(&request, &status);
        counted_request_free();
    }
    MPI_Finalize();
    return 0;
}
