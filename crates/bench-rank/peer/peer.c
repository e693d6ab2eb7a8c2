/* SPDX-License-Identifier: MIT OR Apache-2.0
 * The measured side of `rankpoint bench` for an MPI library that lacks the standard ABI: the same measurements as the files of
 * src/, the same command line, the same lines of JSON. Compile it with that library's own compiler wrapper.
 *
 * When a measurement changes, both change: every function here bears the name of its twin.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { WINDOW = 64, DEPTH = 4000, TAG = 1, WINDOW_TAG = 2, CHECKED = 8, SIZES = 64, SMALL = 8 };
enum { SLOT_BYTES = 8 << 20, MOST = 1 << 24, SPAN_US = 300000 };

typedef struct {
    const char *name;
    long sizes[SIZES];
    int size_count;
    long iterations, repetitions, budget_us, limit_us;
    int verify;
    /* The file of the line between ranks 0 and 1 and its usual time, or null. */
    const char *line;
    long distance_limit_ns;
} options_t;

/* What a batch works on. */
typedef struct {
    const options_t *options;
    unsigned char *out, *in;
    size_t room;
    int size;
    MPI_Request *sends, *receives;
    /* How long the first run took that was not measured, and how many values there are (rank 0). */
    double first;
    long taken;
} work_t;

/* Runs so many iterations; gives nanoseconds. */
typedef double (*batch_t)(work_t *, long);

static int rank, ranks;

static void give_up(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "rankpoint bench: rank %d: ", rank);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    MPI_Abort(MPI_COMM_WORLD, 3);
    abort();
}

static double now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void *memory(size_t bytes, int value)
{
    void *start = malloc(bytes ? bytes : 1);
    if (!start)
        give_up("no memory for %zu bytes", bytes);
    return memset(start, value, bytes);
}

static unsigned char pattern(uint64_t message, size_t place)
{
    return (unsigned char)(message * 151) ^ (unsigned char)(place * 31) ^ (unsigned char)(place >> 8);
}

static void fill(unsigned char *data, size_t size, uint64_t message)
{
    for (size_t place = 0; place < size; place++)
        data[place] = pattern(message, place);
}

static void check(const unsigned char *data, size_t size, uint64_t message)
{
    for (size_t place = 0; place < size; place++)
        if (data[place] != pattern(message, place))
            give_up("wrong data: message %llu of %zu bytes at byte %zu", (unsigned long long)message, size, place);
}

#include "distance.h"

static void report_at(const char *name, int size, int64_t skew_ns, const double *values, long count)
{
    if (rank != 0)
        return;
    printf("{\"name\":\"%s\",\"size\":%d,\"skew_ns\":%lld,\"values\":[", name, size, (long long)skew_ns);
    for (long i = 0; i < count; i++)
        printf("%s%.17g", i ? "," : "", values[i]);
    printf("]");
    line_report(count);
    printf("}\n");
}

static void report(const char *name, int size, const double *values, long count)
{
    report_at(name, size, 0, values, count);
}

/* What is measured; each part uses what stands before it. */
#include "repeat.h"
#include "pair.h"
#include "queue.h"
#include "many.h"
#include "collective.h"
#include "pack.h"
#include "overlap.h"
#include "rendezvous.h"
#include "memory.h"
#include "rma.h"
#include "threads.h"

/* mod.rs */

static const struct {
    const char *name;
    void (*run)(work_t *, double *);
    int reported_size;
} MEASUREMENTS[] = {
    {"latency", latency, -1},    {"bandwidth", bandwidth, -1}, {"bidirectional", bidirectional, -1},
    {"rate", bandwidth, SMALL},  {"unexpected", queue, SMALL}, {"posted", queue, SMALL},
    {"ring", ring, SMALL},       {"ring-tests", ring, SMALL},  {"exchange", exchange, -1},  {"barrier", many, 0},         {"collective", collective, -1},
    {"overlap", overlap, -1},    {"vector", vector, SMALL},
    {"rma-put", rma_operations, -1},            {"rma-get", rma_operations, -1},
    {"rma-put-private", rma_operations, -1},    {"rma-get-private", rma_operations, -1},
    {"rma-put-strided", rma_operations, SMALL}, {"rma-bandwidth", rma_operations, -1},
    {"rma-rate", rma_operations, SMALL},        {"rma-accumulate", rma_operations, -1},
    {"rma-fetch-and-op", rma_operations, SMALL}, {"rma-compare-and-swap", rma_operations, SMALL},
    {"rma-lock", rma_synchronisation, SMALL},   {"rma-lock-contended", rma_synchronisation, SMALL},
    {"rma-fence", rma_synchronisation, 0},      {"rma-pscw", rma_synchronisation, SMALL},
};

static options_t parse(int count, char **words)
{
    options_t options = {.name = words[0], .sizes = {SMALL}, .size_count = 1, .repetitions = 7, .budget_us = 20000, .limit_us = 5000000, .verify = 1};
    for (int i = 1; i < count; i++) {
        char *value = strchr(words[i], '=');
        if (!value)
            give_up("%s is no key=value", words[i]);
        *value++ = 0;
        if (strcmp(words[i], "iterations") == 0)
            options.iterations = atol(value);
        else if (strcmp(words[i], "repetitions") == 0)
            options.repetitions = atol(value);
        else if (strcmp(words[i], "budget_us") == 0)
            options.budget_us = atol(value);
        else if (strcmp(words[i], "limit_us") == 0)
            options.limit_us = atol(value);
        else if (strcmp(words[i], "verify") == 0)
            options.verify = atoi(value);
        else if (strcmp(words[i], "threads") == 0)
            continue; /* initialise() has read it. */
        else if (strcmp(words[i], "line") == 0)
            options.line = value;
        else if (strcmp(words[i], "distance_limit_ns") == 0)
            options.distance_limit_ns = atol(value);
        else if (strcmp(words[i], "sizes") == 0) {
            options.size_count = 0;
            for (char *part = strtok(value, ","); part && options.size_count < SIZES; part = strtok(NULL, ","))
                options.sizes[options.size_count++] = atol(part);
        } else
            give_up("nothing is called %s", words[i]);
    }
    return options;
}

static void run(const options_t *options)
{
    double *values = memory((size_t)options->repetitions * sizeof *values, 0);
    for (size_t row = 0; row < sizeof MEASUREMENTS / sizeof *MEASUREMENTS; row++) {
        int is_group = (MEASUREMENTS[row].run == collective && find_collective(options->name)) ||
                       (MEASUREMENTS[row].run == overlap && find_overlap(options->name));
        if (!is_group && strcmp(MEASUREMENTS[row].name, options->name) != 0)
            continue;
        int reported = MEASUREMENTS[row].reported_size;
        for (int i = 0; i < (reported < 0 ? options->size_count : 1); i++) {
            int size = reported < 0 ? (int)options->sizes[i] : SMALL;
            long slots = size ? SLOT_BYTES / size : WINDOW;
            slots = slots < 1 ? 1 : slots > WINDOW ? WINDOW : slots;
            size_t room = (size_t)slots * (size_t)size, least = (size_t)DEPTH * SMALL;
            work_t work = {.options = options, .room = room, .size = size};
            work.out = memory((size_t)size, 1);
            work.in = memory(room > least ? room : least, 2);
            work.sends = memory(DEPTH * sizeof(MPI_Request), 0);
            work.receives = memory(DEPTH * sizeof(MPI_Request), 0);
            MEASUREMENTS[row].run(&work, values);
            report(options->name, reported < 0 ? size : reported, values, work.taken);
            free(work.out);
            free(work.in);
            free(work.sends);
            free(work.receives);
        }
        free(values);
        return;
    }
    give_up("nothing is called %s", options->name);
}

/* Initialises MPI at the thread level that a word asks for, before any other word is read. */
static void initialise(int *count, char ***words)
{
    int provided = 0, has_rates = *count > 1 && strcmp((*words)[1], "thread-rates") == 0;
    int multiple = has_rates && (*count < 3 || strcmp((*words)[2], "mode=processes") != 0);
    for (int i = 2; i < *count; i++)
        multiple |= strcmp((*words)[i], "threads=multiple") == 0;
    if (!multiple) {
        MPI_Init(count, words);
        return;
    }
    MPI_Init_thread(count, words, MPI_THREAD_MULTIPLE, &provided);
    if (provided != MPI_THREAD_MULTIPLE)
        give_up("MPI_Init_thread provides level %d instead of MPI_THREAD_MULTIPLE (%d)", provided, MPI_THREAD_MULTIPLE);
}

int main(int count, char **words)
{
    initialise(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (count < 2)
        give_up("expected what to measure");
    if (strcmp(words[1], "empty") != 0) {
        int has_rates = strcmp(words[1], "thread-rates") == 0;
        options_t options = has_rates ? (options_t){.name = words[1]} : parse(count - 1, words + 1);
        char version[MPI_MAX_LIBRARY_VERSION_STRING];
        int length;
        MPI_Get_library_version(version, &length);
        version[strcspn(version, ",\n\"\\")] = 0;
        if (rank == 0)
            printf("{\"version\":\"%s\",\"ranks\":%d}\n", version, ranks);
        if (options.line)
            line_open(options.line, (double)options.distance_limit_ns);
        if (has_rates)
            thread_rates(count - 2, words + 2);
        else if (strstr(options.name, "-memory"))
            resident();
        else if (strncmp(options.name, "rendezvous-", 11) == 0)
            rendezvous(&options);
        else if (strcmp(options.name, "pack-1") == 0)
            packing(&options);
        else
            run(&options);
    }
    MPI_Finalize();
    return 0;
}
