/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 2 3 8
 * Messages that come while their receivers poll, yield their cores, fall asleep and sleep: in each wait, of a receive, a probe and a
 * barrier, the last rank makes the others wait. With an argument, so many times, and how long after its send a message arrives. */
#include "check.h"

#include <time.h>

static int rank, size;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e6 + time.tv_nsec * 1e-3;
}

static void compute(double microseconds)
{
    double end = now() + microseconds;
    while (now() < end)
        ;
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Microseconds from the send to the return of the receive, of which the last rank knows nothing. */
static double late_message(double delay, int is_probed)
{
    double sent = 0;
    if (rank == size - 1) {
        compute(delay);
        for (int other = 0; other < size - 1; ++other) {
            sent = now();
            MPI_Send(&sent, 1, MPI_DOUBLE, other, 7, MPI_COMM_WORLD);
        }
        return 0;
    }
    if (is_probed)
        MPI_Probe(size - 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(&sent, 1, MPI_DOUBLE, size - 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(sent > 0);
    return now() - sent;
}

int main(int count, char **words)
{
    static const double delays[] = {0, 20, 100, 500, 1000, 2000, 5000, 20000, 150000};
    int repeats = count > 1 ? atoi(words[1]) : 3;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double *took = malloc(sizeof *took * (size_t)(repeats < 1 ? 1 : repeats));
    CHECK(took != NULL);
    for (size_t i = 0; i < sizeof delays / sizeof *delays; ++i) {
        int times = delays[i] > 10000 && repeats > 20 ? 20 : repeats;
        for (int time = 0; time < times; ++time) {
            late_message(delays[i], 1);
            MPI_Barrier(MPI_COMM_WORLD);
            took[time] = late_message(delays[i], 0);
            MPI_Barrier(MPI_COMM_WORLD);
        }
        qsort(took, (size_t)times, sizeof *took, by_value);
        if (rank == 0 && count > 1)
            printf("after %6.0f us of waiting a message arrives in %.2f us\n", delays[i], took[times / 2]);
        if (rank == size - 1)
            compute(delays[i]);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    free(took);
    return finish(rank);
}
