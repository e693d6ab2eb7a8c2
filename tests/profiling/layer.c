/* SPDX-License-Identifier: MIT OR Apache-2.0
 * A profiling layer (MPI-5.0, chapter 15): preloaded, it counts the calls that the program makes and passes them on. */
#include <mpi.h>
#include <stdio.h>

static int sends, receives, init;

int MPI_Init(int *argc, char ***argv)
{
    ++init;
    return PMPI_Init(argc, argv);
}

int MPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    ++sends;
    return PMPI_Send(buf, count, datatype, dest, tag, comm);
}

int MPI_Recv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    ++receives;
    return PMPI_Recv(buf, count, datatype, source, tag, comm, status);
}

int MPI_Finalize(void)
{
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    printf("layer: rank %d: %d init, %d sends, %d receives\n", rank, init, sends, receives);
    return PMPI_Finalize();
}
