/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 3 4
 * ENV: RANKPOINT_VCIS=4
 * ENV: RANKPOINT_VCIS=4 RANKPOINT_EAGER_BYTES=1K RANKPOINT_CMA=0
 * ENV: RANKPOINT_VCIS=4 RANKPOINT_PROGRESS=vci
 * Messages that have left an attached buffer make room for the next ones (MPI-5.0, section 3.6.2), whatever the buffer is attached
 * to, the call that sends, and the VCI of the communicator. A message that finds no room is refused, and fits once others have left. Each
 * rank sends to the next one. */
#include "check.h"

enum { MESSAGES = 8, ROUNDS = 12, MOST = 300000 };

static int rank, left, right;
static char out[MOST], in[MOST];

static void start_buffered(int form, int bytes, int tag, MPI_Comm comm)
{
    MPI_Request request;
    if (form == 0) {
        CHECK(MPI_Bsend(out, bytes, MPI_BYTE, right, tag, comm) == MPI_SUCCESS);
        return;
    }
    if (form == 1) {
        CHECK(MPI_Ibsend(out, bytes, MPI_BYTE, right, tag, comm, &request) == MPI_SUCCESS);
    } else {
        CHECK(MPI_Bsend_init(out, bytes, MPI_BYTE, right, tag, comm, &request) == MPI_SUCCESS);
        CHECK(MPI_Start(&request) == MPI_SUCCESS);
    }
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    if (form == 2)
        CHECK(MPI_Request_free(&request) == MPI_SUCCESS);
}

static void receive(int bytes, int tag, MPI_Comm comm)
{
    CHECK(MPI_Recv(in, bytes, MPI_BYTE, left, tag, comm, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

/* Every round fills the buffer, which is empty again after the barrier. */
static void rounds(int bytes, MPI_Comm *comms, int count)
{
    for (int round = 0; round < ROUNDS; ++round) {
        for (int i = 0; i < MESSAGES; ++i)
            start_buffered(round % 3, bytes, i, comms[(round + i) % count]);
        for (int i = 0; i < MESSAGES; ++i)
            receive(bytes, i, comms[(round + i) % count]);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* Nobody receives while the buffer fills, and messages of this length stay in it. */
static void overflow(MPI_Comm comm)
{
    MPI_Request request;
    MPI_Bsend_init(out, MOST, MPI_BYTE, right, MESSAGES, comm, &request);
    for (int i = 0; i < MESSAGES; ++i)
        start_buffered(0, MOST, i, comm);
    CHECK(MPI_Bsend(out, MOST, MPI_BYTE, right, MESSAGES, comm) == MPI_ERR_BUFFER);
    CHECK(MPI_Start(&request) == MPI_ERR_BUFFER);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < MESSAGES; ++i)
        receive(MOST, i, comm);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_Start(&request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    receive(MOST, MESSAGES, comm);
    CHECK(MPI_Request_free(&request) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A message leaves by the VCI of its communicator, and the call that empties the buffer makes progress there. */
static void empties(MPI_Comm *comms, int count)
{
    MPI_Request request;
    for (int i = 0; i < 2 * count; ++i) {
        MPI_Comm comm = comms[i % count];
        MPI_Irecv(in, MOST, MPI_BYTE, left, 0, comm, &request);
        start_buffered(0, MOST, 0, comm);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(MPI_Buffer_flush() == MPI_SUCCESS);
    }
}

static void all_kinds(MPI_Comm *comms)
{
    static const int lengths[] = {0, 1000, 40000, MOST};
    char *memory = malloc(MESSAGES * (MOST + MPI_BSEND_OVERHEAD)), *address;
    int bytes;
    MPI_Comm own;
    MPI_Session session;
    MPI_Group group;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "buffered", MPI_INFO_NULL, MPI_ERRORS_RETURN, &own);
    MPI_Group_free(&group);

    for (int i = 0; i < 4; ++i) {
        int length = lengths[i], needed = MESSAGES * (length + MPI_BSEND_OVERHEAD);
        MPI_Buffer_attach(memory, needed);
        rounds(length, comms, 3);
        if (length == MOST)
            overflow(comms[1]);
        MPI_Buffer_detach(&address, &bytes);
        CHECK(address == memory && bytes == needed);

        MPI_Comm_attach_buffer(comms[2], memory, needed);
        rounds(length, &comms[2], 1);
        if (length == MOST)
            overflow(comms[2]);
        CHECK(MPI_Comm_flush_buffer(comms[2]) == MPI_SUCCESS);
        MPI_Comm_detach_buffer(comms[2], &address, &bytes);
        CHECK(address == memory && bytes == needed);

        MPI_Session_attach_buffer(session, memory, needed);
        rounds(length, &own, 1);
        MPI_Session_detach_buffer(session, &address, &bytes);
        CHECK(address == memory && bytes == needed);
    }
    MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0);
    rounds(MOST, comms, 3);
    MPI_Buffer_detach(&address, &bytes);
    MPI_Comm_free(&own);
    MPI_Session_finalize(&session);
    free(memory);
}

int main(int argc, char **argv)
{
    int size, provided, bytes;
    char *address;
    MPI_Comm comms[3];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
    for (int i = 0; i < 3; ++i) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        MPI_Comm_set_errhandler(comms[i], MPI_ERRORS_RETURN);
    }
    /* Otherwise a barrier would have to make progress for messages of the other communicators. */
    const char *progress = getenv("RANKPOINT_PROGRESS");
    if (!progress || strcmp(progress, "vci"))
        all_kinds(comms);
    MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0);
    empties(comms, 3);
    MPI_Buffer_detach(&address, &bytes);
    CHECK(address == MPI_BUFFER_AUTOMATIC);
    for (int i = 0; i < 3; ++i)
        MPI_Comm_free(&comms[i]);
    return finish(rank);
}
