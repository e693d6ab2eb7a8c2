/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Threads exchange short and long messages with all other ranks, each on a communicator of its own, all before any of them has met its
 * peers; then some send and others only receive. Each rank prints at how many ports it listens, one for each context of libfabric. */
#include <dirent.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 50, LONGEST = 300000 };

static int rank, size;
static MPI_Comm comms[THREADS];
static int wrong[THREADS];

/* Whether this process has a socket with a number. */
static int is_own(const char *inode)
{
    char link[64], target[64], path[300];
    int found = 0;
    struct dirent *each;
    DIR *folder = opendir("/proc/self/fd");
    snprintf(link, sizeof link, "socket:[%s]", inode);
    while (folder && (each = readdir(folder))) {
        snprintf(path, sizeof path, "/proc/self/fd/%s", each->d_name);
        ssize_t length = readlink(path, target, sizeof target - 1);
        target[length > 0 ? length : 0] = 0;
        found |= strcmp(target, link) == 0;
    }
    if (folder)
        closedir(folder);
    return found;
}

static int ports(void)
{
    char line[512], state[8], inode[32];
    int count = 0;
    FILE *table = fopen("/proc/self/net/tcp", "r");
    while (table && fgets(line, sizeof line, table))
        if (sscanf(line, "%*s %*s %*s %7s %*s %*s %*s %*s %*s %31s", state, inode) == 2 && strcmp(state, "0A") == 0)
            count += is_own(inode);
    if (table)
        fclose(table);
    return count;
}

static void *exchange(void *argument)
{
    int me = (int)(long)argument;
    static const int sizes[] = {0, 8, 3000, 70000, LONGEST};
    char *out = malloc(LONGEST), *in = malloc((size_t)size * LONGEST);
    MPI_Request *requests = malloc(2 * size * sizeof *requests);
    for (int round = 0; round < ROUNDS; ++round) {
        int bytes = sizes[round % 5];
        memset(out, 1 + round + me + rank, bytes);
        memset(in, 0, (size_t)size * LONGEST);
        for (int peer = 0; peer < size; ++peer) {
            MPI_Irecv(in + (size_t)peer * LONGEST, bytes, MPI_CHAR, peer, round, comms[me], &requests[2 * peer]);
            MPI_Isend(out, bytes, MPI_CHAR, peer, round, comms[me], &requests[2 * peer + 1]);
        }
        MPI_Waitall(2 * size, requests, MPI_STATUSES_IGNORE);
        for (int peer = 0; peer < size; ++peer)
            for (int at = 0; at < bytes; at += 101)
                wrong[me] += in[(size_t)peer * LONGEST + at] != (char)(1 + round + me + peer);
    }
    /* One direction: what a receiver returns goes to a context that it never sent to by itself. */
    for (int number = 0; number < 2000; ++number) {
        int got = number;
        if (rank == 0)
            for (int peer = 1; peer < size; ++peer)
                MPI_Send(&number, 1, MPI_INT, peer, 7, comms[me]);
        else
            MPI_Recv(&got, 1, MPI_INT, 0, 7, comms[me], MPI_STATUS_IGNORE);
        wrong[me] += got != number;
    }
    free(requests);
    free(out);
    free(in);
    return NULL;
}

int main(int argc, char **argv)
{
    int provided, sum = 0, all = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; ++i)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (long i = 0; i < THREADS; ++i)
        pthread_create(&threads[i], NULL, exchange, (void *)i);
    for (int i = 0; i < THREADS; ++i)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; ++i) {
        MPI_Comm_free(&comms[i]);
        sum += wrong[i];
    }
    sum += provided != MPI_THREAD_MULTIPLE;
    MPI_Reduce(&sum, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf(all ? "%d are wrong\n" : "all is right\n", all);
    printf("rank %d: ports %d\n", rank, ports());
    MPI_Finalize();
    return 0;
}
