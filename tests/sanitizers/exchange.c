/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Messages of all protocols with both neighbours, and one request that is never freed. With two
 * arguments, a file name and a number: each rank dumps its core by gcore and compares its size. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static long dumped_bytes(const char *name, int rank) {
    char command[4096], file[4096];
    struct stat core;
    snprintf(file, sizeof file, "%s-%d.%d", name, rank, (int)getpid());
    snprintf(command, sizeof command, "gcore -o %s-%d %d > /dev/null 2>&1", name, rank, (int)getpid());
    if (system(command) != 0 || stat(file, &core) != 0) {
        return -1;
    }
    unlink(file);
    return core.st_size;
}

int main(int argc, char **argv) {
    int rank, size, good = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    for (int bytes = 1; bytes <= 4 << 20; bytes *= 16) {
        char *out = malloc(bytes), *in = malloc(bytes), *shared;
        MPI_Alloc_mem(bytes, MPI_INFO_NULL, &shared);
        memset(out, rank + 1, bytes);
        memset(shared, rank + 1, bytes);
        for (int round = 0; round < 2; round++) {
            memset(in, 0, bytes);
            MPI_Sendrecv(round ? shared : out, bytes, MPI_CHAR, to, 0, in, bytes, MPI_CHAR, from, 0,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            good &= in[0] == from + 1 && in[bytes - 1] == from + 1;
        }
        MPI_Free_mem(shared);
        free(in);
        free(out);
    }
    MPI_Request kept;
    int number = 0;
    MPI_Recv_init(&number, 1, MPI_INT, from, 1, MPI_COMM_WORLD, &kept);
    if (argc == 3) {
        long bytes = dumped_bytes(argv[1], rank);
        if (bytes < 0 || bytes > atol(argv[2])) {
            fprintf(stderr, "rank %d: a core dump of %ld bytes\n", rank, bytes);
            good = 0;
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    puts(good ? "PASS" : "FAIL");
    MPI_Finalize();
    return !good;
}
