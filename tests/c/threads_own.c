/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 2 3 4
 * ENV: RANKPOINT_VCIS=8
 * ENV: RANKPOINT_VCIS=2 RANKPOINT_PROGRESS=global
 * ENV: RANKPOINT_VCIS=1
 * ENV: RANKPOINT_VCIS=64
 * ENV: RANKPOINT_VCIS=8 RANKPOINT_PROGRESS=global
 * ENV: RANKPOINT_VCIS=64 RANKPOINT_PROGRESS=vci
 * ENV: RANKPOINT_LOCKS=global
 * Eight threads of each rank, each with a communicator of its own: messages of all lengths with checksums to all other ranks, awaited in all
 * ways, collectives, and new communicators meanwhile. */
#include "check.h"
#include <pthread.h>
#include <stdint.h>

enum { THREADS = 8, ROUNDS = 120, MOST_RANKS = 4, MOST_BYTES = 100000, ROUNDS_OF_A_COMM = 25 };

/* What a message begins with. */
typedef struct {
    uint64_t checksum;
    int32_t from, to, thread, round;
} head_t;

static int rank, size;
static MPI_Comm comms[THREADS];

static uint64_t next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static uint64_t seed(int from, int to, int thread, int round)
{
    uint64_t state = 0x9e3779b97f4a7c15u ^ ((uint64_t)round << 32 | (uint64_t)thread << 16 | (uint64_t)from << 8 | (uint64_t)to);
    next(&state);
    next(&state);
    return state;
}

/* FNV-1a. */
static uint64_t checksum(const unsigned char *data, int bytes)
{
    uint64_t sum = 0xcbf29ce484222325u;
    for (int i = 0; i < bytes; ++i)
        sum = (sum ^ data[i]) * 0x100000001b3u;
    return sum;
}

/* Bytes after the head: mostly few, now and then those of a long message. */
static int body_bytes(int from, int to, int thread, int round)
{
    static const int limits[] = {24, 200, 24, 3000, 24, 20000, 24, MOST_BYTES - (int)sizeof(head_t)};
    uint64_t state = seed(from, to, thread, round);
    int limit = limits[next(&state) % 8];
    return (int)(next(&state) % (uint64_t)limit);
}

static int make(unsigned char *message, int to, int thread, int round)
{
    int bytes = body_bytes(rank, to, thread, round);
    uint64_t state = seed(rank, to, thread, round + ROUNDS);
    unsigned char *body = message + sizeof(head_t);
    for (int i = 0; i < bytes; ++i)
        body[i] = (unsigned char)next(&state);
    head_t head = {checksum(body, bytes), rank, to, thread, round};
    memcpy(message, &head, sizeof head);
    return bytes + (int)sizeof head;
}

static void verify(const unsigned char *message, const MPI_Status *status, int thread, int round)
{
    head_t head;
    int bytes;
    memcpy(&head, message, sizeof head);
    MPI_Get_count(status, MPI_BYTE, &bytes);
    CHECK(head.from == status->MPI_SOURCE && head.to == rank);
    CHECK(head.thread == thread && head.round == round);
    CHECK(bytes == (int)sizeof head + body_bytes(head.from, rank, thread, round));
    CHECK(head.checksum == checksum(message + sizeof head, bytes - (int)sizeof head));
}

/* Completes all receives and sends in one of the ways that MPI has. */
static void await_all(int way, int count, MPI_Request *requests, MPI_Status *statuses)
{
    int done = 0, index, flag = 0;
    switch (way % 4) {
    case 0:
        MPI_Waitall(count, requests, statuses);
        break;
    case 1:
        for (; done < count; ++done) {
            MPI_Status status;
            MPI_Waitany(count, requests, &index, &status);
            CHECK(index != MPI_UNDEFINED);
            statuses[index] = status;
        }
        break;
    case 2:
        while (!flag)
            MPI_Testall(count, requests, &flag, statuses);
        break;
    default:
        for (int i = count - 1; i >= 0; --i)
            MPI_Wait(&requests[i], &statuses[i]);
    }
}

static void exchange(MPI_Comm comm, int thread, int round, unsigned char *out[], unsigned char *in[])
{
    MPI_Request requests[2 * MOST_RANKS];
    MPI_Status statuses[2 * MOST_RANKS];
    int receives = size - 1, count = 0;
    int from_any = round % 3 == 0;
    for (int i = 1; i < size; ++i, ++count) {
        int from = from_any ? MPI_ANY_SOURCE : (rank + i) % size;
        MPI_Irecv(in[count], MOST_BYTES, MPI_BYTE, from, round, comm, &requests[count]);
    }
    for (int i = 1; i < size; ++i, ++count) {
        int to = (rank + i) % size, bytes = make(out[i], to, thread, round);
        if (round % 5 == 1)
            MPI_Issend(out[i], bytes, MPI_BYTE, to, round, comm, &requests[count]);
        else
            MPI_Isend(out[i], bytes, MPI_BYTE, to, round, comm, &requests[count]);
    }
    await_all(round + thread, count, requests, statuses);
    for (int i = 0; i < receives; ++i)
        verify(in[i], &statuses[i], thread, round);
}

static void reduce(MPI_Comm comm, int thread, int round)
{
    long value = (long)(rank + 1) * (thread + 1) + round, sum = 0;
    MPI_Allreduce(&value, &sum, 1, MPI_LONG, MPI_SUM, comm);
    CHECK(sum == (long)size * (size + 1) / 2 * (thread + 1) + (long)size * round);
}

static void *run(void *argument)
{
    int thread = (int)(long)argument;
    unsigned char *out[MOST_RANKS], *in[MOST_RANKS];
    for (int i = 0; i < MOST_RANKS; ++i) {
        out[i] = malloc(MOST_BYTES);
        in[i] = malloc(MOST_BYTES);
    }
    MPI_Comm comm = comms[thread];
    for (int round = 0; round < ROUNDS; ++round) {
        exchange(comm, thread, round, out, in);
        if (round % 8 == thread)
            reduce(comm, thread, round);
        if (round % ROUNDS_OF_A_COMM == ROUNDS_OF_A_COMM - 1) {
            MPI_Comm old = comm;
            MPI_Comm_dup(old, &comm);
            MPI_Comm_free(&old);
        }
    }
    MPI_Comm_free(&comm);
    for (int i = 0; i < MOST_RANKS; ++i) {
        free(out[i]);
        free(in[i]);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size <= MOST_RANKS);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; ++i)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (long i = 0; i < THREADS; ++i)
        pthread_create(&threads[i], NULL, run, (void *)i);
    for (int i = 0; i < THREADS; ++i)
        pthread_join(threads[i], NULL);
    return finish(rank);
}
