/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 3
 * MPI_CHAR is reduced as a C integer, as MPICH and Open MPI reduce it; other characters are not. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);

    struct {
        MPI_Op op;
        char mine, result[3];
    } cases[] = {
        {MPI_SUM, 3, {3, 6, 9}},
        {MPI_PROD, 2, {2, 4, 8}},
        {MPI_MIN, (char)(rank ? 5 : -4), {-4, -4, -4}},
        {MPI_MAX, (char)(rank + 1), {1, 2, 3}},
        {MPI_LAND, (char)(rank != 2), {1, 1, 0}},
        {MPI_LOR, (char)(rank == 1), {0, 1, 1}},
        {MPI_LXOR, 1, {1, 0, 1}},
        {MPI_BAND, (char)(rank + 4), {4, 4, 4}},
        {MPI_BOR, (char)(1 << rank), {1, 3, 7}},
        {MPI_BXOR, (char)(rank + 1), {1, 3, 0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char in[100], out[100];
        memset(in, cases[i].mine, sizeof in);
        for (int count = 1; count <= 100; count += 99) {
            memset(out, 0x55, sizeof out);
            CHECK(MPI_Allreduce(in, out, count, MPI_CHAR, cases[i].op, MPI_COMM_WORLD) == MPI_SUCCESS);
            for (int k = 0; k < count; ++k)
                CHECK(out[k] == cases[i].result[size - 1]);
        }
    }

    wchar_t wide = L'x', result;
    CHECK(MPI_Allreduce(&wide, &result, 1, MPI_WCHAR, MPI_SUM, MPI_COMM_WORLD) == MPI_ERR_OP);
    char letter = 'x', other;
    CHECK(MPI_Allreduce(&letter, &other, 1, MPI_CHARACTER, MPI_SUM, MPI_COMM_WORLD) == MPI_ERR_OP);
    CHECK(MPI_Allreduce(&letter, &other, 1, MPI_CHAR, MPI_MINLOC, MPI_COMM_WORLD) == MPI_ERR_OP);
    return finish(rank);
}
