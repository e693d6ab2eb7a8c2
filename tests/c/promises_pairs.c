/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 3
 * ENV: PROMISES_LEVEL=single
 * ENV: PROMISES_LEVEL=multiple
 * ENV: RANKPOINT_CHECK=hints,types
 * ENV: RANKPOINT_PROGRESS_THREAD=1
 * Every send of mpi_rankpoint.h and of MPI with every receive that takes its messages, of all lengths, posted before and after, in several
 * kinds of communicators: order, isolation, statuses, completion in bulk. */
#include "promises.h"

#define LONGEST 200000
#define BURST 12

static const int lengths[] = {0, 1, 8, 48, 49, 1000, 9000, LONGEST};
static int rank, size;
static unsigned char *out[BURST], *in[BURST];

/* A communicator, its ranks in MPI_COMM_WORLD, and whether its handle is a constant. */
struct group {
    MPI_Comm comm;
    int me, size, predefined;
    int world[64];
};

enum { PLAIN, GLOBAL, NPN, NOREQ, NOMATCH, ALL, KINDS };

static int has_tag(int kind)
{
    return kind < NOMATCH;
}

/* Starts a send; 1 if it has a request. */
static int start_send(const struct group *group, int kind, int blocking, int number, int bytes, int to, int tag,
                      MPI_Request *request)
{
    MPI_Comm comm = group->comm;
    const void *buffer = out[number];
    *request = MPI_REQUEST_NULL;
    switch (kind) {
    case PLAIN:
        return MPI_Isend(buffer, bytes, MPI_BYTE, to, tag, comm, request), 1;
    case GLOBAL:
        if (blocking)
            return x_Send_global(buffer, bytes, MPI_BYTE, group->world[to], tag, comm), 0;
        return x_Isend_global(buffer, bytes, MPI_BYTE, group->world[to], tag, comm, request), 1;
    case NPN:
        if (blocking)
            return x_Send_npn(buffer, bytes, MPI_BYTE, to, tag, comm), 0;
        return x_Isend_npn(buffer, bytes, MPI_BYTE, to, tag, comm, request), 1;
    case NOREQ:
        return x_Isend_noreq(buffer, bytes, MPI_BYTE, to, tag, comm), 0;
    case NOMATCH:
        if (blocking)
            return x_Send_nomatch(buffer, bytes, MPI_BYTE, to, comm), 0;
        return x_Isend_nomatch(buffer, bytes, MPI_BYTE, to, comm, request), 1;
    default:
        if (blocking)
            return x_Send_all_opts(buffer, bytes, MPI_BYTE, group->world[to], comm), 0;
        return x_Isend_all_opts(buffer, bytes, MPI_BYTE, group->world[to], comm), 0;
    }
}

/* Starts a receive; 1 if it has a request. */
static int start_receive(const struct group *group, int kind, int number, int bytes, int from, int tag, MPI_Request *request)
{
    MPI_Comm comm = group->comm;
    void *buffer = in[number];
    *request = MPI_REQUEST_NULL;
    switch (kind) {
    case PLAIN:
        return MPI_Irecv(buffer, bytes, MPI_BYTE, from, tag, comm, request), 1;
    case GLOBAL:
        return x_Irecv_global(buffer, bytes, MPI_BYTE, group->world[from], tag, comm, request), 1;
    case NPN:
        return x_Irecv_npn(buffer, bytes, MPI_BYTE, from, tag, comm, request), 1;
    case NOREQ:
        return x_Irecv_noreq(buffer, bytes, MPI_BYTE, from, tag, comm), 0;
    case NOMATCH:
        return x_Irecv_nomatch(buffer, bytes, MPI_BYTE, comm, request), 1;
    default:
        return x_Irecv_all_opts(buffer, bytes, MPI_BYTE, comm), 0;
    }
}

static unsigned char value(int from, int number, int index)
{
    return (unsigned char)(from * 31 + number * 7 + index);
}

/* Each rank sends a burst to its right neighbour in one way and receives one from the left in another way. */
static void exchange(const struct group *group, int send, int receive, int bytes, int late)
{
    int right = (group->me + 1) % group->size, left = (group->me + group->size - 1) % group->size;
    MPI_Request sends[BURST], receives[BURST];
    MPI_Status statuses[BURST];
    for (int number = 0; number < BURST; ++number) {
        for (int index = 0; index < bytes; ++index)
            out[number][index] = value(group->me, number, index);
        memset(in[number], 0xee, (size_t)bytes);
    }
    int with_request = 1;
    if (!late)
        for (int number = 0; number < BURST; ++number)
            with_request = start_receive(group, receive, number, bytes, left, number, &receives[number]);
    if (!late)
        MPI_Barrier(group->comm);
    for (int number = 0; number < BURST; ++number)
        start_send(group, send, !late && number % 3 == 2, number, bytes, right, number, &sends[number]);
    if (late) {
        MPI_Barrier(group->comm);
        for (int number = 0; number < BURST; ++number)
            with_request = start_receive(group, receive, number, bytes, left, number, &receives[number]);
    }
    MPI_Waitall(BURST, sends, MPI_STATUSES_IGNORE);
    MPI_Waitall(BURST, receives, statuses);
    CHECK(x_Comm_waitall(group->comm) == MPI_SUCCESS);
    for (int number = 0; number < BURST; ++number) {
        for (int index = 0; index < bytes; ++index)
            CHECK(in[number][index] == value(left, number, index));
        if (with_request) {
            int count;
            MPI_Get_count(&statuses[number], MPI_BYTE, &count);
            CHECK(count == bytes && statuses[number].MPI_SOURCE == left);
            CHECK(statuses[number].MPI_TAG == (has_tag(receive) ? number : MPI_ANY_TAG));
        }
    }
}

static void all_pairs(const struct group *group)
{
    for (int send = 0; send < KINDS; ++send)
        for (int receive = 0; receive < KINDS; ++receive) {
            int constant = send == ALL || receive == ALL;
            if (has_tag(send) != has_tag(receive) || (constant && !group->predefined))
                continue;
            for (int length = 0; length < 8; ++length)
                for (int late = 0; late < 2; ++late)
                    exchange(group, send, receive, lengths[length], late);
        }
}

/* Messages without a tag are invisible to receives and probes with wildcards, and to those of other communicators. */
static void isolation(const struct group *one, const struct group *other)
{
    MPI_Request requests[4];
    MPI_Status statuses[4];
    int words[4] = {1, 2, 3, 4}, got[4] = {0}, seen, right = (one->me + 1) % one->size;
    MPI_Isend(&words[0], 1, MPI_INT, right, 5, one->comm, &requests[0]);
    x_Isend_nomatch(&words[1], 1, MPI_INT, right, one->comm, &requests[1]);
    x_Isend_nomatch(&words[2], 1, MPI_INT, right, other->comm, &requests[2]);
    x_Isend_npn(&words[3], 1, MPI_INT, right, 6, one->comm, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    MPI_Barrier(one->comm);
    MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, one->comm, &statuses[0]);
    CHECK(statuses[0].MPI_TAG == 5);
    x_Irecv_nomatch(&got[2], 1, MPI_INT, other->comm, &requests[2]);
    MPI_Irecv(&got[0], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, one->comm, &requests[0]);
    MPI_Irecv(&got[3], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, one->comm, &requests[3]);
    MPI_Wait(&requests[0], &statuses[0]);
    MPI_Wait(&requests[2], &statuses[2]);
    MPI_Wait(&requests[3], &statuses[3]);
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, one->comm, &seen, MPI_STATUS_IGNORE);
    CHECK(!seen && got[1] == 0);
    x_Irecv_nomatch(&got[1], 1, MPI_INT, one->comm, &requests[1]);
    MPI_Wait(&requests[1], &statuses[1]);
    CHECK(memcmp(words, got, sizeof words) == 0);
    CHECK(statuses[0].MPI_TAG == 5 && statuses[3].MPI_TAG == 6 && statuses[1].MPI_TAG == MPI_ANY_TAG);
}

/* Receives without a tag that wait beside receives with wildcards each take their own messages; one of them is cancelled. */
static void beside_wildcards(const struct group *group)
{
    MPI_Request wild, plain[3], sends[4];
    MPI_Status status;
    int word[4] = {10, 11, 12, 13}, got[4] = {0}, right = (group->me + 1) % group->size, cancelled;
    x_Irecv_nomatch(&got[0], 1, MPI_INT, group->comm, &plain[0]);
    MPI_Irecv(&got[1], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, group->comm, &wild);
    x_Irecv_nomatch(&got[2], 1, MPI_INT, group->comm, &plain[1]);
    x_Irecv_nomatch(&got[3], 1, MPI_INT, group->comm, &plain[2]);
    MPI_Cancel(&plain[1]);
    MPI_Wait(&plain[1], &status);
    MPI_Test_cancelled(&status, &cancelled);
    CHECK(cancelled);
    MPI_Barrier(group->comm);
    x_Isend_nomatch(&word[0], 1, MPI_INT, right, group->comm, &sends[0]);
    MPI_Isend(&word[1], 1, MPI_INT, right, 3, group->comm, &sends[1]);
    x_Isend_nomatch(&word[3], 1, MPI_INT, right, group->comm, &sends[2]);
    MPI_Waitall(3, sends, MPI_STATUSES_IGNORE);
    MPI_Wait(&wild, &status);
    CHECK(status.MPI_TAG == 3 && got[1] == 11);
    MPI_Wait(&plain[0], MPI_STATUS_IGNORE);
    MPI_Wait(&plain[2], MPI_STATUS_IGNORE);
    CHECK(got[0] == 10 && got[2] == 0 && got[3] == 13);
}

/* MPI_PROC_NULL where it is not promised away. */
static void nobody(const struct group *group)
{
    MPI_Request request;
    MPI_Status status;
    int word = 1;
    CHECK(x_Isend_global(&word, 1, MPI_INT, MPI_PROC_NULL, 1, group->comm, &request) == MPI_SUCCESS);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(x_Send_nomatch(&word, 1, MPI_INT, MPI_PROC_NULL, group->comm) == MPI_SUCCESS);
    CHECK(x_Isend_noreq(&word, 1, MPI_INT, MPI_PROC_NULL, 1, group->comm) == MPI_SUCCESS);
    CHECK(x_Irecv_noreq(&word, 1, MPI_INT, MPI_PROC_NULL, 1, group->comm) == MPI_SUCCESS);
    CHECK(x_Irecv_global(&word, 1, MPI_INT, MPI_PROC_NULL, 1, group->comm, &request) == MPI_SUCCESS);
    MPI_Wait(&request, &status);
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL && x_Comm_waitall(group->comm) == MPI_SUCCESS);
}

static struct group describe(MPI_Comm comm, int predefined)
{
    struct group group = {.comm = comm, .predefined = predefined};
    MPI_Group own, world;
    MPI_Comm_rank(comm, &group.me);
    MPI_Comm_size(comm, &group.size);
    MPI_Comm_group(comm, &own);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    int ranks[64];
    for (int index = 0; index < group.size; ++index)
        ranks[index] = index;
    MPI_Group_translate_ranks(own, group.size, ranks, world, group.world);
    MPI_Group_free(&own);
    MPI_Group_free(&world);
    return group;
}

int main(int argc, char **argv)
{
    MPI_Comm reversed, part, constant = MPIX_COMM_3, again = MPIX_COMM_16;
    start(&argc, &argv, &rank, &size);
    for (int number = 0; number < BURST; ++number) {
        out[number] = malloc(LONGEST);
        in[number] = malloc(LONGEST);
    }
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
    MPI_Comm_split(MPI_COMM_WORLD, rank != 0, 0, &part);
    CHECK(x_Comm_dup_predefined(MPI_COMM_WORLD, constant) == MPI_SUCCESS);
    CHECK(x_Comm_dup_predefined(part, again) == MPI_SUCCESS);
    struct group groups[] = {describe(MPI_COMM_WORLD, 0), describe(constant, 1), describe(reversed, 0), describe(again, 1)};
    for (int index = 0; index < 4; ++index) {
        all_pairs(&groups[index]);
        beside_wildcards(&groups[index]);
        nobody(&groups[index]);
    }
    isolation(&groups[0], &groups[1]);
    MPI_Comm_free(&constant);
    CHECK(constant == MPI_COMM_NULL);
    constant = MPIX_COMM_3;
    CHECK(x_Comm_dup_predefined(reversed, constant) == MPI_SUCCESS);
    groups[1] = describe(constant, 1);
    all_pairs(&groups[1]);
    isolation(&groups[1], &groups[2]);
    MPI_Comm_free(&constant);
    MPI_Comm_free(&again);
    MPI_Comm_free(&part);
    MPI_Comm_free(&reversed);
    return finish(rank);
}
