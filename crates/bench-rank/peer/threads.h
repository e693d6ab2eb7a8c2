/* SPDX-License-Identifier: MIT OR Apache-2.0
 * A part of peer.c: message rates of several threads at once. Twin of src/threads/rates.rs. */
#include <pthread.h>
#include <sched.h>

enum { CHECKED_WINDOWS = 4, MOST_THREADS = 64, TIME_TAG = 3, THREAD_BITS = 6, ANSWER = 1 << 14 };

/* What the ranks of one job do, and what this one is in it. */
static struct {
    int processes, own_communicators, threads, size, window, verify;
    long repetitions, budget_us;
    int sends, peer;
} rate_plan;

typedef struct {
    MPI_Comm comm;
    int thread, tag;
    long windows;
    double start, end;
} stream_t;

static pthread_barrier_t all_threads;

/* Whether it is measured here; the standard ABI's libraries have more modes. */
static int parse_rates(int count, char **words)
{
    rate_plan.threads = rate_plan.window = rate_plan.verify = 1;
    rate_plan.size = SMALL;
    for (int i = 0; i < count; i++) {
        char *value = strchr(words[i], '=');
        if (!value)
            give_up("%s is no key=value", words[i]);
        *value++ = 0;
        if (strcmp(words[i], "mode") == 0) {
            rate_plan.processes = strcmp(value, "processes") == 0;
            rate_plan.own_communicators = strcmp(value, "communicators") == 0;
            if (!rate_plan.processes && !rate_plan.own_communicators && strcmp(value, "serial") != 0)
                return 0;
        } else if (strcmp(words[i], "op") == 0) {
            if (strcmp(value, "isend") != 0)
                return 0;
        } else if (strcmp(words[i], "count") == 0)
            rate_plan.threads = atoi(value);
        else if (strcmp(words[i], "sizes") == 0)
            rate_plan.size = atoi(value);
        else if (strcmp(words[i], "window") == 0)
            rate_plan.window = atoi(value);
        else if (strcmp(words[i], "repetitions") == 0)
            rate_plan.repetitions = atol(value);
        else if (strcmp(words[i], "budget_us") == 0)
            rate_plan.budget_us = atol(value);
        else if (strcmp(words[i], "verify") == 0)
            rate_plan.verify = atoi(value);
        else
            give_up("nothing is called %s", words[i]);
    }
    if (rate_plan.threads > MOST_THREADS)
        give_up("more than %d threads", MOST_THREADS);
    return 1;
}

static int threads_of_rank(void)
{
    return rate_plan.processes ? 1 : rate_plan.threads;
}

static void take_core(int thread)
{
    cpu_set_t all, own;
    int wanted = rank * threads_of_rank() + thread, seen = 0;
    if (sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) < ranks * threads_of_rank())
        return;
    for (int core = 0; core < CPU_SETSIZE; core++)
        if (CPU_ISSET(core, &all) && seen++ == wanted) {
            CPU_ZERO(&own);
            CPU_SET(core, &own);
            sched_setaffinity(0, sizeof own, &own);
            return;
        }
}

static void one_rate_window(const stream_t *stream, unsigned char *data, int slots, MPI_Request *requests)
{
    int tag = stream->tag;
    for (int i = 0; i < rate_plan.window; i++) {
        if (rate_plan.sends)
            MPI_Isend(data, rate_plan.size, MPI_BYTE, rate_plan.peer, tag, stream->comm, &requests[i]);
        else
            MPI_Irecv(data + (size_t)(i % slots) * (size_t)rate_plan.size, rate_plan.size, MPI_BYTE, rate_plan.peer, tag, stream->comm, &requests[i]);
    }
    MPI_Waitall(rate_plan.window, requests, MPI_STATUSES_IGNORE);
    if (rate_plan.sends)
        MPI_Recv(NULL, 0, MPI_BYTE, rate_plan.peer, tag | ANSWER, stream->comm, MPI_STATUS_IGNORE);
    else
        MPI_Send(NULL, 0, MPI_BYTE, rate_plan.peer, tag | ANSWER, stream->comm);
}

static void verified_window(const stream_t *stream, unsigned char *data, int slots, MPI_Request *requests, int message)
{
    if (rate_plan.sends)
        fill(data, (size_t)rate_plan.size, (uint64_t)message);
    one_rate_window(stream, data, slots, requests);
    for (int i = 0; !rate_plan.sends && i < slots; i++)
        check(data + (size_t)i * (size_t)rate_plan.size, (size_t)rate_plan.size, (uint64_t)message);
}

static void *run_stream(void *argument)
{
    stream_t *stream = argument;
    long slots = rate_plan.size ? SLOT_BYTES / rate_plan.size : 1;
    slots = slots < 1 ? 1 : slots > rate_plan.window ? rate_plan.window : slots;
    unsigned char *data = memory((size_t)slots * (size_t)rate_plan.size, 1);
    MPI_Request *requests = memory((size_t)rate_plan.window * sizeof *requests, 0);
    int first = stream->thread * 2 * CHECKED_WINDOWS;
    take_core(stream->thread);
    for (int i = 0; rate_plan.verify && i < CHECKED_WINDOWS; i++)
        verified_window(stream, data, (int)slots, requests, first + i);
    pthread_barrier_wait(&all_threads);
    stream->start = now_ns();
    for (long i = 0; i < stream->windows; i++)
        one_rate_window(stream, data, (int)slots, requests);
    stream->end = now_ns();
    pthread_barrier_wait(&all_threads);
    if (rate_plan.verify)
        verified_window(stream, data, (int)slots, requests, first + CHECKED_WINDOWS);
    free(data);
    free(requests);
    return NULL;
}

/* Runs all streams; gives the time of all, and of each in `times`, on rank 0. */
static double all_streams(stream_t *streams, double *times)
{
    pthread_t threads[MOST_THREADS];
    int count = threads_of_rank();
    double start = 0, end = 0, longest = 0;
    if (count == 1)
        run_stream(&streams[0]);
    else {
        for (int i = 0; i < count; i++)
            if (pthread_create(&threads[i], NULL, run_stream, &streams[i]) != 0)
                give_up("no thread");
        for (int i = 0; i < count; i++)
            pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < count; i++) {
        times[i] = streams[i].end - streams[i].start;
        start = i == 0 || streams[i].start < start ? streams[i].start : start;
        end = i == 0 || streams[i].end > end ? streams[i].end : end;
    }
    if (rate_plan.processes && rank == 0)
        for (int other = 1; other < ranks / 2; other++)
            MPI_Recv(&times[other], 1, MPI_DOUBLE, other, TIME_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else if (rate_plan.processes && rate_plan.sends)
        MPI_Send(times, 1, MPI_DOUBLE, 0, TIME_TAG, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < rate_plan.threads; i++)
        longest = times[i] > longest ? times[i] : longest;
    return end - start > longest ? end - start : longest;
}

static void thread_rates(int count, char **words)
{
    stream_t streams[MOST_THREADS];
    double times[MOST_THREADS];
    if (!parse_rates(count, words)) {
        if (rank == 0)
            printf("{\"skipped\":\"the benchmark has this mode for libraries with the standard ABI only\"}\n");
        return;
    }
    rate_plan.sends = rank < ranks / 2;
    rate_plan.peer = (rank + ranks / 2) % ranks;
    double *aggregates = memory((size_t)rate_plan.repetitions * sizeof(double), 0);
    double *rates = memory((size_t)rate_plan.repetitions * MOST_THREADS * sizeof(double), 0);
    MPI_Comm shared = MPI_COMM_WORLD;
    if (!rate_plan.processes && !rate_plan.own_communicators)
        MPI_Comm_dup(MPI_COMM_WORLD, &shared);
    for (int i = 0; i < threads_of_rank(); i++) {
        streams[i].comm = shared;
        if (rate_plan.own_communicators)
            MPI_Comm_dup(MPI_COMM_WORLD, &streams[i].comm);
        streams[i].thread = i;
        streams[i].tag = i << THREAD_BITS | i;
    }
    pthread_barrier_init(&all_threads, NULL, (unsigned)threads_of_rank());
    int64_t windows = 1;
    long taken = -1;
    while (taken < rate_plan.repetitions) {
        int64_t asked = windows;
        MPI_Bcast(&asked, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
        if (asked == 0)
            break;
        for (int i = 0; i < threads_of_rank(); i++)
            streams[i].windows = asked;
        double longest = all_streams(streams, times);
        if (rank != 0)
            continue;
        if (taken < 0) {
            int fits;
            windows = grow((long)windows, longest, (double)rate_plan.budget_us * 1e3, &fits);
            taken = fits ? 0 : -1;
            continue;
        }
        double messages = (double)asked * rate_plan.window * 1e9;
        aggregates[taken] = messages * rate_plan.threads / longest;
        for (int i = 0; i < rate_plan.threads; i++)
            rates[taken * MOST_THREADS + i] = messages / times[i];
        if (++taken == rate_plan.repetitions) {
            int64_t end = 0;
            MPI_Bcast(&end, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
        }
    }
    if (rank != 0)
        return;
    printf("{\"aggregates\":[");
    for (long i = 0; i < rate_plan.repetitions; i++)
        printf("%s%.17g", i ? "," : "", aggregates[i]);
    printf("],\"rates\":[");
    for (long i = 0; i < rate_plan.repetitions; i++)
        for (int k = 0; k < rate_plan.threads; k++)
            printf("%s%.17g%s", k ? "," : i ? ",[" : "[", rates[i * MOST_THREADS + k], k + 1 == rate_plan.threads ? "]" : "");
    printf("]}\n");
}
