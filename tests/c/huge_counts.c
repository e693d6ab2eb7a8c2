/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2
 * NEEDS: checked arguments
 * Counts for which there can be no memory are errors that are returned, or cost nothing. */
#include <limits.h>

#include "check.h"

#define HUGE_COUNT ((MPI_Count)1 << 42)
#define MOST ((MPI_Count)LLONG_MAX)

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, position = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);

    /* Arrays that cannot be so long. */
    MPI_Count counts[4] = {1, 1, 1, 1}, at[4] = {0, 8, 16, 24};
    MPI_Datatype types[4] = {MPI_INT, MPI_INT, MPI_INT, MPI_INT}, made;
    MPI_Count many[] = {MOST, MOST / 8, (MPI_Count)1 << 50};
    for (int i = 0; i < 3; ++i) {
        CHECK(MPI_Type_create_struct_c(many[i], counts, at, types, &made) == MPI_ERR_COUNT && made == MPI_DATATYPE_NULL);
        CHECK(MPI_Type_indexed_c(many[i], counts, at, MPI_INT, &made) == MPI_ERR_COUNT);
        CHECK(MPI_Type_create_hindexed_c(many[i], counts, at, MPI_INT, &made) == MPI_ERR_COUNT);
        CHECK(MPI_Type_create_indexed_block_c(many[i], 1, at, MPI_INT, &made) == MPI_ERR_COUNT);
        CHECK(MPI_Type_create_hindexed_block_c(many[i], 1, at, MPI_INT, &made) == MPI_ERR_COUNT);
    }
    int dims[4] = {0}, periods[4] = {0};
    MPI_Comm cart;
    CHECK(MPI_Dims_create(4, INT_MAX, dims) == MPI_ERR_ARG);
    CHECK(MPI_Cart_create(MPI_COMM_WORLD, INT_MAX, dims, periods, 0, &cart) == MPI_ERR_ARG && cart == MPI_COMM_NULL);
    CHECK(MPI_Cart_map(MPI_COMM_WORLD, INT_MAX, dims, periods, &position) == MPI_ERR_ARG);
    CHECK(MPI_Type_create_subarray_c(INT_MAX, counts, counts, at, MPI_ORDER_C, MPI_INT, &made) == MPI_ERR_ARG);
    CHECK(MPI_Type_create_darray_c(1, 0, INT_MAX, counts, dims, dims, dims, MPI_ORDER_C, MPI_INT, &made) == MPI_ERR_ARG);
    enum { DIMS = 1 << 16 };
    int *lots = calloc(DIMS, sizeof *lots);
    CHECK(MPI_Dims_create(12, DIMS, lots) == MPI_SUCCESS && lots[0] * lots[1] * lots[2] == 12 && lots[DIMS - 1] == 1);
    free(lots);

    /* Copies of data for which there is no memory; nothing is copied for MPI_PROC_NULL. */
    double value = 7;
    MPI_Request request;
    CHECK(MPI_Sendrecv_replace_c(&value, HUGE_COUNT, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_PROC_NULL, 0, MPI_COMM_WORLD,
                                 MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Isendrecv_replace_c(&value, HUGE_COUNT, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_PROC_NULL, 0, MPI_COMM_WORLD,
                                  &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Sendrecv_replace_c(&value, (MPI_Count)1 << 56, MPI_DOUBLE, rank, 0, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE) ==
          MPI_ERR_NO_MEM);
    CHECK(MPI_Isendrecv_replace_c(&value, (MPI_Count)1 << 56, MPI_DOUBLE, rank, 0, rank, 0, MPI_COMM_WORLD, &request) ==
          MPI_ERR_NO_MEM);
    CHECK(MPI_Comm_attach_buffer(MPI_COMM_WORLD, MPI_BUFFER_AUTOMATIC, 0) == MPI_SUCCESS);
    CHECK(MPI_Bsend_c(&value, (MPI_Count)1 << 56, MPI_DOUBLE, rank, 0, MPI_COMM_WORLD) == MPI_ERR_NO_MEM);
    CHECK(MPI_Ibsend_c(&value, (MPI_Count)1 << 56, MPI_DOUBLE, rank, 0, MPI_COMM_WORLD, &request) == MPI_ERR_NO_MEM);
    CHECK(MPI_Bsend(&value, 1, MPI_DOUBLE, rank, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Recv(&value, 1, MPI_DOUBLE, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS && value == 7);
    void *detached;
    int bytes;
    CHECK(MPI_Comm_detach_buffer(MPI_COMM_WORLD, &detached, &bytes) == MPI_SUCCESS);
    MPI_Aint external = 0;
    char out[8];
    CHECK(MPI_Pack_external_c("external32", &value, HUGE_COUNT, MPI_DOUBLE, out, sizeof out, &external) != MPI_SUCCESS);
    CHECK(MPI_Unpack_external_c("external32", out, sizeof out, &external, &value, HUGE_COUNT, MPI_DOUBLE) != MPI_SUCCESS);
    int ranks[2] = {0, 0};
    MPI_Group world, part;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    CHECK(MPI_Group_incl(world, INT_MAX, ranks, &part) == MPI_ERR_RANK && part == MPI_GROUP_NULL);
    MPI_Group_free(&world);
    return finish(rank);
}
