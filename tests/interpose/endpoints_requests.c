/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Requests of endpoints: persistent ones, lists with requests of the library, and messages that were probed. */
#include "endpoints.h"

#include <stdlib.h>
#include <string.h>

enum { MANY = 300 };

static void expect_empty(const MPI_Status *status) {
    int count;
    MPI_Get_count(status, MPI_BYTE, &count);
    EXPECT(status->MPI_SOURCE == MPI_ANY_SOURCE && status->MPI_TAG == MPI_ANY_TAG && count == 0);
}

static void persistent_requests_start_again(MPI_Comm comm, int rank, int size) {
    int right = (rank + 1) % size, left = (rank + size - 1) % size, out[4], in[8], number, index, flag;
    MPI_Request requests[4];
    MPI_Status statuses[4];
    MPI_Datatype pairs;
    MPI_Type_vector(2, 1, 2, MPI_INT, &pairs);
    MPI_Type_commit(&pairs);
    MPI_Recv_init(in, 2, pairs, left, 1, comm, &requests[0]);
    MPI_Send_init(out, 2, MPI_INT, right, 1, comm, &requests[1]);
    MPI_Ssend_init(out + 2, 2, MPI_INT, right, 2, comm, &requests[2]);
    MPI_Recv_init(in + 6, 2, MPI_INT, left, 2, comm, &requests[3]);
    MPI_Type_free(&pairs);
    MPI_Request before = requests[0];
    for (int step = 0; step < 4; step++) {
        for (int at = 0; at < 4; at++)
            out[at] = rank * 100 + step * 10 + at;
        memset(in, 255, sizeof in);
        if (step % 2) {
            MPI_Startall(4, requests);
        } else {
            for (int at = 0; at < 4; at++)
                MPI_Start(&requests[at]);
        }
        if (step < 2) {
            MPI_Waitall(4, requests, statuses);
            EXPECT(statuses[0].MPI_SOURCE == left && statuses[3].MPI_TAG == 2);
        } else {
            int seen = 0;
            for (int left_over = 4; left_over > 0; left_over -= step == 2 ? 1 : number) {
                int indices[4];
                if (step == 2) {
                    MPI_Waitany(4, requests, &index, statuses);
                    indices[0] = index;
                    number = 1;
                } else {
                    MPI_Waitsome(4, requests, &number, indices, statuses);
                }
                for (int at = 0; at < number; at++)
                    seen |= 1 << indices[at];
            }
            EXPECT(seen == 15);
        }
        EXPECT(in[0] == left * 100 + step * 10 && in[1] == -1 && in[2] == in[0] + 1 && in[7] == in[0] + 3);
        EXPECT(requests[0] == before);
        // Inactive requests are done, and nothing to wait for.
        MPI_Wait(&requests[0], &statuses[0]);
        expect_empty(&statuses[0]);
        flag = 0;
        MPI_Test(&requests[1], &flag, &statuses[0]);
        EXPECT(flag);
        MPI_Request_get_status(requests[2], &flag, MPI_STATUS_IGNORE);
        EXPECT(flag);
        MPI_Waitany(4, requests, &index, &statuses[0]);
        EXPECT(index == MPI_UNDEFINED);
        expect_empty(&statuses[0]);
        MPI_Testany(4, requests, &index, &flag, MPI_STATUS_IGNORE);
        EXPECT(flag && index == MPI_UNDEFINED);
        MPI_Waitsome(4, requests, &number, &index, MPI_STATUSES_IGNORE);
        EXPECT(number == MPI_UNDEFINED);
        MPI_Testall(4, requests, &flag, statuses);
        EXPECT(flag);
        expect_empty(&statuses[3]);
    }
    // Freed while it is active.
    MPI_Start(&requests[0]);
    MPI_Start(&requests[1]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    for (int at = 0; at < 4; at++) {
        MPI_Request_free(&requests[at]);
        EXPECT(requests[at] == MPI_REQUEST_NULL);
    }
}

/* Data are there once a call says that the operation has ended, and what the program writes then stays. */
static void data_arrive_before_the_request_ends(MPI_Comm comm, int rank) {
    int out = rank, in = -1, flag = 0;
    MPI_Request sent, received;
    MPI_Irecv(&in, 1, MPI_INT, rank, 8, comm, &received);
    MPI_Isend(&out, 1, MPI_INT, rank, 8, comm, &sent);
    while (!flag)
        MPI_Request_get_status(received, &flag, MPI_STATUS_IGNORE);
    EXPECT(in == rank && received != MPI_REQUEST_NULL);
    in = -2;
    MPI_Wait(&received, MPI_STATUS_IGNORE);
    EXPECT(in == -2 && received == MPI_REQUEST_NULL);
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
}

/* Requests of the library, persistent and null ones among them, in the same lists. Needs MPI_THREAD_MULTIPLE. */
static void lists_have_requests_of_both(MPI_Comm comm, int rank) {
    int out = rank, in[3], number, flag, done, index;
    MPI_Request all[7];
    MPI_Status statuses[7];
    MPI_Comm self;
    MPI_Comm_dup(MPI_COMM_SELF, &self);
    MPI_Recv_init(&in[2], 1, MPI_INT, 0, 9, self, &all[6]);
    for (int step = 0; step < 5; step++) {
        memset(in, 255, sizeof in);
        MPI_Irecv(&in[0], 1, MPI_INT, 0, 3, self, &all[0]);
        MPI_Irecv(&in[1], 1, MPI_INT, rank, 3, comm, &all[1]);
        all[2] = MPI_REQUEST_NULL;
        MPI_Start(&all[6]);
        MPI_Isend(&out, 1, MPI_INT, rank, 3, comm, &all[3]);
        MPI_Isend(&out, 1, MPI_INT, 0, 3, self, &all[4]);
        MPI_Isend(&out, 1, MPI_INT, 0, 9, self, &all[5]);
        if (step == 0) {
            MPI_Waitall(7, all, statuses);
            EXPECT(statuses[0].MPI_SOURCE == 0 && statuses[1].MPI_SOURCE == rank && statuses[6].MPI_TAG == 9);
            expect_empty(&statuses[2]);
        } else if (step == 1) {
            do
                MPI_Testall(7, all, &flag, statuses);
            while (!flag);
        } else {
            for (done = 0; done < 6; done += number) {
                int indices[7];
                number = 1;
                if (step == 2) {
                    MPI_Waitany(7, all, &index, statuses);
                } else if (step == 3) {
                    MPI_Waitsome(7, all, &number, indices, statuses);
                } else {
                    MPI_Testany(7, all, &index, &flag, statuses);
                    number = flag;
                }
            }
        }
        EXPECT(in[0] == rank && in[1] == rank && in[2] == rank);
        for (int at = 0; at < 6; at++)
            EXPECT(all[at] == MPI_REQUEST_NULL);
    }
    MPI_Request_free(&all[6]);
    MPI_Comm_free(&self);
}

/* A request of the library that has failed completes with the others, and the status says so. One thread does this: libraries
 * raise errors of calls for several requests on different communicators of the process. */
static void failed_requests_of_the_library_complete(MPI_Comm comm, int rank) {
    int out[2] = {rank, rank}, in[2] = {-1, -1}, flag = 0, code;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Comm self;
    if (rank != 0)
        return;
    MPI_Comm_dup(MPI_COMM_SELF, &self);
    MPI_Comm raised_on[] = {self, MPI_COMM_SELF, MPI_COMM_WORLD};
    MPI_Errhandler before[3];
    for (int at = 0; at < 3; at++) {
        MPI_Comm_get_errhandler(raised_on[at], &before[at]);
        MPI_Comm_set_errhandler(raised_on[at], MPI_ERRORS_RETURN);
    }
    MPI_Irecv(&in[0], 1, MPI_INT, 0, 3, self, &requests[0]);
    MPI_Irecv(&in[1], 1, MPI_INT, rank, 3, comm, &requests[1]);
    MPI_Send(out, 2, MPI_INT, 0, 3, self);
    // That of the endpoint has not ended yet.
    for (int step = 0; step < 10; step++)
        EXPECT(MPI_Testall(2, requests, &flag, statuses) == MPI_SUCCESS && !flag);
    MPI_Send(out, 1, MPI_INT, rank, 3, comm);
    do
        code = MPI_Testall(2, requests, &flag, statuses);
    while (!flag);
    EXPECT(class_of(code) == MPI_ERR_IN_STATUS && in[1] == rank);
    EXPECT(class_of(statuses[0].MPI_ERROR) == MPI_ERR_TRUNCATE && statuses[1].MPI_ERROR == MPI_SUCCESS);
    EXPECT(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
    for (int at = 0; at < 3; at++)
        MPI_Comm_set_errhandler(raised_on[at], before[at]);
    MPI_Comm_free(&self);
}

static void probed_messages_are_received(MPI_Comm comm, int rank, int size) {
    int right = (rank + 1) % size, left = (rank + size - 1) % size, first[2] = {1, rank}, second[3] = {2, rank, 5};
    int in[6], flag, count;
    MPI_Message message, none;
    MPI_Request request;
    MPI_Status status;
    MPI_Improbe(rank, 40, comm, &flag, &message, MPI_STATUS_IGNORE);
    EXPECT(!flag);
    MPI_Request sent[2];
    MPI_Isend(first, 2, MPI_INT, right, 41, comm, &sent[0]);
    MPI_Isend(second, 3, MPI_INT, right, 41, comm, &sent[1]);
    // The first message is taken, so a receive gets the second one.
    MPI_Mprobe(left, 41, comm, &message, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    EXPECT(count == 2 && status.MPI_SOURCE == left && message != MPI_MESSAGE_NULL);
    MPI_Recv(in, 6, MPI_INT, MPI_ANY_SOURCE, 41, comm, MPI_STATUS_IGNORE);
    EXPECT(in[0] == 2 && in[1] == left);
    MPI_Mrecv(in, 2, MPI_INT, &message, &status);
    EXPECT(in[0] == 1 && in[1] == left && message == MPI_MESSAGE_NULL && status.MPI_TAG == 41);
    MPI_Waitall(2, sent, MPI_STATUSES_IGNORE);
    MPI_Isend(first, 2, MPI_INT, rank, 42, comm, &sent[0]);
    do
        MPI_Improbe(MPI_ANY_SOURCE, 42, comm, &flag, &message, &status);
    while (!flag);
    MPI_Imrecv(in, 6, MPI_INT, &message, &request);
    MPI_Wait(&request, &status);
    MPI_Wait(&sent[0], MPI_STATUS_IGNORE);
    MPI_Get_count(&status, MPI_INT, &count);
    EXPECT(count == 2 && in[0] == 1 && in[1] == rank && status.MPI_SOURCE == rank);
    MPI_Mprobe(MPI_PROC_NULL, 43, comm, &none, &status);
    EXPECT(none == MPI_MESSAGE_NO_PROC && status.MPI_SOURCE == MPI_PROC_NULL);
    MPI_Mrecv(in, 6, MPI_INT, &none, &status);
    EXPECT(none == MPI_MESSAGE_NULL && status.MPI_SOURCE == MPI_PROC_NULL);
}

static void buffers_are_replaced(MPI_Comm comm, int rank, int size) {
    int right = (rank + 1) % size, left = (rank + size - 1) % size, data[600];
    MPI_Datatype even;
    MPI_Status status;
    MPI_Type_vector(300, 1, 2, MPI_INT, &even);
    MPI_Type_commit(&even);
    for (int at = 0; at < 600; at++)
        data[at] = rank * 1000 + at;
    MPI_Sendrecv_replace(data, 1, even, right, 6, left, 6, comm, &status);
    for (int at = 0; at < 600; at++)
        EXPECT(data[at] == (at % 2 ? rank : left) * 1000 + at);
    EXPECT(status.MPI_SOURCE == left);
    MPI_Type_free(&even);
}

/* Requests of many messages, of lengths from none to 1 MiB, that complete in any order. */
static void many_are_in_flight(MPI_Comm comm, int rank, int size) {
    static const int lengths[] = {0, 1, 31, 32, 33, 63, 64, 65, 500, 4096, 70000, 1 << 20};
    MPI_Request *requests = malloc(2 * MANY * sizeof *requests);
    char **in = malloc(MANY * sizeof *in), **out = malloc(MANY * sizeof *out);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    for (int at = 0; at < MANY; at++) {
        int length = lengths[(at * 7 + at / 12) % (at % 50 ? 11 : 12)];
        in[at] = malloc(length + 1);
        out[at] = malloc(length + 1);
        memset(out[at], rank + at, length + 1);
        memset(in[at], 111, length + 1);
        MPI_Irecv(in[at], length, MPI_CHAR, left, at % 3 ? at : 0, comm, &requests[at]);
        MPI_Isend(out[at], length, MPI_CHAR, right, at % 3 ? at : 0, comm, &requests[MANY + at]);
    }
    for (int left_over = 2 * MANY; left_over > 0;) {
        int number, indices[2 * MANY];
        MPI_Waitsome(2 * MANY, requests, &number, indices, MPI_STATUSES_IGNORE);
        left_over -= number;
    }
    for (int at = 0; at < MANY; at++) {
        int length = lengths[(at * 7 + at / 12) % (at % 50 ? 11 : 12)];
        for (int byte = 0; byte < length; byte += length > 10000 ? 997 : 1)
            EXPECT(in[at][byte] == (char)(left + at));
        EXPECT(in[at][length] == 111 && (length == 0 || in[at][length - 1] == (char)(left + at)));
        free(in[at]);
        free(out[at]);
    }
    free(in);
    free(out);
    free(requests);
}

void requests_complete(MPI_Comm comm, int rank, int size) {
    persistent_requests_start_again(comm, rank, size);
    data_arrive_before_the_request_ends(comm, rank);
    lists_have_requests_of_both(comm, rank);
    failed_requests_of_the_library_complete(comm, rank);
    probed_messages_are_received(comm, rank, size);
    buffers_are_replaced(comm, rank, size);
    many_are_in_flight(comm, rank, size);
}
