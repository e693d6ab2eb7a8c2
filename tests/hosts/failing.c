/* SPDX-License-Identifier: MIT OR Apache-2.0
 * The last rank ends the job, by MPI_Abort or by a signal to itself, while the others wait for it. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, size, value = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        printf("begun\n");
        fflush(stdout);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == size - 1) {
        usleep(300000);
        if (argc > 1 && strcmp(argv[1], "abort") == 0)
            MPI_Abort(MPI_COMM_WORLD, 37);
        kill(getpid(), SIGKILL);
    }
    MPI_Recv(&value, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
