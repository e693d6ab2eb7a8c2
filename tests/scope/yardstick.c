/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Times of memcpy and of one cache line between two cores, by loops that share nothing with rankpoint scope.
 * Arguments: two processors and bytes. Prints medians in nanoseconds. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Turns go through many lines: a single one tells how far its slice of the last cache is. */
enum { LINES = 128 };
static struct { _Alignas(128) atomic_ulong number; } to[LINES], from[LINES];
static int order(const void *a, const void *b) { return (*(double *)a > *(double *)b) - (*(double *)a < *(double *)b); }
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1e9 + t.tv_nsec; }
static void bind(int core) { cpu_set_t set; CPU_ZERO(&set); CPU_SET(core, &set); sched_setaffinity(0, sizeof set, &set); }
static void pause_once(void) {
#ifdef __x86_64__
    __builtin_ia32_pause();
#endif
}
static void *echo(void *core) {
    bind(*(int *)core);
    for (unsigned long turn = 1, number;; turn++) {
        while ((number = atomic_load(&to[turn % LINES].number)) != turn && number != ~0ul) pause_once();
        if (number == ~0ul) break;
        atomic_store_explicit(&from[turn % LINES].number, turn, memory_order_release);
    }
    return NULL;
}
int main(int argc, char **argv) {
    /* Copies are faster in the first millisecond of a busy core: enough values that these are few. A value takes about 100 us, as one
     * of the scope does: a median of shorter ones leaves out what interrupts a core now and then. */
    enum { VALUES = 200, COPIES = 1000 };
    static double line[VALUES], copy[COPIES];
    int cores[2] = { argc > 1 ? atoi(argv[1]) : 0, argc > 2 ? atoi(argv[2]) : 1 };
    size_t bytes = argc > 3 ? strtoul(argv[3], NULL, 10) : 65536, times = 1 + 4000000 / bytes;
    /* The target lies directly below the source, as a second mapping does: some processors copy upwards faster. */
    char *b = aligned_alloc(4096, 2 * bytes), *a = b + bytes;
    pthread_t other;
    memset(a, 1, bytes); memset(b, 1, bytes); bind(cores[0]);
    if (pthread_create(&other, NULL, echo, &cores[1])) return 1;
    unsigned long number = 0;
    for (int value = 0; value < VALUES; value++) {
        double start = now();
        for (int turn = 0; turn < 2000; turn++) {
            number++;
            atomic_store_explicit(&to[number % LINES].number, number, memory_order_release);
            while (atomic_load_explicit(&from[number % LINES].number, memory_order_acquire) != number) pause_once();
        }
        line[value] = (now() - start) / 4000;
    }
    atomic_store(&to[(number + 1) % LINES].number, ~0ul); pthread_join(other, NULL);
    for (int value = 0; value < COPIES; value++) {
        double start = now();
        for (size_t turn = 0; turn < times; turn++) { memcpy(b, a, bytes); __asm__ volatile("" : : "r"(b) : "memory"); }
        copy[value] = (now() - start) / times;
    }
    qsort(line, VALUES, sizeof *line, order); qsort(copy, COPIES, sizeof *copy, order);
    printf("line %.2f\nmemcpy %.2f\n", line[VALUES / 2], copy[COPIES / 2]);
    return 0;
}
