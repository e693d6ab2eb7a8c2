/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Derived types on endpoint communicators: what arrives, what the status says, and what is left alone. */
#include "endpoints.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { N = 6 };

struct gaps { int a; double b; char c[3]; };

static MPI_Datatype column, columns, gaps, backwards, copied, block, empty, ints, numbers, none;
// Structures whose bounds libraries see in different ways, and two of each behind each other.
enum { ODD = 4 };
static MPI_Datatype odd[ODD], odd_pairs[ODD];

static void structure(MPI_Datatype *made) {
    int lengths[] = {1, 1, 3};
    MPI_Aint places[] = {offsetof(struct gaps, a), offsetof(struct gaps, b), offsetof(struct gaps, c)};
    MPI_Datatype parts[] = {MPI_INT, MPI_DOUBLE, MPI_CHAR}, narrow;
    MPI_Type_create_struct(3, lengths, places, parts, &narrow);
    MPI_Type_create_resized(narrow, 0, sizeof(struct gaps), made);
    MPI_Type_free(&narrow);
    MPI_Type_commit(made);
}

static void make_odd_types(void) {
    MPI_Datatype narrow, nothing;
    MPI_Type_create_resized(MPI_DOUBLE, 0, 12, &narrow);
    MPI_Type_contiguous(0, MPI_DOUBLE, &nothing);
    int lengths[] = {1, 1}, first[] = {1, 0};
    MPI_Aint behind[] = {0, 8}, later[] = {0, 9}, far[] = {0, 16};
    MPI_Datatype resized[] = {narrow, MPI_CHAR}, with_nothing[] = {MPI_INT, nothing}, real[] = {MPI_INT, MPI_DOUBLE};
    MPI_Type_create_struct(2, lengths, behind, resized, &odd[0]);
    MPI_Type_create_struct(2, lengths, later, resized, &odd[1]);
    MPI_Type_create_struct(2, lengths, far, with_nothing, &odd[2]);
    MPI_Type_create_struct(2, first, far, real, &odd[3]);
    for (int at = 0; at < ODD; at++) {
        MPI_Type_contiguous(2, odd[at], &odd_pairs[at]);
        MPI_Type_commit(&odd_pairs[at]);
        MPI_Type_commit(&odd[at]);
    }
    MPI_Type_free(&narrow);
    MPI_Type_free(&nothing);
    MPI_Type_create_struct(0, NULL, NULL, NULL, &none);
    MPI_Type_commit(&none);
}

void make_types(void) {
    make_odd_types();
    MPI_Type_vector(N, 1, N, MPI_INT, &column);
    MPI_Type_commit(&column);
    // The columns of a matrix lie an integer apart.
    MPI_Type_create_resized(column, 0, sizeof(int), &columns);
    MPI_Type_commit(&columns);
    structure(&gaps);
    MPI_Type_create_hvector(N, 1, -(MPI_Aint)sizeof(int), MPI_INT, &backwards);
    MPI_Type_commit(&backwards);
    MPI_Type_dup(columns, &copied);
    MPI_Type_dup(MPI_INT, &numbers);
    int sizes[] = {N, N}, parts[] = {2, 3}, starts[] = {1, 2};
    MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_FORTRAN, MPI_INT, &block);
    MPI_Type_commit(&block);
    MPI_Type_contiguous(0, MPI_INT, &empty);
    MPI_Type_commit(&empty);
    MPI_Type_contiguous(3, MPI_INT, &ints);
}

void free_types(void) {
    MPI_Datatype *all[] = {&column, &columns, &gaps, &backwards, &copied, &block, &empty, &ints, &numbers, &none};
    for (int at = 0; at < 10; at++)
        MPI_Type_free(all[at]);
    for (int at = 0; at < ODD; at++) {
        MPI_Type_free(&odd[at]);
        MPI_Type_free(&odd_pairs[at]);
    }
}

static void matrices_are_transposed(MPI_Comm comm, int rank, int size) {
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    int out[N * N], in[N * N + 1];
    MPI_Request requests[2];
    MPI_Status statuses[2];
    for (int at = 0; at < N * N; at++)
        out[at] = rank * 1000 + at;
    MPI_Datatype each[] = {columns, copied};
    for (int step = 0; step < 2; step++) {
        int count;
        memset(in, 255, sizeof in);
        MPI_Irecv(in, N * N, step ? numbers : MPI_INT, left, 1, comm, &requests[0]);
        MPI_Isend(out, N, each[step], right, 1, comm, &requests[1]);
        MPI_Waitall(2, requests, statuses);
        MPI_Get_count(&statuses[0], columns, &count);
        EXPECT(count == N && statuses[0].MPI_SOURCE == left);
        for (int at = 0; at < N * N; at++)
            EXPECT(in[at] == left * 1000 + at % N * N + at / N);
        EXPECT(in[N * N] == -1);
    }
    // And back: rows are received as columns, two of them, what lies between stays.
    memset(in, 255, sizeof in);
    MPI_Sendrecv(out, 2 * N, MPI_INT, right, 2, in, 2, columns, left, 2, comm, MPI_STATUS_IGNORE);
    for (int at = 0; at < N * N; at++)
        EXPECT(in[at] == (at % N < 2 ? left * 1000 + at % N * N + at / N : -1));
    // A part of a matrix, first index first.
    memset(in, 255, sizeof in);
    MPI_Sendrecv(out, 1, block, right, 3, in, 6, MPI_INT, left, 3, comm, MPI_STATUS_IGNORE);
    for (int at = 0; at < 6; at++)
        EXPECT(in[at] == left * 1000 + (2 + at / 2) * N + 1 + at % 2);
    EXPECT(in[6] == -1);
    // The last element first, and with addresses for places.
    int line[N] = {0, 1, 2, 3, 4, 5}, other[N];
    MPI_Sendrecv(line + N - 1, 1, backwards, right, 4, other, N, MPI_INT, left, 4, comm, MPI_STATUS_IGNORE);
    for (int at = 0; at < N; at++)
        EXPECT(other[at] == N - 1 - at);
}

static void structures_keep_their_gaps(MPI_Comm comm, int rank, int size) {
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    struct gaps out[200], in[200];
    struct { double value; int index; } pair = {rank, -rank}, pairs[2];
    MPI_Status status;
    memset(out, 7, sizeof out);
    memset(in, 9, sizeof in);
    memset(pairs, 9, sizeof pairs);
    for (int at = 0; at < 200; at++) {
        out[at].a = rank + at;
        out[at].b = rank * at;
        memset(out[at].c, at, 3);
    }
    MPI_Request request;
    MPI_Issend(out, 200, gaps, right, 1, comm, &request);
    MPI_Probe(left, 1, comm, &status);
    int count, elements;
    MPI_Get_count(&status, gaps, &count);
    EXPECT(count == 200);
    MPI_Recv(in, 200, gaps, left, 1, comm, &status);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Get_elements(&status, gaps, &elements);
    EXPECT(elements == 1000);
    for (int at = 0; at < 200; at++) {
        EXPECT(in[at].a == left + at && in[at].b == left * at && in[at].c[2] == (char)at);
        EXPECT(((char *)&in[at])[4] == 9 && ((char *)&in[at])[sizeof in[at] - 1] == 9);
    }
    MPI_Sendrecv(&pair, 1, MPI_DOUBLE_INT, right, 2, pairs, 2, MPI_DOUBLE_INT, left, 2, comm, &status);
    MPI_Get_count(&status, MPI_DOUBLE_INT, &count);
    EXPECT(count == 1 && pairs[0].value == left && pairs[0].index == -left);
    EXPECT(((char *)pairs)[12] == 9 && pairs[1].index == 0x09090909);
}

/* What arrives is what the library packs. Needs MPI_THREAD_MULTIPLE. */
static void odd_structures_are_packed_as_by_the_library(MPI_Comm comm, int rank) {
    char out[200], in[200], packed[200], expected[200];
    for (int at = 0; at < 200; at++)
        out[at] = (char)at;
    for (int at = 0; at < 2 * ODD; at++) {
        MPI_Datatype type = at < ODD ? odd[at] : odd_pairs[at - ODD];
        int size, position = 0;
        memset(packed, 9, sizeof packed);
        memset(in, 9, sizeof in);
        memset(expected, 9, sizeof expected);
        MPI_Type_size(type, &size);
        MPI_Sendrecv(out, 3, type, rank, 6, packed, 200, MPI_PACKED, rank, 6, comm, MPI_STATUS_IGNORE);
        char own[200];
        MPI_Pack(out, 3, type, own, 200, &position, MPI_COMM_SELF);
        EXPECT(position == 3 * size && !memcmp(own, packed, position));
        position = 0;
        MPI_Unpack(own, 200, &position, expected, 3, type, MPI_COMM_SELF);
        MPI_Sendrecv(own, 3 * size, MPI_PACKED, rank, 6, in, 3, type, rank, 6, comm, MPI_STATUS_IGNORE);
        EXPECT(!memcmp(in, expected, sizeof in));
    }
    EXPECT(MPI_Sendrecv(out, 3, none, rank, 6, in, 3, none, rank, 6, comm, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

static void short_messages_end_inside_elements(MPI_Comm comm, int rank) {
    struct { int integer; double real; char text[4]; } out = {5, 2.5, "abc"};
    struct gaps in[3];
    MPI_Status status;
    MPI_Request request;
    int count, elements;
    memset(in, 9, sizeof in);
    // An element, then an integer and four bytes of a double.
    char packed[15 + 8];
    memcpy(packed, &out.integer, 4);
    memcpy(packed + 4, &out.real, 8);
    memcpy(packed + 12, out.text, 3);
    memcpy(packed + 15, packed, 8);
    for (int bytes = 19; bytes <= 23; bytes += 4) {
        MPI_Irecv(in, 3, gaps, rank, 1, comm, &request);
        MPI_Send(packed, bytes, MPI_PACKED, rank, 1, comm);
        MPI_Wait(&request, &status);
        EXPECT(in[0].a == 5 && in[0].b == 2.5 && in[0].c[2] == 'c' && in[1].a == 5);
        EXPECT(in[1].c[0] == 9 && in[2].a == 0x09090909);
        MPI_Get_count(&status, gaps, &count);
        EXPECT(count == MPI_UNDEFINED);
        if (bytes == 19) {
            MPI_Get_elements(&status, gaps, &elements);
            EXPECT(elements == 6);
        }
    }
    MPI_Irecv(in, 3, gaps, rank, 1, comm, &request);
    MPI_Send(packed, 0, gaps, rank, 1, comm);
    MPI_Wait(&request, &status);
    MPI_Get_count(&status, gaps, &count);
    EXPECT(count == 0 && in[0].a == 5);
    MPI_Sendrecv(in, 3, empty, rank, 2, in, 3, empty, rank, 2, comm, &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    EXPECT(count == 0);
}

static void what_is_wrong_is_reported(MPI_Comm comm, int rank) {
    int line[N * N] = {0};
    MPI_Request request;
    MPI_Errhandler before;
    MPI_Comm_get_errhandler(comm, &before);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Irecv(line, 1, column, rank, 1, comm, &request);
    MPI_Send(line, 2, column, rank, 1, comm);
    EXPECT(class_of(MPI_Wait(&request, MPI_STATUS_IGNORE)) == MPI_ERR_TRUNCATE);
    EXPECT(class_of(MPI_Send(line, 1, ints, rank, 1, comm)) == MPI_ERR_TYPE);
    EXPECT(class_of(MPI_Recv(line, 1, MPI_DATATYPE_NULL, rank, 1, comm, MPI_STATUS_IGNORE)) == MPI_ERR_TYPE);
    EXPECT(class_of(MPI_Send(line, -1, column, rank, 1, comm)) == MPI_ERR_COUNT);
    EXPECT(class_of(MPI_Send(NULL, 1, MPI_INT, rank, 1, comm)) == MPI_ERR_BUFFER);
    MPI_Comm_set_errhandler(comm, before);
}

/* A type may be freed while a message of it is under way. Needs MPI_THREAD_MULTIPLE. */
static void types_may_be_freed_early(MPI_Comm comm, int rank) {
    int line[2 * N], other[N];
    MPI_Datatype pairs;
    MPI_Aint address;
    MPI_Request request;
    memset(line, 255, sizeof line);
    for (int at = 0; at < N; at++)
        other[at] = at;
    for (int step = 0; step < 2; step++) {
        if (step == 0) {
            MPI_Type_vector(N, 1, 2, MPI_INT, &pairs);
        } else {
            MPI_Get_address(line, &address);
            MPI_Type_create_hindexed_block(1, N, &address, MPI_INT, &pairs);
        }
        MPI_Type_commit(&pairs);
        MPI_Irecv(step ? MPI_BOTTOM : line, 1, pairs, rank, 1, comm, &request);
        MPI_Type_free(&pairs);
        MPI_Send(other, N, MPI_INT, rank, 1, comm);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int at = 0; at < N; at++)
            EXPECT(step ? line[at] == at : line[2 * at] == at && line[2 * at + 1] == -1);
    }
}

static void collectives_have_them(MPI_Comm comm, int rank, int size) {
    int *matrix = malloc(N * N * sizeof(int)), *all = malloc((size + 1) * N * sizeof(int)), line[N];
    for (int at = 0; at < N * N; at++)
        matrix[at] = rank == size - 1 ? at : -1;
    // Of some members rows, of others columns.
    if (rank % 2)
        MPI_Bcast(matrix, N, columns, size - 1, comm);
    else
        MPI_Bcast(matrix, N * N, MPI_INT, size - 1, comm);
    for (int at = 0; at < N * N; at++)
        EXPECT(matrix[at] == (rank % 2 == (size - 1) % 2 ? at : at % N * N + at / N));
    free(matrix);
    for (int at = 0; at < N; at++)
        line[at] = rank * 100 + at;
    // Blocks of all become columns.
    MPI_Datatype across, columns_of_all;
    MPI_Type_vector(N, 1, size, MPI_INT, &across);
    MPI_Type_create_resized(across, 0, sizeof(int), &columns_of_all);
    MPI_Type_commit(&columns_of_all);
    MPI_Type_free(&across);
    memset(all, 255, (size + 1) * N * sizeof(int));
    MPI_Allgather(line, N, MPI_INT, all, 1, columns_of_all, comm);
    for (int other = 0; other < size; other++)
        for (int at = 0; at < N; at++)
            EXPECT(all[at * size + other] == other * 100 + at);
    EXPECT(all[size * N] == -1);
    int *out = malloc(size * N * sizeof(int));
    for (int at = 0; at < size * N; at++)
        out[at] = rank * 1000 + at;
    MPI_Alltoall(out, 1, columns_of_all, all, N, MPI_INT, comm);
    for (int other = 0; other < size; other++)
        for (int at = 0; at < N; at++)
            EXPECT(all[other * N + at] == other * 1000 + at * size + rank);
    MPI_Type_free(&columns_of_all);
    free(out);
    free(all);
}

void derived_types_travel(MPI_Comm comm, int rank, int size) {
    matrices_are_transposed(comm, rank, size);
    structures_keep_their_gaps(comm, rank, size);
    odd_structures_are_packed_as_by_the_library(comm, rank);
    short_messages_end_inside_elements(comm, rank);
    what_is_wrong_is_reported(comm, rank);
    types_may_be_freed_early(comm, rank);
    collectives_have_them(comm, rank, size);
}
