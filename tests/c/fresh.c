/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 2
 * Messages of 8 KiB and more, whose way the receiver chooses by what it has measured: data that are written before each message, and
 * data that stay the same, whole in any case. With an argument, what half a round trip takes for each length: where the data are
 * fresh they lie in the sender's cache, and where they are not the receiver may still have them in its own. */
#include "check.h"

static const int LENGTHS[] = {8192, 16384, 32768, 65536, 262144, 1048576, 4194304};
enum { LENGTH_COUNT = sizeof LENGTHS / sizeof *LENGTHS, MOST = 4194304, LINE = 64 };

static int rank;
static unsigned char *from, *into;

/* A number of round trips; the seconds that half of one takes. */
static double trips(int length, int count, int fresh)
{
    memset(from, 0, (size_t)length);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int trip = 0; trip < 2 * count; ++trip) {
        int expected = fresh ? trip & 0xff : 0;
        if (trip % 2 == rank) {
            if (fresh)
                memset(from, expected, (size_t)length);
            MPI_Send(from, length, MPI_BYTE, !rank, 0, MPI_COMM_WORLD);
        } else {
            int wrong = 0;
            MPI_Recv(into, length, MPI_BYTE, !rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (int at = 0; at < length; at += LINE)
                wrong |= into[at] ^ expected;
            wrong |= into[length - 1] ^ expected;
            CHECK(wrong == 0);
        }
    }
    return (MPI_Wtime() - start) / (2 * count);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    from = malloc(MOST);
    into = malloc(MOST);
    if (argc > 1 && rank == 0)
        printf("%10s %12s %12s\n", "bytes", "fresh", "the same");
    for (int i = 0; i < LENGTH_COUNT; ++i) {
        int count = argc > 1 ? 40000000 / LENGTHS[i] + 100 : 400000 / LENGTHS[i] + 100;
        double seconds[2];
        for (int fresh = 0; fresh < 2; ++fresh) {
            memset(into, 255, MOST);
            trips(LENGTHS[i], count / 4, fresh);
            seconds[fresh] = trips(LENGTHS[i], count, fresh);
        }
        if (argc > 1 && rank == 0)
            printf("%10d %9.2f us %9.2f us\n", LENGTHS[i], seconds[1] * 1e6, seconds[0] * 1e6);
    }
    free(from);
    free(into);
    return finish(rank);
}
