/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 2 3 4
 * Every way to complete an operation: wait and test forms, probes, persistent, cancelled, freed and buffered requests. */
#include "check.h"

static int rank, size, peer;

static void wait_and_test_forms(void)
{
    enum { COUNT = 20 };
    int in[COUNT], out[COUNT], index, flag, done, indices[COUNT];
    MPI_Request requests[COUNT];
    MPI_Status status, statuses[COUNT];
    for (int form = 0; form < 6; ++form) {
        for (int i = 0; i < COUNT; ++i) {
            in[i] = -1;
            out[i] = 100 * rank + i;
            MPI_Irecv(&in[i], 1, MPI_INT, peer, i, MPI_COMM_WORLD, &requests[i]);
        }
        for (int i = COUNT - 1; i >= 0; --i)
            MPI_Send(&out[i], 1, MPI_INT, peer, i, MPI_COMM_WORLD);
        int left = COUNT;
        while (left > 0) {
            if (form == 0) {
                MPI_Waitany(COUNT, requests, &index, &status);
                CHECK(index >= 0 && index < COUNT && status.MPI_TAG == index && status.MPI_SOURCE == peer);
                --left;
            } else if (form == 1) {
                MPI_Testany(COUNT, requests, &index, &flag, &status);
                CHECK(flag || index == MPI_UNDEFINED);
                left -= flag;
            } else if (form == 2 || form == 3) {
                if (form == 2)
                    MPI_Waitsome(COUNT, requests, &done, indices, statuses);
                else
                    MPI_Testsome(COUNT, requests, &done, indices, statuses);
                for (int i = 0; i < done; ++i)
                    CHECK(statuses[i].MPI_TAG == indices[i]);
                left -= done;
            } else if (form == 4) {
                MPI_Testall(COUNT, requests, &flag, statuses);
                if (flag)
                    left = 0;
            } else {
                for (int i = 0; i < COUNT; ++i) {
                    MPI_Request_get_status(requests[i], &flag, &status);
                    while (!flag)
                        MPI_Request_get_status(requests[i], &flag, &status);
                    MPI_Test(&requests[i], &flag, &status);
                    CHECK(flag && status.MPI_TAG == i);
                }
                left = 0;
            }
        }
        for (int i = 0; i < COUNT; ++i)
            CHECK(requests[i] == MPI_REQUEST_NULL && in[i] == 100 * peer + i);
        MPI_Waitany(COUNT, requests, &index, &status);
        CHECK(index == MPI_UNDEFINED);
        MPI_Waitsome(COUNT, requests, &done, indices, statuses);
        CHECK(done == MPI_UNDEFINED);
    }
}

static void probes(void)
{
    static const int sizes[] = {0, 5, 300, 20000, 200000};
    for (unsigned k = 0; k < 5; ++k) {
        int bytes = sizes[k], count, flag = 0;
        char *out = calloc(bytes + 1, 1), *in = calloc(bytes + 1, 1);
        memset(out, 'a' + (int)k, bytes);
        MPI_Request request;
        MPI_Status status;
        MPI_Message message;
        for (int form = 0; form < 4; ++form) {
            MPI_Isend(out, bytes, MPI_CHAR, peer, 7, MPI_COMM_WORLD, &request);
            if (form == 0) {
                MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
                MPI_Recv(in, bytes, MPI_CHAR, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            } else if (form == 1) {
                for (flag = 0; !flag;)
                    MPI_Iprobe(peer, 7, MPI_COMM_WORLD, &flag, &status);
                MPI_Recv(in, bytes, MPI_CHAR, peer, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            } else if (form == 2) {
                MPI_Mprobe(peer, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
                MPI_Mrecv(in, bytes, MPI_CHAR, &message, MPI_STATUS_IGNORE);
                CHECK(message == MPI_MESSAGE_NULL);
            } else {
                for (flag = 0; !flag;)
                    MPI_Improbe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &flag, &message, &status);
                MPI_Request receive;
                MPI_Imrecv(in, bytes, MPI_CHAR, &message, &receive);
                MPI_Wait(&receive, MPI_STATUS_IGNORE);
            }
            MPI_Get_count(&status, MPI_CHAR, &count);
            CHECK(count == bytes && status.MPI_SOURCE == peer && status.MPI_TAG == 7);
            CHECK(memcmp(in, out, bytes) == 0);
            memset(in, 0, bytes);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        free(out);
        free(in);
    }
}

static void persistent_requests(void)
{
    static int big_out[30000], big_in[30000];
    int small_out, small_in;
    MPI_Request requests[4];
    MPI_Recv_init(&small_in, 1, MPI_INT, peer, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(big_in, 30000, MPI_INT, peer, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Send_init(&small_out, 1, MPI_INT, peer, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Ssend_init(big_out, 30000, MPI_INT, peer, 2, MPI_COMM_WORLD, &requests[3]);
    for (int round = 0; round < 10; ++round) {
        small_out = rank * 1000 + round;
        for (int i = 0; i < 30000; ++i)
            big_out[i] = rank + round * i;
        MPI_Startall(4, requests);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        CHECK(small_in == peer * 1000 + round);
        for (int i = 0; i < 30000; ++i)
            CHECK(big_in[i] == peer + round * i);
        CHECK(requests[0] != MPI_REQUEST_NULL);
    }
    for (int i = 0; i < 4; ++i) {
        MPI_Request_free(&requests[i]);
        CHECK(requests[i] == MPI_REQUEST_NULL);
    }
}

static void cancel_truncate_and_nobody(void)
{
    int value = 5, flag, count;
    MPI_Request request;
    MPI_Status status;
    MPI_Irecv(&value, 1, MPI_INT, peer, 99, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag && value == 5);

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    static const int sizes[] = {8, 400, 50000, 400000};
    for (int k = 0; k < 4; ++k) {
        char *out = malloc(sizes[k]), *in = malloc(sizes[k]);
        memset(out, 'x', sizes[k]);
        memset(in, 'g', sizes[k]);
        MPI_Isend(out, sizes[k], MPI_CHAR, peer, 3, MPI_COMM_WORLD, &request);
        int code = MPI_Recv(in, 5, MPI_CHAR, peer, 3, MPI_COMM_WORLD, &status), class;
        MPI_Error_class(code, &class);
        CHECK(class == MPI_ERR_TRUNCATE);
        for (int i = 5; i < sizes[k]; ++i)
            CHECK(in[i] == 'g');
        CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        free(out);
        free(in);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);

    MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 4, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(value == 5 && count == 0 && status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
    MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 4, MPI_COMM_WORLD);
    MPI_Probe(MPI_PROC_NULL, 4, MPI_COMM_WORLD, &status);
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL);
}

static void buffered_synchronous_and_combined(void)
{
    static char buffer[300000];
    static double out[2000], in[2000];
    int flag, detached;
    void *address;
    MPI_Request request, other;
    MPI_Buffer_attach(buffer, sizeof buffer);
    for (int i = 0; i < 2000; ++i)
        out[i] = rank + i;
    for (int k = 0; k < 10; ++k)
        MPI_Bsend(out, 2000, MPI_DOUBLE, peer, k, MPI_COMM_WORLD);
    for (int k = 9; k >= 0; --k) {
        MPI_Recv(in, 2000, MPI_DOUBLE, peer, k, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(in[0] == peer && in[1999] == peer + 1999);
    }
    MPI_Buffer_detach(&address, &detached);
    CHECK(address == buffer && detached == (int)sizeof buffer);

    MPI_Issend(out, 1, MPI_DOUBLE, peer, 50, MPI_COMM_WORLD, &request);
    for (int i = 0; i < 1000; ++i) {
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        CHECK(!flag); /* nobody has received it: the peer does so after the barrier of both */
    }
    MPI_Sendrecv(out, 1, MPI_DOUBLE, peer, 51, in, 1, MPI_DOUBLE, peer, 51, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Irecv(in, 1, MPI_DOUBLE, peer, 50, MPI_COMM_WORLD, &other);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Wait(&other, MPI_STATUS_IGNORE);
    for (int i = 0; i < 2000; ++i)
        in[i] = rank * 10 + i;
    MPI_Sendrecv_replace(in, 2000, MPI_DOUBLE, peer, 52, peer, 52, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(in[0] == peer * 10 && in[1999] == peer * 10 + 1999);
    MPI_Isendrecv_replace(in, 2000, MPI_DOUBLE, peer, 53, peer, 53, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(in[0] == rank * 10 && in[1999] == rank * 10 + 1999);
}

static void many_unexpected(void)
{
    enum { COUNT = 20000 };
    static int in, out[COUNT];
    static MPI_Request requests[COUNT];
    for (int i = 0; i < COUNT; ++i) {
        out[i] = i * 3;
        MPI_Isend(&out[i], 1, MPI_INT, peer, i, MPI_COMM_WORLD, &requests[i]);
    }
    for (int i = COUNT - 1; i >= 0; --i) {
        MPI_Recv(&in, 1, MPI_INT, peer, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(in == i * 3);
    }
    MPI_Waitall(COUNT, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    peer = rank ^ 1;
    if (peer >= size)
        peer = rank; /* the odd one out talks to itself */
    wait_and_test_forms();
    probes();
    persistent_requests();
    cancel_truncate_and_nobody();
    buffered_synchronous_and_combined();
    many_unexpected();
    return finish(rank);
}
