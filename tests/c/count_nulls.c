/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Calls on arrays of null requests with one receive behind them, on one rank, as often as the first argument says, for counting instructions.
 * Each call has an array of FEW null requests and one of MANY, in functions that are named after both, so that the difference is what null
 * requests cost. A receive from MPI_PROC_NULL is complete; calls named `vain` find one that is not. The second argument is the thread level
 * (single or multiple). */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#define FEW 200
#define MANY 1200

static MPI_Request requests[MANY + 1];
static int indices[MANY + 1];
static int count, position, flag;
static const char *volatile counted; /* Keeps functions of the same text apart. */

#define COUNTED(name, ...)                                                                                                     \
    static __attribute__((noinline)) void counted_##name(void)                                                                 \
    {                                                                                                                          \
        counted = #name;                                                                                                       \
        __VA_ARGS__;                                                                                                           \
    }
#define BOTH(name, ...)                                                                                                        \
    COUNTED(name##_few, __VA_ARGS__)                                                                                           \
    COUNTED(name##_many, __VA_ARGS__)

BOTH(waitall, MPI_Waitall(count, requests, MPI_STATUSES_IGNORE))
BOTH(waitany, MPI_Waitany(count, requests, &position, MPI_STATUS_IGNORE))
BOTH(waitsome, MPI_Waitsome(count, requests, &position, indices, MPI_STATUSES_IGNORE))
BOTH(testall, MPI_Testall(count, requests, &flag, MPI_STATUSES_IGNORE))
BOTH(testany, MPI_Testany(count, requests, &position, &flag, MPI_STATUS_IGNORE))
BOTH(testsome, MPI_Testsome(count, requests, &position, indices, MPI_STATUSES_IGNORE))
BOTH(vain_testall, MPI_Testall(count, requests, &flag, MPI_STATUSES_IGNORE))
BOTH(vain_testany, MPI_Testany(count, requests, &position, &flag, MPI_STATUS_IGNORE))
BOTH(vain_testsome, MPI_Testsome(count, requests, &position, indices, MPI_STATUSES_IGNORE))
BOTH(nulls_waitall, MPI_Waitall(count - 1, requests, MPI_STATUSES_IGNORE))
BOTH(nulls_waitany, MPI_Waitany(count - 1, requests, &position, MPI_STATUS_IGNORE))

static void run(int calls, int nulls, int source, void (*call)(void))
{
    count = nulls + 1;
    for (int i = 0; i < calls; ++i) {
        MPI_Irecv(NULL, 0, MPI_CHAR, source, 0, MPI_COMM_WORLD, &requests[nulls]);
        call();
        if (requests[nulls] != MPI_REQUEST_NULL) {
            if (source != MPI_PROC_NULL)
                MPI_Cancel(&requests[nulls]);
            MPI_Wait(&requests[nulls], MPI_STATUS_IGNORE);
        }
    }
}

#define RUN(name, source)                                                                                                      \
    run(calls, FEW, source, counted_##name##_few);                                                                             \
    run(calls, MANY, source, counted_##name##_many)

int main(int argc, char **argv)
{
    int got, calls = argc > 1 ? atoi(argv[1]) : 16;
    int level = argc > 2 && strcmp(argv[2], "multiple") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;

    MPI_Init_thread(&argc, &argv, level, &got);
    for (int i = 0; i <= MANY; ++i)
        requests[i] = MPI_REQUEST_NULL;
    RUN(waitall, MPI_PROC_NULL);
    RUN(waitany, MPI_PROC_NULL);
    RUN(waitsome, MPI_PROC_NULL);
    RUN(testall, MPI_PROC_NULL);
    RUN(testany, MPI_PROC_NULL);
    RUN(testsome, MPI_PROC_NULL);
    RUN(vain_testall, 0);
    RUN(vain_testany, 0);
    RUN(vain_testsome, 0);
    RUN(nulls_waitall, MPI_PROC_NULL);
    RUN(nulls_waitany, MPI_PROC_NULL);
    MPI_Finalize();
    return 0;
}
