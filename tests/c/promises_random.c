/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 4
 * ENV: PROMISES_LEVEL=single
 * ENV: PROMISES_LEVEL=multiple
 * ENV: RANKPOINT_CHECK=hints,types
 * ENV: RANKPOINT_VCIS=3 PROMISES_LEVEL=multiple
 * Random messages of ordinary calls and of those of mpi_rankpoint.h at once, against a model: all ranks draw the same plan. A receive with a
 * tag gets the next message of its sender, tag and communicator; one without a tag the next one of whatever sender, in that one's order. */
#include "promises.h"
#include <stdint.h>

#define MOST 48
#define ROUNDS 150
#define COMMS 3
#define LONGEST 150000

static int rank, size;
static uint64_t seed = 88172645463325252u;

static unsigned draw(unsigned limit)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (unsigned)(seed >> 20) % limit;
}

struct message {
    int comm, from, to, tag, bytes, send, receive, without_tag;
};

static MPI_Comm comms[COMMS];
/* The ranks of all communicators in MPI_COMM_WORLD; members are named by those. */
static int here[COMMS][64];

static int header[MOST][3];
static unsigned char *out[MOST], *in[MOST];

static void start_send(const struct message *it, int number, MPI_Request *request)
{
    MPI_Comm comm = comms[it->comm];
    int to = here[it->comm][it->to];
    *request = MPI_REQUEST_NULL;
    if (it->without_tag) {
        if (it->send % 2 && it->comm == 1)
            x_Isend_all_opts(out[number], it->bytes, MPI_BYTE, it->to, comm);
        else
            x_Isend_nomatch(out[number], it->bytes, MPI_BYTE, to, comm, request);
        return;
    }
    switch (it->send % 5) {
    case 0:
        MPI_Isend(out[number], it->bytes, MPI_BYTE, to, it->tag, comm, request);
        break;
    case 1:
        x_Isend_global(out[number], it->bytes, MPI_BYTE, it->to, it->tag, comm, request);
        break;
    case 2:
        x_Isend_npn(out[number], it->bytes, MPI_BYTE, to, it->tag, comm, request);
        break;
    case 3:
        x_Isend_noreq(out[number], it->bytes, MPI_BYTE, to, it->tag, comm);
        break;
    default:
        MPI_Issend(out[number], it->bytes, MPI_BYTE, to, it->tag, comm, request);
    }
}

static void start_receive(const struct message *it, int number, int wild, MPI_Request *request)
{
    MPI_Comm comm = comms[it->comm];
    int from = wild ? MPI_ANY_SOURCE : here[it->comm][it->from], tag = wild ? MPI_ANY_TAG : it->tag;
    *request = MPI_REQUEST_NULL;
    if (it->without_tag) {
        if (it->receive % 2 && it->comm == 1)
            x_Irecv_all_opts(in[number], LONGEST, MPI_BYTE, comm);
        else
            x_Irecv_nomatch(in[number], LONGEST, MPI_BYTE, comm, request);
        return;
    }
    switch (it->receive % 4) {
    case 0:
        MPI_Irecv(in[number], LONGEST, MPI_BYTE, from, tag, comm, request);
        break;
    case 1:
        x_Irecv_global(in[number], LONGEST, MPI_BYTE, wild ? MPI_ANY_SOURCE : it->from, tag, comm, request);
        break;
    case 2:
        x_Irecv_npn(in[number], LONGEST, MPI_BYTE, from, tag, comm, request);
        break;
    default:
        x_Irecv_noreq(in[number], LONGEST, MPI_BYTE, from, tag, comm);
    }
}

static unsigned char filling(int from, int number, int index)
{
    return (unsigned char)(from * 13 + number * 5 + index);
}

/* Compares the message in a buffer with the plan; gives its number there. */
static int check_content(const struct message *plan, int number)
{
    int head[3];
    memcpy(head, in[number], sizeof head);
    int which = head[2];
    CHECK(which >= 0 && which < MOST && plan[which].to == rank && plan[which].from == head[0] && plan[which].comm == head[1]);
    for (int index = sizeof head; index < plan[which].bytes; ++index)
        CHECK(in[number][index] == filling(head[0], which, index));
    return which;
}

static void round_of_messages(void)
{
    static const int lengths[] = {12, 16, 40, 48, 49, 64, 1000, 5000, 30000, LONGEST};
    struct message plan[MOST];
    MPI_Request requests[2 * MOST];
    int count = 1 + (int)draw(MOST), wild = draw(3) == 0, early = (int)draw(2), open = 0;
    for (int number = 0; number < count; ++number) {
        struct message *it = &plan[number];
        it->comm = (int)draw(COMMS);
        it->from = (int)draw((unsigned)size);
        it->to = (int)draw((unsigned)size);
        it->tag = (int)draw(3);
        it->bytes = lengths[draw(10)];
        it->send = (int)draw(60);
        it->receive = (int)draw(60);
        it->without_tag = draw(2) == 0;
        header[number][0] = it->from;
        header[number][1] = it->comm;
        header[number][2] = number;
        memcpy(out[number], header[number], sizeof header[number]);
        for (int index = sizeof header[number]; index < it->bytes; ++index)
            out[number][index] = filling(it->from, number, index);
        memset(in[number], 0xff, 12);
    }
    for (int pass = 0; pass < 2; ++pass)
        for (int number = 0; number < count; ++number) {
            if (pass != early && plan[number].from == rank)
                start_send(&plan[number], number, &requests[open++]);
            if (pass == early && plan[number].to == rank)
                start_receive(&plan[number], number, wild, &requests[open++]);
        }
    MPI_Waitall(open, requests, MPI_STATUSES_IGNORE);
    for (int index = 0; index < COMMS; ++index)
        CHECK(x_Comm_waitall(comms[index]) == MPI_SUCCESS);
    /* The number of the last message of each communicator, sender, and tag, or kind where no tag is compared. */
    int last[COMMS][64][4], seen[MOST] = {0};
    memset(last, -1, sizeof last);
    for (int number = 0; number < count; ++number) {
        if (plan[number].to != rank)
            continue;
        int which = check_content(plan, number);
        CHECK(plan[which].comm == plan[number].comm && plan[which].without_tag == plan[number].without_tag);
        CHECK(!seen[which]);
        seen[which] = 1;
        int kind = plan[number].without_tag ? 3 : wild ? 0 : plan[number].tag;
        if (kind < 3 && !wild)
            CHECK(which == number);
        int *before = &last[plan[number].comm][plan[which].from][kind];
        CHECK(which > *before);
        *before = which;
    }
    /* Messages of the next plan must not come before. */
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    start(&argc, &argv, &rank, &size);
    comms[0] = MPI_COMM_WORLD;
    CHECK(x_Comm_dup_predefined(MPI_COMM_WORLD, MPIX_COMM_9) == MPI_SUCCESS);
    comms[1] = MPIX_COMM_9;
    MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &comms[2]);
    for (int number = 0; number < MOST; ++number) {
        out[number] = malloc(LONGEST);
        in[number] = malloc(LONGEST);
    }
    for (int index = 0; index < COMMS; ++index) {
        int me;
        MPI_Comm_rank(comms[index], &me);
        MPI_Allgather(&me, 1, MPI_INT, here[index], 1, MPI_INT, MPI_COMM_WORLD);
    }
    for (int round = 0; round < ROUNDS; ++round)
        round_of_messages();
    MPI_Comm_free(&comms[1]);
    MPI_Comm_free(&comms[2]);
    return finish(rank);
}
