/* SPDX-License-Identifier: MIT OR Apache-2.0
 * A distributed two-dimensional transform, whose exchange is an all-to-all of blocks between all threads of all processes.
 *
 * The matrix has N x N integers modulo a prime; each thread has N / (processes * threads) rows. All threads transform their rows,
 * exchange blocks, so that the rows are the columns of before, and transform these. The transform is that of Fourier with a root of
 * unity of the prime, so results are exact: the matrix is a product of powers, whose transform has one element that is not zero.
 *
 * usage: fft_exchange MODE [THREADS [N [ROUNDS]]]
 *   master     one thread of each process exchanges with MPI_Alltoall
 *   threads    each thread exchanges with messages of its own, on a communicator of its own
 *   endpoints  each thread is a rank of MPI_Alltoall; run under `rankpoint endpoints`, or with Rankpoint as the library
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
enum { TRANSFORM, PACK, EXCHANGE, UNPACK, PHASES };
static const char *const mode_names[] = {"master", "threads", "endpoints"};
static const char *const phase_names[] = {"transform", "pack", "exchange", "unpack"};

static const uint64_t PRIME = 998244353; /* 119 * 2^23 + 1; 3 generates all of its units */

static int mode, threads = 2, n = 64, rounds = 1, rank, processes, rows;
static uint32_t *matrix, *out, *in;
static MPI_Comm *comms;
static pthread_barrier_t together;
static double seconds[PHASES][64];
static int wrong[64];

static void refuse(const char *why) {
    if (rank == 0)
        fprintf(stderr, "fft_exchange: %s\n", why);
    MPI_Abort(MPI_COMM_WORLD, 2);
}

static uint64_t power(uint64_t base, uint64_t exponent) {
    uint64_t result = 1;
    for (; exponent; exponent >>= 1, base = base * base % PRIME)
        if (exponent & 1)
            result = result * base % PRIME;
    return result;
}

/* Transforms a row in place. */
static void transform(uint32_t *row) {
    for (int at = 1, other = 0; at < n; at++) {
        int bit = n >> 1;
        for (; other & bit; bit >>= 1)
            other ^= bit;
        other ^= bit;
        if (at < other) {
            uint32_t kept = row[at];
            row[at] = row[other];
            row[other] = kept;
        }
    }
    for (int length = 2; length <= n; length *= 2) {
        uint64_t root = power(3, (PRIME - 1) / length);
        for (int first = 0; first < n; first += length) {
            uint64_t factor = 1;
            for (int at = first; at < first + length / 2; at++, factor = factor * root % PRIME) {
                uint64_t even = row[at], odd = row[at + length / 2] * factor % PRIME;
                row[at] = (even + odd) % PRIME;
                row[at + length / 2] = (even + PRIME - odd) % PRIME;
            }
        }
    }
}

/* Where the block of `sender` of this process for a thread of another process lies: blocks of a call are adjacent. */
static uint32_t *sent(int sender, int process, int thread) {
    int block = mode == MASTER ? (process * threads + sender) * threads + thread
                               : (sender * processes + process) * threads + thread;
    return out + (size_t)block * rows * rows;
}

/* Where the block of a thread of another process for `receiver` of this process lies. */
static uint32_t *received(int receiver, int process, int thread) {
    int block = mode == MASTER    ? (process * threads + thread) * threads + receiver
                : mode == THREADS ? (thread * processes + process) * threads + receiver
                                  : (receiver * processes + process) * threads + thread;
    return in + (size_t)block * rows * rows;
}

static void exchange(int thread) {
    int each = rows * rows, all = each * threads;
    if (mode == ENDPOINTS) {
        MPI_Alltoall(sent(thread, 0, 0), each, MPI_UINT32_T, received(thread, 0, 0), each, MPI_UINT32_T, comms[thread]);
    } else if (mode == MASTER) {
        if (thread == 0)
            MPI_Alltoall(out, all * threads, MPI_UINT32_T, in, all * threads, MPI_UINT32_T, MPI_COMM_WORLD);
    } else {
        MPI_Request *requests = malloc(2 * processes * sizeof *requests);
        for (int other = 0; other < processes; other++) {
            // What the thread of the same number of another process has for all threads of this one.
            uint32_t *to = in + (size_t)(thread * processes + other) * all;
            MPI_Irecv(to, all, MPI_UINT32_T, other, 0, comms[thread], &requests[other]);
        }
        for (int other = 0; other < processes; other++)
            MPI_Isend(sent(thread, other, 0), all, MPI_UINT32_T, other, 0, comms[thread], &requests[processes + other]);
        MPI_Waitall(2 * processes, requests, MPI_STATUSES_IGNORE);
        free(requests);
    }
    // The blocks of a thread are there once all threads have exchanged.
    if (mode != ENDPOINTS)
        pthread_barrier_wait(&together);
}

/* Ends a phase of a thread. */
static double ended(int phase, int thread, double begin) {
    double now = MPI_Wtime();
    seconds[phase][thread] += now - begin;
    return now;
}

static void *work(void *argument) {
    int thread = (int)(intptr_t)argument, first = (rank * threads + thread) * rows, others = processes * threads;
    uint32_t *own = matrix + (size_t)thread * rows * n;
    uint64_t root = power(3, (PRIME - 1) / n);
    for (int round = 0; round < rounds; round++) {
        // The element that is not zero is row 3 + round, column 5 of the result.
        for (int at = 0; at < rows * n; at++)
            own[at] = power(root, (uint64_t)n * n - (uint64_t)(at % n) * 5 - (uint64_t)(first + at / n) * (3 + round) % n);
        pthread_barrier_wait(&together);
        double begin = MPI_Wtime();
        for (int row = 0; row < rows; row++)
            transform(own + row * n);
        begin = ended(TRANSFORM, thread, begin);
        for (int other = 0; other < others; other++) {
            uint32_t *block = sent(thread, other / threads, other % threads);
            for (int row = 0; row < rows; row++)
                memcpy(block + row * rows, own + row * n + other * rows, rows * sizeof *block);
        }
        if (mode == MASTER)
            pthread_barrier_wait(&together);
        begin = ended(PACK, thread, begin);
        exchange(thread);
        begin = ended(EXCHANGE, thread, begin);
        for (int other = 0; other < others; other++) {
            const uint32_t *block = received(thread, other / threads, other % threads);
            for (int row = 0; row < rows; row++)
                for (int column = 0; column < rows; column++)
                    own[row * n + other * rows + column] = block[column * rows + row];
        }
        begin = ended(UNPACK, thread, begin);
        for (int row = 0; row < rows; row++)
            transform(own + row * n);
        ended(TRANSFORM, thread, begin);
        // The rows are the columns now.
        for (int at = 0; at < rows * n; at++) {
            int is_there = first + at / n == 5 % n && at % n == (3 + round) % n;
            wrong[thread] += own[at] != (is_there ? (uint64_t)n * n % PRIME : 0);
        }
        pthread_barrier_wait(&together);
    }
    return NULL;
}

static void read_arguments(int argc, char **argv) {
    while (argc > 1 && mode < MODES && strcmp(argv[1], mode_names[mode]))
        mode++;
    int *numbers[] = {&threads, &n, &rounds};
    for (int at = 2; at < argc && at < 5; at++)
        *numbers[at - 2] = atoi(argv[at]);
    if (argc < 2 || argc > 5 || mode == MODES)
        refuse("usage: fft_exchange master|threads|endpoints [THREADS [N [ROUNDS]]]");
    if (threads < 1 || threads > 64 || rounds < 1)
        refuse("expected are 1 to 64 threads, and a round at least");
    if (n < 2 || n > 1 << 15 || (n & (n - 1)) || n % (processes * threads))
        refuse("N is not a power of two up to 32768 that processes * threads divides");
    rows = n / (processes * threads);
}

int main(int argc, char **argv) {
    int provided, all_wrong = 0, here = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
    read_arguments(argc, argv);
    if (mode == THREADS && provided < MPI_THREAD_MULTIPLE)
        refuse("mode threads: the library has no MPI_THREAD_MULTIPLE");
    if (mode == ENDPOINTS && !MPIX_Comm_create_endpoints)
        refuse("mode endpoints: the library has no MPIX_Comm_create_endpoints; start the program by rankpoint endpoints");
    size_t bytes = (size_t)threads * rows * n * sizeof *matrix;
    matrix = malloc(bytes);
    out = malloc(bytes);
    in = malloc(bytes);
    comms = malloc(threads * sizeof *comms);
    if (mode == ENDPOINTS)
        MPIX_Comm_create_endpoints(MPI_COMM_WORLD, threads, MPI_INFO_NULL, comms);
    for (int at = 0; at < threads && mode == THREADS; at++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[at]);
    pthread_barrier_init(&together, NULL, threads);
    pthread_t others[64];
    for (intptr_t at = 1; at < threads; at++)
        pthread_create(&others[at], NULL, work, (void *)at);
    work(NULL);
    for (int at = 1; at < threads; at++)
        pthread_join(others[at], NULL);
    for (int at = 0; at < threads; at++) {
        here += wrong[at];
        if (mode != MASTER)
            MPI_Comm_free(&comms[at]);
    }
    MPI_Reduce(&here, &all_wrong, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("fft_exchange, mode %s, %d threads in each of %d processes, %d x %d numbers, %d rounds\n"
               "exact  %d numbers are wrong\n", mode_names[mode], threads, processes, n, n, rounds, all_wrong);
    for (int phase = 0; phase < PHASES; phase++) {
        double slowest = 0, most = 0;
        for (int at = 0; at < threads; at++)
            most = seconds[phase][at] > most ? seconds[phase][at] : most;
        MPI_Reduce(&most, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        if (rank == 0)
            printf("real   %s %.6f s\n", phase_names[phase], slowest);
    }
    if (rank == 0)
        printf(all_wrong ? "WRONG\n" : "verified\n");
    free(comms);
    free(in);
    free(out);
    free(matrix);
    MPI_Finalize();
    return all_wrong != 0;
}
