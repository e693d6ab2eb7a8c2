/* SPDX-License-Identifier: MIT OR Apache-2.0
 * The measured side of `rankpoint bench` for an MPI library that lacks the standard ABI: the same measurements as the files of
 * rank/, the same command line, the same lines of JSON. Compile it with that library's own compiler wrapper.
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
#include <time.h>

enum { WINDOW = 64, DEPTH = 4000, TAG = 1, WINDOW_TAG = 2, CHECKED = 8, SIZES = 64, SMALL = 8 };
enum { SLOT_BYTES = 8 << 20, MOST = 1 << 24, SPAN_US = 300000 };

typedef struct {
    const char *name;
    long sizes[SIZES];
    int size_count;
    long iterations, repetitions, budget_us, limit_us;
    int verify;
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

static void report(const char *name, int size, const double *values, long count)
{
    if (rank != 0)
        return;
    printf("{\"name\":\"%s\",\"size\":%d,\"values\":[", name, size);
    for (long i = 0; i < count; i++)
        printf("%s%.17g", i ? "," : "", values[i]);
    printf("]}\n");
}

/* repeat.rs */

static double order(batch_t batch, work_t *work, int64_t iterations)
{
    MPI_Bcast(&iterations, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
    return batch(work, (long)iterations);
}

/* Gives how many iterations fill the budget; `seen` are those of the last run, `time` is its time. */
static long warm_up(batch_t batch, work_t *work, long *seen, double *time)
{
    const options_t *options = work->options;
    double budget = (double)options->budget_us * 1e3, limit = (double)options->limit_us * 1e3;
    if (options->iterations > 0) {
        *seen = (options->iterations + 9) / 10;
        *time = order(batch, work, *seen);
        return options->iterations;
    }
    for (*seen = 1;; *seen *= 2) {
        *time = order(batch, work, *seen);
        double again = *time < limit ? order(batch, work, *seen) : *time;
        *time = again < *time ? again : *time;
        if (*time >= budget / 4 || *seen >= MOST) {
            double fitting = (double)*seen * budget / (*time > 1 ? *time : 1);
            return fitting < 1 ? 1 : fitting > MOST ? MOST : (long)fitting;
        }
    }
}

/* Fills `values` with the nanoseconds of an iteration in each repetition, on rank 0. */
static void measure(batch_t batch, work_t *work, double *values)
{
    double limit = (double)work->options->limit_us * 1e3, start = now_ns(), time;
    int64_t iterations = 0;
    long seen;
    work->taken = 0;
    if (rank != 0) {
        while (MPI_Bcast(&iterations, 1, MPI_INT64_T, 0, MPI_COMM_WORLD), iterations > 0)
            batch(work, (long)iterations);
        return;
    }
    if (work->first >= limit) {
        values[work->taken++] = work->first;
    } else {
        long count = warm_up(batch, work, &seen, &time);
        double expected = time * (double)count / (double)seen;
        while (work->taken < work->options->repetitions && now_ns() - start + expected <= limit) {
            expected = order(batch, work, count);
            values[work->taken++] = expected / (double)count;
        }
        if (work->taken == 0)
            values[work->taken++] = time / (double)seen;
    }
    MPI_Bcast(&iterations, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
}

/* pair.rs */

static void round_trip(work_t *work)
{
    if (rank == 0) {
        MPI_Send(work->out, work->size, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
        MPI_Recv(work->in, work->size, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(work->in, work->size, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(work->out, work->size, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
    }
}

static double round_trips(work_t *work, long iterations)
{
    double start = now_ns();
    for (long i = 0; i < iterations; i++)
        round_trip(work);
    return now_ns() - start;
}

static void start_receives(work_t *work, int from)
{
    size_t offset = 0, size = (size_t)work->size;
    for (int i = 0; i < WINDOW; i++, offset += size) {
        if (offset + size > work->room)
            offset = 0;
        MPI_Irecv(work->in + offset, work->size, MPI_BYTE, from, WINDOW_TAG, MPI_COMM_WORLD, &work->receives[i]);
    }
}

static void start_sends(work_t *work, int to)
{
    for (int i = 0; i < WINDOW; i++)
        MPI_Isend(work->out, work->size, MPI_BYTE, to, WINDOW_TAG, MPI_COMM_WORLD, &work->sends[i]);
}

static void one_window(work_t *work)
{
    unsigned char answer[4] = {0};
    if (rank == 0) {
        start_sends(work, 1);
        MPI_Waitall(WINDOW, work->sends, MPI_STATUSES_IGNORE);
        MPI_Recv(answer, 4, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        start_receives(work, 0);
        MPI_Waitall(WINDOW, work->receives, MPI_STATUSES_IGNORE);
        MPI_Send(answer, 4, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
    }
}

static void exchange_windows(work_t *work)
{
    start_receives(work, 1 - rank);
    start_sends(work, 1 - rank);
    MPI_Waitall(WINDOW, work->receives, MPI_STATUSES_IGNORE);
    MPI_Waitall(WINDOW, work->sends, MPI_STATUSES_IGNORE);
}

static double windows(work_t *work, long iterations)
{
    double start = now_ns();
    for (long i = 0; i < iterations; i++)
        one_window(work);
    return now_ns() - start;
}

static double exchanges(work_t *work, long iterations)
{
    double start = now_ns();
    for (long i = 0; i < iterations; i++)
        exchange_windows(work);
    return now_ns() - start;
}

static void check_slots(const work_t *work, uint64_t message)
{
    size_t size = (size_t)work->size;
    for (size_t offset = 0; size > 0 && offset + size <= work->room; offset += size)
        check(work->in + offset, size, message);
}

static void latency(work_t *work, double *values)
{
    for (uint64_t message = 0; work->options->verify && message < CHECKED; message++) {
        fill(work->out, (size_t)work->size, message + (uint64_t)rank);
        round_trip(work);
        check(work->in, (size_t)work->size, message + 1 - (uint64_t)rank);
    }
    measure(round_trips, work, values);
    for (long i = 0; i < work->taken; i++)
        values[i] /= 2;
}

static void bandwidth(work_t *work, double *values)
{
    for (uint64_t message = 0; work->options->verify && message < CHECKED; message++) {
        fill(work->out, (size_t)work->size, message);
        one_window(work);
        if (rank == 1)
            check_slots(work, message);
    }
    measure(windows, work, values);
    double each = strcmp(work->options->name, "rate") == 0 ? WINDOW : (double)WINDOW * work->size;
    for (long i = 0; i < work->taken; i++)
        values[i] = each * 1e9 / values[i];
}

static void bidirectional(work_t *work, double *values)
{
    for (uint64_t message = 0; work->options->verify && message < CHECKED; message++) {
        fill(work->out, (size_t)work->size, message + (uint64_t)rank);
        exchange_windows(work);
        check_slots(work, message + 1 - (uint64_t)rank);
    }
    measure(exchanges, work, values);
    for (long i = 0; i < work->taken; i++)
        values[i] = 2.0 * WINDOW * work->size * 1e9 / values[i];
}

/* queue.rs */

static double unexpected_once(work_t *work)
{
    if (rank != 0) {
        MPI_Recv(NULL, 0, MPI_BYTE, 0, DEPTH, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < DEPTH; i++)
            MPI_Isend(work->out, SMALL, MPI_BYTE, 0, i, MPI_COMM_WORLD, &work->sends[i]);
        MPI_Waitall(DEPTH, work->sends, MPI_STATUSES_IGNORE);
        MPI_Send(NULL, 0, MPI_BYTE, 0, DEPTH, MPI_COMM_WORLD);
        return 0;
    }
    MPI_Send(NULL, 0, MPI_BYTE, 1, DEPTH, MPI_COMM_WORLD);
    MPI_Recv(NULL, 0, MPI_BYTE, 1, DEPTH, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    double start = now_ns();
    for (int tag = DEPTH - 1; tag >= 0; tag--)
        MPI_Recv(work->in, SMALL, MPI_BYTE, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    double time = now_ns() - start;
    if (work->options->verify)
        check(work->in, SMALL, 1);
    return time;
}

static double posted_once(work_t *work)
{
    if (rank != 0) {
        MPI_Recv(NULL, 0, MPI_BYTE, 0, DEPTH, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < DEPTH; i++)
            MPI_Isend(work->out, SMALL, MPI_BYTE, 0, DEPTH - 1 - i, MPI_COMM_WORLD, &work->sends[i]);
        MPI_Waitall(DEPTH, work->sends, MPI_STATUSES_IGNORE);
        return 0;
    }
    for (int i = 0; i < DEPTH; i++)
        MPI_Irecv(work->in + (size_t)i * SMALL, SMALL, MPI_BYTE, 1, i, MPI_COMM_WORLD, &work->receives[i]);
    double start = now_ns();
    MPI_Send(NULL, 0, MPI_BYTE, 1, DEPTH, MPI_COMM_WORLD);
    MPI_Waitall(DEPTH, work->receives, MPI_STATUSES_IGNORE);
    double time = now_ns() - start;
    for (int i = 0; work->options->verify && i < DEPTH; i++)
        check(work->in + (size_t)i * SMALL, SMALL, 1);
    memset(work->in, 0, (size_t)DEPTH * SMALL);
    return time;
}

static double unexpected(work_t *work, long iterations)
{
    double total = 0;
    for (long i = 0; i < iterations; i++)
        total += unexpected_once(work);
    return total;
}

static double posted(work_t *work, long iterations)
{
    double total = 0;
    for (long i = 0; i < iterations; i++)
        total += posted_once(work);
    return total;
}

static void queue(work_t *work, double *values)
{
    fill(work->out, SMALL, 1);
    measure(strcmp(work->options->name, "posted") == 0 ? posted : unexpected, work, values);
    for (long i = 0; i < work->taken; i++)
        values[i] /= DEPTH;
}

/* many.rs */

static void ping_pong(work_t *work, int peer, int leads, uint64_t number)
{
    if (work->options->verify)
        fill(work->out, SMALL, number + (uint64_t)rank);
    if (leads) {
        MPI_Send(work->out, SMALL, MPI_BYTE, peer, 3, MPI_COMM_WORLD);
        MPI_Recv(work->in, SMALL, MPI_BYTE, peer, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(work->in, SMALL, MPI_BYTE, peer, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(work->out, SMALL, MPI_BYTE, peer, 3, MPI_COMM_WORLD);
    }
    if (work->options->verify)
        check(work->in, SMALL, number + (uint64_t)peer);
}

static double ring_batch(work_t *work, long iterations)
{
    int leads = rank % 2 == 0, next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
    double start = now_ns();
    for (int half = 0; half < 2; half++)
        for (long number = 0; number < iterations; number++)
            ping_pong(work, leads == (half == 0) ? next : previous, leads, (uint64_t)number);
    MPI_Barrier(MPI_COMM_WORLD);
    return now_ns() - start;
}

static void ring(work_t *work, double *values)
{
    if (ranks % 2 != 0)
        give_up("a ring of pairs needs an even number of ranks, not %d", ranks);
    /* Ranks share cores in time slices of milliseconds; a run has to span many of them. */
    const options_t *given = work->options;
    options_t options = *given;
    options.budget_us = options.budget_us > SPAN_US ? options.budget_us : SPAN_US;
    work->options = &options;
    measure(ring_batch, work, values);
    work->options = given;
    for (long i = 0; i < work->taken; i++)
        values[i] /= 4;
}

static double barriers(work_t *work, long iterations)
{
    (void)work;
    double start = now_ns();
    for (long i = 0; i < iterations; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    return now_ns() - start;
}

static void many(work_t *work, double *values)
{
    measure(barriers, work, values);
}

/* collective.rs and mpi/collective.rs */

enum form { BLOCKING, NONBLOCKING, PERSISTENT };

static struct {
    int operation;
    enum form form;
    size_t count;
    int64_t *out, *into;
    MPI_Request request;
} plan;

static const char *const OPERATIONS[] = {"bcast",     "reduce",   "allreduce",      "gather", "scatter",
                                         "allgather", "alltoall", "reduce-scatter", "scan"};
enum { BCAST, REDUCE, ALLREDUCE, GATHER, SCATTER, ALLGATHER, ALLTOALL, REDUCE_SCATTER, SCAN, OPERATION_COUNT, SEND };

static int64_t value_of(int from, size_t index)
{
    return (int64_t)from * 1000003 + (int64_t)index;
}

/* Whether a measurement is a collective; sets the plan's operation and form. */
static int find_collective(const char *name)
{
    for (int operation = 0; operation < OPERATION_COUNT; operation++) {
        char nonblocking[32], persistent[32];
        snprintf(nonblocking, sizeof nonblocking, "i%s", OPERATIONS[operation]);
        snprintf(persistent, sizeof persistent, "%s-init", OPERATIONS[operation]);
        plan.operation = operation;
        plan.form = strcmp(name, nonblocking) == 0 ? NONBLOCKING : strcmp(name, persistent) == 0 ? PERSISTENT : BLOCKING;
        if (plan.form != BLOCKING || strcmp(name, OPERATIONS[operation]) == 0)
            return 1;
    }
    return 0;
}

#define IN_FORM(NAME, ...)                                                                                                   \
    (plan.form == BLOCKING      ? MPI_##NAME(__VA_ARGS__, MPI_COMM_WORLD)                                                    \
     : plan.form == NONBLOCKING ? MPI_I##NAME##_(__VA_ARGS__, MPI_COMM_WORLD, &plan.request)                                 \
                                : MPI_##NAME##_init(__VA_ARGS__, MPI_COMM_WORLD, MPI_INFO_NULL, &plan.request))
/* The nonblocking names have a small letter. */
#define MPI_IBcast_ MPI_Ibcast
#define MPI_IReduce_ MPI_Ireduce
#define MPI_IAllreduce_ MPI_Iallreduce
#define MPI_IGather_ MPI_Igather
#define MPI_IScatter_ MPI_Iscatter
#define MPI_IAllgather_ MPI_Iallgather
#define MPI_IAlltoall_ MPI_Ialltoall
#define MPI_IReduce_scatter_block_ MPI_Ireduce_scatter_block
#define MPI_IScan_ MPI_Iscan

static void plan_start(void)
{
    int count = (int)plan.count;
    int64_t *out = plan.out, *into = plan.into;
    switch (plan.operation) {
    case BCAST: IN_FORM(Bcast, out, count, MPI_INT64_T, 0); break;
    case REDUCE: IN_FORM(Reduce, out, into, count, MPI_INT64_T, MPI_SUM, 0); break;
    case ALLREDUCE: IN_FORM(Allreduce, out, into, count, MPI_INT64_T, MPI_SUM); break;
    case GATHER: IN_FORM(Gather, out, count, MPI_INT64_T, into, count, MPI_INT64_T, 0); break;
    case SCATTER: IN_FORM(Scatter, out, count, MPI_INT64_T, into, count, MPI_INT64_T, 0); break;
    case ALLGATHER: IN_FORM(Allgather, out, count, MPI_INT64_T, into, count, MPI_INT64_T); break;
    case ALLTOALL: IN_FORM(Alltoall, out, count, MPI_INT64_T, into, count, MPI_INT64_T); break;
    case REDUCE_SCATTER: IN_FORM(Reduce_scatter_block, out, into, count, MPI_INT64_T, MPI_SUM); break;
    case SEND:
        if (rank == 0)
            MPI_Isend(out, count, MPI_INT64_T, 1, 0, MPI_COMM_WORLD, &plan.request);
        else if (rank == 1)
            MPI_Irecv(into, count, MPI_INT64_T, 0, 0, MPI_COMM_WORLD, &plan.request);
        break;
    default: IN_FORM(Scan, out, into, count, MPI_INT64_T, MPI_SUM);
    }
}

static void plan_run(void)
{
    if (plan.form == PERSISTENT)
        MPI_Start(&plan.request);
    else
        plan_start();
    if (plan.form != BLOCKING)
        MPI_Wait(&plan.request, MPI_STATUS_IGNORE);
}

static int64_t sum_of(int up_to, size_t index)
{
    int64_t sum = 0;
    for (int from = 0; from < up_to; from++)
        sum += value_of(from, index);
    return sum;
}

static int64_t expected_at(size_t index)
{
    size_t count = plan.count, mine = (size_t)rank * count;
    switch (plan.operation) {
    case BCAST:
    case SEND: return value_of(0, index);
    case REDUCE:
    case ALLREDUCE: return sum_of(ranks, index);
    case GATHER:
    case ALLGATHER: return value_of((int)(index / count), index % count);
    case SCATTER: return value_of(0, mine + index);
    case ALLTOALL: return value_of((int)(index / count), mine + index % count);
    case REDUCE_SCATTER: return sum_of(ranks, mine + index);
    default: return sum_of(rank + 1, index);
    }
}

static void plan_check(void)
{
    int gathers = plan.operation == GATHER || plan.operation == ALLGATHER || plan.operation == ALLTOALL;
    size_t whole = plan.count * (gathers ? (size_t)ranks : 1);
    const int64_t *result = plan.operation == BCAST ? plan.out : plan.into;
    if (((plan.operation == REDUCE || plan.operation == GATHER) && rank != 0) || (plan.operation == SEND && rank != 1))
        return;
    for (size_t index = 0; index < whole; index++)
        if (result[index] != expected_at(index))
            give_up("operation %d gave %lld at %zu", plan.operation, (long long)result[index], index);
}

static double plan_runs(work_t *work, long iterations)
{
    (void)work;
    double start = now_ns();
    for (long i = 0; i < iterations; i++)
        plan_run();
    MPI_Barrier(MPI_COMM_WORLD);
    return now_ns() - start;
}

static void plan_make(work_t *work)
{
    plan.count = (size_t)work->size / sizeof(int64_t);
    size_t all = plan.count * (size_t)ranks;
    plan.out = memory(all * sizeof(int64_t), 0);
    plan.into = memory(all * sizeof(int64_t), 0xff);
    plan.request = MPI_REQUEST_NULL;
    for (size_t index = 0; index < all; index++)
        plan.out[index] = value_of(rank, index);
    if (plan.form == PERSISTENT)
        plan_start();
    double start = now_ns();
    plan_run();
    MPI_Barrier(MPI_COMM_WORLD);
    work->first = now_ns() - start;
    if (work->options->verify)
        plan_check();
}

static void plan_drop(void)
{
    if (plan.form == PERSISTENT)
        MPI_Request_free(&plan.request);
    free(plan.out);
    free(plan.into);
}

static void collective(work_t *work, double *values)
{
    plan_make(work);
    measure(plan_runs, work, values);
    plan_drop();
}

#include "peer_pack.h"

/* overlap.rs */

enum { TESTS = 16, CALIBRATION = 2000000 };

static struct {
    int tests;
    uint64_t part;
} overlapped;

static int find_overlap(const char *name)
{
    static const struct {
        const char *name;
        int operation;
    } rows[] = {{"overlap-isend", SEND}, {"overlap-ibcast", BCAST}, {"overlap-iallreduce", ALLREDUCE}, {"overlap-ialltoall", ALLTOALL}};
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        size_t length = strlen(rows[row].name);
        if (strncmp(name, rows[row].name, length) != 0 || (name[length] && strcmp(name + length, "-test") != 0))
            continue;
        plan.operation = rows[row].operation;
        plan.form = NONBLOCKING;
        overlapped.tests = name[length] ? TESTS : 0;
        return 1;
    }
    return 0;
}

static void spend(uint64_t steps)
{
    volatile uint64_t edge = 3;
    uint64_t number = edge;
    for (uint64_t step = 0; step < steps; step++) {
        number *= 6364136223846793005u;
        number = number << 7 | number >> 57;
    }
    edge = number;
}

static double works(work_t *work, long iterations)
{
    (void)work;
    double start = now_ns();
    for (long i = 0; i < iterations * (overlapped.tests + 1); i++)
        spend(overlapped.part);
    MPI_Barrier(MPI_COMM_WORLD);
    return now_ns() - start;
}

static double together(work_t *work, long iterations)
{
    (void)work;
    double start = now_ns();
    for (long i = 0; i < iterations; i++) {
        plan_start();
        for (int test = 0; test < overlapped.tests; test++) {
            int flag;
            spend(overlapped.part);
            MPI_Test(&plan.request, &flag, MPI_STATUS_IGNORE);
        }
        spend(overlapped.part);
        MPI_Wait(&plan.request, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return now_ns() - start;
}

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double median(double *values, long count)
{
    if (count == 0)
        return 0;
    qsort(values, (size_t)count, sizeof *values, ascending);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static void overlap(work_t *work, double *values)
{
    plan_make(work);
    work->first = 0;
    measure(plan_runs, work, values);
    double alone = median(values, work->taken);
    spend(CALIBRATION);
    double start = now_ns();
    spend(CALIBRATION);
    int64_t steps = (int64_t)(alone * CALIBRATION / (now_ns() - start));
    MPI_Bcast(&steps, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
    overlapped.part = (uint64_t)steps / (uint64_t)(overlapped.tests + 1);
    measure(works, work, values);
    double spent = median(values, work->taken);
    measure(together, work, values);
    if (work->options->verify)
        plan_check();
    for (long i = 0; i < work->taken; i++) {
        double hidden = 1 - (values[i] - spent) / alone;
        values[i] = 100 * (hidden < 0 ? 0 : hidden > 1 ? 1 : hidden);
    }
    plan_drop();
}

/* memory.rs */

static uint64_t field(const char *name)
{
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    unsigned long long kilobytes = 0;
    if (!file)
        give_up("cannot read /proc/self/smaps_rollup");
    while (fgets(line, sizeof line, file))
        if (strncmp(line, name, strlen(name)) == 0 && sscanf(line + strlen(name), "%llu", &kilobytes) == 1)
            break;
    fclose(file);
    return kilobytes * 1024;
}

static void resident(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    uint64_t mine[2] = {field("Private_Clean:") + field("Private_Dirty:"), field("Pss:")};
    mine[1] = mine[1] > mine[0] ? mine[1] - mine[0] : 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != 0) {
        MPI_Send(mine, 2, MPI_UINT64_T, 0, 4, MPI_COMM_WORLD);
        return;
    }
    double largest = (double)mine[0], sum = (double)mine[1];
    for (int from = 1; from < ranks; from++) {
        MPI_Recv(mine, 2, MPI_UINT64_T, from, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        largest = (double)mine[0] > largest ? (double)mine[0] : largest;
        sum += (double)mine[1];
    }
    report("private-memory", 0, &largest, 1);
    report("shared-memory", 0, &sum, 1);
}

/* mod.rs */

static const struct {
    const char *name;
    void (*run)(work_t *, double *);
    int reported_size;
} MEASUREMENTS[] = {
    {"latency", latency, -1},    {"bandwidth", bandwidth, -1}, {"bidirectional", bidirectional, -1},
    {"rate", bandwidth, SMALL},  {"unexpected", queue, SMALL}, {"posted", queue, SMALL},
    {"ring", ring, SMALL},       {"barrier", many, 0},         {"collective", collective, -1},
    {"overlap", overlap, -1},    {"vector", vector, SMALL},
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

int main(int count, char **words)
{
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (count < 2)
        give_up("expected what to measure");
    if (strcmp(words[1], "empty") != 0) {
        options_t options = parse(count - 1, words + 1);
        char version[MPI_MAX_LIBRARY_VERSION_STRING];
        int length;
        MPI_Get_library_version(version, &length);
        version[strcspn(version, ",\n\"\\")] = 0;
        if (rank == 0)
            printf("{\"version\":\"%s\",\"ranks\":%d}\n", version, ranks);
        if (strstr(options.name, "-memory"))
            resident();
        else if (strcmp(options.name, "pack-1") == 0)
            packing(&options);
        else
            run(&options);
    }
    MPI_Finalize();
    return 0;
}
