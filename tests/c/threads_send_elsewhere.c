/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 2
 * ENV: RANKPOINT_VCIS=8 RANKPOINT_CMA=0 RANKPOINT_PROGRESS=hybrid
 * ENV: RANKPOINT_VCIS=8 RANKPOINT_CMA=0 RANKPOINT_PROGRESS=global
 * HANGS: RANKPOINT_VCIS=8 RANKPOINT_CMA=0 RANKPOINT_PROGRESS=vci
 * A correct program that needs progress on another VCI to send: rank 0 receives a long message on one communicator and then answers on another.
 * The thread of rank 1 that sends the long message stays out of MPI until the answer is there. */
#include "check.h"
#include <pthread.h>

enum { LONG = 1 << 22 };

static MPI_Comm comms[2];
static unsigned char data[LONG];
static int answer;
static pthread_barrier_t meet;

static void *sender(void *unused)
{
    MPI_Request request;
    MPI_Isend(data, LONG, MPI_BYTE, 0, 0, comms[0], &request);
    pthread_barrier_wait(&meet);
    pthread_barrier_wait(&meet);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return unused;
}

static void *receiver(void *unused)
{
    MPI_Request request;
    MPI_Irecv(&answer, 1, MPI_INT, 0, 0, comms[1], &request);
    pthread_barrier_wait(&meet);
    MPI_Send(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    pthread_barrier_wait(&meet);
    return unused;
}

static void receive_and_answer(void)
{
    int value = 7;
    MPI_Recv(NULL, 0, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    announce();
    MPI_Recv(data, LONG, MPI_BYTE, 1, 0, comms[0], MPI_STATUS_IGNORE);
    for (int i = 0; i < LONG; ++i)
        CHECK(data[i] == (unsigned char)(i * 7 + (i >> 8)));
    MPI_Send(&value, 1, MPI_INT, 1, 0, comms[1]);
}

int main(int argc, char **argv)
{
    int provided, rank;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 2; ++i)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    if (rank == 0) {
        receive_and_answer();
    } else {
        pthread_t threads[2];
        for (int i = 0; i < LONG; ++i)
            data[i] = (unsigned char)(i * 7 + (i >> 8));
        pthread_barrier_init(&meet, NULL, 2);
        pthread_create(&threads[0], NULL, sender, NULL);
        pthread_create(&threads[1], NULL, receiver, NULL);
        for (int i = 0; i < 2; ++i)
            pthread_join(threads[i], NULL);
        CHECK(answer == 7);
    }
    for (int i = 0; i < 2; ++i)
        MPI_Comm_free(&comms[i]);
    return finish(rank);
}
