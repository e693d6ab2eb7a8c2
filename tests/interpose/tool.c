/* SPDX-License-Identifier: MIT OR Apache-2.0
 * A profiling tool (MPI-5.0, chapter 15) that counts what it sees. It is built three times, with different names, and knows nothing of
 * the others. NESTED is a call of the tool's own, which later tools see and earlier ones do not. */
#include <mpi.h>
#include <stdio.h>

static int sends, barriers, ranks, reductions;

int MPI_Init(int *argc, char ***argv)
{
    return PMPI_Init(argc, argv);
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    return PMPI_Init_thread(argc, argv, required, provided);
}

int MPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    ++sends;
    /* By its ordinary name, which this tool does not define. */
    int size;
    MPI_Comm_size(comm, &size);
    return PMPI_Send(buf, count, datatype, dest, tag, comm);
}

int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    ++ranks;
    return PMPI_Comm_rank(comm, rank);
}

int MPI_Barrier(MPI_Comm comm)
{
    ++barriers;
    return PMPI_Barrier(comm);
}

int MPI_Reduce_local(const void *in, void *inout, int count, MPI_Datatype datatype, MPI_Op op)
{
    ++reductions;
    return PMPI_Reduce_local(in, inout, count, datatype, op);
}

int MPI_Finalize(void)
{
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    printf("tool %s rank %d: %d sends, %d ranks, %d barriers, %d reductions\n", NAME, rank, sends, ranks, barriers, reductions);
    fflush(stdout);
    return PMPI_Finalize();
}
