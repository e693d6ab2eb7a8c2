/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2
 * Datatypes: what constructors record, bounds with markers, messages between different descriptions of the same data,
 * partial elements, attributes, packing, and reductions on types that C programs use rarely. */
#include "check.h"

#include <complex.h>
#include <stddef.h>

static int rank, size;

struct record {
    char c;
    double d[2];
    int i;
};

static MPI_Datatype record_type(void)
{
    int lengths[3] = {1, 2, 1};
    MPI_Aint at[3] = {offsetof(struct record, c), offsetof(struct record, d), offsetof(struct record, i)};
    MPI_Datatype types[3] = {MPI_CHAR, MPI_DOUBLE, MPI_INT}, made;
    CHECK(MPI_Type_create_struct(3, lengths, at, types, &made) == MPI_SUCCESS);
    CHECK(MPI_Type_commit(&made) == MPI_SUCCESS);
    return made;
}

static void bounds(void)
{
    MPI_Datatype record = record_type(), resized, pair, named;
    MPI_Aint lb, extent;
    int bytes;
    MPI_Type_size(record, &bytes);
    MPI_Type_get_extent(record, &lb, &extent);
    CHECK(bytes == 21 && lb == 0 && extent == (MPI_Aint)sizeof(struct record));
    MPI_Type_create_resized(record, -8, 100, &resized);
    MPI_Type_contiguous(2, resized, &pair);
    MPI_Type_get_extent(pair, &lb, &extent);
    CHECK(lb == -8 && extent == 200);
    MPI_Type_get_true_extent(pair, &lb, &extent);
    CHECK(lb == 0 && extent == 100 + (MPI_Aint)offsetof(struct record, i) + 4);
    CHECK(MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &named) == MPI_SUCCESS && named == MPI_REAL8);
    MPI_Type_free(&pair);
    MPI_Type_free(&resized);
    MPI_Type_free(&record);
    CHECK(record == MPI_DATATYPE_NULL);
}

static void contents(void)
{
    int ni, na, nt, combiner, integers[8];
    MPI_Count li, la, lc, lt, counts[8];
    MPI_Aint addresses[4];
    MPI_Datatype column, types[2], large;
    MPI_Type_vector(3, 2, -5, MPI_INT, &column);
    MPI_Type_get_envelope(column, &ni, &na, &nt, &combiner);
    CHECK(ni == 3 && na == 0 && nt == 1 && combiner == MPI_COMBINER_VECTOR);
    MPI_Type_get_contents(column, 8, 4, 2, integers, addresses, types);
    CHECK(integers[0] == 3 && integers[1] == 2 && integers[2] == -5 && types[0] == MPI_INT);
    MPI_Type_create_hvector_c(4, 1, 1LL << 33, column, &large);
    MPI_Type_get_envelope_c(large, &li, &la, &lc, &lt, &combiner);
    CHECK(li == 0 && la == 0 && lc == 3 && lt == 1 && combiner == MPI_COMBINER_HVECTOR);
    MPI_Type_get_contents_c(large, 0, 0, 8, 2, integers, addresses, counts, types);
    CHECK(counts[0] == 4 && counts[1] == 1 && counts[2] == 1LL << 33);
    /* The inner type is a reference of its own. */
    MPI_Type_free(&column);
    MPI_Type_get_envelope(types[0], &ni, &na, &nt, &combiner);
    CHECK(combiner == MPI_COMBINER_VECTOR);
    MPI_Type_free(&types[0]);
    MPI_Type_free(&large);
}

static int deleted;

static int deletes(MPI_Datatype type, int key, void *value, void *extra)
{
    (void)type, (void)key, (void)value, (void)extra;
    ++deleted;
    return MPI_SUCCESS;
}

/* A type that MPI_Type_get_contents returns is one of its own, without the attributes and the name of the first. */
static void contents_are_types_of_their_own(void)
{
    int keyval, flag, length, integers[2];
    MPI_Aint addresses[2];
    MPI_Datatype column, wide, found;
    char name[MPI_MAX_OBJECT_NAME];
    void *value;
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, deletes, &keyval, NULL);
    MPI_Type_vector(3, 1, 2, MPI_INT, &column);
    MPI_Type_commit(&column);
    MPI_Type_set_attr(column, keyval, &keyval);
    MPI_Type_set_name(column, "column");
    MPI_Type_create_resized(column, 0, 4, &wide);
    MPI_Type_get_contents(wide, 0, 2, 1, integers, addresses, &found);
    MPI_Type_get_attr(found, keyval, &value, &flag);
    CHECK(found != column && !flag);
    MPI_Type_get_name(found, name, &length);
    CHECK(length == 0);
    MPI_Type_set_name(found, "found");
    MPI_Type_free(&found);
    MPI_Type_get_attr(column, keyval, &value, &flag);
    CHECK(flag && value == &keyval && deleted == 0);
    MPI_Type_get_name(column, name, &length);
    CHECK(!strcmp(name, "column"));
    MPI_Type_free(&column);
    CHECK(deleted == 1);
    MPI_Type_free(&wide);
    MPI_Type_free_keyval(&keyval);
}

/* A matrix leaves by columns and arrives by rows: transposed. */
static void transpose(void)
{
    enum { ROWS = 37, COLUMNS = 53 };
    static double out[ROWS][COLUMNS], in[COLUMNS][ROWS];
    MPI_Datatype column, columns;
    for (int r = 0; r < ROWS; ++r)
        for (int c = 0; c < COLUMNS; ++c)
            out[r][c] = 1000.0 * r + c + rank;
    MPI_Type_vector(ROWS, 1, COLUMNS, MPI_DOUBLE, &column);
    MPI_Type_create_resized(column, 0, sizeof(double), &columns);
    MPI_Type_commit(&columns);
    MPI_Sendrecv(out, COLUMNS, columns, (rank + 1) % size, 5, in, ROWS * COLUMNS, MPI_DOUBLE, (rank + size - 1) % size, 5,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    int from = (rank + size - 1) % size, wrong = 0;
    for (int r = 0; r < ROWS; ++r)
        for (int c = 0; c < COLUMNS; ++c)
            wrong += in[c][r] != 1000.0 * r + c + from;
    CHECK(wrong == 0);
    MPI_Type_free(&column);
    MPI_Type_free(&columns);
}

static void partial(void)
{
    struct record out[2] = {{'a', {1, 2}, 3}, {'b', {4, 5}, 6}}, in[4];
    MPI_Datatype record = record_type();
    MPI_Status status;
    int count, elements;
    char bytes[64];
    int position = 0;
    MPI_Pack(&out[0], 2, record, bytes, sizeof bytes, &position, MPI_COMM_WORLD);
    CHECK(position == 42);
    MPI_Request request;
    memset(in, 0, sizeof in);
    MPI_Irecv(in, 4, record, rank, 6, MPI_COMM_WORLD, &request);
    MPI_Send(bytes, 30, MPI_PACKED, rank, 6, MPI_COMM_WORLD);
    MPI_Wait(&request, &status);
    MPI_Get_count(&status, record, &count);
    MPI_Get_elements(&status, record, &elements);
    CHECK(count == MPI_UNDEFINED && elements == 6);
    CHECK(in[0].c == 'a' && in[0].d[1] == 2 && in[0].i == 3 && in[1].c == 'b' && in[1].d[0] == 4 && in[1].d[1] == 0);
    position = 0;
    MPI_Unpack(bytes, sizeof bytes, &position, in, 2, record, MPI_COMM_WORLD);
    CHECK(position == 42 && in[1].i == 6 && in[1].d[1] == 5);
    MPI_Type_free(&record);
}

static int copies, deletions;

static int copy(MPI_Datatype type, int key, void *state, void *in, void *out, int *flag)
{
    (void)type, (void)key;
    CHECK(state == &copies);
    ++copies;
    *(void **)out = (char *)in + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static int drop(MPI_Datatype type, int key, void *value, void *state)
{
    (void)type, (void)key, (void)value, (void)state;
    ++deletions;
    return MPI_SUCCESS;
}

static void attributes(void)
{
    int key, flag;
    void *value;
    MPI_Datatype type, twin;
    MPI_Type_contiguous(3, MPI_INT, &type);
    MPI_Type_create_keyval(copy, drop, &key, &copies);
    MPI_Type_set_attr(type, key, (void *)40);
    MPI_Type_dup(type, &twin);
    MPI_Type_get_attr(twin, key, &value, &flag);
    CHECK(flag && value == (void *)41 && copies == 1);
    CHECK(MPI_Comm_set_attr(MPI_COMM_WORLD, key, NULL) != MPI_SUCCESS);
    MPI_Type_free(&type);
    CHECK(deletions == 1);
    MPI_Type_delete_attr(twin, key);
    MPI_Type_get_attr(twin, key, &value, &flag);
    CHECK(!flag && deletions == 2);
    MPI_Type_free(&twin);
    MPI_Type_free_keyval(&key);
}

static void reductions(void)
{
    long double l = 1.0L + rank * 0x1p-62L, sum;
    MPI_Allreduce(&l, &sum, 1, MPI_LONG_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    long double expected = 0;
    for (int r = 0; r < size; ++r)
        expected += 1.0L + r * 0x1p-62L;
    CHECK(sum == expected);
    double complex z = 1 + rank * I, product;
    MPI_Allreduce(&z, &product, 1, MPI_C_DOUBLE_COMPLEX, MPI_PROD, MPI_COMM_WORLD);
    CHECK(product == (size == 1 ? 1 : 1 + I));
    struct {
        long double value;
        int index;
    } mine = {-1.0L, rank}, least;
    MPI_Allreduce(&mine, &least, 1, MPI_LONG_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD);
    CHECK(least.value == -1.0L && least.index == 0);
    CHECK(MPI_Allreduce(&l, &sum, 1, MPI_LONG_DOUBLE, MPI_BXOR, MPI_COMM_WORLD) == MPI_ERR_OP);
    CHECK(MPI_Allreduce(&l, &sum, 1, MPI_LONG_DOUBLE, MPI_REPLACE, MPI_COMM_WORLD) == MPI_ERR_OP);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    bounds();
    contents();
    contents_are_types_of_their_own();
    transpose();
    partial();
    attributes();
    reductions();
    return finish(rank);
}
