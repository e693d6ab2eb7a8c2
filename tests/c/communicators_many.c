/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 4
 * Communicators that come and go leave nothing; 10,000 alive at once work; many are duplicated at the same time. */
#include "check.h"
#include <unistd.h>

enum { CYCLES = 100000, ALIVE = 10000, AT_ONCE = 500 };

static MPI_Comm made[ALIVE];
static MPI_Request requests[AT_ONCE];

static long resident_bytes(void)
{
    long pages = 0, ignored;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file && fscanf(file, "%ld %ld", &ignored, &pages) == 2);
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

static void use(MPI_Comm comm, int number)
{
    int sum = 0, size;
    MPI_Comm_size(comm, &size);
    CHECK(MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
    CHECK(sum == size * number);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int cycles = size > 2 ? CYCLES / 10 : CYCLES;

    long before = 0;
    for (int cycle = 0; cycle < cycles; ++cycle) {
        if (cycle == cycles / 5)
            before = resident_bytes();
        MPI_Comm comm;
        CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS);
        if (cycle % 50 == 0)
            for (int i = 0; i < 3; ++i)
                use(comm, cycle + i);
        CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS && comm == MPI_COMM_NULL);
    }
    const long grown = resident_bytes() - before;
    if (grown > 512 << 10)
        fprintf(stderr, "rank %d: %d cycles took %ld bytes\n", rank, cycles - cycles / 5, grown);
    CHECK(grown <= 512 << 10);

    before = resident_bytes();
    for (int i = 0; i < ALIVE; ++i)
        CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &made[i]) == MPI_SUCCESS);
    const long each = (resident_bytes() - before) / ALIVE;
    for (int i = 0; i < ALIVE; ++i)
        use(made[i], i);
    if (rank == 0)
        printf("%ld bytes a communicator\n", each);
    CHECK(each < 2048);
    /* A few of them are used more often. */
    for (int i = 0; i < ALIVE; i += 100)
        for (int j = 0; j < 3; ++j)
            use(made[i], i + j);
    for (int start = 0; start < 7; ++start)
        for (int i = start; i < ALIVE; i += 7)
            CHECK(MPI_Comm_free(&made[i]) == MPI_SUCCESS);

    for (int i = 0; i < AT_ONCE; ++i)
        CHECK(MPI_Comm_idup(MPI_COMM_WORLD, &made[i], &requests[i]) == MPI_SUCCESS);
    for (int i = 0; i < AT_ONCE; ++i) {
        const int which = (i * 7 + rank * 100) % AT_ONCE;
        CHECK(MPI_Wait(&requests[which], MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
    for (int i = 0; i < AT_ONCE; ++i) {
        use(made[i], i);
        CHECK(MPI_Comm_free(&made[i]) == MPI_SUCCESS);
    }
    return finish(rank);
}
