/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 3 4 7
 * Messages that need no operation: blocking and nonblocking sends of lengths on both sides of every threshold, in bursts that fill the
 * ring and one by one, to receives that are there before them or come late, are too short, take every second byte, or take anything;
 * exchanges, and persistent requests. Nothing overtakes. Statuses say what came, and nothing is written beyond what was asked for. */
#include "check.h"

#include <unistd.h>

static const int LENGTHS[] = {0,    1,    47,   48,    49,    64,    511,   512,   513,   2047,  2048,  2049,
                              4096, 8191, 8192, 8193, 10241, 16384, 24577, 32767, 32768, 32769, 65536,
                              131071, 131072, 131073};
enum { LENGTH_COUNT = sizeof LENGTHS / sizeof *LENGTHS, MOST = 131073, GUARD = 64, BURST = 40 };

static int rank, size, before, behind;
static unsigned char from[MOST], into[2 * MOST + GUARD], spaced[2 * MOST];

static unsigned char value(int owner, int salt, int position)
{
    return (unsigned char)(position * 31 + position / 251 + owner * 77 + salt * 13 + 1);
}

static void fill(int salt, int length)
{
    for (int i = 0; i < length; ++i)
        from[i] = value(rank, salt, i);
}

/* Looks at what came: `stride` bytes apart, `wanted` of them, and nothing behind. */
static void look(int salt, int wanted, int stride)
{
    for (int i = 0; i < wanted; ++i)
        CHECK(into[i * stride] == value(before, salt, i));
    for (int i = wanted == 0 ? 0 : (wanted - 1) * stride + 1, end = i + GUARD; i < end; ++i)
        CHECK(into[i] == 0);
}

static void check_status(const MPI_Status *status, int tag, int count)
{
    int bytes;
    CHECK(status->MPI_SOURCE == before && status->MPI_TAG == tag);
    MPI_Get_count(status, MPI_BYTE, &bytes);
    CHECK(bytes == count);
}

/* One message round, blocking where `late`: every second rank of the ring sends first then, and a rank alone must not. */
static void pass(int length, int room, int late, int any)
{
    int wanted = length < room ? length : room, code, class, tag = length % 1000;
    int source = any ? MPI_ANY_SOURCE : before, filter = any ? MPI_ANY_TAG : tag;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    fill(length, length);
    memset(into, 0, (size_t)room + GUARD);
    if (late && size > 1) {
        if (rank % 2 == 0)
            MPI_Send(from, length, MPI_BYTE, behind, tag, MPI_COMM_WORLD);
        else
            MPI_Isend(from, length, MPI_BYTE, behind, tag, MPI_COMM_WORLD, &request);
        if (rank % 2 == 1)
            usleep(200);
        code = MPI_Recv(into, room, MPI_BYTE, source, filter, MPI_COMM_WORLD, &status);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Irecv(into, room, MPI_BYTE, source, filter, MPI_COMM_WORLD, &request);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Send(from, length, MPI_BYTE, behind, tag, MPI_COMM_WORLD);
        code = MPI_Wait(&request, &status);
    }
    MPI_Error_class(code, &class);
    CHECK(class == (room < length ? MPI_ERR_TRUNCATE : MPI_SUCCESS));
    if (class == MPI_SUCCESS)
        check_status(&status, tag, length);
    look(length, wanted, 1);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* To every second byte, and from there. */
static void spread(int length, MPI_Datatype second)
{
    MPI_Request request;
    MPI_Status status;
    fill(3, length);
    memset(into, 0, 2 * (size_t)length + GUARD);
    MPI_Irecv(into, length, second, before, 7, MPI_COMM_WORLD, &request);
    MPI_Send(from, length, MPI_BYTE, behind, 7, MPI_COMM_WORLD);
    MPI_Wait(&request, &status);
    check_status(&status, 7, length);
    look(3, length, 2);
    memcpy(spaced, into, 2 * (size_t)length);
    memset(into, 0, (size_t)length + GUARD);
    MPI_Irecv(into, length, MPI_BYTE, behind, 8, MPI_COMM_WORLD, &request);
    MPI_Send(spaced, length, second, before, 8, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < length; ++i)
        CHECK(into[i] == from[i]);
}

/* A receive that waits gets what no receive posted before it wants, and what came first: of three messages the first one is probed or
 * has a receive, with or without wildcards. */
static void order(int length, int probed, int any)
{
    static unsigned char data[3][MOST], first[MOST];
    MPI_Request requests[4];
    MPI_Message message;
    MPI_Status status;
    int source = any ? MPI_ANY_SOURCE : before, tag = any ? MPI_ANY_TAG : 9;
    memset(first, 0, (size_t)length);
    if (!probed)
        MPI_Irecv(first, length, MPI_BYTE, source, tag, MPI_COMM_WORLD, &requests[3]);
    for (int i = 0; i < 3; ++i) {
        fill(i, length);
        memcpy(data[i], from, (size_t)length);
        MPI_Isend(data[i], length, MPI_BYTE, behind, 9, MPI_COMM_WORLD, &requests[i]);
    }
    if (probed) {
        MPI_Mprobe(source, tag, MPI_COMM_WORLD, &message, &status);
        check_status(&status, 9, length);
    }
    for (int i = 1; i < 3; ++i) {
        memset(into, 0, (size_t)length + GUARD);
        CHECK(MPI_Recv(into, length, MPI_BYTE, before, 9, MPI_COMM_WORLD, &status) == MPI_SUCCESS);
        check_status(&status, 9, length);
        look(i, length, 1);
    }
    if (probed)
        MPI_Imrecv(first, length, MPI_BYTE, &message, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < length; ++i)
        CHECK(first[i] == value(before, 0, i));
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Both ways at once, in place too, and with persistent requests. */
static void exchange(int length)
{
    MPI_Request requests[2];
    MPI_Status status;
    for (int i = 0; i < 5; ++i) {
        fill(i, length);
        memset(into, 0, (size_t)length + GUARD);
        MPI_Sendrecv(from, length, MPI_BYTE, behind, i, into, length, MPI_BYTE, before, i, MPI_COMM_WORLD, &status);
        check_status(&status, i, length);
        look(i, length, 1);
    }
    memcpy(into, from, (size_t)length);
    MPI_Sendrecv_replace(into, length, MPI_BYTE, behind, 1, before, 1, MPI_COMM_WORLD, &status);
    look(4, length, 1);
    MPI_Recv_init(into, length, MPI_BYTE, before, 2, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(from, length, MPI_BYTE, behind, 2, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < 5; ++i) {
        fill(i + 9, length);
        memset(into, 0, (size_t)length + GUARD);
        MPI_Startall(2, requests);
        MPI_Wait(&requests[0], &status);
        check_status(&status, 2, length);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        look(i + 9, length, 1);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

/* Who receives one message after the other from rank 1 takes in what rank 2 sends, too: else rank 1 would never be told to stop. */
static void share(void)
{
    enum { LONG = 1 << 20, ENDLESS = 50000000 };
    int flag = 0, word = 0;
    if (rank == 0) {
        unsigned char *data = malloc(LONG);
        MPI_Request request;
        MPI_Status status;
        MPI_Irecv(data, LONG, MPI_BYTE, 2, 0, MPI_COMM_WORLD, &request);
        do
            MPI_Recv(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &status);
        while (word == 0);
        CHECK(word == 1);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(data[LONG - 1] == 7);
        free(data);
    } else if (rank == 1) {
        for (int i = 0; i < ENDLESS && !flag; ++i) {
            MPI_Send(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
            if (i % 16 == 0)
                MPI_Iprobe(2, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        }
        word = flag ? 1 : 2;
        MPI_Send(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        MPI_Recv(&word, 1, MPI_INT, 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 2) {
        unsigned char *data = malloc(LONG);
        memset(data, 7, LONG);
        usleep(2000);
        MPI_Ssend(data, LONG, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        MPI_Send(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        free(data);
    }
}

/* More at once than the ring takes: by even ranks to odd ones with blocking sends, and back. */
static void burst(int length)
{
    for (int turn = 0; turn < 2; ++turn) {
        if (rank % 2 == turn && rank + 1 - 2 * turn < size) {
            for (int i = 0; i < BURST; ++i) {
                fill(i, length);
                MPI_Send(from, length, MPI_BYTE, rank + 1 - 2 * turn, i, MPI_COMM_WORLD);
            }
        } else if (rank % 2 != turn && rank - 1 + 2 * turn < size) {
            int peer = rank - 1 + 2 * turn, keep = before;
            before = peer;
            for (int i = 0; i < BURST; ++i) {
                MPI_Status status;
                memset(into, 0, (size_t)length + GUARD);
                CHECK(MPI_Recv(into, length, MPI_BYTE, peer, i, MPI_COMM_WORLD, &status) == MPI_SUCCESS);
                check_status(&status, i, length);
                look(i, length, 1);
            }
            before = keep;
        }
    }
}

int main(int argc, char **argv)
{
    MPI_Datatype second;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    before = (rank + size - 1) % size;
    behind = (rank + 1) % size;
    MPI_Type_create_resized(MPI_BYTE, 0, 2, &second);
    MPI_Type_commit(&second);
    for (int i = 0; i < LENGTH_COUNT; ++i) {
        int length = LENGTHS[i];
        for (int late = 0; late < 2; ++late) {
            pass(length, length, late, 0);
            pass(length, length + 10, late, 0);
            pass(length, length, late, 1);
            if (length > 0)
                pass(length, length - 1, late, 0);
            if (length > 100)
                pass(length, length / 3, late, 1);
        }
        spread(length, second);
        for (int form = 0; form < 4; ++form)
            order(length, form & 1, form & 2);
        exchange(length);
        burst(length);
    }
    if (size > 2)
        share();
    MPI_Type_free(&second);
    return finish(rank);
}
