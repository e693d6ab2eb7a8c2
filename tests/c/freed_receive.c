/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 2 3 7
 * A receive whose request was freed has its data after MPI_Finalize when the message was sent before a barrier (MPI-5.0, section 3.7.3),
 * also when many others arrive before it.
 */
#include "check.h"

enum { MANY = 300, LENGTH = 40 };
static int got[MANY][LENGTH];

int main(int argc, char **argv)
{
    int rank, size, data[LENGTH];
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS);
    int before = (rank + size - 1) % size, next = (rank + 1) % size;
    for (int i = 0; i < MANY; i++) {
        MPI_Request request;
        CHECK(MPI_Irecv(got[i], LENGTH, MPI_INT, before, i, MPI_COMM_WORLD, &request) == MPI_SUCCESS);
        CHECK(MPI_Request_free(&request) == MPI_SUCCESS);
    }
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    for (int i = 0; i < MANY; i++) {
        for (int k = 0; k < LENGTH; k++)
            data[k] = i * LENGTH + k + rank;
        CHECK(MPI_Send(data, LENGTH, MPI_INT, next, i, MPI_COMM_WORLD) == MPI_SUCCESS);
    }
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    int wrong = 0;
    for (int i = 0; i < MANY; i++)
        for (int k = 0; k < LENGTH; k++)
            wrong += got[i][k] != i * LENGTH + k + before;
    if (wrong != 0)
        fprintf(stderr, "rank %d: %d of %d numbers have not arrived\n", rank, wrong, MANY * LENGTH);
    else if (rank == 0)
        printf("PASS\n");
    return wrong != 0;
}
