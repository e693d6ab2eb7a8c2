/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 3 4 7 16
 * Every rank sends to its right neighbour, sizes on both sides of every threshold; contents, counts and sources are checked. */
#include "check.h"

static const int sizes[] = {0, 1, 7, 8, 9, 47, 48, 49, 63, 64, 65, 1000, 4096, 16383, 16384, 16385, 65535, 65536, 65537, 262144, 1048576, 4194305};

static void exchange(int mode, int rank, int size)
{
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    for (unsigned k = 0; k < sizeof sizes / sizeof *sizes; ++k) {
        int bytes = sizes[k], count;
        unsigned char *out = malloc(bytes + 16), *in = malloc(bytes + 16);
        for (int i = 0; i < bytes; ++i)
            out[i] = (unsigned char)(i * 7 + rank + mode);
        memset(in, 0xee, bytes + 16);
        MPI_Request requests[2];
        MPI_Status statuses[2];
        if (mode == 1) /* the receive is late */
            CHECK(MPI_Isend(out, bytes, MPI_BYTE, to, (int)k, MPI_COMM_WORLD, &requests[1]) == MPI_SUCCESS);
        if (mode == 1)
            MPI_Barrier(MPI_COMM_WORLD);
        CHECK(MPI_Irecv(in, bytes + 8, MPI_BYTE, mode == 2 ? MPI_ANY_SOURCE : from, mode == 2 ? MPI_ANY_TAG : (int)k, MPI_COMM_WORLD, &requests[0]) == MPI_SUCCESS);
        if (mode == 3)
            CHECK(MPI_Issend(out, bytes, MPI_BYTE, to, (int)k, MPI_COMM_WORLD, &requests[1]) == MPI_SUCCESS);
        else if (mode != 1)
            CHECK(MPI_Isend(out, bytes, MPI_BYTE, to, (int)k, MPI_COMM_WORLD, &requests[1]) == MPI_SUCCESS);
        CHECK(MPI_Waitall(2, requests, statuses) == MPI_SUCCESS);
        MPI_Get_count(&statuses[0], MPI_BYTE, &count);
        CHECK(count == bytes);
        CHECK(statuses[0].MPI_SOURCE == from && statuses[0].MPI_TAG == (int)k);
        for (int i = 0; i < bytes; ++i)
            CHECK(in[i] == (unsigned char)(i * 7 + from + mode));
        for (int i = bytes; i < bytes + 16; ++i)
            CHECK(in[i] == 0xee);
        free(out);
        free(in);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int mode = 0; mode < 4; ++mode)
        exchange(mode, rank, size);
    return finish(rank);
}
