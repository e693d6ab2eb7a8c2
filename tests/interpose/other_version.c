/* SPDX-License-Identifier: MIT OR Apache-2.0
 * A library with few functions, which says that it has a version of the ABI. */
#ifndef VERSION
#define VERSION 2
#endif

int MPI_Abi_get_version(int *major, int *minor)
{
    *major = VERSION;
    *minor = 0;
    return 0;
}

int MPI_Initialized(int *flag)
{
    *flag = 0;
    return 0;
}
