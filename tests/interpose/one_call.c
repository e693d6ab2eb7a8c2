/* SPDX-License-Identifier: MIT OR Apache-2.0
 * A call that any library has. */
#include <mpi.h>
#include <stdio.h>

int main(void)
{
    int flag = 1;
    if (MPI_Initialized(&flag) == MPI_SUCCESS && !flag)
        puts("PASS");
    return 0;
}
