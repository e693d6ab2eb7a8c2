/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2
 * NEEDS: checked arguments
 * MPI_DATATYPE_NULL as the type of 0 elements: messages, MPI_Bcast and the entries of MPI_Alltoallw need none, as in Intel MPI. With elements,
 * also to and from MPI_PROC_NULL, and everywhere else it is MPI_ERR_TYPE. */
#include "check.h"

static void refused(int code, int line)
{
    int found = -1;
    MPI_Error_class(code, &found);
    if (found != MPI_ERR_TYPE)
        fprintf(stderr, "line %d: class %d\n", line, found);
    CHECK(found == MPI_ERR_TYPE);
}
#define REFUSED(call) refused(call, __LINE__)
#define PASSES(call) CHECK((call) == MPI_SUCCESS)

int main(int argc, char **argv)
{
    int rank, size, count = -1, a[4], b[4], none[2] = {0, 0}, position = 0;
    const MPI_Datatype null = MPI_DATATYPE_NULL;
    MPI_Datatype nulls[2] = {null, null}, made;
    MPI_Message message;
    MPI_Request requests[2];
    MPI_Status status;
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int next = (rank + 1) % size, before = (rank + size - 1) % size;

    /* Messages without elements are messages. */
    PASSES(MPI_Irecv(b, 0, null, before, 1, comm, &requests[0]));
    PASSES(MPI_Isend(a, 0, null, next, 1, comm, &requests[1]));
    PASSES(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    PASSES(MPI_Sendrecv(a, 0, null, next, 2, b, 0, null, before, 2, comm, &status));
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(status.MPI_SOURCE == before && status.MPI_TAG == 2 && count == 0);
    PASSES(MPI_Sendrecv_replace(a, 0, null, next, 3, before, 3, comm, &status));
    PASSES(MPI_Send_init(a, 0, null, next, 4, comm, &requests[0]));
    PASSES(MPI_Recv_init(b, 0, null, before, 4, comm, &requests[1]));
    PASSES(MPI_Startall(2, requests));
    PASSES(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    PASSES(MPI_Isend(a, 0, null, next, 5, comm, &requests[0]));
    PASSES(MPI_Mprobe(before, 5, comm, &message, &status));
    PASSES(MPI_Mrecv(b, 0, null, &message, &status));
    PASSES(MPI_Wait(&requests[0], &status));
    PASSES(MPI_Ssend(a, 0, null, MPI_PROC_NULL, 1, comm));
    PASSES(MPI_Recv(b, 0, null, MPI_PROC_NULL, 1, comm, &status));
    PASSES(MPI_Bcast(a, 0, null, 0, comm));
    PASSES(MPI_Ibcast(a, 0, null, 0, comm, &requests[0]));
    PASSES(MPI_Wait(&requests[0], &status));
    PASSES(MPI_Alltoallw(a, none, none, nulls, b, none, none, nulls, comm));
    PASSES(MPI_Ialltoallw(a, none, none, nulls, b, none, none, nulls, comm, &requests[0]));
    PASSES(MPI_Wait(&requests[0], &status));

    REFUSED(MPI_Send(a, 1, null, MPI_PROC_NULL, 1, comm));
    REFUSED(MPI_Isend(a, 1, null, MPI_PROC_NULL, 1, comm, &requests[0]));
    REFUSED(MPI_Recv(b, 1, null, MPI_PROC_NULL, 1, comm, &status));
    REFUSED(MPI_Bcast(a, 1, null, 0, comm));
    REFUSED(MPI_Allgather(a, 0, null, b, 0, null, comm));
    REFUSED(MPI_Alltoallv(a, none, none, null, b, none, none, null, comm));
    REFUSED(MPI_Allreduce(a, b, 0, null, MPI_SUM, comm));
    REFUSED(MPI_Pack(a, 0, null, b, 16, &position, comm));
    REFUSED(MPI_Type_contiguous(0, null, &made));
    return finish(rank);
}
