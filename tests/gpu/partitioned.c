/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Partitioned messages from and to the memory of a GPU, with as many partitions at both sides and with others, also with some that divide the
 * elements of the receive. */
#include "device.h"

enum { DOUBLES = 96, ROUNDS = 2 };

/* Sends doubles in a ring, and receives them as elements of a type of four. */
static void exchange(int sent, int received, MPI_Datatype type, int kind)
{
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Count lower, extent;
    MPI_Type_get_extent_x(type, &lower, &extent);
    size_t bytes = (size_t)extent * DOUBLES / 4;
    Buffer from = make(kind & 1, DOUBLES * sizeof(double), 3 + (unsigned)rank), to = make(kind >> 1, bytes, 40);
    Buffer given = make(0, DOUBLES * sizeof(double), 3 + (unsigned)before), wanted = make(0, bytes, 40);
    MPI_Sendrecv(given.host, DOUBLES, MPI_DOUBLE, 0, 0, wanted.host, DOUBLES / 4, type, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Request requests[2];
    MPI_Psend_init(address(&from), sent, DOUBLES / sent, MPI_DOUBLE, next, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(address(&to), received, DOUBLES / 4 / received, type, before, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Startall(2, requests);
        for (int i = sent - 1; i >= 0; i--)
            MPI_Pready(i, requests[0]);
        for (int i = 0, flag; i < received; i++)
            do
                MPI_Parrived(requests[1], i, &flag);
            while (!flag);
        CHECK(memcmp(contents(&to), wanted.host, bytes) == 0);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    drop(&from);
    drop(&to);
    drop(&given);
    drop(&wanted);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Datatype dense, sparse;
    MPI_Type_contiguous(4, MPI_DOUBLE, &dense);
    MPI_Type_vector(4, 1, 2, MPI_DOUBLE, &sparse);
    MPI_Type_commit(&dense);
    MPI_Type_commit(&sparse);
    const int sent[] = {1, 4, 24, 32}, received[] = {1, 3, 8};
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 3; j++)
            for (int kind = 1; kind < 4; kind++) {
                exchange(sent[i], received[j], dense, kind);
                exchange(sent[i], received[j], sparse, kind);
            }
    MPI_Type_free(&dense);
    MPI_Type_free(&sparse);
    return finish(rank);
}
