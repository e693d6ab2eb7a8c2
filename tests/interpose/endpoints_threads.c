/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Several threads of one endpoint: what one waits for does not keep the others from going on. */
#include "endpoints.h"

#include <pthread.h>
#include <unistd.h>

enum { PAUSE_US = 20000 };

/* A thread's communicator, and what it makes of it. */
struct work {
    MPI_Comm comm, made;
    int rank, size, pause, splits;
};

static void *send_later(void *argument) {
    struct work *work = argument;
    usleep(PAUSE_US);
    for (int other = 1; other < work->size; other++)
        MPI_Send(&other, 1, MPI_INT, other, 5, work->comm);
    return NULL;
}

/* One thread of rank 0 is in the collective; another sends what the others wait for before they come. */
static void messages_pass_collectives(MPI_Comm comm, int rank, int size) {
    for (int step = 0; step < 2; step++) {
        pthread_t thread;
        struct work work = {.comm = comm, .rank = rank, .size = size};
        int found, made_size;
        MPI_Comm made;
        if (rank == 0) {
            pthread_create(&thread, NULL, send_later, &work);
        } else {
            MPI_Recv(&found, 1, MPI_INT, 0, 5, comm, MPI_STATUS_IGNORE);
            EXPECT(found == rank);
        }
        if (step == 0)
            MPI_Comm_dup(comm, &made);
        else
            MPI_Comm_split(comm, 0, 0, &made);
        if (rank == 0)
            pthread_join(thread, NULL);
        MPI_Comm_size(made, &made_size);
        EXPECT(made_size == size);
        MPI_Comm_free(&made);
    }
}

static void *make(void *argument) {
    struct work *work = argument;
    if (work->pause)
        usleep(PAUSE_US);
    if (work->splits)
        MPI_Comm_split(work->comm, 0, 0, &work->made);
    else
        MPI_Comm_dup(work->comm, &work->made);
    return NULL;
}

/* Two threads of each endpoint duplicate or split two communicators, and come in different orders. */
static void communicators_are_made_in_any_order(MPI_Comm comm, int rank, int size, int splits) {
    struct work work[2];
    pthread_t threads[2];
    int result, sum;
    for (int at = 0; at < 2; at++) {
        work[at] = (struct work){.rank = rank, .size = size, .pause = (at + rank) % 2, .splits = splits};
        MPI_Comm_dup(comm, &work[at].comm);
    }
    for (int at = 0; at < 2; at++)
        pthread_create(&threads[at], NULL, make, &work[at]);
    for (int at = 0; at < 2; at++)
        pthread_join(threads[at], NULL);
    for (int at = 0; at < 2; at++) {
        MPI_Comm_compare(work[at].comm, work[at].made, &result);
        EXPECT(result == MPI_CONGRUENT);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, work[at].made);
        EXPECT(sum == size * (size - 1) / 2);
        MPI_Comm_free(&work[at].made);
        MPI_Comm_free(&work[at].comm);
    }
}

void threads_share_an_endpoint(MPI_Comm comm, int rank, int size) {
    messages_pass_collectives(comm, rank, size);
    communicators_are_made_in_any_order(comm, rank, size, 0);
    communicators_are_made_in_any_order(comm, rank, size, 1);
}
