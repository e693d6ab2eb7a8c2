/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Calls for tools to count: 37 sends of rank 0, if there is another one, 3 barriers, a call by its profiling name, a call from a function that the library
 * calls back, a variadic call, and calls that are found at run time. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

static int called_back;

static void add(void *in, void *inout, int *count, MPI_Datatype *datatype)
{
    int rank = -1, unit = 1, sum = 0;
    /* A call of the program from inside the library. */
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Reduce_local(&unit, &sum, 1, MPI_INT, MPI_SUM);
    called_back += sum;
    for (int i = 0; i < *count; ++i)
        ((int *)inout)[i] += ((int *)in)[i];
    (void)datatype;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size, value = 7, one = 1, two = 2;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 37; ++i) {
        if (rank == 0 && size > 1)
            MPI_Send(&value, 1, MPI_INT, 1, i, MPI_COMM_WORLD);
        else if (rank == 1)
            MPI_Recv(&value, 1, MPI_INT, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Op op;
    MPI_Op_create(add, 1, &op);
    MPI_Reduce_local(&one, &two, 1, MPI_INT, op);
    MPI_Op_free(&op);
    MPI_Pcontrol(2, "text", 3.5, 4);
    for (int i = 0; i < 2; ++i)
        MPI_Barrier(MPI_COMM_WORLD);
    /* As Python and Julia find it. */
    void *library = dlopen("libmpi_abi.so.1", RTLD_NOW);
    int (*barrier)(MPI_Comm) = library ? (int (*)(MPI_Comm))dlsym(library, "MPI_Barrier") : NULL;
    if (barrier)
        barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    if (two == 3 && called_back == 1 && barrier && start > 0 && value == 7)
        puts("PASS");
    return MPI_Finalize();
}
