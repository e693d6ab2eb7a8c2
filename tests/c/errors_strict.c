/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2
 * NEEDS: checked arguments
 * ENV: RANKPOINT_ERRORS=strict
 * Errors that belong to no communicator go to the handler of MPI_COMM_SELF alone, as MPI-4.0 and later have it. */
#include "check.h"

static int told;

static void handler(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    ++told;
}

int main(int argc, char **argv)
{
    /* Both communicators return errors at first. */
    setenv("RANKPOINT_INITIAL_ERRHANDLER", "2", 1);
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Errhandler noting;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_create_errhandler(handler, &noting);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, noting);
    CHECK(MPI_Group_size(MPI_GROUP_NULL, &size) == MPI_ERR_GROUP && told == 0);
    CHECK(MPI_Send(NULL, 0, MPI_INT, -7, 0, MPI_COMM_WORLD) == MPI_ERR_RANK && told == 1);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, noting);
    CHECK(MPI_Group_size(MPI_GROUP_NULL, &size) == MPI_ERR_GROUP && told == 2);
    MPI_Errhandler_free(&noting);
    return finish(rank);
}
