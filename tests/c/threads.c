/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 2 4
 * MPI_THREAD_MULTIPLE: threads exchange on their own communicators and on a shared one. */
#include "check.h"
#include <pthread.h>

enum { THREADS = 4, ROUNDS = 300 };

static int rank, size, peer;
static MPI_Comm comms[THREADS];

static void *exchange(void *argument)
{
    int me = (int)(long)argument;
    static const int sizes[] = {1, 48, 49, 5000, 70000};
    char *out = malloc(70000), *in = malloc(70000);
    for (int round = 0; round < ROUNDS; ++round) {
        int bytes = sizes[round % 5];
        MPI_Comm comm = round % 2 ? comms[me] : MPI_COMM_WORLD;
        MPI_Request requests[2];
        memset(out, 'a' + me + rank, bytes);
        MPI_Irecv(in, bytes, MPI_CHAR, peer, me, comm, &requests[0]);
        MPI_Isend(out, bytes, MPI_CHAR, peer, me, comm, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < bytes; i += 101)
            CHECK(in[i] == 'a' + me + peer);
    }
    free(out);
    free(in);
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    peer = rank ^ 1;
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; ++i)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (long i = 0; i < THREADS; ++i)
        pthread_create(&threads[i], NULL, exchange, (void *)i);
    for (int i = 0; i < THREADS; ++i)
        pthread_join(threads[i], NULL);

    for (int i = 0; i < THREADS; ++i)
        MPI_Comm_free(&comms[i]);
    return finish(rank);
}
