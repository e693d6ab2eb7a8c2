/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Calls each collective of 8 bytes in its three forms as often as its argument says, for counting instructions. What rank 0 does is
 * counted, in functions that are named after it: the others have started theirs when it begins, so it waits for nobody. */
#include <mpi.h>
#include <stdlib.h>

static int rank, size, calls;
static char from[4096], into[4096];
static MPI_Request request;
static const char *volatile counted; /* Keeps functions of the same text apart. */

/* Rank 0 goes on when all others have said so, or they when it has. */
static void after(int rank_0)
{
    char word = 0;
    for (int other = 1; rank == 0 && other < size; ++other) {
        if (rank_0)
            MPI_Send(&word, 1, MPI_CHAR, other, 7, MPI_COMM_WORLD);
        else
            MPI_Recv(&word, 1, MPI_CHAR, other, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (rank != 0 && rank_0)
        MPI_Recv(&word, 1, MPI_CHAR, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else if (rank != 0)
        MPI_Send(&word, 1, MPI_CHAR, 0, 7, MPI_COMM_WORLD);
}

/* The forms of a collective: `counted_..` are what is counted. The first rounds make what is made once. */
#define FORMS(name, now, started, planned, ...)                                                                                   \
    static __attribute__((noinline)) void counted_blocking_##name(void) { now(__VA_ARGS__ MPI_COMM_WORLD); }                      \
    static __attribute__((noinline)) void counted_nonblocking_##name(void)                                                        \
    {                                                                                                                             \
        started(__VA_ARGS__ MPI_COMM_WORLD, &request);                                                                            \
        MPI_Wait(&request, MPI_STATUS_IGNORE);                                                                                    \
    }                                                                                                                             \
    static __attribute__((noinline)) void counted_persistent_##name(void)                                                         \
    {                                                                                                                             \
        counted = #name;                                                                                                          \
        MPI_Start(&request);                                                                                                      \
        MPI_Wait(&request, MPI_STATUS_IGNORE);                                                                                    \
    }                                                                                                                             \
    static void name(void)                                                                                                        \
    {                                                                                                                             \
        for (int form = 0; form < 3; ++form) {                                                                                    \
            if (form == 2)                                                                                                        \
                planned(__VA_ARGS__ MPI_COMM_WORLD, MPI_INFO_NULL, &request);                                                     \
            for (int i = -8; i < calls; ++i) {                                                                                    \
                if (rank == 0)                                                                                                    \
                    after(0);                                                                                                     \
                if (rank == 0 && i >= 0 && form == 0)                                                                             \
                    counted_blocking_##name();                                                                                    \
                else if (rank == 0 && i >= 0 && form == 1)                                                                        \
                    counted_nonblocking_##name();                                                                                 \
                else if (rank == 0 && i >= 0)                                                                                     \
                    counted_persistent_##name();                                                                                  \
                else {                                                                                                            \
                    if (form == 2)                                                                                                \
                        MPI_Start(&request);                                                                                      \
                    else                                                                                                          \
                        started(__VA_ARGS__ MPI_COMM_WORLD, &request);                                                            \
                    if (rank != 0)                                                                                                \
                        after(0);                                                                                                 \
                    MPI_Wait(&request, MPI_STATUS_IGNORE);                                                                        \
                }                                                                                                                 \
                after(1);                                                                                                         \
            }                                                                                                                     \
            if (form == 2)                                                                                                        \
                MPI_Request_free(&request);                                                                                       \
        }                                                                                                                         \
    }

FORMS(barrier, MPI_Barrier, MPI_Ibarrier, MPI_Barrier_init, )
FORMS(bcast, MPI_Bcast, MPI_Ibcast, MPI_Bcast_init, from, 1, MPI_DOUBLE, 0, )
FORMS(bcast_leaf, MPI_Bcast, MPI_Ibcast, MPI_Bcast_init, from, 1, MPI_DOUBLE, size - 1, )
FORMS(reduce, MPI_Reduce, MPI_Ireduce, MPI_Reduce_init, from, into, 1, MPI_DOUBLE, MPI_SUM, 0, )
FORMS(reduce_leaf, MPI_Reduce, MPI_Ireduce, MPI_Reduce_init, from, into, 1, MPI_DOUBLE, MPI_SUM, size - 1, )
FORMS(allreduce, MPI_Allreduce, MPI_Iallreduce, MPI_Allreduce_init, from, into, 1, MPI_DOUBLE, MPI_SUM, )
FORMS(gather, MPI_Gather, MPI_Igather, MPI_Gather_init, from, 1, MPI_DOUBLE, into, 1, MPI_DOUBLE, 0, )
FORMS(gather_leaf, MPI_Gather, MPI_Igather, MPI_Gather_init, from, 1, MPI_DOUBLE, into, 1, MPI_DOUBLE, size - 1, )
FORMS(scatter, MPI_Scatter, MPI_Iscatter, MPI_Scatter_init, from, 1, MPI_DOUBLE, into, 1, MPI_DOUBLE, 0, )
FORMS(scatter_leaf, MPI_Scatter, MPI_Iscatter, MPI_Scatter_init, from, 1, MPI_DOUBLE, into, 1, MPI_DOUBLE, size - 1, )
FORMS(allgather, MPI_Allgather, MPI_Iallgather, MPI_Allgather_init, from, 1, MPI_DOUBLE, into, 1, MPI_DOUBLE, )
FORMS(alltoall, MPI_Alltoall, MPI_Ialltoall, MPI_Alltoall_init, from, 1, MPI_DOUBLE, into, 1, MPI_DOUBLE, )
FORMS(scan, MPI_Scan, MPI_Iscan, MPI_Scan_init, from, into, 1, MPI_DOUBLE, MPI_SUM, )
FORMS(reduce_scatter_block, MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, MPI_Reduce_scatter_block_init, from, into, 1,
      MPI_DOUBLE, MPI_SUM, )

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    calls = argc > 1 ? atoi(argv[1]) : 100;
    barrier();
    bcast();
    bcast_leaf();
    reduce();
    reduce_leaf();
    allreduce();
    gather();
    gather_leaf();
    scatter();
    scatter_leaf();
    allgather();
    alltoall();
    scan();
    reduce_scatter_block();
    MPI_Finalize();
    return 0;
}
