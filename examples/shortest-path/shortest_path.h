/* SPDX-License-Identifier: MIT OR Apache-2.0
 * What mass_cg.c and lennard_jones.c share: the calls with promises where the library has them, options, and clocks. */
#ifndef SHORTEST_PATH_H
#define SHORTEST_PATH_H

#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if __has_include(<mpi_rankpoint.h>)
#include <mpi_rankpoint.h>
/* Weak: the program also starts with a library that lacks them. */
#pragma weak MPIX_Comm_dup_predefined
#pragma weak MPIX_Comm_waitall
#pragma weak MPIX_Irecv_all_opts
#pragma weak MPIX_Isend_all_opts
#define HAS_PROMISES (MPIX_Isend_all_opts != NULL)
#else
/* Compiled for another library: no call with promises is ever reached. */
#define HAS_PROMISES 0
#define MPIX_COMM_1 MPI_COMM_NULL
#define MPIX_COMM_2 MPI_COMM_NULL
#define MPIX_COMM_3 MPI_COMM_NULL
#define MPIX_COMM_4 MPI_COMM_NULL
#define MPIX_COMM_5 MPI_COMM_NULL
#define MPIX_COMM_6 MPI_COMM_NULL
#define MPIX_Comm_dup_predefined(comm, predefined) ((void)(predefined))
#define MPIX_Comm_waitall(comm) ((void)(comm))
#define MPIX_Irecv_all_opts(buf, count, datatype, comm) ((void)(comm))
#define MPIX_Isend_all_opts(buf, count, datatype, dest, comm) ((void)(comm))
#endif

enum calls { ORDINARY, PROMISES };
enum { MAX_ROWS = 32 };

/* A measured size. */
struct row {
    double per_rank;      /* Points or atoms of a rank. */
    double seconds;       /* Time of an iteration or a step. */
    double share;         /* Share of it in MPI. */
    uint64_t checksum;
};

static const char *const calls_names[] = {"ordinary", "promises"};
static int rank, ranks, dims[3], coords[3]; /* Ranks are a grid with three axes. */
static enum calls calls = ORDINARY;
static int is_json, is_clocked;
static double in_mpi; /* Seconds, while is_clocked. */

/* Ends the program with a sentence. All ranks call it for the same reason. */
static void refuse(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    if (rank == 0) {
        vfprintf(stderr, format, values);
        fputc('\n', stderr);
    }
    va_end(values);
    MPI_Finalize();
    exit(2);
}

static struct block {
    struct block *before;
} *blocks; /* All that allocate gave. */

static void *allocate(size_t count, size_t bytes)
{
    struct block *block = calloc(1, sizeof *block + count * bytes);
    if (block == NULL) {
        fprintf(stderr, "rank %d: no memory for %zu times %zu bytes\n", rank, count, bytes);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    block->before = blocks;
    blocks = block;
    return block + 1;
}

static void release_all(void)
{
    while (blocks != NULL) {
        struct block *before = blocks->before;
        free(blocks);
        blocks = before;
    }
}

static void start_mpi(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Dims_create(ranks, 3, dims);
    for (int axis = 0, rest = rank; axis < 3; rest /= dims[axis++])
        coords[axis] = rest % dims[axis];
}

/* Reads up to `most` numbers with commas between them; gives how many. */
static int numbers_of(const char *name, const char *text, int least, int *numbers, int most)
{
    int count = 0;
    for (const char *rest = text; count < most;) {
        char *end;
        long number = strtol(rest, &end, 10);
        if (end == rest || number < least || number > 10000000 || (*end != ',' && *end != '\0'))
            break;
        numbers[count++] = (int)number;
        if (*end == '\0')
            return count;
        rest = end + 1;
    }
    if (most == 1)
        refuse("%s %s: expected a number from %d to 10 million", name, text, least);
    refuse("%s %s: expected up to %d numbers from %d to 10 million, with commas between them", name, text, most, least);
    return 0;
}

static int number_of(const char *name, const char *text, int least)
{
    int number;
    numbers_of(name, text, least, &number, 1);
    return number;
}

static void choose_calls(const char *text)
{
    if (strcmp(text, calls_names[ORDINARY]) && strcmp(text, calls_names[PROMISES]))
        refuse("--calls %s: expected ordinary or promises", text);
    calls = strcmp(text, calls_names[PROMISES]) ? ORDINARY : PROMISES;
    if (calls == PROMISES && !HAS_PROMISES)
        refuse("--calls promises: this library has no MPIX_Isend_all_opts, or the program was compiled without mpi_rankpoint.h");
}

/* Reads the options that both programs have; `take` takes another one with its value, or gives 0. */
static void read_options(const char *app, char **words, int (*take)(const char *name, const char *text))
{
    for (char **word = words + 1; *word; word++) {
        if (!strcmp(*word, "--json")) {
            is_json = 1;
            continue;
        }
        const char *name = *word, *text = word[1];
        if (text && !strcmp(name, "--calls"))
            choose_calls(text);
        else if (!text || !take(name, text))
            refuse("%s: %s %s: not known, or without a value", app, name, text ? text : "");
        word++;
    }
}

static double time_in_mpi_begins(void)
{
    return is_clocked ? MPI_Wtime() : 0;
}

static void time_in_mpi_ends(double since)
{
    if (is_clocked)
        in_mpi += MPI_Wtime() - since;
}

static int compare_times(const void *a, const void *b)
{
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

/* The median of the times of the slowest rank; right on rank 0. */
static double median_of_slowest(double *times, int count)
{
    MPI_Reduce(rank == 0 ? MPI_IN_PLACE : times, times, count, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    qsort(times, (size_t)count, sizeof *times, compare_times);
    return times[count / 2];
}

/* The share of all ranks' time that they were in MPI; right on rank 0. */
static double share_in_mpi(double elapsed)
{
    double sums[2] = {in_mpi, elapsed};
    MPI_Reduce(rank == 0 ? MPI_IN_PLACE : sums, sums, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    return sums[1] > 0 ? sums[0] / sums[1] : 0;
}

/* The rows as JSON or as text, on rank 0. */
static void print_rows(const char *app, const char *what, const char *unit, const struct row *rows, int count, int is_verified)
{
    if (rank != 0)
        return;
    if (is_json)
        printf("{\"app\":\"%s\",\"calls\":\"%s\",\"ranks\":%d,\"verified\":%s,\"rows\":[", app, calls_names[calls], ranks,
               is_verified ? "true" : "false");
    for (int i = 0; i < count; i++) {
        const struct row *row = &rows[i];
        if (is_json)
            printf("%s{\"per_rank\":%.9g,\"seconds\":%.9g,\"mpi_share\":%.4f,\"checksum\":\"%016llx\"}", i ? "," : "", row->per_rank,
                   row->seconds, row->share, (unsigned long long)row->checksum);
        else
            printf("exact  %.0f %s a rank: checksum %016llx\nreal   %.0f %s a rank: %.2f us %s, %.1f %% of it in MPI\n",
                   row->per_rank, what, (unsigned long long)row->checksum, row->per_rank, what, 1e6 * row->seconds, unit,
                   100 * row->share);
    }
    puts(is_json ? "]}" : is_verified ? "verified" : "wrong");
}

#endif
