/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Halo exchange of a stencil with two axes, between threads of several processes: the same computation as halo2d in Rust, and
 * the same checksum. Works with any library that has MPI_THREAD_MULTIPLE; mode endpoint needs Rankpoint, or rankpoint endpoints.
 * docs/mini-apps.md describes modes and options. LONG: one file, which programs compile as it is.
 *
 * Mode comm takes its communicators from tables, which are compiled in:
 *   rankpoint commplan --threads 2,2 --procs 2,1 --stencil 5 --plan edge --c > plan.h
 *   mpicc -DCOMMPLAN_H='"plan.h"' halo2d.c -pthread -o halo2d
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef COMMPLAN_H
#include COMMPLAN_H
#endif

enum { MAX_DIRECTIONS = 8, MAX_KEPT = 1 << 22 };
static const uint64_t MODULUS = (UINT64_C(1) << 61) - 1;

enum mode { PROCESSES, SERIAL, NAIVE, COMM, TAG, ENDPOINT, PARTITIONED, MODES };
enum partner { OUTSIDE, INSIDE, AWAY };

struct options {
    enum mode mode;
    int threads[2], procs[2], points, steps, size, periodic[2], verify, barrier, wrong_direction;
};

struct direction {
    int by[2];
};

/* What a thread uses for its neighbour in a direction. */
struct link {
    enum partner to;
    int other; /* Number of the thread, or rank of the process or endpoint. */
    int neighbour; /* Number of the thread in its process. */
    MPI_Comm send_comm, receive_comm;
    int send_tag, receive_tag, cells;
    uint64_t *incoming, *outgoing;
    struct group *send_group, *receive_group;
    int send_partition, receive_partition;
};

/* The borders that all threads of a process send in one direction to another process: one message, with a partition for each thread. */
struct group {
    int direction, peer, cells, count;
    int *senders;
    uint64_t *memory;
    MPI_Request *request;
};

struct worker {
    pthread_t thread;
    int id, at[2];
    struct link links[MAX_DIRECTIONS];
    uint64_t *now, *next, *borders[MAX_DIRECTIONS][2];
    uint64_t away, inside, verified, wrong, checksum;
};

static const char usage[] =
    "usage: halo2d [OPTION...]\n"
    "  --mode MODE              processes, serial, naive, comm, tag, endpoint or partitioned (comm)\n"
    "  --threads X,Y            threads of a process along each axis (1,1)\n"
    "  --procs X,Y              processes along each axis (as balanced as the number of ranks allows)\n"
    "  --stencil N              points of the stencil, 5 or 9 (5)\n"
    "  --size N                 cells along each axis of a thread's patch (16)\n"
    "  --steps N                number of steps (10)\n"
    "  --periodic[=x|y]         periodic along both axes, or along one\n"
    "  --barrier                a barrier of all ranks before each exchange\n"
    "  --verify BOOL            compare cells with those of the serial computation (true)\n"
    "  --fault wrong-direction  seed an error\n"
    "  -h, --help               print this\n";

static struct options options = {COMM, {1, 1}, {0, 0}, 5, 10, 16, {0, 0}, 1, 0, 0};
static int rank, ranks, process[2], direction_count, thread_count, bits_of_threads, extents[2];
static struct direction directions[MAX_DIRECTIONS];
static MPI_Comm *comms;
static int comm_count;
static struct group *groups[2]; /* Those that are sent, and those that are received. */
static int group_counts[2];
static MPI_Request *requests_of_groups;
static uint64_t *fields; /* The field after each step, computed serially; null when it is too large. */
static struct worker *workers;
static pthread_barrier_t all_threads;

/* Ends the program, with its usage on the first rank. */
static void show_usage(void)
{
    if (rank == 0)
        fputs(usage, stdout);
    MPI_Finalize();
    exit(0);
}

/* Ends the program with a sentence, told once. */
static void refuse(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (rank == 0) {
        vfprintf(stderr, format, arguments);
        fputc('\n', stderr);
    }
    va_end(arguments);
    MPI_Finalize();
    exit(2);
}

static void *allocate(size_t count, size_t bytes)
{
    void *memory = calloc(count ? count : 1, bytes);
    if (!memory) {
        fprintf(stderr, "no memory for %zu times %zu bytes\n", count, bytes);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    return memory;
}

static int number(const char *name, const char *text, int least, int most)
{
    char *end;
    long value = strtol(text ? text : "", &end, 10);
    if (!text || end == text || *end || value < least || value > most)
        refuse("%s %s: expected a number from %d to %d", name, text ? text : "", least, most);
    return (int)value;
}

static void pair(const char *name, const char *text, int into[2])
{
    char rest;
    if (!text || sscanf(text, "%d,%d%c", &into[0], &into[1], &rest) != 2 || into[0] < 1 || into[1] < 1 || into[0] > 1024 || into[1] > 1024)
        refuse("%s %s: expected two numbers from 1 to 1024, such as 2,2", name, text ? text : "");
}

static void choose_mode(const char *text)
{
    static const char *const names[MODES] = {"processes", "serial", "naive", "comm", "tag", "endpoint", "partitioned"};
    for (int i = 0; text && i < MODES; ++i)
        if (strcmp(text, names[i]) == 0) {
            options.mode = (enum mode)i;
            return;
        }
    if (text && strcmp(text, "window") == 0)
        refuse("mode window: a halo exchange has messages, no windows");
    refuse("--mode %s: expected processes, serial, naive, comm, tag, endpoint or partitioned", text ? text : "");
}

/* Whether the value is the first of the two that are expected, or of one. */
static int choose_word(const char *name, const char *text, const char *yes, const char *no)
{
    int is_yes = text && strcmp(text, yes) == 0;
    if (!is_yes && !(text && no && strcmp(text, no) == 0))
        refuse("%s %s: expected %s%s%s", name, text ? text : "", yes, no ? " or " : "", no ? no : "");
    return is_yes;
}

static void read_options(int argc, char **argv)
{
    for (int i = 1; i < argc; ++i) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        int has_value = 1;
        if (strcmp(name, "--mode") == 0)
            choose_mode(value);
        else if (strcmp(name, "--threads") == 0)
            pair(name, value, options.threads);
        else if (strcmp(name, "--procs") == 0)
            pair(name, value, options.procs);
        else if (strcmp(name, "--stencil") == 0)
            options.points = choose_word(name, value, "5", "9") ? 5 : 9;
        else if (strcmp(name, "--steps") == 0)
            options.steps = number(name, value, 0, 1 << 20);
        else if (strcmp(name, "--size") == 0)
            options.size = number(name, value, 1, 4096);
        else if (strcmp(name, "--verify") == 0)
            options.verify = choose_word(name, value, "true", "false");
        else if (strcmp(name, "--fault") == 0)
            options.wrong_direction = choose_word(name, value, "wrong-direction", NULL);
        else {
            has_value = 0;
            if (strcmp(name, "--barrier") == 0)
                options.barrier = 1;
            else if (strcmp(name, "--periodic") == 0)
                options.periodic[0] = options.periodic[1] = 1;
            else if (strcmp(name, "--periodic=x") == 0)
                options.periodic[0] = 1;
            else if (strcmp(name, "--periodic=y") == 0)
                options.periodic[1] = 1;
            else if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
                show_usage();
            else
                refuse("%s is not an option; --help lists them", name);
        }
        i += has_value;
    }
    if (options.procs[0] == 0)
        MPI_Dims_create(ranks, 2, options.procs);
    if (options.procs[0] * options.procs[1] != ranks)
        refuse("--procs %d,%d are %d processes, but there are %d ranks", options.procs[0], options.procs[1],
               options.procs[0] * options.procs[1], ranks);
    thread_count = options.threads[0] * options.threads[1];
    if (options.mode == PROCESSES && thread_count > 1)
        refuse("mode processes has one thread in each process, not %d", thread_count);
    for (int axis = 0; axis < 2; ++axis)
        extents[axis] = options.procs[axis] * options.threads[axis] * options.size;
    process[0] = rank % options.procs[0];
    process[1] = rank / options.procs[0];
    /* x varies fastest, so the opposite of the i-th is the i-th from the end. */
    for (int y = -1; y <= 1; ++y)
        for (int x = -1; x <= 1; ++x)
            if ((x || y) && (options.points == 9 || !x || !y))
                directions[direction_count++] = (struct direction){{x, y}};
}

/* What a cell holds at the start: a hash of its number (the finalizer of SplitMix64). */
static uint64_t start(uint64_t cell)
{
    uint64_t hash = cell + UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ (hash >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    hash = (hash ^ (hash >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (hash ^ (hash >> 31)) % MODULUS;
}

/* Both are less than 2^61 - 1. */
static uint64_t add(uint64_t one, uint64_t other)
{
    return (one + other) % MODULUS;
}

/* The number of the cell at some coordinates; -1 beyond the border. */
static int64_t cell_at(int64_t x, int64_t y)
{
    int64_t at[2] = {x, y};
    for (int axis = 0; axis < 2; ++axis) {
        if (options.periodic[axis])
            at[axis] = (at[axis] + extents[axis]) % extents[axis];
        if (at[axis] < 0 || at[axis] >= extents[axis])
            return -1;
    }
    return at[1] * extents[0] + at[0];
}

static void compute_serially(void)
{
    int64_t cells = (int64_t)extents[0] * extents[1];
    if (!options.verify || cells * (options.steps + 1) > MAX_KEPT)
        return;
    fields = allocate((size_t)cells * (options.steps + 1), sizeof *fields);
    for (int64_t cell = 0; cell < cells; ++cell)
        fields[cell] = start((uint64_t)cell);
    for (int step = 0; step < options.steps; ++step) {
        const uint64_t *now = fields + step * cells;
        uint64_t *next = fields + (step + 1) * cells;
        for (int64_t cell = 0; cell < cells; ++cell) {
            next[cell] = now[cell];
            for (int i = 0; i < direction_count; ++i) {
                int64_t other = cell_at(cell % extents[0] + directions[i].by[0], cell / extents[0] + directions[i].by[1]);
                if (other >= 0)
                    next[cell] = add(next[cell], now[other]);
            }
        }
    }
}

/* Compares a value with that of the cell's owner before a step, if that is known. */
static void verify(struct worker *worker, int step, int64_t cell, uint64_t found)
{
    if (!fields && step > 0)
        return;
    uint64_t expected = fields ? fields[(int64_t)step * extents[0] * extents[1] + cell] : start((uint64_t)cell);
    worker->verified++;
    if (found == expected)
        return;
    if (worker->wrong++ == 0)
        fprintf(stderr, "after %d steps, process [%d, %d], thread [%d, %d]: cell [%d, %d] is %llu, expected %llu\n", step, process[0],
                process[1], worker->at[0], worker->at[1], (int)(cell % extents[0]), (int)(cell / extents[0]),
                (unsigned long long)found, (unsigned long long)expected);
}

/* Place in a patch with ghost cells, in which own cells begin at 1. */
static size_t place(int x, int y)
{
    return (size_t)y * (options.size + 2) + x;
}

/* The cells of a side: the outermost own ones, or the ghost cells beyond them. */
static void side(const int by[2], int is_ghost, int first[2], int count[2])
{
    for (int axis = 0; axis < 2; ++axis) {
        int low = is_ghost ? 0 : 1, high = is_ghost ? options.size + 1 : options.size;
        first[axis] = by[axis] == 0 ? 1 : by[axis] < 0 ? low : high;
        count[axis] = by[axis] == 0 ? options.size : 1;
    }
}

static void pack(const struct worker *worker, int direction, uint64_t *into)
{
    int first[2], count[2];
    side(directions[options.wrong_direction ? direction_count - 1 - direction : direction].by, 0, first, count);
    for (int y = 0; y < count[1]; ++y)
        for (int x = 0; x < count[0]; ++x)
            *into++ = worker->now[place(first[0] + x, first[1] + y)];
}

static void unpack(struct worker *worker, int direction, const uint64_t *from)
{
    int first[2], count[2];
    side(directions[direction].by, 1, first, count);
    for (int y = 0; y < count[1]; ++y)
        for (int x = 0; x < count[0]; ++x)
            worker->now[place(first[0] + x, first[1] + y)] = *from++;
}

static int64_t origin(const struct worker *worker, int axis)
{
    return (int64_t)(process[axis] * options.threads[axis] + worker->at[axis]) * options.size;
}

static void verify_ghosts(struct worker *worker, int step)
{
    for (int i = 0; i < direction_count; ++i) {
        int first[2], count[2];
        if (worker->links[i].to == OUTSIDE)
            continue;
        side(directions[i].by, 1, first, count);
        for (int y = first[1]; y < first[1] + count[1]; ++y)
            for (int x = first[0]; x < first[0] + count[0]; ++x)
                verify(worker, step, cell_at(origin(worker, 0) + x - 1, origin(worker, 1) + y - 1), worker->now[place(x, y)]);
    }
}

static int bits(int values)
{
    int count = 0;
    while (1 << count < values)
        ++count;
    return count;
}

/* The bits that a tag may have in all values. */
static int bits_of_tags(int upper_bound)
{
    int count = 0;
    while (count < 31 && (INT64_C(2) << count) - 1 <= upper_bound)
        ++count;
    return count;
}

/* The tag of a message, in the sender's direction. */
static int tag_of(int direction, int sender, int receiver)
{
    if (options.mode != SERIAL && options.mode != TAG)
        return direction;
    return ((direction << bits_of_threads | sender) << bits_of_threads) | receiver;
}

static void create_endpoints(void)
{
    int (*create)(MPI_Comm, int, MPI_Info, MPI_Comm *);
    *(void **)&create = dlsym(RTLD_DEFAULT, "MPIX_Comm_create_endpoints");
    if (!create)
        refuse("mode endpoint: the library has no MPIX_Comm_create_endpoints; start the program by rankpoint endpoints");
    if (thread_count > 64)
        refuse("mode endpoint: %d threads in a process, expected at most 64", thread_count);
    comm_count = thread_count;
    comms = allocate(comm_count, sizeof(MPI_Comm));
    create(MPI_COMM_WORLD, thread_count, MPI_INFO_NULL, comms);
}

#ifdef COMMPLAN_H
static const char *periodic_text(const int along[2])
{
    return along[0] && along[1] ? " --periodic" : along[0] ? " --periodic=x" : along[1] ? " --periodic=y" : "";
}
#endif

static void create_communicators(void)
{
    if (options.mode == ENDPOINT) {
        create_endpoints();
        return;
    }
    MPI_Info info = MPI_INFO_NULL;
    comm_count = options.mode == NAIVE ? thread_count : 1;
    if (options.mode == COMM) {
#ifdef COMMPLAN_H
        int agrees = COMMPLAN_POINTS == options.points && COMMPLAN_DIRECTIONS == direction_count && COMMPLAN_PROCESSES == ranks &&
                     COMMPLAN_THREADS == thread_count;
        for (int axis = 0; axis < 2; ++axis)
            agrees = agrees && COMMPLAN_THREADS_ALONG[axis] == options.threads[axis] &&
                     COMMPLAN_PROCESSES_ALONG[axis] == options.procs[axis] && COMMPLAN_PERIODIC_ALONG[axis] == options.periodic[axis];
        for (int i = 0; agrees && i < direction_count; ++i)
            agrees = COMMPLAN_STEP[i][0] == directions[i].by[0] && COMMPLAN_STEP[i][1] == directions[i].by[1];
        if (!agrees)
            refuse("mode comm: the tables compiled in are for --threads %d,%d --procs %d,%d --stencil %d%s; compile with those of\n"
                   "rankpoint commplan --threads %d,%d --procs %d,%d --stencil %d%s --plan edge --c",
                   COMMPLAN_THREADS_ALONG[0], COMMPLAN_THREADS_ALONG[1], COMMPLAN_PROCESSES_ALONG[0], COMMPLAN_PROCESSES_ALONG[1],
                   COMMPLAN_POINTS, periodic_text(COMMPLAN_PERIODIC_ALONG), options.threads[0], options.threads[1], options.procs[0],
                   options.procs[1], options.points, periodic_text(options.periodic));
        comm_count = COMMPLAN_COMMUNICATORS;
#else
        refuse("mode comm: compile with tables of rankpoint commplan, -DCOMMPLAN_H='\"plan.h\"'");
#endif
    }
    if (options.mode == SERIAL || options.mode == TAG) {
        int *upper_bound, is_set, needed = bits(direction_count) + 2 * bits_of_threads;
        MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &upper_bound, &is_set);
        if (!is_set || needed > 31 || (INT64_C(1) << needed) - 1 > *upper_bound)
            refuse("mode %s: tags need %d bits (%d for the direction, %d for the sender, %d for the receiver), but those up to "
                   "MPI_TAG_UB, %d, have %d; take fewer threads",
                   options.mode == TAG ? "tag" : "serial", needed, bits(direction_count), bits_of_threads, bits_of_threads,
                   is_set ? *upper_bound : 32767, bits_of_tags(is_set ? *upper_bound : 32767));
    }
    if (options.mode == TAG) {
        MPI_Info_create(&info);
        MPI_Info_set(info, "mpi_assert_no_any_source", "true");
        MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
        if (thread_count > 1) {
            /* The tag bits of threads lead to VCIs of Rankpoint; other libraries ignore this. */
            char number[16];
            snprintf(number, sizeof number, "%d", thread_count < 64 ? thread_count : 64);
            MPI_Info_set(info, "rankpoint_num_vcis", number);
            snprintf(number, sizeof number, "%d", bits_of_threads);
            MPI_Info_set(info, "rankpoint_num_tag_bits_for_vci", number);
        }
    }
    comms = allocate(comm_count, sizeof(MPI_Comm));
    for (int i = 0; i < comm_count; ++i)
        MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comms[i]);
    if (info != MPI_INFO_NULL)
        MPI_Info_free(&info);
}

/* The communicators for messages to and from a neighbour. */
static void choose(struct link *link, int thread, int direction, int neighbour)
{
    int send = 0, receive = 0;
    (void)direction;
    if (options.mode == ENDPOINT) {
        send = receive = thread;
        link->other = link->other * thread_count + neighbour;
    } else if (options.mode == NAIVE) {
        send = thread;
        receive = neighbour;
    }
#ifdef COMMPLAN_H
    if (options.mode == COMM) {
        send = COMMPLAN_SEND[COMMPLAN_ROW_OF_PROCESS[rank]][thread][direction];
        receive = COMMPLAN_RECEIVE[COMMPLAN_ROW_OF_PROCESS[rank]][thread][direction];
    }
#endif
    link->send_comm = comms[send];
    link->receive_comm = comms[receive];
}

static void find_neighbour(struct worker *worker, int direction)
{
    struct link *link = &worker->links[direction];
    int thread[2], owner[2], is_away = 0, first[2], count[2];
    for (int axis = 0; axis < 2; ++axis) {
        int patches = options.procs[axis] * options.threads[axis];
        int patch = process[axis] * options.threads[axis] + worker->at[axis] + directions[direction].by[axis];
        if (options.periodic[axis])
            patch = (patch + patches) % patches;
        if (patch < 0 || patch >= patches) {
            link->to = OUTSIDE;
            return;
        }
        thread[axis] = patch % options.threads[axis];
        owner[axis] = patch / options.threads[axis];
        is_away |= owner[axis] != process[axis];
    }
    int neighbour = thread[1] * options.threads[0] + thread[0], back = direction_count - 1 - direction;
    link->to = is_away ? AWAY : INSIDE;
    link->neighbour = neighbour;
    link->other = is_away ? owner[1] * options.procs[0] + owner[0] : neighbour;
    side(directions[direction].by, 0, first, count);
    link->cells = count[0] * count[1];
    if (!is_away)
        return;
    choose(link, worker->id, direction, neighbour);
    link->send_tag = tag_of(direction, worker->id, neighbour);
    link->receive_tag = tag_of(back, neighbour, worker->id);
    link->incoming = allocate(link->cells, sizeof(uint64_t));
    link->outgoing = allocate(link->cells, sizeof(uint64_t));
}

static void prepare(struct worker *worker, int id)
{
    size_t cells = place(0, options.size + 2);
    worker->id = id;
    worker->at[0] = id % options.threads[0];
    worker->at[1] = id / options.threads[0];
    worker->now = allocate(cells, sizeof(uint64_t));
    worker->next = allocate(cells, sizeof(uint64_t));
    for (int y = 0; y < options.size; ++y)
        for (int x = 0; x < options.size; ++x)
            worker->now[place(x + 1, y + 1)] = start((uint64_t)cell_at(origin(worker, 0) + x, origin(worker, 1) + y));
    for (int i = 0; i < direction_count; ++i) {
        find_neighbour(worker, i);
        for (int parity = 0; parity < 2; ++parity)
            worker->borders[i][parity] = allocate(options.size, sizeof(uint64_t));
    }
}

/* The message to or from a process in the sender's direction, with one partition more, that of a sending thread. */
static struct group *add_partition(int which, int direction, int peer, int cells, int sender)
{
    struct group *group = groups[which], *end = group + group_counts[which];
    while (group < end && (group->direction != direction || group->peer != peer))
        group++;
    if (group == end) {
        group_counts[which]++;
        *group = (struct group){direction, peer, cells, 0, allocate(thread_count, sizeof(int)), NULL, NULL};
    }
    group->senders[group->count++] = sender;
    return group;
}

/* Both sides number the partitions of a message by their sending threads. */
static int partition_of(const struct group *group, int sender)
{
    int partition = 0;
    for (int i = 0; i < group->count; ++i)
        partition += group->senders[i] < sender;
    return partition;
}

static void plan_partitions(void)
{
    for (int which = 0; which < 2; ++which)
        groups[which] = allocate((size_t)thread_count * direction_count, sizeof(struct group));
    for (int id = 0; id < thread_count; ++id)
        for (int i = 0; i < direction_count; ++i) {
            struct link *link = &workers[id].links[i];
            if (link->to != AWAY)
                continue;
            link->send_group = add_partition(0, i, link->other, link->cells, id);
            link->receive_group = add_partition(1, direction_count - 1 - i, link->other, link->cells, link->neighbour);
        }
    for (int id = 0; id < thread_count; ++id)
        for (int i = 0; i < direction_count; ++i) {
            struct link *link = &workers[id].links[i];
            if (link->to != AWAY)
                continue;
            link->send_partition = partition_of(link->send_group, id);
            link->receive_partition = partition_of(link->receive_group, link->neighbour);
        }
    requests_of_groups = allocate(group_counts[0] + group_counts[1], sizeof(MPI_Request));
    for (int which = 0; which < 2; ++which)
        for (int i = 0; i < group_counts[which]; ++i) {
            struct group *group = &groups[which][i];
            group->memory = allocate((size_t)group->count * group->cells, sizeof(uint64_t));
            group->request = &requests_of_groups[which * group_counts[0] + i];
            if (which == 0)
                MPI_Psend_init(group->memory, group->count, group->cells, MPI_UINT64_T, group->peer, group->direction, comms[0],
                               MPI_INFO_NULL, group->request);
            else
                MPI_Precv_init(group->memory, group->count, group->cells, MPI_UINT64_T, group->peer, group->direction, comms[0],
                               MPI_INFO_NULL, group->request);
        }
}

/* Leaves the borders of a thread where the other threads of its process find them. Even and odd steps have borders of their own, so that
 * no thread overwrites what another one still reads. */
static void leave_borders(struct worker *worker, int step)
{
    for (int i = 0; i < direction_count; ++i)
        if (worker->links[i].to == INSIDE) {
            pack(worker, i, worker->borders[i][step % 2]);
            worker->inside++;
        }
}

static void pick_up_borders(struct worker *worker, int step)
{
    pthread_barrier_wait(&all_threads);
    for (int i = 0; i < direction_count; ++i) {
        const struct link *link = &worker->links[i];
        if (link->to == INSIDE)
            unpack(worker, i, workers[link->other].borders[direction_count - 1 - i][step % 2]);
    }
}

/* One thread starts the messages and waits for them; each fills its partitions, and takes those for it as soon as they are here. */
static void exchange_partitions(struct worker *worker, int step)
{
    int count = group_counts[0] + group_counts[1];
    if (worker->id == 0)
        MPI_Startall(count, requests_of_groups);
    pthread_barrier_wait(&all_threads);
    for (int i = 0; i < direction_count; ++i) {
        const struct link *link = &worker->links[i];
        if (link->to != AWAY)
            continue;
        pack(worker, i, link->send_group->memory + (size_t)link->send_partition * link->cells);
        MPI_Pready(link->send_partition, *link->send_group->request);
        worker->away++;
    }
    leave_borders(worker, step);
    for (int i = 0; i < direction_count; ++i) {
        const struct link *link = &worker->links[i];
        for (int has_arrived = link->to != AWAY; !has_arrived;) {
            MPI_Parrived(*link->receive_group->request, link->receive_partition, &has_arrived);
            if (!has_arrived)
                sched_yield();
        }
        if (link->to == AWAY)
            unpack(worker, i, link->receive_group->memory + (size_t)link->receive_partition * link->cells);
    }
    pick_up_borders(worker, step);
    if (worker->id == 0)
        MPI_Waitall(count, requests_of_groups, MPI_STATUSES_IGNORE);
}

static void exchange(struct worker *worker, int step)
{
    MPI_Request requests[2 * MAX_DIRECTIONS];
    int count = 0;
    for (int i = 0; i < direction_count; ++i) {
        struct link *link = &worker->links[i];
        if (link->to == AWAY)
            MPI_Irecv(link->incoming, link->cells, MPI_UINT64_T, link->other, link->receive_tag, link->receive_comm, &requests[count++]);
    }
    for (int i = 0; i < direction_count; ++i) {
        struct link *link = &worker->links[i];
        if (link->to == AWAY) {
            pack(worker, i, link->outgoing);
            MPI_Isend(link->outgoing, link->cells, MPI_UINT64_T, link->other, link->send_tag, link->send_comm, &requests[count++]);
            worker->away++;
        }
    }
    leave_borders(worker, step);
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < direction_count; ++i)
        if (worker->links[i].to == AWAY)
            unpack(worker, i, worker->links[i].incoming);
    pick_up_borders(worker, step);
}

static void update(struct worker *worker)
{
    for (int y = 1; y <= options.size; ++y)
        for (int x = 1; x <= options.size; ++x) {
            uint64_t sum = worker->now[place(x, y)];
            for (int i = 0; i < direction_count; ++i)
                sum = add(sum, worker->now[place(x + directions[i].by[0], y + directions[i].by[1])]);
            worker->next[place(x, y)] = sum;
        }
    uint64_t *now = worker->now;
    worker->now = worker->next;
    worker->next = now;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    for (int step = 0; step < options.steps; ++step) {
        if (options.barrier && options.mode == ENDPOINT) {
            MPI_Barrier(comms[worker->id]);
        } else if (options.barrier) {
            pthread_barrier_wait(&all_threads);
            if (worker->id == 0)
                MPI_Barrier(MPI_COMM_WORLD);
            pthread_barrier_wait(&all_threads);
        }
        if (options.mode == PARTITIONED)
            exchange_partitions(worker, step);
        else
            exchange(worker, step);
        if (options.verify)
            verify_ghosts(worker, step);
        update(worker);
    }
    for (int y = 0; y < options.size; ++y)
        for (int x = 0; x < options.size; ++x) {
            int64_t cell = cell_at(origin(worker, 0) + x, origin(worker, 1) + y);
            uint64_t value = worker->now[place(x + 1, y + 1)];
            if (options.verify)
                verify(worker, options.steps, cell, value);
            worker->checksum += (2 * (uint64_t)cell + 1) * value;
        }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    read_options(argc, argv);
    if (provided < MPI_THREAD_MULTIPLE && thread_count > 1)
        refuse("the library does not have MPI_THREAD_MULTIPLE");
    bits_of_threads = bits(thread_count);
    create_communicators();
    compute_serially();
    pthread_barrier_init(&all_threads, NULL, (unsigned)thread_count);
    workers = allocate(thread_count, sizeof *workers);
    for (int id = 0; id < thread_count; ++id)
        prepare(&workers[id], id);
    if (options.mode == PARTITIONED)
        plan_partitions();
    for (int id = 1; id < thread_count; ++id)
        if (pthread_create(&workers[id].thread, NULL, work, &workers[id]) != 0) {
            fprintf(stderr, "thread %d cannot be started\n", id);
            MPI_Abort(MPI_COMM_WORLD, 3);
        }
    work(&workers[0]);
    uint64_t sums[5] = {0};
    for (int id = 0; id < thread_count; ++id) {
        struct worker *worker = &workers[id];
        if (id > 0)
            pthread_join(worker->thread, NULL);
        const uint64_t counts[5] = {worker->away, worker->inside, worker->verified, worker->wrong, worker->checksum};
        for (int i = 0; i < 5; ++i)
            sums[i] += counts[i];
    }
    MPI_Allreduce(MPI_IN_PLACE, sums, 5, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("exact  %llu messages between processes\nexact  %llu borders within processes\n", (unsigned long long)sums[0],
               (unsigned long long)sums[1]);
        printf("exact  %d %s created\n", comm_count, options.mode == ENDPOINT ? "endpoints" : "communicators");
        printf("exact  %llu cells compared, %llu differ\n", (unsigned long long)sums[2], (unsigned long long)sums[3]);
        printf("checksum %016llx\n", (unsigned long long)sums[4]);
    }
    for (int i = 0; i < group_counts[0] + group_counts[1]; ++i)
        MPI_Request_free(&requests_of_groups[i]);
    for (int i = 0; i < comm_count; ++i)
        MPI_Comm_free(&comms[i]);
    MPI_Finalize();
    return sums[3] > 0;
}
