/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1
 * NEEDS: checked arguments
 * Constructors of datatypes and packing with one wrong argument each: the error names the argument, its value, its index in an
 * array, and what was expected. */
#include "check.h"

#include <limits.h>

/* The call fails with this class, and its text has this in it. */
static void says(const char *call, int code, int expected, const char *text)
{
    char found[MPI_MAX_ERROR_STRING];
    int class = -1, length = 0;
    MPI_Error_class(code, &class);
    MPI_Error_string(code, found, &length);
    if (code == MPI_SUCCESS || class != expected || !strstr(found, text)) {
        fprintf(stderr, "%s\n  gave   %s\n  not    %s\n", call, found, text);
        MPI_Abort(MPI_COMM_WORLD, 99);
    }
}

#define SAYS(call, class, text) says(#call, call, class, text)

enum { OUT = MPI_ERR_ARG };

static MPI_Datatype made, stale, wide;

static void repeated(void)
{
    SAYS(MPI_Type_contiguous(-1, MPI_INT, &made), MPI_ERR_COUNT, "MPI_Type_contiguous: argument 'count' is -1, expected 0 or more");
    SAYS(MPI_Type_contiguous(1, stale, &made), MPI_ERR_TYPE, "'oldtype' is 0x44");
    SAYS(MPI_Type_contiguous(1, MPI_INT, NULL), OUT, "'newtype' is null");
    SAYS(MPI_Type_contiguous_c(1LL << 62, MPI_INT, &made), OUT, "'count' is 4611686018427387904, expected a type whose size");
    SAYS(MPI_Type_vector(1, -3, 1, MPI_INT, &made), OUT, "MPI_Type_vector: argument 'blocklength' is -3, expected 0 or more");
    SAYS(MPI_Type_vector_c(1LL << 40, 1, 1LL << 40, MPI_INT, &made), OUT, "'stride' is 1099511627776, expected a type whose size");
    SAYS(MPI_Type_create_hvector(-1, 1, 1, MPI_INT, &made), MPI_ERR_COUNT, "MPI_Type_create_hvector: argument 'count' is -1");
    SAYS(MPI_Type_create_hvector(3, 1, 1LL << 62, MPI_INT, &made), OUT, "'stride' is 4611686018427387904");
    SAYS(MPI_Type_create_resized(MPI_INT, LLONG_MAX, 8, &made), OUT, "'extent' is 8, expected a type whose size");
    SAYS(MPI_Type_dup(stale, &made), MPI_ERR_TYPE, "MPI_Type_dup: argument 'oldtype' is 0x44");
}

static void listed(void)
{
    int ones[3] = {1, 1, 1}, lengths[3] = {1, -2, 1}, places[3] = {0, INT_MAX, 2};
    MPI_Aint near[3] = {0, 8, 16}, far[3] = {0, LLONG_MAX, 0};
    MPI_Datatype types[3] = {MPI_INT, stale, MPI_CHAR}, none[3] = {MPI_INT, MPI_INT, MPI_DATATYPE_NULL};
    MPI_Datatype good[3] = {MPI_INT, MPI_DOUBLE, MPI_CHAR};
    SAYS(MPI_Type_indexed(-1, ones, places, MPI_INT, &made), MPI_ERR_COUNT, "MPI_Type_indexed: argument 'count' is -1");
    SAYS(MPI_Type_indexed(3, lengths, places, MPI_INT, &made), OUT, "'array_of_blocklengths' is -2 at index 1, expected 0 or more");
    SAYS(MPI_Type_indexed(3, ones, NULL, MPI_INT, &made), OUT, "'array_of_displacements' is null, expected an array of 'count' entries");
    SAYS(MPI_Type_indexed(3, ones, places, wide, &made), OUT, "'array_of_displacements' is 2147483647 at index 1, expected a type whose");
    SAYS(MPI_Type_create_hindexed(3, lengths, near, MPI_INT, &made), OUT, "'array_of_blocklengths' is -2 at index 1");
    SAYS(MPI_Type_create_hindexed(3, ones, far, MPI_INT, &made), OUT, "'array_of_displacements' is 9223372036854775807 at index 1");
    SAYS(MPI_Type_create_indexed_block(3, -1, places, MPI_INT, &made), OUT, "'blocklength' is -1");
    SAYS(MPI_Type_create_indexed_block(3, 1, places, wide, &made), OUT, "'array_of_displacements' is 2147483647 at index 1");
    SAYS(MPI_Type_create_hindexed_block(3, 1, far, MPI_INT, &made), OUT, "'array_of_displacements' is 9223372036854775807 at index 1");
    SAYS(MPI_Type_create_struct(3, lengths, near, good, &made), OUT, "'array_of_blocklengths' is -2 at index 1");
    SAYS(MPI_Type_create_struct(3, ones, far, good, &made), OUT, "'array_of_displacements' is 9223372036854775807 at index 1");
    SAYS(MPI_Type_create_struct(3, ones, near, types, &made), MPI_ERR_TYPE, " at index 1, expected a valid datatype");
    SAYS(MPI_Type_create_struct(3, ones, near, none, &made), MPI_ERR_TYPE, "'array_of_types' is MPI_DATATYPE_NULL at index 2");
    SAYS(MPI_Type_create_struct(3, ones, near, NULL, &made), OUT, "'array_of_types' is null");
}

static void arrays(void)
{
    int sizes[3] = {4, 5, 6}, empty[3] = {4, 0, 6}, inner[3] = {2, 2, 2}, large[3] = {2, 6, 2}, starts[3] = {0, 1, 2};
    int late[3] = {0, 4, 2}, early[3] = {0, -1, 0}, huge[3] = {INT_MAX, INT_MAX, INT_MAX};
#define SUB(dims, sizes, inner, starts, order) MPI_Type_create_subarray(dims, sizes, inner, starts, order, MPI_INT, &made)
    SAYS(SUB(0, sizes, inner, starts, MPI_ORDER_C), OUT, "'ndims' is 0, expected 1 or more");
    SAYS(SUB(-1, sizes, inner, starts, MPI_ORDER_C), OUT, "'ndims' is -1, expected 1 or more");
    SAYS(SUB(3, empty, inner, starts, MPI_ORDER_C), OUT, "'array_of_sizes' is 0 at index 1, expected 1 or more");
    SAYS(SUB(3, sizes, large, starts, MPI_ORDER_C), OUT, "'array_of_subsizes' is 6 at index 1, expected from 1 to 5");
    SAYS(SUB(3, sizes, inner, late, MPI_ORDER_C), OUT, "'array_of_starts' is 4 at index 1, expected from 0 to 3");
    SAYS(SUB(3, sizes, inner, early, MPI_ORDER_C), OUT, "'array_of_starts' is -1 at index 1, expected from 0 to 3");
    SAYS(SUB(3, huge, inner, starts, MPI_ORDER_C), OUT, "'array_of_sizes' is 2147483647 at index 1, expected a type whose");
    SAYS(SUB(3, sizes, inner, starts, 7), OUT, "'order' is 7, expected MPI_ORDER_C or MPI_ORDER_FORTRAN");

    int whole[2] = {10, 10}, kinds[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC}, odd[2] = {MPI_DISTRIBUTE_BLOCK, 99};
    int kept[2] = {MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_CYCLIC}, blocks[2] = {MPI_DISTRIBUTE_DFLT_DARG, 2}, few[2] = {2, 2};
    int none[2] = {MPI_DISTRIBUTE_DFLT_DARG, 0}, grid[2] = {2, 2}, other[2] = {2, 3}, no_grid[2] = {0, 4}, negative[2] = {10, -1};
#define DIS(size, rank, dims, whole, kinds, blocks, grid) \
    MPI_Type_create_darray(size, rank, dims, whole, kinds, blocks, grid, MPI_ORDER_C, MPI_INT, &made)
    SAYS(DIS(4, 4, 2, whole, kinds, blocks, grid), OUT, "'rank' is 4, expected from 0 to 3");
    SAYS(DIS(0, 0, 2, whole, kinds, blocks, grid), OUT, "'size' is 0, expected 1 or more");
    SAYS(DIS(4, 0, -2, whole, kinds, blocks, grid), OUT, "'ndims' is -2, expected 1 or more");
    SAYS(DIS(4, 0, 2, negative, kinds, blocks, grid), OUT, "'array_of_gsizes' is -1 at index 1, expected 1 or more");
    SAYS(DIS(4, 0, 2, whole, odd, blocks, grid), OUT, "'array_of_distribs' is 99 at index 1, expected MPI_DISTRIBUTE_BLOCK");
    SAYS(DIS(4, 0, 2, whole, kinds, few, grid), OUT, "'array_of_dargs' is 2 at index 0, expected blocks that cover 10 elements");
    SAYS(DIS(4, 0, 2, whole, kinds, none, grid), OUT, "'array_of_dargs' is 0 at index 1, expected 1 or more");
    SAYS(DIS(4, 0, 2, whole, kinds, blocks, other), OUT, "'array_of_psizes' is [2, 3], expected sizes with the product 4");
    SAYS(DIS(4, 0, 2, whole, kinds, blocks, no_grid), OUT, "'array_of_psizes' is 0 at index 0, expected 1 or more");
    SAYS(DIS(4, 0, 2, whole, kept, blocks, grid), OUT, "'array_of_psizes' is 2 at index 0, expected 1 process");
    SAYS(MPI_Type_create_f90_real(100, 1000, &made), OUT, "'p' is 100 with range 1000");
    SAYS(MPI_Type_create_f90_real(MPI_UNDEFINED, MPI_UNDEFINED, &made), OUT, "'p' is MPI_UNDEFINED, expected a precision");
    SAYS(MPI_Type_create_f90_integer(100, &made), OUT, "'r' is 100");
    SAYS(MPI_Type_match_size(MPI_TYPECLASS_REAL, 3, &made), OUT, "'size' is 3");
}

static void packing(void)
{
    char buffer[64];
    double numbers[4] = {0};
    int position = 0, size;
    MPI_Aint place = 0;
    MPI_Comm comm = MPI_COMM_SELF;
    SAYS(MPI_Pack(numbers, -1, MPI_DOUBLE, buffer, 64, &position, comm), MPI_ERR_COUNT, "'incount' is -1, expected 0 or more");
    SAYS(MPI_Pack(numbers, 1, MPI_DOUBLE, NULL, 64, &position, comm), MPI_ERR_BUFFER, "'outbuf' is null, expected the address of 64 bytes");
    SAYS(MPI_Pack(numbers, 4, MPI_DOUBLE, buffer, 16, &position, comm), MPI_ERR_TRUNCATE, "'outsize' is 16, expected 32 bytes or more");
    SAYS(MPI_Unpack(NULL, 64, &position, numbers, 1, MPI_DOUBLE, comm), MPI_ERR_BUFFER, "'inbuf' is null, expected the address of 64 bytes");
    SAYS(MPI_Unpack(buffer, 64, &position, numbers, -1, MPI_DOUBLE, comm), MPI_ERR_COUNT, "'outcount' is -1");
    SAYS(MPI_Unpack(buffer, 64, &position, NULL, 1, MPI_DOUBLE, comm), MPI_ERR_BUFFER, "'outbuf' is null");
    SAYS(MPI_Pack_size(-1, MPI_INT, comm, &size), MPI_ERR_COUNT, "'incount' is -1, expected 0 or more");
    MPI_Count wide_size;
    SAYS(MPI_Pack_size_c(1LL << 62, MPI_INT, comm, &wide_size), MPI_ERR_COUNT, "'incount' is 4611686018427387904, expected elements of 4 bytes");
    SAYS(MPI_Pack_external("native", numbers, 1, MPI_DOUBLE, buffer, 64, &place), MPI_ERR_UNSUPPORTED_DATAREP, "'datarep' is \"native\"");
    SAYS(MPI_Pack_external("external32", numbers, 1, MPI_DOUBLE, NULL, 64, &place), MPI_ERR_BUFFER, "'outbuf' is null");
    SAYS(MPI_Unpack_external("external32", buffer, 4, &place, numbers, 1, MPI_DOUBLE), MPI_ERR_TRUNCATE, "'insize' is 4");
    place = -1;
    SAYS(MPI_Pack_external("external32", numbers, 1, MPI_DOUBLE, buffer, 64, &place), OUT, "'position' is -1, expected 0 or more");
    /* Nothing needs no place. */
    place = 0;
    CHECK(MPI_Pack(NULL, 0, MPI_DOUBLE, NULL, 0, &position, comm) == MPI_SUCCESS && position == 0);
    CHECK(MPI_Unpack(NULL, 0, &position, NULL, 0, MPI_DOUBLE, comm) == MPI_SUCCESS && position == 0);
    CHECK(MPI_Pack_external("external32", NULL, 0, MPI_DOUBLE, NULL, 0, &place) == MPI_SUCCESS && place == 0);
    CHECK(MPI_Unpack_external("external32", NULL, 0, &place, NULL, 0, MPI_DOUBLE) == MPI_SUCCESS && place == 0);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Type_contiguous_c(1LL << 60, MPI_BYTE, &wide);
    MPI_Datatype gone;
    MPI_Type_dup(MPI_INT, &gone);
    stale = gone;
    MPI_Type_free(&gone);
    repeated();
    listed();
    arrays();
    packing();
    MPI_Type_free(&wide);
    return finish(0);
}
