/* SPDX-License-Identifier: MIT OR Apache-2.0
 * How long the system takes to wake a process that sleeps on a word of shared memory, without MPI: the limit for what late.c measures.
 * A process on processor 0 computes for as long as the other one, on processor 1, is to sleep, and wakes it. cc -O2 wake.c -o wake && ./wake */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { REPEATS = 20 };
enum state { WOKEN, ASLEEP };

struct shared {
    _Alignas(64) atomic_uint word;
    /* Rounds that the sleeper has begun and ended. */
    _Alignas(64) atomic_uint begun, ended;
    _Alignas(64) double sent, took[REPEATS];
};

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e6 + time.tv_nsec * 1e-3;
}

static void stay_on(int processor)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) {
        perror("sched_setaffinity");
        exit(1);
    }
}

static void sleep_and_wake(struct shared *shared)
{
    for (int time = 0; time < REPEATS; ++time) {
        atomic_store(&shared->word, ASLEEP);
        atomic_fetch_add(&shared->begun, 1);
        while (atomic_load(&shared->word) == ASLEEP)
            syscall(SYS_futex, &shared->word, FUTEX_WAIT, ASLEEP, NULL, NULL, 0);
        shared->took[time] = now() - shared->sent;
        atomic_fetch_add(&shared->ended, 1);
    }
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

int main(void)
{
    static const double delays[] = {100, 1000, 5000, 20000, 150000};
    struct shared *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;
    for (size_t i = 0; i < sizeof delays / sizeof *delays; ++i) {
        double calls[REPEATS];
        atomic_store(&shared->begun, 0);
        atomic_store(&shared->ended, 0);
        pid_t sleeper = fork();
        if (sleeper < 0)
            return 1;
        if (sleeper == 0) {
            stay_on(1);
            sleep_and_wake(shared);
            _exit(0);
        }
        stay_on(0);
        for (unsigned time = 0; time < REPEATS; ++time) {
            while (atomic_load(&shared->begun) == time)
                ;
            for (double end = now() + delays[i]; now() < end;)
                ;
            shared->sent = now();
            atomic_store(&shared->word, WOKEN);
            syscall(SYS_futex, &shared->word, FUTEX_WAKE, 1, NULL, NULL, 0);
            calls[time] = now() - shared->sent;
            while (atomic_load(&shared->ended) == time)
                ;
        }
        waitpid(sleeper, NULL, 0);
        qsort(shared->took, REPEATS, sizeof *calls, by_value);
        qsort(calls, REPEATS, sizeof *calls, by_value);
        printf("after %6.0f us of sleep a process runs %.2f us after it is woken, which takes %.2f us\n", delays[i],
               shared->took[REPEATS / 2], calls[REPEATS / 2]);
    }
    return 0;
}
