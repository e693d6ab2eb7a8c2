/* SPDX-License-Identifier: MIT OR Apache-2.0
 * A lattice operator in four dimensions: the new value of a site is the sum of its eight neighbours' values, each times the number of the
 * link between them, in wrapping integers of 64 bits. The lattice is a torus of N x N x N x N sites, of which each thread has a box; it
 * gets the borders of its eight neighbours by messages of derived types. The checksum is the same in all modes and with any number of
 * threads and processes, such as one.
 *
 * usage: dslash MODE [THREADS [N [STEPS]]]
 *   master     one thread of each process exchanges the borders of all
 *   threads    each thread exchanges its own, on one communicator
 *   endpoints  the same, each thread as a rank; run under `rankpoint endpoints`, or with Rankpoint as the library
 */
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Weak: other libraries do not have it.
__attribute__((weak)) int MPIX_Comm_create_endpoints(MPI_Comm parent_comm, int my_num_ep, MPI_Info info, MPI_Comm ep_comm[]);

enum { MASTER, THREADS, ENDPOINTS, MODES };
enum { EXCHANGE, COMPUTE, PHASES };
static const char *const mode_names[] = {"master", "threads", "endpoints"};
static const char *const phase_names[] = {"exchange", "compute"};

static int mode, threads = 2, n = 8, steps = 3, rank, processes, parts[4], lengths[4];
static MPI_Datatype borders[8], halos[8]; /* Direction 2 d goes down along dimension d, 2 d + 1 goes up. */
static MPI_Comm *comms;
static pthread_barrier_t together;
static double seconds[PHASES][64];

/* The part of a thread: its sites with those of its neighbours around. */
struct part {
    int begin[4];      /* Its first site. */
    int neighbours[8]; /* Numbers of parts. */
    uint64_t *now, *next, checksum;
    MPI_Request requests[16];
};
static struct part *all;

static void refuse(const char *why) {
    if (rank == 0)
        fprintf(stderr, "dslash: %s\n", why);
    MPI_Abort(MPI_COMM_WORLD, 2);
}

static uint64_t mixed(uint64_t seed) {
    seed = (seed ^ seed >> 30) * 0xbf58476d1ce4e5b9u;
    seed = (seed ^ seed >> 27) * 0x94d049bb133111ebu;
    return seed ^ seed >> 31;
}

/* The number of a site of the torus. */
static uint64_t site(const int at[4]) {
    uint64_t number = 0;
    for (int d = 0; d < 4; d++)
        number = number * n + (at[d] + n) % n;
    return number;
}

/* The link from a site up along a dimension. */
static uint64_t link(const int at[4], int dimension) { return mixed(site(at) * 4 + dimension + 1) | 1; }

/* How far the neighbours of a site along a dimension are in memory: a part has those of its neighbours around. */
static int stride(int dimension) {
    int sites = 1;
    for (int d = dimension + 1; d < 4; d++)
        sites *= lengths[d] + 2;
    return sites;
}

/* The new value of a site. */
static uint64_t sum(const uint64_t *here, const int at[4]) {
    uint64_t result = 0;
    for (int d = 0; d < 4; d++) {
        int below[4] = {at[0], at[1], at[2], at[3]};
        below[d]--;
        result += link(at, d) * here[stride(d)] + link(below, d) * here[-stride(d)];
    }
    return result;
}

/* Calls `action` with each site of a part, and where it is in memory. */
static void each(struct part *part, void (*action)(struct part *, int, const int[4])) {
    int x[4];
    for (x[0] = 0; x[0] < lengths[0]; x[0]++)
        for (x[1] = 0; x[1] < lengths[1]; x[1]++)
            for (x[2] = 0; x[2] < lengths[2]; x[2]++)
                for (x[3] = 0; x[3] < lengths[3]; x[3]++) {
                    int place = 0, at[4];
                    for (int d = 0; d < 4; d++) {
                        place += (x[d] + 1) * stride(d);
                        at[d] = part->begin[d] + x[d];
                    }
                    action(part, place, at);
                }
}

static void fill(struct part *part, int place, const int at[4]) { part->now[place] = mixed(~site(at)); }

static void apply(struct part *part, int place, const int at[4]) { part->next[place] = sum(part->now + place, at); }

static void add(struct part *part, int place, const int at[4]) { part->checksum += mixed(site(at)) * part->now[place]; }

/* Starts the messages of a part. A message to a thread that is no rank has its number in the tag. */
static void start(int thread, MPI_Comm comm) {
    struct part *part = &all[thread];
    for (int way = 0; way < 8; way++) {
        int to = part->neighbours[way], is_rank = mode == ENDPOINTS;
        MPI_Irecv(part->now, 1, halos[way], is_rank ? to : to / threads, is_rank ? way : thread * 8 + way, comm,
                  &part->requests[way]);
    }
    for (int way = 0; way < 8; way++) {
        // What goes up arrives from below.
        int to = part->neighbours[way], is_rank = mode == ENDPOINTS, tag = (is_rank ? 0 : to % threads * 8) + (way ^ 1);
        MPI_Isend(part->now, 1, borders[way], is_rank ? to : to / threads, tag, comm, &part->requests[8 + way]);
    }
}

static void finish(int thread) { MPI_Waitall(16, all[thread].requests, MPI_STATUSES_IGNORE); }

static void *work(void *argument) {
    int thread = (int)(intptr_t)argument;
    struct part *part = &all[thread];
    for (int step = 0; step < steps; step++) {
        double begin = MPI_Wtime();
        if (mode == MASTER) {
            for (int at = 0; at < threads && thread == 0; at++)
                start(at, MPI_COMM_WORLD);
            for (int at = 0; at < threads && thread == 0; at++)
                finish(at);
            pthread_barrier_wait(&together);
        } else {
            start(thread, mode == ENDPOINTS ? comms[thread] : MPI_COMM_WORLD);
            finish(thread);
        }
        double middle = MPI_Wtime();
        each(part, apply);
        uint64_t *kept = part->now;
        part->now = part->next;
        part->next = kept;
        // One thread exchanges the borders of all.
        if (mode == MASTER)
            pthread_barrier_wait(&together);
        seconds[EXCHANGE][thread] += middle - begin;
        seconds[COMPUTE][thread] += MPI_Wtime() - middle;
    }
    return NULL;
}

/* The part of a thread among all, and the parts around it. */
static void place(struct part *part, int number) {
    int at[4], sites = stride(0) * (lengths[0] + 2);
    for (int d = 3, rest = number; d >= 0; rest /= parts[d], d--) {
        at[d] = rest % parts[d];
        part->begin[d] = at[d] * lengths[d];
    }
    for (int way = 0; way < 8; way++) {
        int other = 0;
        for (int d = 0; d < 4; d++)
            other = other * parts[d] + (at[d] + (d == way / 2 ? (way % 2 ? 1 : parts[d] - 1) : 0)) % parts[d];
        part->neighbours[way] = other;
    }
    part->now = malloc(sites * sizeof *part->now);
    part->next = malloc(sites * sizeof *part->next);
    part->checksum = 0;
    each(part, fill);
}

/* The types of what is sent and received each way: slices of a part. */
static void make_types(void) {
    for (int way = 0; way < 8; way++) {
        int sizes[4], parts[4], starts[4], d = way / 2;
        for (int at = 0; at < 4; at++) {
            sizes[at] = lengths[at] + 2;
            parts[at] = at == d ? 1 : lengths[at];
            starts[at] = 1;
        }
        starts[d] = way % 2 ? lengths[d] : 1;
        MPI_Type_create_subarray(4, sizes, parts, starts, MPI_ORDER_C, MPI_UINT64_T, &borders[way]);
        starts[d] = way % 2 ? lengths[d] + 1 : 0;
        MPI_Type_create_subarray(4, sizes, parts, starts, MPI_ORDER_C, MPI_UINT64_T, &halos[way]);
        MPI_Type_commit(&borders[way]);
        MPI_Type_commit(&halos[way]);
    }
}

static void read_arguments(int argc, char **argv, int provided) {
    while (argc > 1 && mode < MODES && strcmp(argv[1], mode_names[mode]))
        mode++;
    int *numbers[] = {&threads, &n, &steps};
    for (int at = 2; at < argc && at < 5; at++)
        *numbers[at - 2] = atoi(argv[at]);
    if (argc < 2 || argc > 5 || mode == MODES)
        refuse("usage: dslash master|threads|endpoints [THREADS [L [STEPS]]]");
    if (threads < 1 || threads > 64 || n < 1 || n > 256 || steps < 0)
        refuse("expected are 1 to 64 threads, N from 1 to 256, and no negative number of steps");
    MPI_Dims_create(processes * threads, 4, parts);
    for (int d = 0; d < 4; d++) {
        lengths[d] = n / parts[d];
        if (n % parts[d])
            refuse("N cannot be divided by the number of boxes along a dimension");
    }
    if (mode == THREADS && provided < MPI_THREAD_MULTIPLE)
        refuse("mode threads: the library has no MPI_THREAD_MULTIPLE");
    if (mode == ENDPOINTS && !MPIX_Comm_create_endpoints)
        refuse("mode endpoints: the library has no MPIX_Comm_create_endpoints; start the program by rankpoint endpoints");
}

int main(int argc, char **argv) {
    int provided;
    uint64_t checksum = 0, whole;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
    read_arguments(argc, argv, provided);
    make_types();
    all = malloc(threads * sizeof *all);
    comms = malloc(threads * sizeof *comms);
    if (mode == ENDPOINTS)
        MPIX_Comm_create_endpoints(MPI_COMM_WORLD, threads, MPI_INFO_NULL, comms);
    for (int at = 0; at < threads; at++)
        place(&all[at], rank * threads + at);
    pthread_barrier_init(&together, NULL, threads);
    pthread_t others[64];
    MPI_Barrier(MPI_COMM_WORLD);
    for (intptr_t at = 1; at < threads; at++)
        pthread_create(&others[at], NULL, work, (void *)at);
    work(NULL);
    for (int at = 1; at < threads; at++)
        pthread_join(others[at], NULL);
    for (int at = 0; at < threads; at++) {
        each(&all[at], add);
        checksum += all[at].checksum;
        free(all[at].now);
        free(all[at].next);
        if (mode == ENDPOINTS)
            MPI_Comm_free(&comms[at]);
    }
    MPI_Reduce(&checksum, &whole, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("dslash, mode %s, %d threads in each of %d processes, %d x %d x %d x %d boxes of %d x %d x %d x %d sites, %d steps\n",
               mode_names[mode], threads, processes, parts[0], parts[1], parts[2], parts[3], lengths[0], lengths[1], lengths[2],
               lengths[3], steps);
    for (int phase = 0; phase < PHASES; phase++) {
        double slowest = 0, most = 0;
        for (int at = 0; at < threads; at++)
            most = seconds[phase][at] > most ? seconds[phase][at] : most;
        MPI_Reduce(&most, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        if (rank == 0)
            printf("real   %s %.6f s\n", phase_names[phase], slowest);
    }
    if (rank == 0)
        printf("checksum %016llx\n", (unsigned long long)whole);
    for (int way = 0; way < 8; way++) {
        MPI_Type_free(&borders[way]);
        MPI_Type_free(&halos[way]);
    }
    free(comms);
    free(all);
    MPI_Finalize();
    return 0;
}
