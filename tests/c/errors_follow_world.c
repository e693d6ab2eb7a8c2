/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2
 * NEEDS: checked arguments
 * Errors that belong to no communicator go to the handler of MPI_COMM_WORLD until the program sets that of MPI_COMM_SELF. */
#include "check.h"

static int told_world, told_self;

static void world_handler(MPI_Comm *comm, int *code, ...)
{
    (void)code;
    CHECK(*comm == MPI_COMM_WORLD);
    ++told_world;
}

static void self_handler(MPI_Comm *comm, int *code, ...)
{
    (void)code;
    CHECK(*comm == MPI_COMM_SELF);
    ++told_self;
}

static void all_return(void)
{
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Datatype type, none = MPI_DATATYPE_NULL;
    MPI_Op op = MPI_OP_NULL;
    MPI_Comm nothing = MPI_COMM_NULL;
    int size;
    CHECK(MPI_Group_size(group, &size) == MPI_ERR_GROUP);
    CHECK(MPI_Type_contiguous(-1, MPI_INT, &type) == MPI_ERR_COUNT);
    CHECK(MPI_Type_commit(&none) == MPI_ERR_TYPE);
    CHECK(MPI_Type_size(MPI_INT, NULL) == MPI_ERR_ARG);
    CHECK(MPI_Op_free(&op) == MPI_ERR_OP);
    CHECK(MPI_Comm_size(nothing, &size) == MPI_ERR_COMM);
    CHECK(MPI_Info_free(NULL) == MPI_ERR_ARG);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Errhandler handler;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    all_return();
    /* Null arguments of a communicator with a fatal handler, too, as on MPICH. */
    MPI_Comm twin;
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    MPI_Comm_set_errhandler(twin, MPI_ERRORS_ARE_FATAL);
    CHECK(MPI_Comm_dup(twin, NULL) == MPI_ERR_ARG && MPI_Comm_rank(twin, NULL) == MPI_ERR_ARG);
    MPI_Comm_free(&twin);
    MPI_Comm_get_errhandler(MPI_COMM_SELF, &handler);
    CHECK(handler == MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&handler);

    MPI_Comm_create_errhandler(world_handler, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Errhandler_free(&handler);
    all_return();
    CHECK(told_world == 7 && told_self == 0);

    MPI_Comm_create_errhandler(self_handler, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    MPI_Errhandler_free(&handler);
    all_return();
    CHECK(told_world == 7 && told_self == 7);
    return finish(rank);
}
