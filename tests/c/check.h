/* SPDX-License-Identifier: MIT OR Apache-2.0
 * What the test programs share: a check that names rank and line and ends the job, the place where some settings let a program hang, and the
 * end of a program. */
#ifndef CHECK_H
#define CHECK_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                            \
    do {                                                                                            \
        if (!(condition)) {                                                                         \
            int check_rank_;                                                                        \
            MPI_Comm_rank(MPI_COMM_WORLD, &check_rank_);                                            \
            fprintf(stderr, "%s:%d: rank %d: failed: %s\n", __FILE__, __LINE__, check_rank_, #condition); \
            MPI_Abort(MPI_COMM_WORLD, 99);                                                          \
        }                                                                                           \
    } while (0)

/* Says that all is done but the part that hangs with the settings of a line `HANGS:` in the program's head. */
static inline void announce(void)
{
    printf("READY\n");
    fflush(stdout);
}

static inline int finish(int rank)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("PASS\n");
    MPI_Finalize();
    return 0;
}

#endif
