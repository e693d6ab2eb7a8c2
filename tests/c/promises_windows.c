/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 3
 * ENV: RANKPOINT_RMA=
 * ENV: RANKPOINT_RMA=message
 * ENV: PROMISES_LEVEL=multiple
 * ENV: RANKPOINT_CHECK=rma
 * One-sided operations of mpi_rankpoint.h on every kind of window, in members' order and reversed, with units that addresses do not divide
 * by; ranges, and broken promises where arguments are checked. */
#include "promises.h"
#include <stdint.h>

#define WORDS 64

static int rank, size;

enum { CREATED, ALLOCATED, SHARED, DYNAMIC, KINDS };

/* A window of this process's memory, and where that lies at every member. */
struct window {
    MPI_Win win;
    MPI_Comm comm;
    int me, size;
    int64_t *base;
    char *address[64];
    int world[64];
    int kind;
};

static struct window make(int kind, MPI_Comm comm)
{
    struct window made = {.comm = comm, .kind = kind};
    MPI_Aint bytes = WORDS * 8, address;
    MPI_Aint all[64];
    MPI_Comm_rank(comm, &made.me);
    MPI_Comm_size(comm, &made.size);
    if (kind == CREATED || kind == DYNAMIC)
        made.base = malloc((size_t)bytes);
    switch (kind) {
    case CREATED:
        MPI_Win_create(made.base, bytes, 24, MPI_INFO_NULL, comm, &made.win);
        break;
    case ALLOCATED:
        MPI_Win_allocate(bytes, 24, MPI_INFO_NULL, comm, &made.base, &made.win);
        break;
    case SHARED:
        MPI_Win_allocate_shared(bytes, 24, MPI_INFO_NULL, comm, &made.base, &made.win);
        break;
    default:
        MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &made.win);
        MPI_Win_attach(made.win, made.base, bytes);
    }
    MPI_Get_address(made.base, &address);
    MPI_Allgather(&address, 1, MPI_AINT, all, 1, MPI_AINT, comm);
    MPI_Allgather(&rank, 1, MPI_INT, made.world, 1, MPI_INT, comm);
    for (int index = 0; index < made.size; ++index)
        made.address[index] = (char *)all[index];
    MPI_Win_set_errhandler(made.win, MPI_ERRORS_RETURN);
    return made;
}

static void end(struct window *made)
{
    if (made->kind == DYNAMIC)
        MPI_Win_detach(made->win, made->base);
    MPI_Win_free(&made->win);
    if (made->kind == CREATED || made->kind == DYNAMIC)
        free(made->base);
}

static void synchronise(const struct window *made)
{
    MPI_Win_fence(0, made->win);
}

static MPI_Aint displacement(const struct window *made, int target, int word)
{
    if (made->kind == DYNAMIC) {
        MPI_Aint address;
        MPI_Get_address(made->address[target] + word * 8, &address);
        return address;
    }
    return word * 8 / 24;
}

/* Each call writes words of its own at the right neighbour; then all are read back. */
static void operate(struct window *made)
{
    int right = (made->me + 1) % made->size, left = (made->me + made->size - 1) % made->size, world = made->world[right];
    int64_t out[16], in[16], one[4] = {1, 1, 1, 1};
    for (int index = 0; index < 16; ++index)
        out[index] = made->me * 100 + index;
    for (int index = 0; index < WORDS; ++index)
        made->base[index] = -1;
    synchronise(made);
    CHECK(x_Put_global(&out[0], 1, MPI_INT64_T, world, displacement(made, right, 0), 1, MPI_INT64_T, made->win) == 0);
    CHECK(x_Put_npn(&out[1], 2, MPI_INT64_T, right, displacement(made, right, 3), 2, MPI_INT64_T, made->win) == 0);
    CHECK(x_Put_virtual_addr(&out[3], 1, MPI_INT64_T, right, made->address[right] + 7 * 8, 1, MPI_INT64_T, made->win) == 0);
    CHECK(x_Put_all_opts(&out[4], 5, MPI_INT64_T, world, made->address[right] + 10 * 8, 5, MPI_INT64_T, made->win) == 0);
    CHECK(x_Put_all_opts((char *)&out[9] + 1, 3, MPI_BYTE, world, made->address[right] + 20 * 8 + 1, 3, MPI_BYTE,
                         made->win) == 0);
    CHECK(x_Put_virtual_addr(&out[10], 0, MPI_INT64_T, right, made->address[right], 0, MPI_INT64_T, made->win) == 0);
    MPI_Datatype pairs;
    MPI_Type_vector(2, 1, 2, MPI_INT64_T, &pairs);
    MPI_Type_commit(&pairs);
    CHECK(x_Put_virtual_addr(&out[11], 2, MPI_INT64_T, right, made->address[right] + 30 * 8, 1, pairs, made->win) == 0);
    synchronise(made);
    int64_t told[13] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    static const int place[] = {0, 3, 4, 7, 10, 11, 12, 13, 14, -1, -1, 30, 32};
    for (int index = 0; index < 13; ++index)
        if (place[index] >= 0)
            CHECK(made->base[place[index]] == left * 100 + told[index]);
    CHECK(made->base[31] == -1 && made->base[1] == -1);
    int64_t expected = -1, sent = left * 100 + 9;
    memcpy((char *)&expected + 1, (char *)&sent + 1, 3);
    CHECK(made->base[20] == expected);
    synchronise(made);
    CHECK(x_Accumulate_virtual_addr(one, 4, MPI_INT64_T, right, made->address[right] + 11 * 8, 4, MPI_INT64_T, MPI_SUM,
                                    made->win) == 0);
    synchronise(made);
    CHECK(x_Get_global(&in[0], 1, MPI_INT64_T, world, displacement(made, right, 0), 1, MPI_INT64_T, made->win) == 0);
    CHECK(x_Get_npn(&in[1], 2, MPI_INT64_T, right, displacement(made, right, 3), 2, MPI_INT64_T, made->win) == 0);
    CHECK(x_Get_virtual_addr(&in[3], 1, MPI_INT64_T, right, made->address[right] + 7 * 8, 1, MPI_INT64_T, made->win) == 0);
    CHECK(x_Get_all_opts(&in[4], 5, MPI_INT64_T, world, made->address[right] + 10 * 8, 5, MPI_INT64_T, made->win) == 0);
    synchronise(made);
    for (int index = 0; index < 9; ++index)
        CHECK(in[index] == out[index] + (index >= 5));
    /* MPI_PROC_NULL, where it is not promised away. */
    CHECK(x_Put_global(out, 1, MPI_INT64_T, MPI_PROC_NULL, 0, 1, MPI_INT64_T, made->win) == 0);
    CHECK(x_Get_virtual_addr(in, 1, MPI_INT64_T, MPI_PROC_NULL, NULL, 1, MPI_INT64_T, made->win) == 0);
    synchronise(made);
    MPI_Type_free(&pairs);
}

static int class_of(int code)
{
    int class;
    MPI_Error_class(code, &class);
    return class;
}

static void refuse(struct window *made)
{
    int64_t word = 0;
    int right = (made->me + 1) % made->size;
    MPI_Win win = made->win;
    synchronise(made);
    CHECK(class_of(x_Put_npn(&word, 1, MPI_INT64_T, MPI_PROC_NULL, 0, 1, MPI_INT64_T, win)) == MPI_ERR_RANK);
    CHECK(class_of(x_Get_all_opts(&word, 1, MPI_INT64_T, MPI_PROC_NULL, NULL, 1, MPI_INT64_T, win)) == MPI_ERR_RANK);
    CHECK(class_of(x_Put_global(&word, 1, MPI_INT64_T, size, 0, 1, MPI_INT64_T, win)) == MPI_ERR_RANK);
    if (made->size < size)
        CHECK(class_of(x_Put_global(&word, 1, MPI_INT64_T, rank == 0, 0, 1, MPI_INT64_T, win)) == MPI_ERR_RANK);
    if (made->kind != DYNAMIC) {
        char *end = made->address[right] + WORDS * 8;
        CHECK(class_of(x_Put_virtual_addr(&word, 1, MPI_INT64_T, right, end - 4, 1, MPI_INT64_T, win)) == MPI_ERR_RMA_RANGE);
        int below = class_of(x_Get_virtual_addr(&word, 1, MPI_INT64_T, right, end - WORDS * 8 - 8, 1, MPI_INT64_T, win));
        CHECK(below == MPI_ERR_DISP || below == MPI_ERR_RMA_RANGE);
    }
    CHECK(class_of(x_Put_virtual_addr(&word, 1, MPI_INT64_T, made->size, NULL, 1, MPI_INT64_T, win)) == MPI_ERR_RANK);
    synchronise(made);
}

int main(int argc, char **argv)
{
    MPI_Comm reversed, part;
    start(&argc, &argv, &rank, &size);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
    MPI_Comm_split(MPI_COMM_WORLD, rank != 0, 0, &part);
    MPI_Comm comms[] = {MPI_COMM_WORLD, reversed, part};
    int missing;
    MPI_Request probe;
    int word = 0;
    /* The library without argument checks does not look for MPI_PROC_NULL. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    missing = MPI_Isend(&word, 1, MPI_INT, size + 1, 0, MPI_COMM_WORLD, &probe) == MPI_SUCCESS;
    for (int kind = 0; kind < KINDS; ++kind)
        for (int index = 0; index < 3; ++index) {
            struct window made = make(kind, comms[index]);
            operate(&made);
            if (!missing)
                refuse(&made);
            end(&made);
        }
    MPI_Comm_free(&part);
    MPI_Comm_free(&reversed);
    return finish(rank);
}
