/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 4
 * NEEDS: checked arguments
 * A rank that can hold no more communicators: the calls fail, leave null handles, and leave nothing of them under way. */
#include "check.h"

enum { MOST = 100000 };

static MPI_Comm made[MOST];

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size, count = 0, sum;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (rank == 0) {
        int code;
        while (count < MOST && (code = MPI_Comm_dup(MPI_COMM_SELF, &made[count])) == MPI_SUCCESS)
            ++count;
        CHECK(count < MOST && code == MPI_ERR_NO_MEM && made[count] == MPI_COMM_NULL);
        /* Only this rank calls it: the next collectives must not take it for theirs. */
        MPI_Comm comm = MPI_COMM_SELF;
        MPI_Request request = (MPI_Request)0x1234;
        CHECK(MPI_Comm_idup(MPI_COMM_WORLD, &comm, &request) == MPI_ERR_NO_MEM);
        CHECK(comm == MPI_COMM_NULL && request == MPI_REQUEST_NULL);
    }
    CHECK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(sum == size * (size - 1) / 2);
    /* Calls in which all ranks take part fail at all of them. */
    MPI_Comm none = MPI_COMM_SELF;
    MPI_Group all;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    CHECK(MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &none) == MPI_ERR_NO_MEM && none == MPI_COMM_NULL);
    CHECK(MPI_Comm_create(MPI_COMM_WORLD, all, &none) == MPI_ERR_NO_MEM);
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &none) != MPI_SUCCESS && none == MPI_COMM_NULL);
    MPI_Group_free(&all);
    for (int i = 0; i < count; ++i)
        CHECK(MPI_Comm_free(&made[i]) == MPI_SUCCESS);
    MPI_Comm comm;
    MPI_Request request;
    CHECK(MPI_Comm_idup(MPI_COMM_WORLD, &comm, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
    CHECK(sum == size * (size - 1) / 2);
    MPI_Comm_free(&comm);
    return finish(rank);
}
