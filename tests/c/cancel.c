/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 2 3 4 7
 * Sends that nobody has received are taken back, and waiting for them ends; sends that were received are not. */
#include "check.h"
#include <stdlib.h>

enum { LONG = 1 << 20, MIDDLE = 5000, TAGS = 6 };
static int rank, size;
static char *data;

/* Whether a request, cancelled just now, ends as cancelled. */
static int taken_back(MPI_Request *request)
{
    MPI_Status status;
    int cancelled;
    MPI_Cancel(request);
    MPI_Wait(request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    return cancelled;
}

/* Rank 0 cancels sends to all others, of which these are in no call that receives them. */
static void nobody_wants_them(void)
{
    const int counts[] = {0, 1, 48, MIDDLE, LONG};
    for (int i = 0; i < 5; ++i) {
        if (rank == 0) {
            for (int to = 1; to < size; ++to) {
                MPI_Request synchronous, standard;
                MPI_Issend(data, counts[i], MPI_CHAR, to, 1, MPI_COMM_WORLD, &synchronous);
                CHECK(taken_back(&synchronous));
                MPI_Isend(data, counts[i], MPI_CHAR, to, 2, MPI_COMM_WORLD, &standard);
                int cancelled = taken_back(&standard);
                /* What has left the buffer is sent. */
                CHECK(cancelled || counts[i] < LONG);
                MPI_Send(&cancelled, 1, MPI_INT, to, 3, MPI_COMM_WORLD);
            }
        } else {
            int cancelled, flag;
            MPI_Recv(&cancelled, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Iprobe(0, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
            CHECK(!flag);
            MPI_Iprobe(0, 2, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
            CHECK(flag == !cancelled);
            if (flag)
                MPI_Recv(data, counts[i], MPI_CHAR, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* Each of many messages is either received once or cancelled, whichever comes first. */
static void either_or(void)
{
    for (int round = 0; round < 60; ++round) {
        int count = round % 3 == 0 ? 1 : round % 3 == 1 ? MIDDLE : LONG;
        if (rank == 0) {
            MPI_Request requests[TAGS];
            MPI_Status statuses[TAGS];
            int got = 0, lost = 0, received;
            for (int tag = 0; tag < TAGS; ++tag)
                MPI_Issend(data, count, MPI_CHAR, 1, 10 + tag, MPI_COMM_WORLD, &requests[tag]);
            for (int tag = TAGS - 1; tag >= 0; --tag)
                MPI_Cancel(&requests[tag]);
            MPI_Waitall(TAGS, requests, statuses);
            for (int tag = 0; tag < TAGS; ++tag) {
                int cancelled;
                MPI_Test_cancelled(&statuses[tag], &cancelled);
                cancelled ? ++lost : ++got;
            }
            MPI_Ssend(&got, 1, MPI_INT, 1, 9, MPI_COMM_WORLD);
            MPI_Recv(&received, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(got == received && got + lost == TAGS);
        } else if (rank == 1) {
            int received = 0, got = -1, end = 0;
            while (!end || received < got) {
                MPI_Message message;
                MPI_Status status;
                MPI_Mprobe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
                if (status.MPI_TAG == 9) {
                    MPI_Mrecv(&got, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
                    end = 1;
                } else {
                    MPI_Mrecv(data, count, MPI_CHAR, &message, MPI_STATUS_IGNORE);
                    ++received;
                }
            }
            MPI_Send(&received, 1, MPI_INT, 0, 9, MPI_COMM_WORLD);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Sends that wait for room have not left: they are taken back without the receiver, which is in no call. */
static void before_they_leave(void)
{
    enum { MANY = 4000 };
    static MPI_Request requests[MANY];
    int token = 0;
    if (rank == 0) {
        for (int i = 0; i < MANY; ++i)
            MPI_Isend(data, 40, MPI_CHAR, 1, 20, MPI_COMM_WORLD, &requests[i]);
        int lost = 0;
        for (int i = MANY - 1; i >= 0; --i)
            lost += taken_back(&requests[i]);
        MPI_Send(&token, 1, MPI_INT, size - 1, 22, MPI_COMM_WORLD);
        MPI_Send(&lost, 1, MPI_INT, 1, 21, MPI_COMM_WORLD);
    }
    if (rank == size - 1 && rank > 1) {
        MPI_Recv(&token, 1, MPI_INT, 0, 22, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&token, 1, MPI_INT, 1, 23, MPI_COMM_WORLD);
    }
    if (rank == 1) {
        int lost;
        MPI_Recv(&token, 1, MPI_INT, size > 2 ? size - 1 : 0, size > 2 ? 23 : 22, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(&lost, 1, MPI_INT, 0, 21, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = lost; i < MANY; ++i)
            MPI_Recv(data, 40, MPI_CHAR, 0, 20, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        int flag;
        MPI_Iprobe(0, 20, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        CHECK(!flag);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A persistent send that was cancelled can be started again, and is received then. */
static void persistent(void)
{
    if (rank == 0) {
        MPI_Request request;
        MPI_Ssend_init(data, MIDDLE, MPI_CHAR, 1, 30, MPI_COMM_WORLD, &request);
        MPI_Start(&request);
        CHECK(taken_back(&request));
        MPI_Start(&request);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Status status;
        int cancelled;
        MPI_Wait(&request, &status);
        MPI_Test_cancelled(&status, &cancelled);
        CHECK(!cancelled);
        MPI_Request_free(&request);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 1)
            MPI_Recv(data, MIDDLE, MPI_CHAR, 0, 30, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    data = calloc(LONG, 1);
    nobody_wants_them();
    either_or();
    before_they_leave();
    persistent();
    free(data);
    return finish(rank);
}
