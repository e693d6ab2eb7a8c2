/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 2 3
 * What was sent and completed locally arrives although its sender ends its session, or disconnects its communicator, before the receiver
 * comes (MPI-5.0, sections 11.10.4 and 11.3.1): buffered sends and freed requests of lengths on both sides of the eager limit.
 */
#include "check.h"
#include <time.h>

enum { LONG = 300000, MANY = 50, SHORT = 20000 };
static unsigned char data[LONG], got[LONG];

static void come_late(void)
{
    struct timespec moment = {0, 300 * 1000 * 1000};
    nanosleep(&moment, NULL);
}

static void send_all(MPI_Comm comm)
{
    MPI_Request request;
    CHECK(MPI_Bsend(data, LONG, MPI_BYTE, 1, 1, comm) == MPI_SUCCESS);
    for (int i = 0; i < MANY; i++)
        CHECK(MPI_Bsend(data, SHORT, MPI_BYTE, 1, 2, comm) == MPI_SUCCESS);
    CHECK(MPI_Isend(data, LONG, MPI_BYTE, 1, 3, comm, &request) == MPI_SUCCESS);
    CHECK(MPI_Request_free(&request) == MPI_SUCCESS);
}

static void receive(MPI_Comm comm, int bytes, int tag)
{
    memset(got, 0, sizeof got);
    CHECK(MPI_Recv(got, bytes, MPI_BYTE, 0, tag, comm, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(memcmp(got, data, (size_t)bytes) == 0);
}

static void receive_all(MPI_Comm comm)
{
    come_late();
    receive(comm, LONG, 1);
    for (int i = 0; i < MANY; i++)
        receive(comm, SHORT, 2);
    receive(comm, LONG, 3);
}

int main(void)
{
    static unsigned char buffer[LONG + MANY * SHORT + (MANY + 1) * MPI_BSEND_OVERHEAD];
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm, other;
    int rank;
    for (int i = 0; i < LONG; i++)
        data[i] = (unsigned char)(i * 7 + i / 251);
    CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session) == MPI_SUCCESS);
    CHECK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group) == MPI_SUCCESS);
    CHECK(MPI_Comm_create_from_group(group, "sent", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm) == MPI_SUCCESS);
    CHECK(MPI_Comm_dup(comm, &other) == MPI_SUCCESS);
    CHECK(MPI_Group_free(&group) == MPI_SUCCESS);
    CHECK(MPI_Comm_rank(comm, &rank) == MPI_SUCCESS);
    if (rank == 0)
        CHECK(MPI_Buffer_attach(buffer, sizeof buffer) == MPI_SUCCESS);
    /* No communication of the communicator is left when it has been disconnected: the room in the buffer is free again. */
    if (rank == 0)
        send_all(other);
    else if (rank == 1)
        receive_all(other);
    CHECK(MPI_Comm_disconnect(&other) == MPI_SUCCESS && other == MPI_COMM_NULL);
    if (rank == 0)
        send_all(comm);
    else if (rank == 1)
        receive_all(comm);
    CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS);
    CHECK(MPI_Session_finalize(&session) == MPI_SUCCESS);
    if (rank == 0)
        printf("PASS\n");
    return 0;
}
