/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Random nested datatypes, the same ones for the same seed.
 *
 * What MPICH 5.0.2 does otherwise than the standard says is left out: types of no bytes lose the bounds that were given to them,
 * blocks of no bytes in structs count for their bounds, structs of types with bounds span their other parts, too, structs of one type
 * are not padded, types of negative extent are packed from the wrong end, and
 * distributed arrays lose where they begin when the old type does not begin at 0, or when a cyclic block is cut at the end.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 8
#define TEXT 8192

static unsigned long long state;

/* The basic type of all parts, or -1 for any. Only then is external32 tried, and without distributed arrays: MPICH 5.0.2 does
 * not survive others. */
static int only, is_distributed;

static unsigned below(unsigned limit)
{
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned)(state >> 33) % limit;
}

static int between(int low, int high)
{
    return low + (int)below((unsigned)(high - low + 1));
}

/* A type and the expression that makes it. */
struct made {
    MPI_Datatype type;
    /* Whether it is a predefined one. */
    int is_named;
    char text[TEXT];
};

static const struct {
    MPI_Datatype type;
    const char *name;
} NAMED[] = {
    {MPI_CHAR, "char"},          {MPI_BYTE, "byte"},         {MPI_SHORT, "short"},
    {MPI_INT, "int"},            {MPI_FLOAT, "float"},       {MPI_DOUBLE, "double"},
    {MPI_LONG_LONG, "long_long"}, {MPI_UINT16_T, "uint16_t"}, {MPI_INT64_T, "int64_t"},
    {MPI_C_DOUBLE_COMPLEX, "c_double_complex"},
};

#define NAMES (sizeof NAMED / sizeof NAMED[0])

static void list(char *text, const char *format, int count, const long long *numbers)
{
    char inside[TEXT / 4] = "";
    for (int i = 0; i < count; ++i)
        snprintf(inside + strlen(inside), sizeof inside - strlen(inside), i ? ",%lld" : "%lld", numbers[i]);
    snprintf(text + strlen(text), TEXT - strlen(text), format, inside);
}

#define SAY(...) snprintf(made->text + strlen(made->text), TEXT - strlen(made->text), __VA_ARGS__)

static void make(int depth, struct made *made);

static void release(struct made *made)
{
    if (!made->is_named)
        MPI_Type_free(&made->type);
}

/* Puts bounds around a struct whose own are not the same in MPICH. */
static void bound(struct made *made)
{
    MPI_Aint lb, extent;
    MPI_Datatype inner = made->type;
    char text[TEXT];
    MPI_Type_get_true_extent(inner, &lb, &extent);
    lb -= between(0, 2) * 4;
    extent += between(0, 4) * 4;
    MPI_Type_create_resized(inner, lb, extent, &made->type);
    MPI_Type_free(&inner);
    snprintf(text, sizeof text, "resized(%lld,%lld,%.*s)", (long long)lb, (long long)extent, TEXT - 64, made->text);
    strcpy(made->text, text);
}

static void array(struct made *made, const struct made *old)
{
    int dims = between(1, 3), order = below(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    int sizes[3], inner[3], starts[3];
    long long shown[3][3];
    for (int i = 0; i < dims; ++i) {
        sizes[i] = between(1, 6);
        inner[i] = between(1, sizes[i]);
        starts[i] = between(0, sizes[i] - inner[i]);
        shown[0][i] = sizes[i], shown[1][i] = inner[i], shown[2][i] = starts[i];
    }
    if (below(3) == 0) {
        MPI_Count wide[3][3];
        for (int i = 0; i < dims; ++i)
            wide[0][i] = sizes[i], wide[1][i] = inner[i], wide[2][i] = starts[i];
        MPI_Type_create_subarray_c(dims, wide[0], wide[1], wide[2], order, old->type, &made->type);
    } else {
        MPI_Type_create_subarray(dims, sizes, inner, starts, order, old->type, &made->type);
    }
    SAY("subarray(");
    for (int i = 0; i < 3; ++i)
        list(made->text, "[%s],", dims, shown[i]);
    SAY("%s,%s)", order == MPI_ORDER_C ? "c" : "fortran", old->text);
}

static void distributed(struct made *made)
{
    struct made *old = calloc(1, sizeof *old);
    make(0, old);
    is_distributed = 1;
    static const int KINDS[3] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE};
    static const char *const KIND_NAMES[3] = {"block", "cyclic", "none"};
    int dims = between(1, 3), order = below(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN, size = 1;
    int sizes[3], kinds[3], arguments[3], processes[3];
    long long shown[3][3];
    char names[64] = "";
    for (int i = 0; i < dims; ++i) {
        int kind = between(0, 2), least;
        kinds[i] = KINDS[kind];
        sizes[i] = between(1, 9);
        processes[i] = kind == 2 ? 1 : between(1, 3);
        least = (sizes[i] + processes[i] - 1) / processes[i];
        arguments[i] = MPI_DISTRIBUTE_DFLT_DARG;
        if (kind == 0 && below(2))
            arguments[i] = between(least, least + 2);
        else if (kind == 1 && below(2))
            sizes[i] = (arguments[i] = between(1, 3)) * between(1, 4);
        size *= processes[i];
        snprintf(names + strlen(names), sizeof names - strlen(names), i ? ",%s" : "%s", KIND_NAMES[kind]);
        shown[0][i] = sizes[i], shown[1][i] = arguments[i], shown[2][i] = processes[i];
    }
    int rank = between(0, size - 1);
    MPI_Type_create_darray(size, rank, dims, sizes, kinds, arguments, processes, order, old->type, &made->type);
    SAY("darray(%d,%d,", size, rank);
    list(made->text, "[%s],", dims, shown[0]);
    SAY("[%s],", names);
    list(made->text, "[%s],", dims, shown[1]);
    list(made->text, "[%s],", dims, shown[2]);
    SAY("%s,%s)", order == MPI_ORDER_C ? "c" : "fortran", old->text);
    release(old);
    free(old);
}

static void structure(int depth, struct made *made)
{
    int count = between(1, 4), lengths[4];
    MPI_Aint at[4];
    MPI_Datatype types[4];
    long long shown[2][4];
    struct made *parts = calloc(4, sizeof *parts);
    int is_odd = below(2), is_alike = 1, first_bytes = 0;
    for (int i = 0; i < count; ++i) {
        int bytes = 0;
        while (bytes == 0) {
            if (parts[i].text[0])
                release(&parts[i]);
            make(depth - 1, &parts[i]);
            MPI_Type_size(parts[i].type, &bytes);
        }
        first_bytes = i ? first_bytes : bytes;
        is_alike &= bytes == first_bytes;
        types[i] = parts[i].type;
        lengths[i] = between(1, 3);
        at[i] = is_odd ? between(-40, 200) : 16 * between(-4, 20);
        shown[0][i] = lengths[i], shown[1][i] = at[i];
    }
    if (below(3) == 0) {
        MPI_Count wide[2][4];
        for (int i = 0; i < count; ++i)
            wide[0][i] = lengths[i], wide[1][i] = at[i];
        MPI_Type_create_struct_c(count, wide[0], wide[1], types, &made->type);
    } else {
        MPI_Type_create_struct(count, lengths, at, types, &made->type);
    }
    SAY("struct(");
    list(made->text, "[%s],", count, shown[0]);
    list(made->text, "[%s],[", count, shown[1]);
    for (int i = 0; i < count; ++i) {
        SAY(i ? ",%s" : "%s", parts[i].text);
        release(&parts[i]);
    }
    SAY("])");
    free(parts);
    if (is_alike || strstr(made->text, "resized(") || strstr(made->text, "array("))
        bound(made);
}

/* Lists of blocks: `kind` 0 is indexed, 1 hindexed, 2 indexed_block, 3 hindexed_block. */
static void indexed(int kind, struct made *made, const struct made *old)
{
    int count = between(1, MOST), length = between(1, 3), large = below(3) == 0, in_bytes = kind % 2;
    int lengths[MOST], places[MOST];
    MPI_Aint bytes[MOST];
    MPI_Count wide[2][MOST];
    long long shown[2][MOST];
    /* Orderly lists become dimensions, others stay lists. */
    int is_regular = below(3) == 0, step = between(-5, 9), at = between(-10, 30);
    for (int i = 0; i < count; ++i) {
        lengths[i] = is_regular ? length : between(0, 3);
        places[i] = is_regular ? at + i * step : between(-20, 60);
        bytes[i] = in_bytes ? places[i] * 7 : places[i];
        wide[0][i] = shown[0][i] = lengths[i];
        wide[1][i] = shown[1][i] = bytes[i];
    }
    MPI_Datatype in = old->type, *out = &made->type;
    if (kind == 0)
        large ? MPI_Type_indexed_c(count, wide[0], wide[1], in, out)
              : MPI_Type_indexed(count, lengths, places, in, out);
    else if (kind == 1)
        large ? MPI_Type_create_hindexed_c(count, wide[0], wide[1], in, out)
              : MPI_Type_create_hindexed(count, lengths, bytes, in, out);
    else if (kind == 2)
        large ? MPI_Type_create_indexed_block_c(count, length, wide[1], in, out)
              : MPI_Type_create_indexed_block(count, length, places, in, out);
    else
        large ? MPI_Type_create_hindexed_block_c(count, length, wide[1], in, out)
              : MPI_Type_create_hindexed_block(count, length, bytes, in, out);
    SAY("%s%s(", in_bytes ? "h" : "", kind < 2 ? "indexed" : "indexed_block");
    if (kind < 2)
        list(made->text, "[%s],", count, shown[0]);
    else
        SAY("%d,", length);
    list(made->text, "[%s],", count, shown[1]);
    SAY("%s)", old->text);
}

static void make(int depth, struct made *made)
{
    made->text[0] = 0;
    made->is_named = depth == 0 || below(8) == 0;
    if (made->is_named) {
        unsigned which = only >= 0 ? (unsigned)only : below(NAMES);
        made->type = NAMED[which].type;
        SAY("%s", NAMED[which].name);
        return;
    }
    unsigned constructor = below(12);
    if (constructor == 8) {
        distributed(made);
        return;
    }
    if (constructor == 11) {
        structure(depth, made);
        return;
    }
    struct made *old = calloc(1, sizeof *old);
    make(depth - 1, old);
    int count = between(0, 20) ? between(1, 5) : 0, length = between(1, 3), stride = between(-6, 9);
    int large = below(3) == 0;
    switch (constructor) {
    case 0:
        large ? MPI_Type_contiguous_c(count, old->type, &made->type)
              : MPI_Type_contiguous(count, old->type, &made->type);
        SAY("contiguous(%d,%s)", count, old->text);
        break;
    case 1:
        large ? MPI_Type_vector_c(count, length, stride, old->type, &made->type)
              : MPI_Type_vector(count, length, stride, old->type, &made->type);
        SAY("vector(%d,%d,%d,%s)", count, length, stride, old->text);
        break;
    case 2:
        large ? MPI_Type_create_hvector_c(count, length, stride * 5, old->type, &made->type)
              : MPI_Type_create_hvector(count, length, stride * 5, old->type, &made->type);
        SAY("hvector(%d,%d,%d,%s)", count, length, stride * 5, old->text);
        break;
    case 3:
    case 4:
    case 5:
    case 6:
        indexed((int)constructor - 3, made, old);
        break;
    case 7:
        array(made, old);
        break;
    case 9: {
        MPI_Aint lb = between(-4, 4) * 8, extent = between(0, 12) * 8;
        large ? MPI_Type_create_resized_c(old->type, lb, extent, &made->type)
              : MPI_Type_create_resized(old->type, lb, extent, &made->type);
        SAY("resized(%lld,%lld,%s)", (long long)lb, (long long)extent, old->text);
        break;
    }
    default:
        MPI_Type_dup(old->type, &made->type);
        SAY("dup(%s)", old->text);
    }
    release(old);
    free(old);
}

/* The type of a seed and an index. */
static struct made *made_of(unsigned long long seed, int index)
{
    struct made *made = calloc(1, sizeof *made);
    state = seed * 0x9e3779b97f4a7c15ULL + (unsigned long long)index;
    below(2);
    is_distributed = 0;
    only = below(2) ? (int)below(NAMES) : -1;
    make(between(1, 4), made);
    return made;
}
