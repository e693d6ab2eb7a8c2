/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 3
 * ENV: RANKPOINT_RMA=
 * ENV: RANKPOINT_RMA=attach
 * ENV: RANKPOINT_RMA=message
 * NEEDS: checked arguments
 * Accumulates and atomic operations with wrong arguments: the error class of the standard. */
#include "check.h"

static int rank;

static void replace(const int *a, int *b, int *length, MPI_Datatype *type)
{
    (void)a;
    (void)b;
    (void)length;
    (void)type;
}

static void wrong(void)
{
    MPI_Win win;
    MPI_Op own;
    int *memory, one = 1, got;
    double real = 1;
    MPI_Win_allocate(2 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Op_create((MPI_User_function *)replace, 1, &own);
    MPI_Win_lock_all(0, win);
    CHECK(MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, own, win) == MPI_ERR_OP);
    CHECK(MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_OP_NULL, win) == MPI_ERR_OP);
    CHECK(MPI_Fetch_and_op(&one, &got, MPI_INT, 0, 0, own, win) == MPI_ERR_OP);
    CHECK(MPI_Accumulate(&real, 1, MPI_DOUBLE, 0, 0, 2, MPI_INT, MPI_SUM, win) != MPI_SUCCESS);
    CHECK(MPI_Compare_and_swap(&real, &real, &real, MPI_DOUBLE, 0, 0, win) == MPI_ERR_TYPE);
    CHECK(MPI_Fetch_and_op(&one, NULL, MPI_INT, 0, 0, MPI_SUM, win) == MPI_ERR_BUFFER);
    CHECK(MPI_Fetch_and_op(&one, &got, MPI_INT, 0, 2, MPI_SUM, win) == MPI_ERR_RMA_RANGE);
    MPI_Win_unlock_all(win);
    CHECK(MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win) == MPI_ERR_RMA_SYNC);
    MPI_Op_free(&own);
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    wrong();
    return finish(rank);
}
