/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2
 * NEEDS: checked arguments
 * Errors name the form of a call that the program made: with `_c` where it has large counts, without where not.
 */
#include "check.h"

/* Whether the last error's text names the call, and nothing longer. */
static int named(int code, const char *call)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(code, text, &length);
    const char *found = strstr(text, call);
    int ok = found != NULL && strncmp(found + strlen(call), "_c", 2) != 0;
    if (!ok)
        fprintf(stderr, "expected %s in: %s\n", call, text);
    return ok;
}

/* Both forms of a call that fails. */
#define BOTH(call, ...)                                         \
    do {                                                        \
        CHECK(named(call(__VA_ARGS__), #call));                 \
        CHECK(named(call##_c(__VA_ARGS__), #call "_c"));        \
    } while (0)

int main(int argc, char **argv)
{
    int rank, size, buffer[4] = {0}, other[4] = {0};
    MPI_Request request;
    MPI_Datatype type;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);

    BOTH(MPI_Send, buffer, -1, MPI_INT, 0, 0, world);
    BOTH(MPI_Send, buffer, 1, MPI_INT, size, 0, world);
    BOTH(MPI_Ssend, buffer, -1, MPI_INT, 0, 0, world);
    BOTH(MPI_Recv, buffer, -1, MPI_INT, 0, 0, world, MPI_STATUS_IGNORE);
    BOTH(MPI_Isend, buffer, 1, MPI_INT, size, 0, world, &request);
    BOTH(MPI_Issend, buffer, 1, MPI_INT, size, 0, world, &request);
    BOTH(MPI_Irecv, buffer, -1, MPI_INT, 0, 0, world, &request);
    BOTH(MPI_Send_init, buffer, -1, MPI_INT, 0, 0, world, &request);
    BOTH(MPI_Recv_init, buffer, -1, MPI_INT, 0, 0, world, &request);
    BOTH(MPI_Sendrecv, buffer, -1, MPI_INT, 0, 0, other, 1, MPI_INT, 0, 0, world, MPI_STATUS_IGNORE);
    BOTH(MPI_Sendrecv_replace, buffer, -1, MPI_INT, 0, 0, 0, 0, world, MPI_STATUS_IGNORE);
    BOTH(MPI_Bcast, buffer, -1, MPI_INT, 0, world);
    BOTH(MPI_Allreduce, buffer, other, -1, MPI_INT, MPI_SUM, world);
    BOTH(MPI_Iallreduce, buffer, other, -1, MPI_INT, MPI_SUM, world, &request);
    BOTH(MPI_Allreduce_init, buffer, other, -1, MPI_INT, MPI_SUM, world, MPI_INFO_NULL, &request);
    BOTH(MPI_Gather, buffer, -1, MPI_INT, other, 1, MPI_INT, 0, world);
    BOTH(MPI_Alltoall, buffer, -1, MPI_INT, other, 1, MPI_INT, world);
    BOTH(MPI_Reduce_local, buffer, other, -1, MPI_INT, MPI_SUM);
    BOTH(MPI_Type_contiguous, -1, MPI_INT, &type);
    BOTH(MPI_Type_vector, -1, 1, 1, MPI_INT, &type);

    int small[4] = {-1, -1, -1, -1}, places[4] = {0};
    MPI_Count large[4] = {-1, -1, -1, -1};
    MPI_Aint far[4] = {0};
    MPI_Count offsets[4] = {0};
    CHECK(named(MPI_Allgatherv(buffer, -1, MPI_INT, other, small, places, MPI_INT, world), "MPI_Allgatherv"));
    CHECK(named(MPI_Allgatherv_c(buffer, -1, MPI_INT, other, large, far, MPI_INT, world), "MPI_Allgatherv_c"));
    CHECK(named(MPI_Reduce_scatter(buffer, other, small, MPI_INT, MPI_SUM, world), "MPI_Reduce_scatter"));
    CHECK(named(MPI_Reduce_scatter_c(buffer, other, large, MPI_INT, MPI_SUM, world), "MPI_Reduce_scatter_c"));
    CHECK(named(MPI_Type_create_hindexed(1, small, far, MPI_INT, &type), "MPI_Type_create_hindexed"));
    CHECK(named(MPI_Type_create_hindexed_c(1, large, offsets, MPI_INT, &type), "MPI_Type_create_hindexed_c"));
    CHECK(named(MPI_Pack_size(-1, MPI_INT, world, small), "MPI_Pack_size"));
    CHECK(named(MPI_Pack_size_c(-1, MPI_INT, world, large), "MPI_Pack_size_c"));
    CHECK(named(MPI_Type_size(MPI_DATATYPE_NULL, small), "MPI_Type_size"));
    CHECK(named(MPI_Type_size_c(MPI_DATATYPE_NULL, large), "MPI_Type_size_c"));
    return finish(rank);
}
