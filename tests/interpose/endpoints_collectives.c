/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Collectives on endpoint communicators: blocks of different sizes, parts of reductions, operations of the program. */
#include "endpoints.h"

#include <stdlib.h>
#include <string.h>

/* Member r has r % 3 + 1 integers: r * 100, r * 100 + 1, ... */
static int count_of(int rank) { return rank % 3 + 1; }

static void fill(int *to, int rank) {
    for (int at = 0; at < count_of(rank); at++)
        to[at] = rank * 100 + at;
}

/* The blocks of all members lie 4 integers apart, with -1 between them. */
static void expect_blocks(const int *all, int size) {
    for (int rank = 0; rank < size; rank++)
        for (int at = 0; at < 4; at++)
            EXPECT(all[rank * 4 + at] == (at < count_of(rank) ? rank * 100 + at : -1));
}

static int *filled(int length) {
    int *memory = malloc(length * sizeof *memory);
    memset(memory, 255, length * sizeof *memory);
    return memory;
}

static void blocks_are_gathered_and_scattered(MPI_Comm comm, int rank, int size) {
    int own[4] = {-1, -1, -1, -1}, *counts = filled(size), *places = filled(size), *all = filled(size * 4);
    int root = size - 1;
    for (int member = 0; member < size; member++) {
        counts[member] = count_of(member);
        places[member] = member * 4;
    }
    fill(own, rank);
    MPI_Gatherv(own, count_of(rank), MPI_INT, all, counts, places, MPI_INT, root, comm);
    if (rank == root)
        expect_blocks(all, size);
    memset(own, 255, sizeof own);
    MPI_Scatterv(all, counts, places, MPI_INT, own, count_of(rank), MPI_INT, root, comm);
    for (int at = 0; at < 4; at++)
        EXPECT(own[at] == (at < count_of(rank) ? rank * 100 + at : -1));
    memset(all, 255, size * 4 * sizeof *all);
    MPI_Allgatherv(own, count_of(rank), MPI_INT, all, counts, places, MPI_INT, comm);
    expect_blocks(all, size);
    memset(all, 255, size * 4 * sizeof *all);
    fill(all + rank * 4, rank);
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_INT, all, counts, places, MPI_INT, comm);
    expect_blocks(all, size);
    // The root's own block stays where it is.
    if (rank == root) {
        MPI_Gatherv(MPI_IN_PLACE, 0, MPI_INT, all, counts, places, MPI_INT, root, comm);
        expect_blocks(all, size);
        MPI_Scatterv(all, counts, places, MPI_INT, MPI_IN_PLACE, 0, MPI_INT, root, comm);
    } else {
        MPI_Gatherv(own, count_of(rank), MPI_INT, NULL, NULL, NULL, MPI_INT, root, comm);
        MPI_Scatterv(NULL, NULL, NULL, MPI_INT, own, count_of(rank), MPI_INT, root, comm);
        EXPECT(own[0] == rank * 100);
    }
    int two[2] = {rank, -rank}, pair[2] = {7, 7};
    MPI_Gather(two, 2, MPI_INT, all, 1, MPI_2INT, 0, comm);
    if (rank == 0)
        for (int member = 0; member < size; member++)
            EXPECT(all[2 * member] == member && all[2 * member + 1] == -member);
    MPI_Scatter(all, 2, MPI_INT, rank ? pair : MPI_IN_PLACE, 2, MPI_INT, 0, comm);
    EXPECT(pair[0] == (rank ? rank : 7) && pair[1] == (rank ? -rank : 7));
    free(all);
    free(places);
    free(counts);
}

/* Member r sends (r + d) % 3 integers to member d. */
static void blocks_are_exchanged(MPI_Comm comm, int rank, int size) {
    int *sent = filled(size), *sent_places = filled(size), *counts = filled(size), *places = filled(size);
    int *out = filled(size * 3), *in = filled(size * 3);
    MPI_Datatype *types = malloc(size * sizeof *types);
    for (int member = 0; member < size; member++) {
        sent[member] = counts[member] = (rank + member) % 3;
        sent_places[member] = member * 3;
        places[member] = (size - 1 - member) * 3;
        types[member] = MPI_INT;
        for (int at = 0; at < sent[member]; at++)
            out[member * 3 + at] = rank * 1000 + member * 10 + at;
    }
    for (int step = 0; step < 2; step++) {
        memset(in, 255, size * 3 * sizeof *in);
        if (step == 0) {
            MPI_Alltoallv(out, sent, sent_places, MPI_INT, in, counts, places, MPI_INT, comm);
        } else {
            for (int member = 0; member < size; member++) {
                sent_places[member] *= (int)sizeof(int);
                places[member] *= (int)sizeof(int);
            }
            MPI_Alltoallw(out, sent, sent_places, types, in, counts, places, types, comm);
        }
        for (int member = 0; member < size; member++)
            for (int at = 0; at < 3; at++)
                EXPECT(in[(size - 1 - member) * 3 + at] ==
                       (at < (rank + member) % 3 ? member * 1000 + rank * 10 + at : -1));
    }
    for (int member = 0; member < size; member++)
        out[member] = rank * 1000 + member;
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, out, 1, MPI_INT, comm);
    for (int member = 0; member < size; member++) {
        EXPECT(out[member] == member * 1000 + rank);
        counts[member] = 1;
        places[member] = member;
    }
    MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_INT, out, counts, places, MPI_INT, comm);
    for (int member = 0; member < size; member++)
        EXPECT(out[member] == rank * 1000 + member);
    free(types);
    free(in);
    free(out);
    free(places);
    free(counts);
    free(sent_places);
    free(sent);
}

/* Matrices of two rows: the product is associative, not commutative. */
struct matrix { long a[4]; };

static MPI_Datatype matrix_type;
static MPI_Op matrix_op;

static void multiply(void *left, void *right, int *count, MPI_Datatype *datatype) {
    struct matrix *x = left, *y = right;
    (void)datatype;
    for (int at = 0; at < *count; at++, x++, y++) {
        struct matrix z = {{x->a[0] * y->a[0] + x->a[1] * y->a[2], x->a[0] * y->a[1] + x->a[1] * y->a[3],
                            x->a[2] * y->a[0] + x->a[3] * y->a[2], x->a[2] * y->a[1] + x->a[3] * y->a[3]}};
        *y = z;
    }
}

/* The matrix of element `at` of a member: a shear, one way or the other. */
static struct matrix factor(int rank, int at) {
    struct matrix up = {{1, rank % 2 + at, 0, 1}}, down = {{1, 0, rank % 3 + at, 1}};
    return rank % 2 ? up : down;
}

static struct matrix product(int first, int last, int at) {
    struct matrix result = {{1, 0, 0, 1}};
    int one = 1;
    for (int rank = last - 1; rank >= first; rank--) {
        struct matrix left = factor(rank, at);
        multiply(&left, &result, &one, NULL);
    }
    return result;
}

static int same(struct matrix x, struct matrix y) { return !memcmp(&x, &y, sizeof x); }

static void operations_of_the_program_keep_the_order(MPI_Comm comm, int rank, int size) {
    struct matrix *own = calloc(size + 1, sizeof *own), *result = calloc(size + 1, sizeof *result);
    for (int at = 0; at < size; at++)
        own[at] = factor(rank, at);
    memset(result, 255, (size + 1) * sizeof *result);
    MPI_Reduce(own, result, size, matrix_type, matrix_op, size / 2, comm);
    for (int at = 0; at < size; at++)
        EXPECT(rank == size / 2 ? same(result[at], product(0, size, at)) : result[at].a[0] == -1);
    MPI_Scan(own, result, size, matrix_type, matrix_op, comm);
    EXPECT(same(result[size - 1], product(0, rank + 1, size - 1)));
    memset(result, 255, (size + 1) * sizeof *result);
    MPI_Exscan(own, result, 2, matrix_type, matrix_op, comm);
    EXPECT(rank ? same(result[1], product(0, rank, 1)) : result[1].a[3] == -1);
    MPI_Reduce_scatter_block(own, result, 1, matrix_type, matrix_op, comm);
    EXPECT(same(result[0], product(0, size, rank)));
    MPI_Allreduce(MPI_IN_PLACE, own, size, matrix_type, matrix_op, comm);
    for (int at = 0; at < size; at++)
        EXPECT(same(own[at], product(0, size, at)));
    free(result);
    free(own);
}

static void reductions_have_parts(MPI_Comm comm, int rank, int size) {
    long one = rank + 1, sum = -7, *own = malloc(2 * size * sizeof *own), all = (long)size * (size + 1) / 2, part[2] = {0, 99};
    int *counts = filled(size);
    MPI_Scan(&one, &sum, 1, MPI_LONG, MPI_SUM, comm);
    EXPECT(sum == (long)(rank + 1) * (rank + 2) / 2);
    sum = -7;
    MPI_Exscan(&one, &sum, 1, MPI_LONG, MPI_SUM, comm);
    EXPECT(sum == (rank ? (long)rank * (rank + 1) / 2 : -7));
    sum = one;
    MPI_Scan(MPI_IN_PLACE, &sum, 1, MPI_LONG, MPI_MAX, comm);
    EXPECT(sum == rank + 1);
    for (int at = 0; at < size; at++)
        own[at] = one * at;
    MPI_Reduce_scatter_block(own, part, 1, MPI_LONG, MPI_SUM, comm);
    EXPECT(part[0] == all * rank && part[1] == 99);
    // The first member gets two of them, the last one none.
    for (int member = 0; member < size; member++)
        counts[member] = size == 1 ? 1 : member == 0 ? 2 : member < size - 1;
    MPI_Reduce_scatter(MPI_IN_PLACE, own, counts, MPI_LONG, MPI_SUM, comm);
    if (rank == 0)
        EXPECT(own[0] == 0 && (size == 1 || own[1] == all));
    else if (rank < size - 1)
        EXPECT(own[0] == all * (rank + 1) && own[1] == one);
    else
        EXPECT(own[0] == 0 && own[size - 1] == one * (size - 1));
    free(counts);
    free(own);
}

static void wrong_ones_are_reported(MPI_Comm comm, int size) {
    int data[4] = {0};
    MPI_Errhandler before;
    MPI_Comm_get_errhandler(comm, &before);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    EXPECT(class_of(MPI_Bcast(data, 1, MPI_INT, size, comm)) == MPI_ERR_ROOT);
    EXPECT(class_of(MPI_Gather(data, 1, MPI_INT, data, 1, MPI_INT, -9, comm)) == MPI_ERR_ROOT);
    EXPECT(class_of(MPI_Allreduce(data, data + 1, 1, matrix_type, MPI_SUM, comm)) == MPI_ERR_OP);
    EXPECT(class_of(MPI_Allreduce(data, data + 1, 1, MPI_INT, MPI_OP_NULL, comm)) == MPI_ERR_OP);
    EXPECT(class_of(MPI_Scan(data, data + 1, -1, MPI_INT, MPI_SUM, comm)) == MPI_ERR_COUNT);
    MPI_Comm_set_errhandler(comm, before);
}

void make_operations(void) {
    MPI_Type_contiguous(4, MPI_LONG, &matrix_type);
    MPI_Type_commit(&matrix_type);
    MPI_Op_create(multiply, 0, &matrix_op);
}

void free_operations(void) {
    MPI_Op_free(&matrix_op);
    MPI_Type_free(&matrix_type);
}

void collectives_move_blocks(MPI_Comm comm, int rank, int size) {
    blocks_are_gathered_and_scattered(comm, rank, size);
    blocks_are_exchanged(comm, rank, size);
    reductions_have_parts(comm, rank, size);
    operations_of_the_program_keep_the_order(comm, rank, size);
    wrong_ones_are_reported(comm, size);
}
