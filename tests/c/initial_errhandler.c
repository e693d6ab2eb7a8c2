/* SPDX-License-Identifier: MIT OR Apache-2.0
 * The error handler that a program is started with (mpiexec --initial-errhandler): of both predefined communicators, of calls
 * that belong to none, and of communicators made of them.
 *
 * RANKS: 1 2
 * NEEDS: checked arguments
 * ENV: RANKPOINT_INITIAL_ERRHANDLER=2
 */
#include "check.h"

static int returns(MPI_Comm comm)
{
    MPI_Errhandler handler;
    MPI_Comm_get_errhandler(comm, &handler);
    return handler == MPI_ERRORS_RETURN;
}

int main(void)
{
    int rank;
    MPI_Comm dup;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    CHECK(returns(MPI_COMM_WORLD) && returns(MPI_COMM_SELF));
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    CHECK(returns(dup));
    CHECK(MPI_Send(NULL, 0, MPI_INT, -7, 0, dup) == MPI_ERR_RANK);
    CHECK(MPI_Type_contiguous(1, MPI_INT, NULL) == MPI_ERR_ARG);
    CHECK(MPI_Group_free(NULL) == MPI_ERR_ARG);
    CHECK(MPI_Comm_free(&dup) == MPI_SUCCESS && MPI_Barrier(dup) == MPI_ERR_COMM);
    return finish(rank);
}
