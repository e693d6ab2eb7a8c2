/* SPDX-License-Identifier: MIT OR Apache-2.0
 * What a program says of its Fortran compiler changes the sizes of Fortran's types, takes types away, and says what .TRUE. and .FALSE. are:
 * here before MPI_Init, in fortran_types_late.c after it.
 *
 * RANKS: 1 2 3
 * NEEDS: checked arguments
 * ENV: RANKPOINT_INITIAL_ERRHANDLER=2
 */
#include "check.h"
#include <stdint.h>

#ifndef LATE
#define LATE 0
#endif

static int rank, size;

static int bytes_of(MPI_Datatype datatype)
{
    int bytes = -1;
    MPI_Count large = -1;
    CHECK(MPI_Type_size(datatype, &bytes) == MPI_SUCCESS && MPI_Type_size_c(datatype, &large) == MPI_SUCCESS && large == bytes);
    return bytes;
}

static int says(MPI_Info info, const char *key, const char *value)
{
    char found[MPI_MAX_INFO_VAL];
    int room = sizeof found, flag = 0;
    return MPI_Info_get_string(info, key, &room, found, &flag) == MPI_SUCCESS && flag && strcmp(found, value) == 0;
}

/* As with the options -i8 -r8, by a compiler without half precision. Returns the number of calls that failed. */
static int describe(void)
{
    MPI_Info info;
    int failed = MPI_Info_create(&info) != MPI_SUCCESS;
    failed += MPI_Info_set(info, "mpi_logical_size", "8") != MPI_SUCCESS;
    failed += MPI_Info_set(info, "mpi_integer_size", "8") != MPI_SUCCESS;
    failed += MPI_Info_set(info, "mpi_real_size", "8") != MPI_SUCCESS;
    failed += MPI_Info_set(info, "mpi_double_precision_size", "16") != MPI_SUCCESS;
    failed += MPI_Info_set(info, "mpi_real2_supported", "false") != MPI_SUCCESS;
    failed += MPI_Info_set(info, "mpi_complex4_supported", "false") != MPI_SUCCESS;
    failed += MPI_Info_set(info, "mpi_integer16_supported", "false") != MPI_SUCCESS;
    failed += MPI_Info_set(info, "mpi_real4_supported", "true") != MPI_SUCCESS;
    failed += MPI_Info_set(info, "something_else", "1") != MPI_SUCCESS;
    failed += MPI_Abi_set_fortran_info(info) != MPI_SUCCESS;
    failed += MPI_Info_free(&info) != MPI_SUCCESS;
    int64_t yes = -1, no = 0;
    failed += MPI_Abi_set_fortran_booleans(8, &yes, &no) != MPI_SUCCESS;
    return failed;
}

/* Before anybody has said anything. Returns the number of wrong answers. */
static int is_unknown(void)
{
    MPI_Info info = MPI_INFO_ENV;
    int yes = 3, no = 4, is_set = 5;
    int wrong = MPI_Abi_get_fortran_info(&info) != MPI_SUCCESS || info != MPI_INFO_NULL;
    wrong += MPI_Abi_get_fortran_booleans(4, &yes, &no, &is_set) != MPI_SUCCESS || is_set || yes != 3 || no != 4;
    return wrong;
}

/* Refused descriptions change nothing. */
static void check_refused(void)
{
    MPI_Info info;
    int yes = 1, byte = 1;
    CHECK(MPI_Info_create(&info) == MPI_SUCCESS && MPI_Info_set(info, "mpi_real_size", "five") == MPI_SUCCESS);
    CHECK(MPI_Abi_set_fortran_info(info) == MPI_ERR_INFO_VALUE);
    CHECK(MPI_Info_set(info, "mpi_real_size", "5") == MPI_SUCCESS && MPI_Abi_set_fortran_info(info) == MPI_ERR_INFO_VALUE);
    CHECK(MPI_Info_delete(info, "mpi_real_size") == MPI_SUCCESS);
    CHECK(MPI_Info_set(info, "mpi_real4_supported", "no") == MPI_SUCCESS && MPI_Abi_set_fortran_info(info) == MPI_ERR_INFO_VALUE);
    CHECK(MPI_Info_free(&info) == MPI_SUCCESS);
    CHECK(MPI_Abi_set_fortran_info(MPI_INFO_NULL) == MPI_ERR_INFO);
    CHECK(MPI_Abi_set_fortran_booleans(3, &yes, &byte) == MPI_ERR_ARG);
    CHECK(MPI_Abi_set_fortran_booleans(4, &yes, &yes) == MPI_ERR_ARG);
    CHECK(MPI_Abi_set_fortran_booleans(4, NULL, &yes) == MPI_ERR_ARG);
    CHECK(is_unknown() == 0);
}

/* Operations are joined with types of the usual sizes, and remembered. */
static void use_usual_sizes(void)
{
    int mine[2] = {rank, 1}, sum[2], pair[2] = {-rank, rank}, lowest[2], all = -1;
    CHECK(bytes_of(MPI_INTEGER) == 4 && bytes_of(MPI_LOGICAL) == 4 && bytes_of(MPI_REAL2) == 2);
    CHECK(MPI_Allreduce(mine, sum, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(sum[0] == size * (size - 1) / 2 && sum[1] == size);
    CHECK(MPI_Allreduce(pair, lowest, 1, MPI_2INTEGER, MPI_MINLOC, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(lowest[0] == 1 - size && lowest[1] == size - 1);
    int truth = 7;
    CHECK(MPI_Allreduce(&truth, &all, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD) == MPI_SUCCESS && all == (size > 1 ? 1 : 7));
}

static void check_description(void)
{
    MPI_Info info;
    int count;
    CHECK(MPI_Abi_get_fortran_info(&info) == MPI_SUCCESS && info != MPI_INFO_NULL);
    CHECK(MPI_Info_get_nkeys(info, &count) == MPI_SUCCESS && count == 23);
    CHECK(says(info, "mpi_logical_size", "8") && says(info, "mpi_integer_size", "8") && says(info, "mpi_real_size", "8"));
    CHECK(says(info, "mpi_double_precision_size", "16") && says(info, "mpi_real2_supported", "false"));
    CHECK(says(info, "mpi_complex4_supported", "false") && says(info, "mpi_integer16_supported", "false"));
    CHECK(says(info, "mpi_real4_supported", "true") && says(info, "mpi_logical16_supported", "true"));
    CHECK(MPI_Abi_set_fortran_info(info) == MPI_ERR_ABI);
    CHECK(MPI_Info_free(&info) == MPI_SUCCESS);
    int8_t yes1 = 3, no1 = 3;
    int32_t yes4 = 3, no4 = 3;
    int64_t yes8 = 3, no8 = 3, wide[4] = {3, 3, 3, 3};
    int is_set = 0;
    CHECK(MPI_Abi_get_fortran_booleans(8, &yes8, &no8, &is_set) == MPI_SUCCESS && is_set && yes8 == -1 && no8 == 0);
    CHECK(MPI_Abi_get_fortran_booleans(4, &yes4, &no4, &is_set) == MPI_SUCCESS && is_set && yes4 == -1 && no4 == 0);
    CHECK(MPI_Abi_get_fortran_booleans(1, &yes1, &no1, &is_set) == MPI_SUCCESS && is_set && yes1 == -1 && no1 == 0);
    CHECK(MPI_Abi_get_fortran_booleans(16, wide, wide + 2, &is_set) == MPI_SUCCESS && is_set);
    CHECK(wide[0] == -1 && wide[1] == -1 && wide[2] == 0 && wide[3] == 0);
    CHECK(MPI_Abi_get_fortran_booleans(3, wide, wide, &is_set) == MPI_ERR_ARG);
    CHECK(MPI_Abi_set_fortran_booleans(8, &no8, &yes8) == MPI_ERR_ABI);
}

static void check_sizes(void)
{
    CHECK(bytes_of(MPI_LOGICAL) == 8 && bytes_of(MPI_INTEGER) == 8 && bytes_of(MPI_REAL) == 8);
    CHECK(bytes_of(MPI_DOUBLE_PRECISION) == 16 && bytes_of(MPI_COMPLEX) == 16 && bytes_of(MPI_DOUBLE_COMPLEX) == 32);
    CHECK(bytes_of(MPI_2INTEGER) == 16 && bytes_of(MPI_2REAL) == 16 && bytes_of(MPI_2DOUBLE_PRECISION) == 32);
    /* Other types keep their sizes. */
    CHECK(bytes_of(MPI_INT) == 4 && bytes_of(MPI_INTEGER4) == 4 && bytes_of(MPI_REAL4) == 4 && bytes_of(MPI_CHARACTER) == 1);
    MPI_Aint lower, extent;
    CHECK(MPI_Type_get_extent(MPI_2INTEGER, &lower, &extent) == MPI_SUCCESS && lower == 0 && extent == 16);
    MPI_Datatype pair, three;
    CHECK(MPI_Type_get_value_index(MPI_REAL, MPI_REAL, &pair) == MPI_SUCCESS && pair == MPI_2REAL);
    CHECK(MPI_Type_contiguous(3, MPI_INTEGER, &three) == MPI_SUCCESS && bytes_of(three) == 24);
    MPI_Datatype inside;
    CHECK(MPI_Type_get_contents(three, 1, 0, 1, (int[1]){0}, NULL, &inside) == MPI_SUCCESS && inside == MPI_INTEGER);
    CHECK(MPI_Type_free(&three) == MPI_SUCCESS);
    char external[64];
    MPI_Aint position = 0, room;
    int64_t number = 258;
    CHECK(MPI_Pack_external_size("external32", 1, MPI_INTEGER, &room) == MPI_SUCCESS && room == 8);
    CHECK(MPI_Pack_external("external32", &number, 1, MPI_INTEGER, external, 64, &position) == MPI_SUCCESS);
    CHECK(position == 8 && external[7] == 2 && external[6] == 1 && external[0] == 0);
}

static void check_lacked(void)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Datatype datatype;
    CHECK(bytes_of(MPI_REAL2) == MPI_UNDEFINED && bytes_of(MPI_COMPLEX4) == MPI_UNDEFINED);
    CHECK(bytes_of(MPI_INTEGER16) == MPI_UNDEFINED && bytes_of(MPI_INTEGER8) == 8);
    CHECK(MPI_Send(text, 1, MPI_REAL2, 0, 0, MPI_COMM_SELF) == MPI_ERR_TYPE);
    CHECK(MPI_Error_string(MPI_ERR_TYPE, text, &length) == MPI_SUCCESS && strstr(text, "MPI_REAL2, which the program's Fortran"));
    CHECK(MPI_Bcast(text, 1, MPI_COMPLEX4, 0, MPI_COMM_SELF) == MPI_ERR_TYPE);
    CHECK(MPI_Type_contiguous(2, MPI_INTEGER16, &datatype) == MPI_ERR_TYPE);
    CHECK(MPI_Type_match_size(MPI_TYPECLASS_REAL, 2, &datatype) == MPI_ERR_ARG);
    CHECK(MPI_Type_match_size(MPI_TYPECLASS_REAL, 4, &datatype) == MPI_SUCCESS && datatype == MPI_REAL4);
    CHECK(MPI_Type_create_f90_integer(30, &datatype) == MPI_ERR_ARG);
    CHECK(MPI_Type_create_f90_integer(18, &datatype) == MPI_SUCCESS && bytes_of(datatype) == 8);
}

static void check_communication(void)
{
    int64_t mine[2] = {(int64_t)rank << 40, 1}, other[2] = {-1, -1};
    int to = (rank + 1) % size, from = (rank + size - 1) % size, count;
    MPI_Status status;
    CHECK(MPI_Sendrecv(mine, 2, MPI_INTEGER, to, 5, other, 2, MPI_INTEGER, from, 5, MPI_COMM_WORLD, &status) == MPI_SUCCESS);
    CHECK(other[0] == (int64_t)from << 40 && other[1] == 1);
    CHECK(MPI_Get_count(&status, MPI_INTEGER, &count) == MPI_SUCCESS && count == 2);
    CHECK(MPI_Allreduce(mine, other, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(other[0] == (int64_t)(size * (size - 1) / 2) << 40 && other[1] == size);
    int64_t pair[2] = {-((int64_t)rank << 40), rank};
    CHECK(MPI_Allreduce(pair, other, 1, MPI_2INTEGER, MPI_MINLOC, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(other[0] == -((int64_t)(size - 1) << 40) && other[1] == size - 1);
    double real[2] = {1.5, rank};
    CHECK(MPI_Allreduce(MPI_IN_PLACE, real, 1, MPI_COMPLEX, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(real[0] == 1.5 * size && real[1] == size * (size - 1) / 2.0);
    /* Of three values the last is true on one rank only. */
    int64_t truth[3] = {-1, 0, rank == 0 ? -1 : 0}, result[3];
    CHECK(MPI_Allreduce(truth, result, 3, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(result[0] == -1 && result[1] == 0 && result[2] == (size == 1 ? -1 : 0));
    CHECK(MPI_Allreduce(truth, result, 3, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(result[0] == -1 && result[1] == 0 && result[2] == -1);
    CHECK(MPI_Allreduce(truth, result, 3, MPI_LOGICAL, MPI_LXOR, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(result[0] == (size % 2 ? -1 : 0) && result[1] == 0 && result[2] == -1);
    int8_t short_truth = -1, short_result;
    CHECK(MPI_Allreduce(&short_truth, &short_result, 1, MPI_LOGICAL1, MPI_LAND, MPI_COMM_WORLD) == MPI_SUCCESS && short_result == -1);
    /* C's booleans are C's. */
    unsigned char c_truth = 1, c_result;
    CHECK(MPI_Allreduce(&c_truth, &c_result, 1, MPI_C_BOOL, MPI_LAND, MPI_COMM_WORLD) == MPI_SUCCESS && c_result == 1);
}

int main(void)
{
    int wrong = LATE ? 0 : is_unknown() + describe();
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (LATE) {
        use_usual_sizes();
        check_refused();
        wrong = describe();
    }
    CHECK(wrong == 0);
    check_description();
    check_sizes();
    check_lacked();
    check_communication();
    return finish(rank);
}
