/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 2 3 4 7
 * ENV: RANKPOINT_RMA=
 * ENV: RANKPOINT_RMA=attach
 * ENV: RANKPOINT_RMA=message
 * Accumulates of elements of 8 and 16 bytes from all ranks at once: no update is lost, no element is torn, and what was fetched was there. */
#include "check.h"
#include <complex.h>
#include <stdint.h>

enum { ELEMENTS = 5, ROUNDS = 1000, THOROUGH_ROUNDS = 10000 };

static int rank, size, rounds = ROUNDS;

/* Memory of one type: a number is stored in all of its parts. */
struct kind {
    MPI_Datatype type;
    int bytes;
    void (*set)(void *element, long value);
    /* The number, or -1 if the parts differ. */
    long (*get)(const void *element);
};

static void set_int64(void *to, long value)
{
    *(int64_t *)to = value;
}

static long get_int64(const void *from)
{
    return *(const int64_t *)from;
}

static void set_double(void *to, long value)
{
    *(double *)to = value;
}

static long get_double(const void *from)
{
    return *(const double *)from;
}

static void set_long_double(void *to, long value)
{
    *(long double *)to = value;
}

static long get_long_double(const void *from)
{
    return *(const long double *)from;
}

static void set_complex(void *to, long value)
{
    *(double complex *)to = CMPLX(value, -value);
}

static long get_complex(const void *from)
{
    double complex value = *(const double complex *)from;
    return creal(value) == -cimag(value) ? (long)creal(value) : -1;
}

/* Sums of ones by all three calls, and of all elements in one; fetched values only grow. */
static void sums(const struct kind *kind)
{
    MPI_Win win;
    char *base;
    long last[ELEMENTS];
    _Alignas(16) char ones[ELEMENTS * 16], old[ELEMENTS * 16];
    MPI_Aint bytes = (MPI_Aint)ELEMENTS * kind->bytes;
    MPI_Win_allocate(bytes, kind->bytes, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    for (int i = 0; i < ELEMENTS; ++i) {
        last[i] = -1;
        kind->set(ones + i * kind->bytes, 1);
        kind->set(base + i * kind->bytes, 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    for (int round = 0; round < rounds; ++round) {
        int target = (rank + round) % size, i = round % ELEMENTS;
        switch ((round / size) % 3) {
        case 0:
            CHECK(MPI_Accumulate(ones, ELEMENTS, kind->type, target, 0, ELEMENTS, kind->type, MPI_SUM, win) == MPI_SUCCESS);
            break;
        case 1:
            CHECK(MPI_Get_accumulate(ones, ELEMENTS, kind->type, old, ELEMENTS, kind->type, 0, 0, ELEMENTS, kind->type, MPI_SUM, win) == MPI_SUCCESS);
            MPI_Win_flush(0, win);
            for (int k = 0; k < ELEMENTS; ++k) {
                long now = kind->get(old + k * kind->bytes);
                CHECK(now > last[k]);
                last[k] = now;
            }
            break;
        default:
            CHECK(MPI_Fetch_and_op(ones, old, kind->type, 0, i, MPI_SUM, win) == MPI_SUCCESS);
            MPI_Win_flush(0, win);
            CHECK(kind->get(old) > last[i]);
            last[i] = kind->get(old);
        }
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    /* What every rank added to this one. */
    for (int i = 0; i < ELEMENTS; ++i) {
        long expected = 0;
        for (int from = 0; from < size; ++from)
            for (int round = 0; round < rounds; ++round) {
                int call = (round / size) % 3;
                int target = call == 0 ? (from + round) % size : 0;
                expected += target == rank && (call != 2 || round % ELEMENTS == i);
            }
        MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
        CHECK(kind->get(base + i * kind->bytes) == expected);
        MPI_Win_unlock(rank, win);
    }
    MPI_Win_free(&win);
}

/* Replaced elements are whole: fetched ones are numbers that somebody stored. */
static void exchanges(const struct kind *kind)
{
    MPI_Win win;
    char *base;
    _Alignas(16) char mine[16], old[16];
    MPI_Win_allocate(rank == 0 ? kind->bytes : 0, kind->bytes, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    if (rank == 0)
        kind->set(base, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    for (int round = 1; round <= rounds; ++round) {
        kind->set(mine, (long)round * size + rank);
        CHECK(MPI_Fetch_and_op(mine, old, kind->type, 0, 0, round % 2 ? MPI_REPLACE : MPI_NO_OP, win) == MPI_SUCCESS);
        MPI_Win_flush(0, win);
        long found = kind->get(old);
        CHECK(found >= 0 && found < (long)(rounds + 1) * size);
        CHECK(found == 0 || found / size % 2 == 1);
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    const struct kind kinds[] = {
        {MPI_INT64_T, sizeof(int64_t), set_int64, get_int64},
        {MPI_DOUBLE, sizeof(double), set_double, get_double},
        {MPI_LONG_DOUBLE, sizeof(long double), set_long_double, get_long_double},
        {MPI_C_DOUBLE_COMPLEX, sizeof(double complex), set_complex, get_complex},
    };
    const char *scope = getenv("RANKPOINT_TEST_SCOPE");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (scope && strcmp(scope, "thorough") == 0)
        rounds = THOROUGH_ROUNDS;
    for (int i = 0; i < (int)(sizeof kinds / sizeof *kinds); ++i) {
        sums(&kinds[i]);
        exchanges(&kinds[i]);
    }
    return finish(rank);
}
