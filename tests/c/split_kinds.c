/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 3
 * NEEDS: checked arguments
 * MPI_Comm_split_type where some ranks take no part, and MPI_Cart_map of a grid without places. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size, at;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);

    int kinds[] = {MPI_COMM_TYPE_SHARED, MPI_COMM_TYPE_HW_UNGUIDED, MPI_COMM_TYPE_HW_GUIDED, MPI_COMM_TYPE_RESOURCE_GUIDED};
    for (int absent = 0; absent <= size; ++absent)
        for (int i = 0; i < 4; ++i) {
            MPI_Comm part = MPI_COMM_WORLD;
            int kind = rank == absent ? MPI_UNDEFINED : kinds[i];
            CHECK(MPI_Comm_split_type(MPI_COMM_WORLD, kind, 0, MPI_INFO_NULL, &part) == MPI_SUCCESS);
            if (rank == absent)
                CHECK(part == MPI_COMM_NULL);
            if (kind == MPI_COMM_TYPE_SHARED) {
                int members;
                MPI_Comm_size(part, &members);
                CHECK(members == size - (absent < size));
            }
            if (part != MPI_COMM_NULL)
                MPI_Comm_free(&part);
        }

    /* Kinds that do not go together are an error on all ranks. */
    if (size > 1) {
        MPI_Comm part = MPI_COMM_WORLD;
        int kind = rank == 1 ? MPI_COMM_TYPE_SHARED : MPI_COMM_TYPE_HW_UNGUIDED;
        CHECK(MPI_Comm_split_type(MPI_COMM_WORLD, kind, 0, MPI_INFO_NULL, &part) == MPI_ERR_ARG);
        CHECK(part == MPI_COMM_NULL);
    }

    int dims[] = {2, 0}, wrong[] = {0, -1}, periods[] = {0, 0};
    CHECK(MPI_Cart_map(MPI_COMM_WORLD, 2, dims, periods, &at) == MPI_SUCCESS && at == MPI_UNDEFINED);
    CHECK(MPI_Cart_map(MPI_COMM_WORLD, 2, wrong, periods, &at) == MPI_ERR_DIMS);
    CHECK(MPI_Cart_map(MPI_COMM_WORLD, 0, NULL, NULL, &at) == MPI_SUCCESS && at == (rank ? MPI_UNDEFINED : 0));
    return finish(rank);
}
