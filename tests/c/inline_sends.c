/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 3 4
 * ENV: PROMISES_LEVEL=single
 * ENV: PROMISES_LEVEL=multiple
 * ENV: RANKPOINT_CHECK=types
 * ENV: RANKPOINT_CHECK=rma
 * ENV: RANKPOINT_VCIS=4
 * Sends that mpi_rankpoint_inline.h compiles into the program: every type and length, order with other sends, rings that fill up, receivers
 * that sleep, and what goes to the library instead. */
#define _GNU_SOURCE
#include "../../xtask/src/install/mpi_rankpoint_inline.h"
#include "promises.h"
#include <unistd.h>

static int rank, size, calls;

/* What the library is asked to send. */
static int by_call(const void *buf, int count, MPI_Datatype datatype, int dest, MPI_Comm comm)
{
    calls++;
    return x_Send_all_opts(buf, count, datatype, dest, comm);
}

/* Sends to the next rank, and receives from the one before. */
#define PASS_ON(type, count, datatype)                                              \
    do {                                                                            \
        type out[16], in[16];                                                       \
        memset(out, 17 * rank + (int)sizeof(type), sizeof out);                     \
        memset(in, 99, sizeof in);                                                  \
        CHECK(x_Irecv_all_opts(in, 16, datatype, MPIX_COMM_1) == MPI_SUCCESS);      \
        CHECK(mpix_inline_send(by_call, out, count, datatype, (rank + 1) % size, MPIX_COMM_1) == MPI_SUCCESS); \
        CHECK(x_Comm_waitall(MPIX_COMM_1) == MPI_SUCCESS);                          \
        memset(out, 17 * ((rank + size - 1) % size) + (int)sizeof(type), sizeof out); \
        CHECK(memcmp(in, out, (count) * sizeof(type)) == 0);                        \
        CHECK(*(unsigned char *)(in + (count)) == 99);                              \
    } while (0)

static void types_and_lengths(int is_open)
{
    calls = 0;
    PASS_ON(char, 1, MPI_CHAR);
    PASS_ON(char, 3, MPI_BYTE);
    PASS_ON(char, 15, MPI_SIGNED_CHAR);
    PASS_ON(uint8_t, 7, MPI_UINT8_T);
    PASS_ON(short, 3, MPI_SHORT);
    PASS_ON(int, 1, MPI_INT);
    PASS_ON(int, 11, MPI_INT);
    PASS_ON(int, 12, MPI_UNSIGNED);
    PASS_ON(long, 5, MPI_LONG);
    PASS_ON(int64_t, 6, MPI_INT64_T);
    PASS_ON(float, 3, MPI_FLOAT);
    PASS_ON(double, 1, MPI_DOUBLE);
    PASS_ON(double, 6, MPI_DOUBLE);
    PASS_ON(double _Complex, 3, MPI_C_DOUBLE_COMPLEX);
    PASS_ON(MPI_Aint, 2, MPI_AINT);
    CHECK(is_open ? calls == 0 : calls == 15);
    /* Longer ones, and types that are no run of bytes. */
    PASS_ON(double, 7, MPI_DOUBLE);
    PASS_ON(int, 13, MPI_INT);
    CHECK(is_open ? calls == 2 : calls == 17);
}

/* More messages than a ring has cells, before any receive; ordinary sends between them keep their place. */
static void floods(void)
{
    enum { MANY = 5000 };
    static int64_t out[MANY], in[MANY];
    int next = (rank + 1) % size;
    for (int i = 0; i < MANY; ++i) {
        out[i] = 10000 * (int64_t)rank + i;
        if (i % 100 == 50)
            CHECK(x_Isend_all_opts(&out[i], 1, MPI_INT64_T, next, MPIX_COMM_1) == MPI_SUCCESS);
        else
            CHECK(MPIX_Isend_all_opts(&out[i], 1, MPI_INT64_T, next, MPIX_COMM_1) == MPI_SUCCESS);
    }
    for (int i = 0; i < MANY; ++i)
        CHECK(x_Irecv_all_opts(&in[i], 1, MPI_INT64_T, MPIX_COMM_1) == MPI_SUCCESS);
    CHECK(x_Comm_waitall(MPIX_COMM_1) == MPI_SUCCESS);
    for (int i = 0; i < MANY; ++i)
        CHECK(in[i] == 10000 * (int64_t)((rank + size - 1) % size) + i);
}

/* The receiver waits so long that it sleeps. */
static void sleepers(void)
{
    for (int round = 0; round < 5; ++round) {
        int token = -1;
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK(x_Irecv_all_opts(&token, 1, MPI_INT, MPIX_COMM_1) == MPI_SUCCESS);
        if (rank == 0) {
            usleep(30000);
            for (int to = 0; to < size; ++to)
                CHECK(MPIX_Send_all_opts(&round, 1, MPI_INT, to, MPIX_COMM_1) == MPI_SUCCESS);
        }
        CHECK(x_Comm_waitall(MPIX_COMM_1) == MPI_SUCCESS);
        CHECK(token == round);
    }
}

static void expect(int code, int wanted)
{
    int class = MPI_SUCCESS;
    MPI_Error_class(code, &class);
    CHECK(class == wanted);
}

/* Arguments that the program gets wrong are the library's. */
static void wrong_arguments(void)
{
    int word = 0, *nothing = NULL;
    __asm__("" : "+r"(nothing));
    expect(MPIX_Send_all_opts(nothing, 1, MPI_INT, 0, MPIX_COMM_1), MPI_ERR_BUFFER);
    expect(MPIX_Send_all_opts(MPI_IN_PLACE, 1, MPI_INT, 0, MPIX_COMM_1), MPI_ERR_BUFFER);
    expect(MPIX_Send_all_opts(MPI_BUFFER_AUTOMATIC, 1, MPI_INT, 0, MPIX_COMM_1), MPI_ERR_BUFFER);
    expect(MPIX_Send_all_opts(&word, -1, MPI_INT, 0, MPIX_COMM_1), MPI_ERR_COUNT);
    expect(MPIX_Send_all_opts(&word, 1, MPI_INT, size, MPIX_COMM_1), MPI_ERR_RANK);
    expect(MPIX_Isend_all_opts(&word, 1, MPI_INT, -1, MPIX_COMM_1), MPI_ERR_RANK);
    expect(MPIX_Isend_all_opts(&word, 1, MPI_DATATYPE_NULL, 0, MPIX_COMM_1), MPI_ERR_TYPE);
    expect(MPIX_Isend_all_opts(&word, 1, MPI_INT, 0, MPI_COMM_WORLD), MPI_ERR_COMM);
    expect(MPIX_Isend_all_opts(&word, 1, MPI_INT, 0, MPIX_COMM_2), MPI_ERR_COMM);
}

/* An empty message may have no buffer, which says nothing of the pointer; a buffer may be a compound literal. */
__attribute__((noinline)) static int sends_nothing_from(const char *from)
{
    CHECK(MPIX_Send_all_opts(from, 0, MPI_BYTE, (rank + 1) % size, MPIX_COMM_1) == MPI_SUCCESS);
    return from == NULL;
}

static void empty_messages(void)
{
    int in[2] = {-1, -1};
    for (int i = 0; i < 3; ++i)
        CHECK(x_Irecv_all_opts(in, 1, MPI_INT, MPIX_COMM_1) == MPI_SUCCESS);
    CHECK(sends_nothing_from(NULL) && sends_nothing_from(NULL) && !sends_nothing_from("a"));
    CHECK(x_Comm_waitall(MPIX_COMM_1) == MPI_SUCCESS);
    CHECK(x_Irecv_all_opts(in, 2, MPI_INT, MPIX_COMM_1) == MPI_SUCCESS);
    CHECK(MPIX_Send_all_opts((int[]){1, 2}, 2, MPI_INT, (rank + 1) % size, MPIX_COMM_1) == MPI_SUCCESS);
    CHECK(x_Comm_waitall(MPIX_COMM_1) == MPI_SUCCESS);
    CHECK(in[0] == 1 && in[1] == 2);
}

int main(int argc, char **argv)
{
    const char *level = getenv("PROMISES_LEVEL");
    int is_open = (level == NULL || strcmp(level, "multiple") != 0) && getenv("RANKPOINT_CHECK") == NULL;
#ifndef __OPTIMIZE__
    is_open = 0;
#endif
    void *find_places = dlsym(RTLD_DEFAULT, "MPIX_Inline_places");
    CHECK(find_places != NULL);
    CHECK(((const void *(*)(int))find_places)(MPIX_INLINE_VERSION) == (const void *)mpix_inline_places);
    CHECK(((const void *(*)(int))find_places)(MPIX_INLINE_VERSION + 1) == NULL);
    start(&argc, &argv, &rank, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(x_Comm_dup_predefined(MPI_COMM_WORLD, MPIX_COMM_1) == MPI_SUCCESS);
    /* Connects. */
    PASS_ON(int, 1, MPI_INT);
    types_and_lengths(is_open);
    empty_messages();
    floods();
    sleepers();
    wrong_arguments();
    MPI_Comm constant = MPIX_COMM_1;
    MPI_Comm_free(&constant);
    int word = 0;
    expect(MPIX_Send_all_opts(&word, 1, MPI_INT, 0, MPIX_COMM_1), MPI_ERR_COMM);
    CHECK(x_Comm_dup_predefined(MPI_COMM_WORLD, MPIX_COMM_1) == MPI_SUCCESS);
    PASS_ON(int, 1, MPI_INT);
    types_and_lengths(is_open);
    constant = MPIX_COMM_1;
    MPI_Comm_free(&constant);
    return finish(rank);
}
