/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2
 * What MPI_Init_thread provides: MPI_THREAD_MULTIPLE, unless the library says that it has no threads. */
#include "check.h"

int main(int argc, char **argv)
{
    const int wanted = MPI_THREAD_MULTIPLE;
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length, provided, asked, rank, size, sum;

    MPI_Get_library_version(version, &length);
    int most = strstr(version, "no threads") ? MPI_THREAD_SERIALIZED : MPI_THREAD_MULTIPLE;
    CHECK(MPI_Init_thread(&argc, &argv, wanted, &provided) == MPI_SUCCESS);
    CHECK(provided == most);
    CHECK(MPI_Query_thread(&asked) == MPI_SUCCESS && asked == most);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(sum == size * (size - 1) / 2);
    return finish(rank);
}
