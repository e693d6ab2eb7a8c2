/* SPDX-License-Identifier: MIT OR Apache-2.0
 * As fortran_types.c, after MPI_Init and after types were used with their usual sizes; descriptions that are refused before one is taken.
 *
 * RANKS: 1 2 3
 * NEEDS: checked arguments
 * ENV: RANKPOINT_INITIAL_ERRHANDLER=2
 */
#define LATE 1
#include "fortran_types.c"
