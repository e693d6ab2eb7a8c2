/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 3
 * Files that are open when MPI is finalized: the name of one that was to be deleted on close is gone, and the other one stays. */
#include "check.h"
#include <unistd.h>

int main(int argc, char **argv)
{
    MPI_File gone, kept;
    int rank, amode = MPI_MODE_CREATE | MPI_MODE_WRONLY;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    CHECK(MPI_File_open(MPI_COMM_WORLD, "files-gone", amode | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &gone) == MPI_SUCCESS);
    CHECK(MPI_File_open(MPI_COMM_WORLD, "files-kept", amode, MPI_INFO_NULL, &kept) == MPI_SUCCESS);
    CHECK(MPI_File_write_at(gone, rank, "x", 1, MPI_CHAR, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    if (rank == 0) {
        if (access("files-gone", F_OK) == 0 || unlink("files-kept") != 0) {
            fprintf(stderr, "files-gone is there, or files-kept is not\n");
            return 1;
        }
        printf("PASS\n");
    }
    return 0;
}
