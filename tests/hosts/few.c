/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Rank 0 of a job, most of whose ranks may not exist, exchanges messages with so many others, and prints how much private memory
 * that took and how much the process has: "used KIB total KIB". The ranks end without MPI_Finalize.
 * Arguments: number of other ranks, bytes of the long messages. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bytes that only this process has, as the kernel counts them. */
static long private_kib(void) {
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    long kib = 0, found;
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "Private_Clean: %ld", &found) == 1 || sscanf(line, "Private_Dirty: %ld", &found) == 1) kib += found;
    if (file) fclose(file);
    return kib;
}

int main(int argc, char **argv) {
    int others = argc > 1 ? atoi(argv[1]) : 8, bytes = argc > 2 ? atoi(argv[2]) : 65536, rank, size;
    char *data = malloc(bytes);
    memset(data, 1, bytes);
    long bare = private_kib();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    long begun = private_kib();
    for (int turn = 0; turn < 3; turn++)
        for (int length = 8; length <= bytes; length = length < bytes && 16 * length > bytes ? bytes : 16 * length) {
            if (rank) {
                MPI_Recv(data, length, MPI_BYTE, 0, turn, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                MPI_Send(data, length, MPI_BYTE, 0, turn, MPI_COMM_WORLD);
                continue;
            }
            for (int other = 1; other <= others; other++) {
                MPI_Send(data, length, MPI_BYTE, other, turn, MPI_COMM_WORLD);
                MPI_Recv(data, length, MPI_BYTE, other, turn, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            }
        }
    if (!rank) {
        long now = private_kib();
        printf("of %d: begun %ld used %ld total %ld\n", size, begun - bare, now - begun, now - bare);
        fflush(stdout);
    }
    /* The last answer of a rank has left when the next message of rank 0 comes. */
    for (int other = 1; !rank && other <= others; other++) MPI_Send(data, 1, MPI_BYTE, other, 9, MPI_COMM_WORLD);
    if (rank) MPI_Recv(data, 1, MPI_BYTE, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else sleep(1);
    _exit(0);
}
