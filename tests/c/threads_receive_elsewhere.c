/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 2
 * ENV: RANKPOINT_VCIS=8 RANKPOINT_PROGRESS=hybrid
 * ENV: RANKPOINT_VCIS=8 RANKPOINT_PROGRESS=global
 * HANGS: RANKPOINT_VCIS=8 RANKPOINT_PROGRESS=vci
 * A correct program that needs progress on another VCI to receive: rank 0 sends on one communicator and then on another, and a send ends when
 * it is received. The thread of rank 1 that receives the first message stays out of MPI until the second one is there. */
#include "check.h"
#include <pthread.h>

static MPI_Comm comms[2];
static int got[2];
static pthread_barrier_t meet;

static void *receiver(void *argument)
{
    long me = (long)argument;
    MPI_Request request;
    MPI_Irecv(&got[me], 1, MPI_INT, 0, 0, comms[me], &request);
    pthread_barrier_wait(&meet);
    if (me == 1) {
        MPI_Send(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    pthread_barrier_wait(&meet);
    if (me == 0)
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    return NULL;
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
        MPI_Recv(NULL, 0, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        announce();
        for (int i = 0; i < 2; ++i) {
            int value = 7 + i;
            MPI_Ssend(&value, 1, MPI_INT, 1, 0, comms[i]);
        }
    } else {
        pthread_t threads[2];
        pthread_barrier_init(&meet, NULL, 2);
        for (long i = 0; i < 2; ++i)
            pthread_create(&threads[i], NULL, receiver, (void *)i);
        for (int i = 0; i < 2; ++i)
            pthread_join(threads[i], NULL);
        CHECK(got[0] == 7 && got[1] == 8);
    }
    for (int i = 0; i < 2; ++i)
        MPI_Comm_free(&comms[i]);
    return finish(rank);
}
