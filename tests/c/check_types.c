/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 3
 * RANKPOINT_CHECK=types: receives that match their messages, and those that do not, on every way that a message can take.
 * The last rank sends to the first one; one rank sends to itself. */
#include "check.h"

enum { LONG = 200000 };

static int rank, size, from, to;
static double *big_send, *big_receive;

/* Whether this rank receives; with one rank it does both. */
static int receives(void) { return rank == to; }
static int sends(void) { return rank == from; }

enum { MATCHES, DIFFERS };

static void expect(int code, int outcome)
{
    int class;
    MPI_Error_class(code, &class);
    if (outcome == DIFFERS) {
        char text[MPI_MAX_ERROR_STRING];
        int length;
        MPI_Error_string(code, text, &length);
        CHECK(strstr(text, "of MPI_COMM_WORLD sent ") && strstr(text, "which does not match the receive's "));
    }
    CHECK(class == (outcome == MATCHES ? MPI_SUCCESS : MPI_ERR_TYPE));
}

/* One message by isend and irecv, the receive posted first or when the message is there. */
static void message(int scount, MPI_Datatype stype, int rcount, MPI_Datatype rtype, int outcome)
{
    int late;
    for (late = 0; late < 2; late++) {
        MPI_Request send = MPI_REQUEST_NULL, receive = MPI_REQUEST_NULL;
        if (receives() && !late)
            MPI_Irecv(big_receive, rcount, rtype, from, 7, MPI_COMM_WORLD, &receive);
        MPI_Barrier(MPI_COMM_WORLD);
        if (sends())
            CHECK(MPI_Isend(big_send, scount, stype, to, 7, MPI_COMM_WORLD, &send) == MPI_SUCCESS);
        if (receives() && late) {
            MPI_Status status;
            MPI_Probe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &status);
            MPI_Irecv(big_receive, rcount, rtype, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &receive);
        }
        if (receives())
            expect(MPI_Wait(&receive, MPI_STATUS_IGNORE), outcome);
        CHECK(MPI_Wait(&send, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
}

static void sequences(void)
{
    MPI_Datatype column, record, turned, types[2] = {MPI_INT, MPI_DOUBLE}, back[2] = {MPI_DOUBLE, MPI_INT};
    int lengths[2] = {1, 1};
    MPI_Aint at[2] = {0, 8};
    MPI_Type_vector(1000, 1, 2, MPI_DOUBLE, &column);
    MPI_Type_create_struct(2, lengths, at, types, &record);
    MPI_Type_create_struct(2, lengths, at, back, &turned);
    MPI_Type_commit(&column);
    MPI_Type_commit(&record);
    MPI_Type_commit(&turned);
    MPI_Type_set_name(record, "the record");

    message(5, MPI_INT, 5, MPI_INT, MATCHES);
    message(5, MPI_INT, 50, MPI_INT, MATCHES);
    message(0, MPI_INT, 3, MPI_DOUBLE, MATCHES);
    message(5, MPI_INT, 5, MPI_FLOAT, DIFFERS);
    message(2, MPI_INT, 1, MPI_DOUBLE, DIFFERS);
    message(8, MPI_BYTE, 2, MPI_INT, DIFFERS);
    message(8, MPI_PACKED, 2, MPI_INT, MATCHES);
    message(2, MPI_INT, 8, MPI_PACKED, MATCHES);
    message(1000, MPI_DOUBLE, 1, column, MATCHES);
    message(3, column, 3000, MPI_DOUBLE, MATCHES);
    message(1, column, 1000, MPI_LONG, DIFFERS);
    message(100, record, 100, record, MATCHES);
    message(100, record, 100, turned, DIFFERS);
    message(20000, record, 20000, record, MATCHES);
    message(20000, record, 20000, turned, DIFFERS);
    message(LONG, MPI_DOUBLE, LONG, MPI_DOUBLE, MATCHES);
    message(LONG, MPI_DOUBLE, LONG, MPI_INT64_T, DIFFERS);
    message(90, column, 90, column, MATCHES);
    MPI_Type_free(&column);
    MPI_Type_free(&record);
    MPI_Type_free(&turned);
}

/* Blocking calls, modes, persistent requests, matched probes; only ranks that differ can block. */
static void ways(void)
{
    int value[4] = {1, 2, 3, 4}, i;
    float other[4];
    MPI_Request request;
    MPI_Message handle;
    MPI_Status status;
    static char buffer[4096];
    if (size > 1 && sends()) {
        MPI_Buffer_attach(buffer, sizeof buffer);
        MPI_Send(value, 4, MPI_INT, to, 1, MPI_COMM_WORLD);
        MPI_Ssend(value, 4, MPI_INT, to, 2, MPI_COMM_WORLD);
        MPI_Bsend(value, 4, MPI_INT, to, 3, MPI_COMM_WORLD);
        MPI_Send(value, 4, MPI_INT, to, 4, MPI_COMM_WORLD);
        MPI_Send(value, 4, MPI_INT, to, 5, MPI_COMM_WORLD);
        MPI_Send_init(value, 4, MPI_INT, to, 6, MPI_COMM_WORLD, &request);
        for (i = 0; i < 3; i++) {
            MPI_Start(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        MPI_Request_free(&request);
        MPI_Bsend_init(value, 4, MPI_INT, to, 8, MPI_COMM_WORLD, &request);
        for (i = 0; i < 2; i++) {
            MPI_Start(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        MPI_Request_free(&request);
        MPI_Buffer_detach(&handle, &i);
    }
    if (size > 1 && receives()) {
        expect(MPI_Recv(other, 4, MPI_FLOAT, from, 1, MPI_COMM_WORLD, &status), DIFFERS);
        expect(MPI_Recv(other, 4, MPI_FLOAT, from, 2, MPI_COMM_WORLD, &status), DIFFERS);
        expect(MPI_Recv(other, 4, MPI_FLOAT, from, 3, MPI_COMM_WORLD, &status), DIFFERS);
        MPI_Mprobe(from, 4, MPI_COMM_WORLD, &handle, &status);
        expect(MPI_Mrecv(other, 4, MPI_FLOAT, &handle, &status), DIFFERS);
        MPI_Mprobe(from, 5, MPI_COMM_WORLD, &handle, &status);
        memset(value, 0, sizeof value);
        expect(MPI_Mrecv(value, 4, MPI_INT, &handle, &status), MATCHES);
        CHECK(value[0] == 1 && value[3] == 4);
        MPI_Recv_init(other, 4, MPI_FLOAT, from, 6, MPI_COMM_WORLD, &request);
        for (i = 0; i < 2; i++) {
            MPI_Start(&request);
            expect(MPI_Wait(&request, &status), DIFFERS);
        }
        MPI_Request_free(&request);
        memset(value, 0, sizeof value);
        expect(MPI_Recv(value, 4, MPI_INT, from, 6, MPI_COMM_WORLD, &status), MATCHES);
        CHECK(value[0] == 1 && value[3] == 4);
        expect(MPI_Recv(other, 4, MPI_FLOAT, from, 8, MPI_COMM_WORLD, &status), DIFFERS);
        expect(MPI_Recv(value, 4, MPI_INT, from, 8, MPI_COMM_WORLD, &status), MATCHES);
    }
    /* Everyone with everyone's neighbour. */
    for (i = 0; i < 4; i++)
        value[i] = 10 * rank + i;
    CHECK(MPI_Sendrecv_replace(value, 4, MPI_INT, (rank + 1) % size, 9, (rank + size - 1) % size, 9, MPI_COMM_WORLD, &status)
          == MPI_SUCCESS);
    CHECK(value[3] == 10 * ((rank + size - 1) % size) + 3);
    i = MPI_Sendrecv(value, 4, MPI_INT, (rank + 1) % size, 9, other, 4, MPI_FLOAT, (rank + size - 1) % size, 9, MPI_COMM_WORLD,
                     &status);
    MPI_Error_class(i, &i);
    CHECK(i == MPI_ERR_TYPE);
}

/* More messages than a ring has cells, so that type signatures wait for credits too. */
static void many_types(void)
{
    enum { MANY = 3000 };
    static int values[MANY];
    static MPI_Request requests[MANY];
    int i;
    if (size == 1)
        return;
    if (sends()) {
        for (i = 0; i < MANY; i++) {
            values[i] = i;
            MPI_Isend(&values[i], 1, i % 3 ? MPI_INT : MPI_FLOAT, to, 11, MPI_COMM_WORLD, &requests[i]);
        }
        CHECK(MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    }
    if (receives())
        for (i = 0; i < MANY; i++) {
            int value = -1;
            int code = MPI_Recv(&value, 1, MPI_INT, from, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            expect(code, i % 3 ? MATCHES : DIFFERS);
            CHECK(value == i);
        }
}

int main(int argc, char **argv)
{
    int sum, one = 1;
    setenv("RANKPOINT_CHECK", "types", 1);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    from = size - 1;
    to = 0;
    big_send = calloc(2 * LONG, sizeof *big_send);
    big_receive = calloc(2 * LONG, sizeof *big_receive);
    sequences();
    ways();
    many_types();
    /* Collectives are not checked, and go on. */
    CHECK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS && sum == size);
    free(big_send);
    free(big_receive);
    return finish(rank);
}
