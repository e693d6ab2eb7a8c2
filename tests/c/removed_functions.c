/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1
 * Functions that MPI-3.0 removed. The library exports them for programs that were linked with a library of the ABI that has them;
 * mpi.h does not declare them, so this program does. */
#include "check.h"

int MPI_Address(void *location, MPI_Aint *address);
int MPI_Errhandler_create(MPI_Comm_errhandler_function *function, MPI_Errhandler *errhandler);
int MPI_Errhandler_get(MPI_Comm comm, MPI_Errhandler *errhandler);
int MPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler errhandler);
int MPI_Type_extent(MPI_Datatype datatype, MPI_Aint *extent);
int MPI_Type_hindexed(int count, int lengths[], MPI_Aint displacements[], MPI_Datatype oldtype, MPI_Datatype *newtype);
int MPI_Type_hvector(int count, int length, MPI_Aint stride, MPI_Datatype oldtype, MPI_Datatype *newtype);
int MPI_Type_lb(MPI_Datatype datatype, MPI_Aint *displacement);
int MPI_Type_struct(int count, int lengths[], MPI_Aint displacements[], MPI_Datatype types[], MPI_Datatype *newtype);
int MPI_Type_ub(MPI_Datatype datatype, MPI_Aint *displacement);

static int calls;

static void note(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    ++calls;
}

static void expect(MPI_Datatype type, int size, MPI_Aint lower, MPI_Aint upper)
{
    int bytes;
    MPI_Aint lb, ub, extent;
    CHECK(MPI_Type_lb(type, &lb) == MPI_SUCCESS && MPI_Type_ub(type, &ub) == MPI_SUCCESS);
    CHECK(MPI_Type_extent(type, &extent) == MPI_SUCCESS);
    MPI_Type_size(type, &bytes);
    CHECK(lb == lower && ub == upper && extent == upper - lower && bytes == size);
    MPI_Type_free(&type);
}

/* Whether the error of a call names it. */
#define NAMES(call, ...)                                                     \
    do {                                                                     \
        char text[MPI_MAX_ERROR_STRING];                                     \
        int length, code = call(__VA_ARGS__);                                \
        MPI_Error_string(code, text, &length);                               \
        CHECK(code != MPI_SUCCESS && strstr(text, #call ":"));               \
    } while (0)

static void errors_name_the_call(int lengths[], MPI_Aint places[], MPI_Datatype types[])
{
    MPI_Datatype made;
    MPI_Errhandler handler;
    MPI_Aint place;
    NAMES(MPI_Address, &made, NULL);
    NAMES(MPI_Errhandler_create, NULL, &handler);
    NAMES(MPI_Errhandler_get, MPI_COMM_NULL, &handler);
    NAMES(MPI_Errhandler_set, MPI_COMM_WORLD, MPI_ERRHANDLER_NULL);
    NAMES(MPI_Type_extent, MPI_DATATYPE_NULL, &place);
    NAMES(MPI_Type_hindexed, -1, lengths, places, MPI_INT, &made);
    NAMES(MPI_Type_hvector, 1, -1, 8, MPI_INT, &made);
    NAMES(MPI_Type_lb, MPI_DATATYPE_NULL, &place);
    NAMES(MPI_Type_struct, -1, lengths, places, types, &made);
    NAMES(MPI_Type_ub, MPI_DATATYPE_NULL, &place);
}

int main(int argc, char **argv)
{
    int rank, lengths[2] = {1, 2};
    MPI_Aint places[2] = {8, 24}, here, there;
    MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE}, made;
    MPI_Errhandler handler, found;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);

    CHECK(MPI_Type_struct(2, lengths, places, types, &made) == MPI_SUCCESS);
    expect(made, 20, 8, 40);
    CHECK(MPI_Type_hindexed(2, lengths, places, MPI_INT, &made) == MPI_SUCCESS);
    expect(made, 12, 8, 32);
    CHECK(MPI_Type_hvector(3, 2, 100, MPI_SHORT, &made) == MPI_SUCCESS);
    expect(made, 12, 0, 204);
    CHECK(MPI_Address(&rank, &here) == MPI_SUCCESS && MPI_Get_address(&rank, &there) == MPI_SUCCESS && here == there);

    CHECK(MPI_Errhandler_create(note, &handler) == MPI_SUCCESS);
    CHECK(MPI_Errhandler_set(MPI_COMM_WORLD, handler) == MPI_SUCCESS);
    CHECK(MPI_Errhandler_get(MPI_COMM_WORLD, &found) == MPI_SUCCESS && found == handler);
    MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_OTHER);
    CHECK(calls == 1);
    MPI_Errhandler_set(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    errors_name_the_call(lengths, places, types);
    MPI_Errhandler_set(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&handler);
    MPI_Errhandler_free(&found);
    return finish(rank);
}
