/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 3 4 7
 * Memory of MPI_Alloc_mem, which lies where other ranks see it: messages of lengths on both sides of every threshold go round, out
 * of it and into it, early and late, whole, from its middle, cut off, and to every second double. With an argument, what half a
 * round trip takes with and without such memory, for each length. */
#include "check.h"

static const size_t LENGTHS[] = {0,      1,      48,     49,     32767,   32768, 32769,
                                 65536, 131072, 131073, 262144, 262145, 300007, 786431, 786432, 786433, 1048576, 5000000};
enum { LENGTH_COUNT = sizeof LENGTHS / sizeof *LENGTHS, MOST = 5000000, GUARD = 64 };

static int rank, size;

static unsigned char value(int owner, size_t position)
{
    return (unsigned char)(position * 31 + position / 251 + (size_t)owner * 77 + 1);
}

static void fill(unsigned char *bytes, size_t length)
{
    for (size_t i = 0; i < length; ++i)
        bytes[i] = value(rank, i);
}

static int is_of(const unsigned char *bytes, size_t length, int owner)
{
    for (size_t i = 0; i < length; ++i)
        if (bytes[i] != value(owner, i))
            return 0;
    return 1;
}

/* One step round; the receive is posted before or after the message is there. */
static void pass(unsigned char *from, unsigned char *into, size_t length, int is_late, size_t room)
{
    int before = (rank + size - 1) % size, behind = (rank + 1) % size, code, class;
    size_t wanted = length < room ? length : room;
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    fill(from, length);
    memset(into, 0, MOST + GUARD);
    if (!is_late)
        MPI_Irecv(into, (int)room, MPI_BYTE, before, 5, MPI_COMM_WORLD, &requests[0]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Isend(from, (int)length, MPI_BYTE, behind, 5, MPI_COMM_WORLD, &requests[1]);
    if (is_late) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Irecv(into, (int)room, MPI_BYTE, before, 5, MPI_COMM_WORLD, &requests[0]);
    }
    code = MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Error_class(code, &class);
    CHECK(class == (room < length ? MPI_ERR_TRUNCATE : MPI_SUCCESS));
    CHECK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(is_of(into, wanted, before));
    for (size_t i = wanted; i < wanted + GUARD; ++i)
        CHECK(into[i] == 0);
}

static void spread(unsigned char *from, double *into, int count)
{
    int before = (rank + size - 1) % size, behind = (rank + 1) % size;
    double *numbers = (double *)from;
    MPI_Datatype every_second;
    MPI_Type_vector(count, 1, 2, MPI_DOUBLE, &every_second);
    MPI_Type_commit(&every_second);
    for (int i = 0; i < count; ++i)
        numbers[i] = rank * 1e7 + i;
    for (int i = 0; i < 2 * count; ++i)
        into[i] = -1;
    MPI_Sendrecv(numbers, count, MPI_DOUBLE, behind, 6, into, 1, every_second, before, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < count; ++i)
        CHECK(into[2 * i] == before * 1e7 + i && into[2 * i + 1] == -1);
    MPI_Type_free(&every_second);
}

static void measure(unsigned char *memory, const char *what)
{
    for (size_t length = 65536; length <= 8388608; length *= 2) {
        int laps = (int)(33554432 / length);
        double start = 0;
        for (int lap = -2; lap < laps; ++lap) {
            if (lap == 0)
                start = MPI_Wtime();
            if (rank == 0)
                MPI_Send(memory, (int)length, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
            if (rank < 2)
                MPI_Recv(memory, (int)length, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (rank == 1)
                MPI_Send(memory, (int)length, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        }
        if (rank == 0)
            printf("%8zu bytes %9.2f us  %s\n", length, (MPI_Wtime() - start) * 5e5 / laps, what);
    }
}

int main(int argc, char **argv)
{
    unsigned char *shared[2], *own[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < 2; ++i) {
        CHECK(MPI_Alloc_mem(2 * MOST + GUARD, MPI_INFO_NULL, &shared[i]) == MPI_SUCCESS);
        own[i] = malloc(2 * MOST + GUARD);
        CHECK(own[i] != NULL);
        memset(own[i], 0, 2 * MOST + GUARD);
        memset(shared[i], 0, 2 * MOST + GUARD);
    }
    if (argc > 1 && size > 1) {
        measure(own[0], "malloc");
        measure(shared[0], "MPI_Alloc_mem");
        measure(own[0], "malloc");
        measure(shared[0], "MPI_Alloc_mem");
    }
    for (int i = 0; i < LENGTH_COUNT; ++i)
        for (int is_late = 0; is_late < 2; ++is_late) {
            pass(shared[0], shared[1], LENGTHS[i], is_late, MOST);
            pass(shared[0], own[1], LENGTHS[i], is_late, MOST);
            pass(own[0], shared[1] + 8, LENGTHS[i], is_late, MOST);
            pass(shared[0] + MOST / 2 + 1, shared[1], LENGTHS[i], is_late, MOST);
            if (LENGTHS[i] > 1)
                pass(shared[0], shared[1], LENGTHS[i], is_late, LENGTHS[i] / 2);
        }
    spread(shared[0], (double *)shared[1], 300000);
    spread(shared[0], (double *)own[1], 500000);
    spread(own[0], (double *)shared[1], 20000);
    for (int i = 0; i < 2; ++i) {
        CHECK(MPI_Free_mem(shared[i]) == MPI_SUCCESS);
        free(own[i]);
    }
    return finish(rank);
}
