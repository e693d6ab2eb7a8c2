/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Calls one-sided operations of rank 0 on memory of MPI_Win_allocate of rank 1 as often as its first argument says, for counting
 * instructions, in functions that are named after them. The second argument is the thread level (single or multiple). */
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 8192, TARGET = 1 };

static int64_t here[BYTES / 8], old[BYTES / 8], one = 1, none = 0;
static MPI_Win window;
static const char *volatile counted; /* Keeps functions of the same text apart. */

#define COUNTED(name, ...)                                                                                                     \
    static __attribute__((noinline)) void counted_##name(void)                                                                 \
    {                                                                                                                          \
        counted = #name;                                                                                                       \
        __VA_ARGS__;                                                                                                           \
    }

COUNTED(put_8, MPI_Put(here, 1, MPI_INT64_T, TARGET, 3, 1, MPI_INT64_T, window))
COUNTED(put_1, MPI_Put(here, 1, MPI_BYTE, TARGET, 3, 1, MPI_BYTE, window))
COUNTED(put_24, MPI_Put(here, 3, MPI_INT64_T, TARGET, 3, 3, MPI_INT64_T, window))
COUNTED(put_64, MPI_Put(here, 8, MPI_INT64_T, TARGET, 3, 8, MPI_INT64_T, window))
COUNTED(get_8, MPI_Get(here, 1, MPI_INT64_T, TARGET, 3, 1, MPI_INT64_T, window))
COUNTED(get_1, MPI_Get(here, 1, MPI_BYTE, TARGET, 3, 1, MPI_BYTE, window))
COUNTED(get_24, MPI_Get(here, 3, MPI_INT64_T, TARGET, 3, 3, MPI_INT64_T, window))
COUNTED(get_64, MPI_Get(here, 8, MPI_INT64_T, TARGET, 3, 8, MPI_INT64_T, window))
COUNTED(accumulate_long, MPI_Accumulate(&one, 1, MPI_INT64_T, TARGET, 3, 1, MPI_INT64_T, MPI_SUM, window))
COUNTED(accumulate_double, MPI_Accumulate(&one, 1, MPI_DOUBLE, TARGET, 3, 1, MPI_DOUBLE, MPI_SUM, window))
COUNTED(fetch_and_add, MPI_Fetch_and_op(&one, &old, MPI_INT64_T, TARGET, 3, MPI_SUM, window))
COUNTED(fetch, MPI_Fetch_and_op(&one, &old, MPI_INT64_T, TARGET, 3, MPI_NO_OP, window))
COUNTED(compare_and_swap, MPI_Compare_and_swap(&one, &none, &old, MPI_INT64_T, TARGET, 3, window))
COUNTED(accumulate_16_longs, MPI_Accumulate(here, 16, MPI_INT64_T, TARGET, 3, 16, MPI_INT64_T, MPI_SUM, window))
COUNTED(accumulate_1000_longs, MPI_Accumulate(here, 1000, MPI_INT64_T, TARGET, 3, 1000, MPI_INT64_T, MPI_SUM, window))
COUNTED(accumulate_after_long_ones, MPI_Accumulate(&one, 1, MPI_INT64_T, TARGET, 3, 1, MPI_INT64_T, MPI_SUM, window))
COUNTED(flush, MPI_Win_flush(TARGET, window))

/* Makes calls whose first ones are not counted, because they make what is made once. */
static void run(int calls, void (*call)(void))
{
    for (int i = 0; i < calls; ++i)
        call();
}

#define RUN(name) run(calls, counted_##name)

int main(int argc, char **argv)
{
    int rank, got, calls = argc > 1 ? atoi(argv[1]) : 100;
    int level = argc > 2 && strcmp(argv[2], "multiple") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
    void *base;

    MPI_Init_thread(&argc, &argv, level, &got);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_allocate(BYTES, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
    if (rank == 0) {
        MPI_Win_lock_all(0, window);
        /* What is done once: the target's lock, and the tables of operations. */
        MPI_Put(here, 1, MPI_INT64_T, TARGET, 0, 1, MPI_INT64_T, window);
        MPI_Accumulate(&one, 1, MPI_INT64_T, TARGET, 0, 1, MPI_INT64_T, MPI_SUM, window);
        MPI_Accumulate(&one, 1, MPI_DOUBLE, TARGET, 0, 1, MPI_DOUBLE, MPI_SUM, window);
        MPI_Fetch_and_op(&one, old, MPI_INT64_T, TARGET, 0, MPI_NO_OP, window);
        RUN(put_8);
        RUN(put_1);
        RUN(put_24);
        RUN(put_64);
        RUN(get_8);
        RUN(get_1);
        RUN(get_24);
        RUN(get_64);
        RUN(accumulate_long);
        RUN(accumulate_double);
        RUN(fetch_and_add);
        RUN(fetch);
        RUN(compare_and_swap);
        RUN(accumulate_16_longs);
        /* From some length on, the target's accumulates are combined in another manner: before the count begins. */
        for (int i = 0; i < 100; ++i)
            MPI_Accumulate(here, 1000, MPI_INT64_T, TARGET, 3, 1000, MPI_INT64_T, MPI_SUM, window);
        RUN(accumulate_1000_longs);
        RUN(accumulate_after_long_ones);
        RUN(flush);
        MPI_Win_unlock_all(window);
    }
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
