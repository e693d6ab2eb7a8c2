/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Random traffic of all ranks with all, with many messages in progress: all modes of sends, lengths on both sides of every limit, receives
 * that are posted early, late, with wildcards or after probes, and all calls that complete requests. Every byte and every status is
 * compared. All ranks draw the same plan from the seed.
 *
 * usage: traffic SEED ROUNDS LIMIT_S     after LIMIT_S seconds each rank prints where it is, and the job ends with status 9 */
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COMMS = 2, MOST = 4, CANARY = 32, LONGEST = 1 << 20, SHIFTS = 4099 };

/* How receives are posted and sends are started in a round. */
enum kind { RECEIVES_FIRST, SENDS_FIRST, MIXED, READY, PROBED, BLOCKING, KINDS };
/* Which messages the receives of a round name. */
enum match { EXACT, ANY_TAG_OF_SOURCE, ANY_SOURCE_OF_TAG, MATCHES };
enum mode { STANDARD, SYNCHRONOUS, BUFFERED, PERSISTENT, READY_MODE };

/* A message of the plan. */
struct message { int source, target, comm, number, tag, bytes; enum mode mode; };
/* One end of a message. */
struct end { struct message plan; unsigned char *memory; MPI_Datatype type; int capacity, elements, is_strided, is_persistent; MPI_Status status; };

static int rank, size, stage_round;
static uint64_t seed;
static const char *stage = "start";
static int unfinished;
static MPI_Comm comms[COMMS];

static void late(int number)
{
    char text[160];
    int length = snprintf(text, sizeof text, "rank %d hangs: seed %llu, round %d, %s, %d requests left\n", rank,
                          (unsigned long long)seed, stage_round, stage, unfinished);
    (void)!write(2, text, (size_t)length);
    (void)number;
    _exit(9);
}

static void fail(const char *what, const struct message *m, long got, long expected)
{
    fprintf(stderr, "rank %d: seed %llu, round %d: %s of message %d (%d bytes, mode %d, tag %d) from %d to %d: %ld, expected %ld\n", rank,
            (unsigned long long)seed, stage_round, what, m->number, m->bytes, m->mode, m->tag, m->source, m->target, got, expected);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

/* A hash of five numbers. */
static uint64_t drawn(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
    uint64_t parts[] = {a, b, c, d, e}, hash = seed * 0x9e3779b97f4a7c15u + 1;
    for (int i = 0; i < 5; i++) {
        hash ^= parts[i] + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
        hash = (hash ^ (hash >> 29)) * 0xbf58476d1ce4e5b9u;
        hash ^= hash >> 32;
    }
    return hash;
}

/* Numbers that only this rank knows. */
static uint64_t own(uint64_t below)
{
    static uint64_t count;
    return drawn(99, (uint64_t)rank, ++count, 0, 0) % below;
}

/* Lengths of a round: around every limit, or mostly those of long eager messages, or short ones. */
static int drawn_bytes(int round, uint64_t hash)
{
    static const int limits[] = {0,     8,     48,    56,    64,     256,    1024,   2048,   4096,   8192,
                                 16384, 32768, 40000, 65000, 65536, 127968, 131072, 262144, 524288, LONGEST - 2};
    uint64_t class = drawn(5, (uint64_t)round, 0, 0, 0) % 10, pick = (hash >> 8) & 0xffff;
    int limit = class < 5 ? limits[10 + pick % 7] : class < 7 ? limits[pick % 10] : limits[pick % (hash % 16 ? 17 : 20)];
    int delta = (int)((hash >> 32) % 5) - 2;
    if ((hash >> 40) % 4 == 0)
        return limit / 2 + (int)((hash >> 44) % (uint64_t)(limit / 2 + 1));
    return limit + delta < 0 ? 0 : limit + delta;
}

static enum kind kind_of(int round)
{
    return (enum kind)(drawn(3, (uint64_t)round, 0, 0, 0) % KINDS);
}

static enum match match_of(int round, int receiver)
{
    return kind_of(round) == PROBED ? EXACT : (enum match)(drawn(4, (uint64_t)round, (uint64_t)receiver, 0, 0) % MATCHES);
}

/* The messages from one rank to another in a round, at most MOST for each communicator. A receive from any source must not take a
 * message of the next round, so messages for such receives have the tag of their round. */
static int planned(int round, int source, int target, int comm, struct message *list)
{
    static const enum mode modes[] = {STANDARD, STANDARD, STANDARD, SYNCHRONOUS, BUFFERED, PERSISTENT};
    int has_one_tag = match_of(round, target) == ANY_SOURCE_OF_TAG;
    int count = (int)(drawn(1, (uint64_t)round, (uint64_t)source, (uint64_t)target, (uint64_t)comm) % (MOST + 1));
    for (int k = 0; k < count; k++) {
        uint64_t hash = drawn(2, (uint64_t)round, (uint64_t)source, (uint64_t)target, (uint64_t)(comm * MOST + k));
        enum mode mode = kind_of(round) == READY ? READY_MODE : modes[hash % 6];
        int tag = round % 1000 * 4 + (has_one_tag ? 0 : 1 + (int)(hash >> 16 & 1));
        list[k] = (struct message){source, target, comm, k, tag, drawn_bytes(round, hash >> 20), mode};
    }
    return count;
}

/* The longest message to this rank in a round. */
static int longest_to_me(int round)
{
    struct message list[MOST];
    int longest = 0;
    for (int source = 0; source < size; source++)
        for (int comm = 0; comm < COMMS; comm++)
            for (int k = planned(round, source, rank, comm, list) - 1; k >= 0; k--)
                longest = list[k].bytes > longest ? list[k].bytes : longest;
    return longest;
}

/* The data of a message: bytes of a table, from a place on that depends on the message. */
static const unsigned char *data_of(const struct message *m)
{
    static unsigned char table[LONGEST + SHIFTS];
    if (!table[1])
        for (size_t at = 0; at < sizeof table; at++)
            table[at] = (unsigned char)(at * 11 + at / 251 + (at >> 14));
    return table + (m->source * 631 + m->target * 179 + m->number * 53 + stage_round * 17 + m->comm) % SHIFTS;
}

/* Where a byte of the data lies: they may have gaps, 20 bytes of each 32. */
static size_t place(const struct end *e, int at)
{
    return e->is_strided ? (size_t)(at / 20) * 32 + (size_t)(at % 20) : (size_t)at;
}

static void open_end(struct end *e, const struct message *m, int capacity)
{
    memset(e, 0, sizeof *e);
    e->plan = *m;
    e->capacity = capacity;
    e->is_strided = capacity % 20 == 0 && own(2);
    e->type = MPI_BYTE;
    e->elements = capacity;
    if (e->is_strided) {
        MPI_Type_vector(capacity / 20, 20, 32, MPI_BYTE, &e->type);
        MPI_Type_commit(&e->type);
        e->elements = 1;
    }
    size_t room = place(e, capacity) + CANARY;
    e->memory = malloc(room);
    memset(e->memory, 0x5c, room);
}

static void fill(struct end *e, const struct message *m)
{
    open_end(e, m, m->bytes);
    const unsigned char *data = data_of(m);
    if (!e->is_strided)
        memcpy(e->memory, data, (size_t)m->bytes);
    for (int at = 0; e->is_strided && at < m->bytes; at++)
        e->memory[place(e, at)] = data[at];
}

static void close_end(struct end *e)
{
    if (e->is_strided)
        MPI_Type_free(&e->type);
    free(e->memory);
}

static MPI_Request started(struct end *e)
{
    const struct message *m = &e->plan;
    MPI_Comm comm = comms[m->comm];
    MPI_Request request;
    switch (m->mode) {
    case STANDARD: MPI_Isend(e->memory, e->elements, e->type, m->target, m->tag, comm, &request); break;
    case SYNCHRONOUS: MPI_Issend(e->memory, e->elements, e->type, m->target, m->tag, comm, &request); break;
    case BUFFERED: MPI_Ibsend(e->memory, e->elements, e->type, m->target, m->tag, comm, &request); break;
    case READY_MODE: MPI_Irsend(e->memory, e->elements, e->type, m->target, m->tag, comm, &request); break;
    default:
        MPI_Send_init(e->memory, e->elements, e->type, m->target, m->tag, comm, &request);
        MPI_Start(&request);
        e->is_persistent = 1;
    }
    return request;
}

static MPI_Request posted(struct end *e, int source, int tag)
{
    MPI_Comm comm = comms[e->plan.comm];
    MPI_Request request;
    if (own(4) == 0) {
        MPI_Recv_init(e->memory, e->elements, e->type, source, tag, comm, &request);
        MPI_Start(&request);
        e->is_persistent = 1;
    } else {
        MPI_Irecv(e->memory, e->elements, e->type, source, tag, comm, &request);
    }
    return request;
}

/* Completes all requests by one of the calls for that. */
static void complete(int count, MPI_Request *requests, struct end **ends)
{
    MPI_Status *statuses = calloc((size_t)count + 1, sizeof *statuses);
    int *indices = calloc((size_t)count + 1, sizeof *indices);
    static const char *names[] = {"Waitall", "Waitany", "Waitsome", "Test", "Testall", "Testany", "Testsome", "Wait", "Request_get_status"};
    int call = (int)own(9), index, some, flag = 0, left = count;
    stage = names[call];
    unfinished = left;
    if (call == 0 || call == 4) {
        if (call == 0)
            MPI_Waitall(count, requests, statuses);
        else
            while (!flag)
                MPI_Testall(count, requests, &flag, statuses);
        for (int i = 0; i < count; i++)
            ends[i]->status = statuses[i];
        left = 0;
    }
    for (int next = 0; left > 0; unfinished = left) {
        some = 0;
        switch (call) {
        case 1: MPI_Waitany(count, requests, &index, statuses); indices[0] = index; some = 1; break;
        case 2: MPI_Waitsome(count, requests, &some, indices, statuses); break;
        case 5: MPI_Testany(count, requests, &index, &flag, statuses); indices[0] = index; some = flag; break;
        case 6: MPI_Testsome(count, requests, &some, indices, statuses); break;
        case 7: MPI_Wait(&requests[next], statuses); indices[0] = next++; some = 1; break;
        case 3:
        case 8:
            for (int i = 0; i < count; i++) {
                if (indices[i] < 0)
                    continue;
                if (call == 3)
                    MPI_Test(&requests[i], &flag, statuses);
                else
                    MPI_Request_get_status(requests[i], &flag, statuses);
                if (flag && call == 8)
                    MPI_Wait(&requests[i], statuses);
                if (flag) {
                    ends[i]->status = statuses[0];
                    indices[i] = -1;
                    left--;
                }
            }
            break;
        default: break;
        }
        for (int i = 0; i < some; i++) {
            if (indices[i] == MPI_UNDEFINED) {
                fprintf(stderr, "rank %d: round %d: %s has no request, %d are left\n", rank, stage_round, stage, left);
                MPI_Abort(MPI_COMM_WORLD, 3);
            }
            ends[indices[i]]->status = statuses[i];
            left--;
        }
    }
    unfinished = 0;
    for (int i = 0; i < count; i++)
        if (ends[i]->is_persistent)
            MPI_Request_free(&requests[i]);
        else if (requests[i] != MPI_REQUEST_NULL)
            fail("request", &ends[i]->plan, 1, 0);
    free(statuses);
    free(indices);
}

static void check(struct end *e, const struct message *m)
{
    int bytes;
    MPI_Get_elements(&e->status, e->type, &bytes);
    if (e->status.MPI_SOURCE != m->source)
        fail("source", m, e->status.MPI_SOURCE, m->source);
    if (e->status.MPI_TAG != m->tag)
        fail("tag", m, e->status.MPI_TAG, m->tag);
    if (bytes != m->bytes)
        fail("length", m, bytes, m->bytes);
    const unsigned char *data = data_of(m);
    for (int at = 0; at < m->bytes; at++)
        if (e->memory[place(e, at)] != data[at])
            fail("the place of a wrong byte", m, at, -1);
    for (size_t at = place(e, e->capacity); at < place(e, e->capacity) + CANARY; at++)
        if (e->memory[at] != 0x5c)
            fail("the place of a byte behind the end", m, (long)at, -1);
}

static void shuffle(int count, int *order)
{
    for (int i = count - 1; i > 0; i--) {
        int other = (int)own((uint64_t)i + 1), kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
}

/* Receives what is left by probes or blocking receives, in an order of sources of its own. */
static void receive_probed(int count, struct end *receives)
{
    stage = "probes";
    for (int i = 0; i < count; i++) {
        struct end *e = &receives[i];
        const struct message *m = &e->plan;
        MPI_Comm comm = comms[m->comm];
        MPI_Message message;
        MPI_Request request;
        MPI_Status status;
        int flag = 0, bytes;
        unfinished = count - i;
        switch (own(3)) {
        case 0:
            MPI_Recv(e->memory, e->elements, e->type, m->source, m->tag, comm, &e->status);
            break;
        case 1:
            while (!flag)
                MPI_Improbe(m->source, m->tag, comm, &flag, &message, &status);
            MPI_Get_elements(&status, MPI_BYTE, &bytes);
            if (bytes != m->bytes)
                fail("length by a probe", m, bytes, m->bytes);
            MPI_Imrecv(e->memory, e->elements, e->type, &message, &request);
            MPI_Wait(&request, &e->status);
            break;
        default:
            MPI_Probe(m->source, m->tag, comm, &status);
            MPI_Recv(e->memory, e->elements, e->type, m->source, m->tag, comm, &e->status);
        }
    }
}

static void play(int round)
{
    stage_round = round;
    enum kind kind = kind_of(round);
    enum match match = match_of(round, rank);
    int longest = longest_to_me(round);
    size_t most = (size_t)size * COMMS * MOST;
    int incoming = 0, outgoing = 0, pending = 0;
    struct end *receives = calloc(most, sizeof *receives), *sends = calloc(most, sizeof *sends);
    struct end **ends = calloc(most * 2, sizeof *ends);
    MPI_Request *requests = calloc(most * 2, sizeof *requests);
    int *order = calloc(most, sizeof *order), *steps = calloc(most * 2, sizeof *steps);
    struct message list[MOST];
    for (int i = 0; i < size; i++)
        order[i] = i;
    shuffle(size, order);
    for (int i = 0; i < size; i++)
        for (int comm = 0; comm < COMMS; comm++) {
            int count = planned(round, order[i], rank, comm, list);
            for (int k = 0; k < count; k++) {
                /* Any message may come to a receive from any source. */
                open_end(&receives[incoming++], &list[k], match == ANY_SOURCE_OF_TAG ? longest : list[k].bytes);
            }
            count = planned(round, rank, order[i], comm, list);
            for (int k = 0; k < count; k++)
                fill(&sends[outgoing++], &list[k]);
        }
    /* Steps below `incoming` post a receive, the others start a send; each kind keeps its order. */
    int steps_count = (kind == PROBED ? 0 : incoming) + outgoing, next_receive = 0, next_send = 0;
    for (int i = 0; i < steps_count; i++)
        steps[i] = kind == PROBED ? 1 : kind == SENDS_FIRST ? i < outgoing : i >= incoming;
    if (kind == MIXED)
        shuffle(steps_count, steps);
    stage = "starts";
    for (int i = 0; i < steps_count; i++) {
        if (kind == READY && i == incoming)
            MPI_Barrier(MPI_COMM_WORLD);
        if (own(200) == 0)
            usleep((useconds_t)own(2000));
        if (!steps[i]) {
            struct end *e = &receives[next_receive++];
            int source = match == ANY_SOURCE_OF_TAG ? MPI_ANY_SOURCE : e->plan.source;
            int tag = match == ANY_TAG_OF_SOURCE ? MPI_ANY_TAG : e->plan.tag;
            ends[pending] = e;
            requests[pending++] = posted(e, source, tag);
        } else {
            struct end *e = &sends[next_send++];
            if (kind == BLOCKING && e->plan.mode == STANDARD) {
                stage = "a blocking send";
                MPI_Send(e->memory, e->elements, e->type, e->plan.target, e->plan.tag, comms[e->plan.comm]);
                continue;
            }
            ends[pending] = e;
            requests[pending++] = started(e);
        }
    }
    if (kind == READY && steps_count == incoming)
        MPI_Barrier(MPI_COMM_WORLD);
    if (kind == PROBED)
        receive_probed(incoming, receives);
    complete(pending, requests, ends);
    for (int i = 0; i < incoming; i++) {
        struct end *e = &receives[i];
        struct message expected = e->plan;
        if (match == ANY_SOURCE_OF_TAG) {
            /* The messages of one source come in their order. */
            int before = 0, source = e->status.MPI_SOURCE;
            for (int j = 0; j < i; j++)
                before += receives[j].plan.comm == e->plan.comm && receives[j].status.MPI_SOURCE == source;
            int count = source < 0 || source >= size ? 0 : planned(round, source, rank, e->plan.comm, list);
            if (before >= count)
                fail("source", &e->plan, source, -1);
            expected = list[before];
        }
        check(e, &expected);
        close_end(e);
    }
    for (int i = 0; i < outgoing; i++)
        close_end(&sends[i]);
    free(receives);
    free(sends);
    free(ends);
    free(requests);
    free(order);
    free(steps);
}

int main(int argc, char **argv)
{
    int level;
    if (argc != 4) {
        fprintf(stderr, "usage: traffic SEED ROUNDS LIMIT_S\n");
        return 2;
    }
    seed = strtoull(argv[1], NULL, 10);
    signal(SIGALRM, late);
    alarm((unsigned)atoi(argv[3]));
    MPI_Init_thread(&argc, &argv, seed % 2 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    comms[0] = MPI_COMM_WORLD;
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    int room = size * COMMS * MOST * (LONGEST + MPI_BSEND_OVERHEAD) / 8 + (8 << 20);
    void *buffer = malloc((size_t)room);
    MPI_Buffer_attach(buffer, room);
    for (int round = 0; round < atoi(argv[2]); round++)
        play(round);
    stage = "the end";
    MPI_Buffer_detach(&buffer, &room);
    free(buffer);
    MPI_Comm_free(&comms[1]);
    MPI_Finalize();
    if (rank == 0)
        printf("right\n");
    return 0;
}
