/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Product of block-sparse matrices, C = A B, by threads of several processes: a worker takes a unit from a counter, gets the two tiles
 * that the unit multiplies, and adds a tile of C to its owner's when it goes on to another one. docs/mini-apps.md describes modes
 * and options. Works with any library that has MPI_THREAD_MULTIPLE; mode endpoint needs windows of endpoints, which Rankpoint has.
 *
 *     mpicc -O2 examples/apps/bspmm.c -pthread -o bspmm
 *     mpiexec -n 2 ./bspmm --mode window --threads 2 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum mode { PROCESSES, SERIAL, WINDOW, ENDPOINT };
enum matrix { A, B, C, COUNTER, MATRICES };
enum phase { GET, GET_FLUSH, ADD, ADD_FLUSH, PHASES };
enum count { UNITS, GETS, FETCHES, ADDS, WRONG, COUNTS };

typedef int create_endpoints_t(MPI_Comm, int, MPI_Info, MPI_Comm *);

struct unit {
    int i, j, k;
};

struct worker {
    pthread_t thread;
    int id;
    MPI_Win windows[MATRICES];
    int64_t counts[COUNTS];
    double times[PHASES];
};

static const char usage[] =
    "usage: bspmm [OPTION...]\n"
    "  --mode MODE           processes, serial, window or endpoint (serial)\n"
    "  --threads N           threads of a process, up to 64 (1)\n"
    "  --tiles N             tiles along a matrix (8)\n"
    "  --band N              a tile is not zero if its row and column differ by at most this (1)\n"
    "  --edge N              numbers along a tile (8)\n"
    "  --accumulate ORDER    ordered, or unordered: accumulate_ordering=none (ordered)\n"
    "  --fault doubled-unit  seed an error\n"
    "  -h, --help            print this\n";
static const char *const modes[] = {"processes", "serial", "window", "endpoint"};
static enum mode mode = SERIAL;
static int rank, ranks, threads = 1, tiles = 8, band = 1, edge = 8, is_unordered, is_doubled;
static int per_process = 1; /* Ranks of the windows' communicator in a process. */
static int *numbers[MATRICES]; /* The number of each tile that is not zero, or -1; tiles are dealt to the processes in their order. */
static int kept[MATRICES];
static void *memory[MATRICES];
static MPI_Aint bytes[MATRICES];
static struct unit *units;
static int64_t unit_count;
static struct worker *workers;
static MPI_Comm *endpoints;

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

static int is_there(enum matrix matrix, int i, int j)
{
    return abs(i - j) <= (matrix == C ? 2 * band : band);
}

static int owner(enum matrix matrix, int i, int j)
{
    return numbers[matrix][i * tiles + j] % ranks;
}

/* Displacement of a tile in its owner's memory, in numbers. */
static MPI_Aint place(enum matrix matrix, int i, int j)
{
    return (MPI_Aint)(numbers[matrix][i * tiles + j] / ranks) * edge * edge;
}

/* Small integers, so that sums are exact in any order. */
static double value(enum matrix matrix, int i, int j, int at)
{
    return ((int)matrix * 31 + i * 7 + j * 3 + at * 5) % 11 - 5;
}

static void multiply(const double *a, const double *b, double *c)
{
    for (int row = 0; row < edge; row++)
        for (int inner = 0; inner < edge; inner++)
            for (int column = 0; column < edge; column++)
                c[row * edge + column] += a[row * edge + inner] * b[inner * edge + column];
}

/* Numbers the tiles of the matrices, lists the units by their tile of C, and fills this process's tiles. */
static void deal(void)
{
    for (enum matrix matrix = A; matrix <= C; matrix++) {
        numbers[matrix] = malloc(sizeof(int) * (size_t)(tiles * tiles));
        for (int at = 0; at < tiles * tiles; at++)
            numbers[matrix][at] = is_there(matrix, at / tiles, at % tiles) ? kept[matrix]++ : -1;
        bytes[matrix] = (MPI_Aint)((kept[matrix] + ranks - 1) / ranks) * edge * edge * (MPI_Aint)sizeof(double);
    }
    bytes[COUNTER] = sizeof(int64_t);
    for (enum matrix matrix = A; matrix < MATRICES; matrix++) {
        MPI_Alloc_mem(bytes[matrix], MPI_INFO_NULL, &memory[matrix]);
        memset(memory[matrix], 0, (size_t)bytes[matrix]);
    }
    units = malloc(sizeof *units * (size_t)tiles * (size_t)tiles * (size_t)tiles);
    for (int i = 0; i < tiles; i++)
        for (int j = 0; j < tiles; j++) {
            for (int k = 0; k < tiles; k++)
                if (is_there(A, i, k) && is_there(B, k, j))
                    units[unit_count++] = (struct unit){i, j, k};
            for (enum matrix matrix = A; matrix <= B; matrix++)
                if (is_there(matrix, i, j) && owner(matrix, i, j) == rank)
                    for (int at = 0; at < edge * edge; at++)
                        ((double *)memory[matrix])[place(matrix, i, j) + at] = value(matrix, i, j, at);
        }
}

static MPI_Win window_on(MPI_Comm comm, enum matrix matrix, int exposes)
{
    MPI_Info info;
    MPI_Win window;
    MPI_Info_create(&info);
    if (is_unordered)
        MPI_Info_set(info, "accumulate_ordering", "none");
    int unit = matrix == COUNTER ? (int)sizeof(int64_t) : (int)sizeof(double);
    MPI_Win_create(exposes ? memory[matrix] : NULL, exposes ? bytes[matrix] : 0, unit, info, comm, &window);
    MPI_Info_free(&info);
    MPI_Win_lock_all(0, window);
    return window;
}

static double *phase_ends(struct worker *me, enum phase phase, double *since)
{
    double now = MPI_Wtime();
    me->times[phase] += now - *since;
    *since = now;
    return since;
}

static void *work(void *argument)
{
    struct worker *me = argument;
    if (mode == ENDPOINT)
        for (enum matrix matrix = A; matrix < MATRICES; matrix++)
            me->windows[matrix] = window_on(endpoints[me->id], matrix, me->id == 0);
    size_t size = (size_t)(edge * edge);
    double *a = calloc(3 * size, sizeof *a), *b = a + size, *c = b + size;
    struct unit last = {-1, -1, -1};
    const int64_t one = 1;
    for (;;) {
        int64_t at = 0;
        MPI_Fetch_and_op(&one, &at, MPI_INT64_T, 0, 0, MPI_SUM, me->windows[COUNTER]);
        MPI_Win_flush(0, me->windows[COUNTER]);
        me->counts[FETCHES]++;
        int is_end = at >= unit_count;
        double since = MPI_Wtime();
        if (last.i >= 0 && (is_end || units[at].i != last.i || units[at].j != last.j)) {
            int to = owner(C, last.i, last.j) * per_process;
            MPI_Accumulate(c, (int)size, MPI_DOUBLE, to, place(C, last.i, last.j), (int)size, MPI_DOUBLE, MPI_SUM, me->windows[C]);
            phase_ends(me, ADD, &since);
            MPI_Win_flush(to, me->windows[C]);
            phase_ends(me, ADD_FLUSH, &since);
            memset(c, 0, size * sizeof *c);
            me->counts[ADDS]++;
        }
        if (is_end)
            break;
        last = units[at];
        int owners[] = {owner(A, last.i, last.k) * per_process, owner(B, last.k, last.j) * per_process};
        MPI_Get(a, (int)size, MPI_DOUBLE, owners[0], place(A, last.i, last.k), (int)size, MPI_DOUBLE, me->windows[A]);
        MPI_Get(b, (int)size, MPI_DOUBLE, owners[1], place(B, last.k, last.j), (int)size, MPI_DOUBLE, me->windows[B]);
        phase_ends(me, GET, &since);
        MPI_Win_flush(owners[0], me->windows[A]);
        MPI_Win_flush(owners[1], me->windows[B]);
        phase_ends(me, GET_FLUSH, &since);
        me->counts[GETS] += 2;
        for (int times = is_doubled && at == unit_count / 2 ? 2 : 1; times > 0; times--) {
            multiply(a, b, c);
            me->counts[UNITS]++;
        }
    }
    free(a);
    if (mode == ENDPOINT)
        for (enum matrix matrix = A; matrix < MATRICES; matrix++) {
            MPI_Win_unlock_all(me->windows[matrix]);
            MPI_Win_free(&me->windows[matrix]);
        }
    return NULL;
}

/* The tiles of C that this process has, compared with those of a serial computation. */
static int64_t wrong_tiles(void)
{
    size_t size = (size_t)(edge * edge);
    double *a = malloc(3 * size * sizeof *a), *b = a + size, *expected = b + size;
    int64_t wrong = 0;
    for (int i = 0; i < tiles; i++)
        for (int j = 0; j < tiles; j++) {
            if (!is_there(C, i, j) || owner(C, i, j) != rank)
                continue;
            memset(expected, 0, size * sizeof *expected);
            for (int k = 0; k < tiles; k++) {
                if (!is_there(A, i, k) || !is_there(B, k, j))
                    continue;
                for (int at = 0; at < edge * edge; at++) {
                    a[at] = value(A, i, k, at);
                    b[at] = value(B, k, j, at);
                }
                multiply(a, b, expected);
            }
            wrong += memcmp(expected, (double *)memory[C] + place(C, i, j), size * sizeof *expected) != 0;
        }
    free(a);
    return wrong;
}

static int number_of(const char *name, const char *text, int least, int most)
{
    char *end;
    long number = strtol(text, &end, 10);
    if (end == text || *end || number < least || number > most)
        refuse("%s %s: expected a number from %d to %d", name, text, least, most);
    return (int)number;
}

static enum mode mode_of(const char *text)
{
    if (!strcmp(text, "tag"))
        refuse("mode tag: a get has no tag that could name the threads of both sides; expected processes, serial, window or endpoint");
    for (int at = PROCESSES; at <= ENDPOINT; at++)
        if (!strcmp(text, modes[at]))
            return (enum mode)at;
    refuse("--mode %s: expected processes, serial, window or endpoint", text);
    return SERIAL;
}

static void read_options(char **words)
{
    for (; *words; words += 2) {
        const char *name = words[0], *text = words[1] ? words[1] : "";
        if (!strcmp(name, "--help") || !strcmp(name, "-h"))
            show_usage();
        else if (!strcmp(name, "--mode"))
            mode = mode_of(text);
        else if (!strcmp(name, "--threads"))
            threads = number_of(name, text, 1, 64);
        else if (!strcmp(name, "--tiles"))
            tiles = number_of(name, text, 1, 200);
        else if (!strcmp(name, "--band"))
            band = number_of(name, text, 0, 200);
        else if (!strcmp(name, "--edge"))
            edge = number_of(name, text, 1, 512);
        else if (!strcmp(name, "--accumulate") && !strcmp(text, "window"))
            refuse("MPI accumulates of several windows to one place are not atomic: C has one window");
        else if (!strcmp(name, "--accumulate") && (!strcmp(text, "ordered") || !strcmp(text, "unordered")))
            is_unordered = text[0] == 'u';
        else if (!strcmp(name, "--accumulate"))
            refuse("--accumulate %s: expected ordered or unordered", text);
        else if (!strcmp(name, "--fault") && !strcmp(text, "doubled-unit"))
            is_doubled = 1;
        else if (!strcmp(name, "--fault"))
            refuse("--fault %s: expected doubled-unit", text);
        else
            refuse("%s is not an option; --help lists them", name);
        if (!words[1])
            break;
    }
    if (mode == PROCESSES && threads != 1)
        refuse("mode processes has one thread in each process, not %d", threads);
}

/* Windows of all threads, which are collective: the modes differ in nothing else. */
static void make_windows(void)
{
    if (mode == ENDPOINT) {
        create_endpoints_t *create;
        *(void **)&create = dlsym(RTLD_DEFAULT, "MPIX_Comm_create_endpoints");
        if (!create)
            refuse("mode endpoint: the library has no MPIX_Comm_create_endpoints; windows of endpoints need Rankpoint as the library");
        create(MPI_COMM_WORLD, threads, MPI_INFO_NULL, endpoints);
        per_process = threads;
        return;
    }
    for (enum matrix matrix = A; matrix < MATRICES; matrix++)
        for (int thread = 0; thread < threads; thread++) {
            int has_own = thread == 0 || (mode == WINDOW && matrix <= B);
            workers[thread].windows[matrix] = has_own ? window_on(MPI_COMM_WORLD, matrix, 1) : workers[0].windows[matrix];
        }
}

static void free_windows(void)
{
    for (int thread = threads - 1; thread >= 0; thread--) {
        for (enum matrix matrix = A; mode != ENDPOINT && matrix < MATRICES; matrix++)
            if (thread == 0 || (mode == WINDOW && matrix <= B)) {
                MPI_Win_unlock_all(workers[thread].windows[matrix]);
                MPI_Win_free(&workers[thread].windows[matrix]);
            }
        if (mode == ENDPOINT)
            MPI_Comm_free(&endpoints[thread]);
    }
}

int main(int argc, char **argv)
{
    int provided;
    (void)argc;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (provided != MPI_THREAD_MULTIPLE)
        refuse("the library does not have MPI_THREAD_MULTIPLE");
    read_options(argv + 1);
    workers = calloc((size_t)threads, sizeof *workers);
    endpoints = calloc((size_t)threads, sizeof *endpoints);
    deal();
    make_windows();
    MPI_Barrier(MPI_COMM_WORLD);
    for (int thread = 0; thread < threads; thread++) {
        workers[thread].id = thread;
        pthread_create(&workers[thread].thread, NULL, work, &workers[thread]);
    }
    int64_t mine[COUNTS] = {0}, sums[COUNTS];
    double own[PHASES] = {0}, slowest[PHASES];
    for (int thread = 0; thread < threads; thread++) {
        pthread_join(workers[thread].thread, NULL);
        for (int at = 0; at < COUNTS; at++)
            mine[at] += workers[thread].counts[at];
        for (int at = 0; at < PHASES; at++)
            own[at] = workers[thread].times[at] > own[at] ? workers[thread].times[at] : own[at];
    }
    free_windows();
    MPI_Barrier(MPI_COMM_WORLD);
    mine[WRONG] = wrong_tiles();
    MPI_Allreduce(mine, sums, COUNTS, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    MPI_Reduce(own, slowest, PHASES, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    int64_t workers_in_all = (int64_t)ranks * threads, next = *(int64_t *)memory[COUNTER];
    MPI_Bcast(&next, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
    /* A worker adds a tile of C once for all units that it takes in a row. */
    int64_t most_adds = workers_in_all > 1 ? unit_count : kept[C];
    int is_right = sums[WRONG] == 0 && sums[UNITS] == unit_count && sums[GETS] == 2 * unit_count &&
                   sums[FETCHES] == unit_count + workers_in_all && next == sums[FETCHES] && sums[ADDS] >= kept[C] &&
                   sums[ADDS] <= most_adds;
    if (rank == 0) {
        printf("bspmm, mode %s, %d threads in each of %d processes, %d x %d tiles of %d x %d numbers\n", modes[mode], threads, ranks,
               tiles, tiles, edge, edge);
        printf("exact  %d tiles of A and of B, %d of C\n", kept[A], kept[C]);
        printf("exact  %lld units, %lld done\n", (long long)unit_count, (long long)sums[UNITS]);
        printf("exact  %lld gets, %lld fetches\n", (long long)sums[GETS], (long long)sums[FETCHES]);
        printf("varies %lld accumulates%s, expected %d to %lld\n", (long long)sums[ADDS], is_unordered ? " in any order" : "", kept[C],
               (long long)most_adds);
        printf("exact  %lld tiles of C differ from the serial product\n", (long long)sums[WRONG]);
        printf("real   get %.6f s, its flush %.6f s, accumulate %.6f s, its flush %.6f s\n", slowest[GET], slowest[GET_FLUSH],
               slowest[ADD], slowest[ADD_FLUSH]);
        printf("%s\n", is_right ? "verified" : "wrong");
    }
    for (enum matrix matrix = A; matrix < MATRICES; matrix++)
        MPI_Free_mem(memory[matrix]);
    MPI_Finalize();
    return !is_right;
}
