/* SPDX-License-Identifier: MIT OR Apache-2.0
 * A queue of work without a master: ranks take numbers from a counter in rank 0's window, and add their results there.
 *
 *     mpicc examples/rma/work_queue.c -o work_queue
 *     mpiexec -n 4 ./work_queue */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { UNITS = 5000, COUNTER = 0, SUM = 1 };

/* The work of a unit. */
static int64_t square(int64_t unit)
{
    return unit * unit;
}

int main(int argc, char **argv)
{
    int rank, size;
    int64_t *words, one = 1, unit = 0, mine = 0, done = 0;
    MPI_Win window;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    MPI_Aint bytes = rank == 0 ? 2 * sizeof *words : 0;
    MPI_Win_allocate(bytes, sizeof *words, MPI_INFO_NULL, MPI_COMM_WORLD, &words, &window);
    if (rank == 0)
        memset(words, 0, (size_t)bytes);
    MPI_Barrier(MPI_COMM_WORLD);

    MPI_Win_lock_all(0, window);
    for (;;) {
        MPI_Fetch_and_op(&one, &unit, MPI_INT64_T, 0, COUNTER, MPI_SUM, window);
        MPI_Win_flush(0, window);
        if (unit >= UNITS)
            break;
        mine += square(unit);
        done++;
    }
    MPI_Accumulate(&mine, 1, MPI_INT64_T, 0, SUM, 1, MPI_INT64_T, MPI_SUM, window);
    MPI_Win_unlock_all(window);

    MPI_Barrier(MPI_COMM_WORLD);
    int wrong = 0;
    int64_t all = 0;
    MPI_Reduce(&done, &all, 1, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        int64_t expected = 0;
        for (int64_t i = 0; i < UNITS; i++)
            expected += square(i);
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
        wrong = words[SUM] != expected || words[COUNTER] != UNITS + size || all != UNITS;
        printf("work_queue: %d ranks, %lld units, sum %lld: %s\n", size, (long long)all, (long long)words[SUM],
               wrong ? "wrong" : "verified");
        MPI_Win_unlock(0, window);
    }
    MPI_Win_free(&window);
    MPI_Finalize();
    return wrong;
}
