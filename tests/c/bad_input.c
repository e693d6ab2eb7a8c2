/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2
 * NEEDS: checked arguments
 * Wrong arguments give the error class of the standard, through the communicator's handler. */
#include "check.h"

#define CLASS_IS(call, expected)            \
    do {                                    \
        int class_ = -1, code_ = (call);    \
        CHECK(code_ != MPI_SUCCESS);        \
        MPI_Error_class(code_, &class_);    \
        CHECK(class_ == (expected));        \
    } while (0)

static int handled;

static void handler(MPI_Comm *comm, int *code, ...)
{
    (void)code;
    CHECK(*comm == MPI_COMM_WORLD);
    ++handled;
}

static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)count, (void)type;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size, data[4] = {0}, back[4], flag;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm world = MPI_COMM_WORLD, garbage = (MPI_Comm)0x123456789abcUL, freed;
    MPI_Comm_dup(MPI_COMM_WORLD, &freed);
    MPI_Comm stale = freed;
    MPI_Comm_free(&freed);
    MPI_Datatype raw, gone;
    MPI_Type_contiguous(2, MPI_INT, &raw);
    MPI_Type_dup(MPI_INT, &gone);
    MPI_Datatype stale_type = gone;
    MPI_Type_free(&gone);

#define EACH(prefix, suffix)                                                                        \
    CLASS_IS(prefix(data, -1, MPI_INT, 0, 0, world suffix), MPI_ERR_COUNT);                         \
    CLASS_IS(prefix(data, 1, MPI_INT, size, 0, world suffix), MPI_ERR_RANK);                        \
    CLASS_IS(prefix(data, 1, MPI_INT, -77, 0, world suffix), MPI_ERR_RANK);                         \
    CLASS_IS(prefix(data, 1, MPI_INT, 0, -77, world suffix), MPI_ERR_TAG);                          \
    CLASS_IS(prefix(data, 1, MPI_INT, 0, 0, MPI_COMM_NULL suffix), MPI_ERR_COMM);                   \
    CLASS_IS(prefix(data, 1, MPI_INT, 0, 0, garbage suffix), MPI_ERR_COMM);                         \
    CLASS_IS(prefix(data, 1, MPI_INT, 0, 0, stale suffix), MPI_ERR_COMM);                           \
    CLASS_IS(prefix(data, 1, MPI_INT, 0, 0, (MPI_Comm)MPI_INT suffix), MPI_ERR_COMM);               \
    CLASS_IS(prefix(data, 1, MPI_DATATYPE_NULL, 0, 0, world suffix), MPI_ERR_TYPE);                 \
    CLASS_IS(prefix(data, 1, stale_type, 0, 0, world suffix), MPI_ERR_TYPE);                        \
    CLASS_IS(prefix(data, 1, (MPI_Datatype)world, 0, 0, world suffix), MPI_ERR_TYPE);               \
    CLASS_IS(prefix(data, 1, raw, 0, 0, world suffix), MPI_ERR_TYPE);                               \
    CLASS_IS(prefix(NULL, 1, MPI_INT, 0, 0, world suffix), MPI_ERR_BUFFER)
#define COMMA_REQUEST , &request
#define COMMA_STATUS , MPI_STATUS_IGNORE
#define NOTHING
    EACH(MPI_Send_c, NOTHING);
    EACH(MPI_Ssend_c, NOTHING);
    EACH(MPI_Rsend_c, NOTHING);
    EACH(MPI_Bsend_c, NOTHING);
    EACH(MPI_Isend_c, COMMA_REQUEST);
    EACH(MPI_Issend_c, COMMA_REQUEST);
    EACH(MPI_Irsend_c, COMMA_REQUEST);
    EACH(MPI_Ibsend_c, COMMA_REQUEST);
    EACH(MPI_Send_init_c, COMMA_REQUEST);
    EACH(MPI_Recv_c, COMMA_STATUS);
    EACH(MPI_Irecv_c, COMMA_REQUEST);
    EACH(MPI_Recv_init_c, COMMA_REQUEST);
    EACH(MPI_Rsend_init, COMMA_REQUEST);
    EACH(MPI_Bsend_init, COMMA_REQUEST);
#define EXCHANGE_SEND(buf, count, type, rank, tag, comm, ...) \
    MPI_Sendrecv(buf, count, type, rank, tag, back, 1, MPI_INT, 0, 0, comm, __VA_ARGS__)
#define EXCHANGE_RECV(buf, count, type, rank, tag, comm, ...) \
    MPI_Sendrecv(data, 1, MPI_INT, MPI_PROC_NULL, 0, buf, count, type, rank, tag, comm, __VA_ARGS__)
#define START_SEND(buf, count, type, rank, tag, comm, ...) \
    MPI_Isendrecv(buf, count, type, rank, tag, back, 1, MPI_INT, MPI_PROC_NULL, 0, comm, __VA_ARGS__)
#define START_RECV(buf, count, type, rank, tag, comm, ...) \
    MPI_Isendrecv(data, 1, MPI_INT, MPI_PROC_NULL, 0, buf, count, type, rank, tag, comm, __VA_ARGS__)
#define REPLACE_SEND(buf, count, type, rank, tag, comm, ...) \
    MPI_Sendrecv_replace(buf, count, type, rank, tag, MPI_PROC_NULL, 0, comm, __VA_ARGS__)
#define REPLACE_RECV(buf, count, type, rank, tag, comm, ...) \
    MPI_Sendrecv_replace(buf, count, type, MPI_PROC_NULL, 0, rank, tag, comm, __VA_ARGS__)
#define START_REPLACE_SEND(buf, count, type, rank, tag, comm, ...) \
    MPI_Isendrecv_replace(buf, count, type, rank, tag, MPI_PROC_NULL, 0, comm, __VA_ARGS__)
#define START_REPLACE_RECV(buf, count, type, rank, tag, comm, ...) \
    MPI_Isendrecv_replace(buf, count, type, MPI_PROC_NULL, 0, rank, tag, comm, __VA_ARGS__)
    EACH(EXCHANGE_SEND, COMMA_STATUS);
    EACH(EXCHANGE_RECV, COMMA_STATUS);
    EACH(START_SEND, COMMA_REQUEST);
    EACH(START_RECV, COMMA_REQUEST);
    EACH(REPLACE_SEND, COMMA_STATUS);
    EACH(REPLACE_RECV, COMMA_STATUS);
    EACH(START_REPLACE_SEND, COMMA_REQUEST);
    EACH(START_REPLACE_RECV, COMMA_REQUEST);
    EACH(MPI_Send, NOTHING);
    EACH(MPI_Ssend, NOTHING);
    EACH(MPI_Rsend, NOTHING);
    EACH(MPI_Bsend, NOTHING);
    EACH(MPI_Isend, COMMA_REQUEST);
    EACH(MPI_Issend, COMMA_REQUEST);
    EACH(MPI_Irsend, COMMA_REQUEST);
    EACH(MPI_Ibsend, COMMA_REQUEST);
    EACH(MPI_Send_init, COMMA_REQUEST);
    EACH(MPI_Ssend_init, COMMA_REQUEST);
    EACH(MPI_Recv, COMMA_STATUS);
    EACH(MPI_Irecv, COMMA_REQUEST);
    EACH(MPI_Recv_init, COMMA_REQUEST);
    CLASS_IS(MPI_Send(data, 1, MPI_INT, 0, MPI_ANY_TAG, world), MPI_ERR_TAG);
    CLASS_IS(MPI_Send(data, 1, MPI_INT, MPI_ANY_SOURCE, 0, world), MPI_ERR_RANK);
    CLASS_IS(MPI_Bsend(data, 1, MPI_INT, 0, 0, world), MPI_ERR_BUFFER);
    CLASS_IS(MPI_Probe(size, 0, world, MPI_STATUS_IGNORE), MPI_ERR_RANK);
    CLASS_IS(MPI_Iprobe(0, -5, world, &flag, MPI_STATUS_IGNORE), MPI_ERR_TAG);

    MPI_Message message = MPI_MESSAGE_NULL, no_message = (MPI_Message)0x123456789abcUL;
#define EACH_PROBE(prefix, ...)                                                         \
    CLASS_IS(prefix(size, 0, world, __VA_ARGS__ MPI_STATUS_IGNORE), MPI_ERR_RANK);      \
    CLASS_IS(prefix(-77, 0, world, __VA_ARGS__ MPI_STATUS_IGNORE), MPI_ERR_RANK);       \
    CLASS_IS(prefix(0, -77, world, __VA_ARGS__ MPI_STATUS_IGNORE), MPI_ERR_TAG);        \
    CLASS_IS(prefix(0, 0, MPI_COMM_NULL, __VA_ARGS__ MPI_STATUS_IGNORE), MPI_ERR_COMM); \
    CLASS_IS(prefix(0, 0, stale, __VA_ARGS__ MPI_STATUS_IGNORE), MPI_ERR_COMM)
    EACH_PROBE(MPI_Probe, );
    EACH_PROBE(MPI_Iprobe, &flag, );
    EACH_PROBE(MPI_Mprobe, &message, );
    EACH_PROBE(MPI_Improbe, &flag, &message, );
    CLASS_IS(MPI_Mrecv(data, 1, MPI_INT, &message, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    CLASS_IS(MPI_Imrecv(data, 1, MPI_INT, &message, &request), MPI_ERR_REQUEST);
    CLASS_IS(MPI_Mrecv(data, 1, MPI_INT, &no_message, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    /* A wrong receive leaves the message where it is. */
    MPI_Request own_send;
    MPI_Isend(data, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &own_send);
    MPI_Mprobe(0, 3, MPI_COMM_SELF, &message, MPI_STATUS_IGNORE);
    CLASS_IS(MPI_Mrecv(data, -1, MPI_INT, &message, MPI_STATUS_IGNORE), MPI_ERR_COUNT);
    CLASS_IS(MPI_Mrecv(data, 1, stale_type, &message, MPI_STATUS_IGNORE), MPI_ERR_TYPE);
    CLASS_IS(MPI_Imrecv(NULL, 1, MPI_INT, &message, &request), MPI_ERR_BUFFER);
    CHECK(MPI_Mrecv(data, 1, MPI_INT, &message, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(message == MPI_MESSAGE_NULL);
    MPI_Wait(&own_send, MPI_STATUS_IGNORE);

    /* Arrays of requests. */
    int index, indices[2];
    MPI_Request some[2] = {MPI_REQUEST_NULL, (MPI_Request)0x5200000000fffffeUL};
    CLASS_IS(MPI_Waitall(-1, some, MPI_STATUSES_IGNORE), MPI_ERR_COUNT);
    CLASS_IS(MPI_Testall(-1, some, &flag, MPI_STATUSES_IGNORE), MPI_ERR_COUNT);
    CLASS_IS(MPI_Waitany(-1, some, &index, MPI_STATUS_IGNORE), MPI_ERR_COUNT);
    CLASS_IS(MPI_Testany(-1, some, &index, &flag, MPI_STATUS_IGNORE), MPI_ERR_COUNT);
    CLASS_IS(MPI_Waitsome(-1, some, &index, indices, MPI_STATUSES_IGNORE), MPI_ERR_COUNT);
    CLASS_IS(MPI_Testsome(-1, some, &index, indices, MPI_STATUSES_IGNORE), MPI_ERR_COUNT);
    CLASS_IS(MPI_Startall(-1, some), MPI_ERR_COUNT);
    CLASS_IS(MPI_Request_get_status_all(-1, some, &flag, MPI_STATUSES_IGNORE), MPI_ERR_COUNT);
    CLASS_IS(MPI_Waitall(2, NULL, MPI_STATUSES_IGNORE), MPI_ERR_REQUEST);
    CLASS_IS(MPI_Waitany(2, NULL, &index, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    CLASS_IS(MPI_Testsome(2, NULL, &index, indices, MPI_STATUSES_IGNORE), MPI_ERR_REQUEST);
    CLASS_IS(MPI_Startall(2, NULL), MPI_ERR_REQUEST);
    CLASS_IS(MPI_Request_get_status_any(2, NULL, &index, &flag, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    CLASS_IS(MPI_Waitany(2, some, &index, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    CLASS_IS(MPI_Testall(2, some, &flag, MPI_STATUSES_IGNORE), MPI_ERR_REQUEST);
    CLASS_IS(MPI_Startall(1, some), MPI_ERR_REQUEST);
    CLASS_IS(MPI_Request_get_status(some[1], &flag, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    CLASS_IS(MPI_Cancel(&some[1]), MPI_ERR_REQUEST);
    /* What is received into must not hold a byte twice; what is sent may. */
    {
        int lengths[] = {2, 2}, places[] = {0, 1}, doubled[4] = {0}, position = 0;
        MPI_Datatype overlapping, narrow;
        MPI_Type_indexed(2, lengths, places, MPI_INT, &overlapping);
        MPI_Type_commit(&overlapping);
        MPI_Type_create_resized(MPI_INT, 0, 2, &narrow);
        MPI_Type_commit(&narrow);
        CLASS_IS(MPI_Recv(data, 1, overlapping, rank, 5, world, MPI_STATUS_IGNORE), MPI_ERR_TYPE);
        CLASS_IS(MPI_Irecv(data, 1, overlapping, rank, 5, world, &request), MPI_ERR_TYPE);
        CLASS_IS(MPI_Recv_init(data, 1, overlapping, rank, 5, world, &request), MPI_ERR_TYPE);
        CLASS_IS(MPI_Recv(data, 2, narrow, rank, 5, world, MPI_STATUS_IGNORE), MPI_ERR_TYPE);
        CLASS_IS(MPI_Unpack(doubled, 16, &position, data, 1, overlapping, world), MPI_ERR_TYPE);
        CLASS_IS(MPI_Sendrecv(data, 1, MPI_INT, rank, 5, back, 1, overlapping, rank, 5, world, MPI_STATUS_IGNORE), MPI_ERR_TYPE);
        /* Reductions, too; on the other ranks, which only give, it is allowed. */
        MPI_Op sum;
        MPI_Op_create(add, 1, &sum);
        CLASS_IS(MPI_Allreduce(data, doubled, 1, overlapping, sum, world), MPI_ERR_TYPE);
        CLASS_IS(MPI_Allreduce(MPI_IN_PLACE, doubled, 2, narrow, sum, world), MPI_ERR_TYPE);
        CLASS_IS(MPI_Reduce(data, doubled, 1, overlapping, sum, 0, MPI_COMM_SELF), MPI_ERR_TYPE);
        CLASS_IS(MPI_Scan(data, doubled, 1, overlapping, sum, world), MPI_ERR_TYPE);
        CLASS_IS(MPI_Iexscan(data, doubled, 1, overlapping, sum, world, &request), MPI_ERR_TYPE);
        CLASS_IS(MPI_Reduce_scatter_block(data, doubled, 1, overlapping, sum, MPI_COMM_SELF), MPI_ERR_TYPE);
        CLASS_IS(MPI_Reduce_local(data, doubled, 1, overlapping, sum), MPI_ERR_TYPE);
        CHECK(MPI_Reduce_local(data, doubled, 1, narrow, sum) == MPI_SUCCESS);
        MPI_Op_free(&sum);
        data[0] = 1, data[1] = 2, data[2] = 3;
        CHECK(MPI_Sendrecv(data, 1, overlapping, rank, 5, doubled, 4, MPI_INT, rank, 5, world, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(doubled[0] == 1 && doubled[1] == 2 && doubled[2] == 2 && doubled[3] == 3);
        CHECK(MPI_Sendrecv(data, 1, MPI_INT, rank, 5, back, 1, narrow, rank, 5, world, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        MPI_Datatype types[] = {MPI_INT, MPI_DATATYPE_NULL}, none;
        MPI_Aint displacements[] = {0, 8};
        int ones[] = {1, 1}, length, code = MPI_Type_create_struct(2, ones, displacements, types, &none);
        char text[MPI_MAX_ERROR_STRING];
        MPI_Error_string(code, text, &length);
        CHECK(strstr(text, "'array_of_types' is MPI_DATATYPE_NULL at index 1") != NULL);
        MPI_Type_free(&overlapping);
        MPI_Type_free(&narrow);
    }
    CHECK(MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    CLASS_IS(MPI_Buffer_attach(data, -1), MPI_ERR_ARG);

    MPI_Request wrong = (MPI_Request)0x5200000000ffffffUL;
    CLASS_IS(MPI_Wait(&wrong, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    wrong = (MPI_Request)world;
    CLASS_IS(MPI_Test(&wrong, &flag, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    MPI_Irecv(data, 1, MPI_INT, 0, 12, MPI_COMM_SELF, &request);
    wrong = request;
    MPI_Send(data, 1, MPI_INT, 0, 12, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CLASS_IS(MPI_Wait(&wrong, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    CLASS_IS(MPI_Start(&wrong), MPI_ERR_REQUEST);
    request = MPI_REQUEST_NULL;
    CLASS_IS(MPI_Request_free(&request), MPI_ERR_REQUEST);
    CLASS_IS(MPI_Bcast(data, 1, MPI_INT, size, world), MPI_ERR_ROOT);
    CLASS_IS(MPI_Allreduce(data, data + 2, 1, MPI_INT, MPI_OP_NULL, world), MPI_ERR_OP);
    CLASS_IS(MPI_Allreduce(data, data + 2, 1, MPI_DOUBLE, MPI_BAND, world), MPI_ERR_OP);

    MPI_Errhandler own;
    MPI_Comm_create_errhandler(handler, &own);
    MPI_Comm_set_errhandler(world, own);
    CLASS_IS(MPI_Send(data, 1, MPI_INT, size, 0, world), MPI_ERR_RANK);
    CHECK(handled == 1);
    MPI_Comm_set_errhandler(world, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&own);
    MPI_Type_free(&raw);
    return finish(rank);
}
