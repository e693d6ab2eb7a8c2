/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 2 3
 * NEEDS: checked arguments
 * ENV: PROMISES_LEVEL=single
 * ENV: PROMISES_LEVEL=multiple
 * ENV: RANKPOINT_CHECK=hints
 * Broken promises and wrong arguments of the calls of mpi_rankpoint.h: classes and texts; the messages of others stay whole. */
#include "promises.h"

static int rank, size;

static void expect(int code, int wanted, const char *word)
{
    int class, length;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Error_class(code, &class);
    MPI_Error_string(code, text, &length);
    if (class != wanted || strstr(text, word) == NULL)
        fprintf(stderr, "class %d instead of %d, '%s' without '%s'\n", class, wanted, text, word);
    CHECK(class == wanted && strstr(text, word) != NULL);
}

static void messages(MPI_Comm part, MPI_Comm inter)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int word = 0, other = rank == 0 ? 1 : 0;
    expect(x_Isend_npn(&word, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request), MPI_ERR_RANK, "MPI_PROC_NULL");
    CHECK(request == MPI_REQUEST_NULL);
    expect(x_Irecv_npn(&word, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request), MPI_ERR_RANK, "MPI_PROC_NULL");
    expect(x_Send_npn(&word, 1, MPI_INT, size, 0, MPI_COMM_WORLD), MPI_ERR_RANK, "MPIX_Send_npn");
    expect(x_Isend_global(&word, 1, MPI_INT, other, 0, part, &request), MPI_ERR_RANK, "member");
    expect(x_Send_global(&word, 1, MPI_INT, size, 0, MPI_COMM_WORLD), MPI_ERR_RANK, "member");
    expect(x_Send_global(&word, 1, MPI_INT, -7, 0, MPI_COMM_WORLD), MPI_ERR_RANK, "-7");
    expect(x_Irecv_global(&word, 1, MPI_INT, other, 0, part, &request), MPI_ERR_RANK, "MPIX_Irecv_global");
    expect(x_Isend_global(&word, 1, MPI_INT, 0, 0, inter, &request), MPI_ERR_COMM, "intercommunicator");
    expect(x_Isend_global(&word, 1, MPI_INT, 0, -5, MPI_COMM_WORLD, &request), MPI_ERR_TAG, "-5");
    expect(x_Isend_noreq(&word, -1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT, "MPIX_Isend_noreq");
    expect(x_Isend_nomatch(&word, 1, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD, &request), MPI_ERR_TYPE, "datatype");
    expect(x_Irecv_nomatch(NULL, 1, MPI_INT, MPI_COMM_WORLD, &request), MPI_ERR_BUFFER, "buf");
    expect(x_Irecv_nomatch(&word, 1, MPI_INT, MPI_COMM_WORLD, NULL), MPI_ERR_ARG, "request");
    expect(x_Isend_nomatch(&word, 1, MPI_INT, size + 1, MPI_COMM_WORLD, &request), MPI_ERR_RANK, "dest");
    expect(x_Isend_all_opts(&word, 1, MPI_INT, 0, MPI_COMM_WORLD), MPI_ERR_COMM, "MPIX_COMM_1");
    expect(x_Send_all_opts(&word, 1, MPI_INT, 0, MPI_COMM_WORLD), MPI_ERR_COMM, "MPIX_COMM_1");
    expect(x_Irecv_all_opts(&word, 1, MPI_INT, MPI_COMM_WORLD), MPI_ERR_COMM, "MPIX_COMM_1");
    expect(x_Irecv_all_opts(&word, 1, MPI_INT, MPIX_COMM_7), MPI_ERR_COMM, "MPIX_COMM_7");
    expect(x_Isend_all_opts(&word, 1, MPI_INT, MPI_PROC_NULL, MPIX_COMM_1), MPI_ERR_RANK, "MPI_PROC_NULL");
    expect(x_Isend_all_opts(&word, 1, MPI_INT, size, MPIX_COMM_1), MPI_ERR_RANK, "member");
    expect(x_Comm_waitall(MPI_COMM_NULL), MPI_ERR_COMM, "comm");
    CHECK(x_Comm_waitall(MPIX_COMM_1) == MPI_SUCCESS);
}

/* Places that are none, that are filled, and that differ, fail at all ranks. */
static void places(void)
{
    expect(x_Comm_dup_predefined(MPI_COMM_WORLD, MPI_COMM_SELF), MPI_ERR_COMM, "MPIX_COMM_1");
    expect(x_Comm_dup_predefined(MPI_COMM_WORLD, MPIX_COMM_1), MPI_ERR_COMM, "already");
    expect(x_Comm_dup_predefined(MPI_COMM_WORLD, rank == 0 ? MPIX_COMM_2 : MPIX_COMM_3), MPI_ERR_COMM, "MPIX_COMM_");
    expect(x_Comm_dup_predefined(MPI_COMM_WORLD, rank == 0 ? MPIX_COMM_2 : MPI_COMM_WORLD), MPI_ERR_COMM, "no such handle");
    MPI_Comm none = MPIX_COMM_2;
    int members;
    expect(MPI_Comm_size(none, &members), MPI_ERR_COMM, "MPIX_COMM_2");
    expect(MPI_Comm_free(&none), MPI_ERR_COMM, "MPIX_COMM_2");
}

/* Messages that do not fit: the call that completes in bulk tells the first one and how many, and the others are whole. */
static void truncation(MPI_Comm comm)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    char out[4][100], in[4][100];
    memset(in, 0, sizeof in);
    for (int index = 0; index < 4; ++index)
        memset(out[index], index + 1, sizeof out[index]);
    for (int index = 0; index < 4; ++index)
        x_Irecv_noreq(in[index], index % 2 ? 10 : 100, MPI_CHAR, left, index, comm);
    MPI_Barrier(comm);
    for (int index = 0; index < 4; ++index)
        x_Isend_noreq(out[index], 30 + 60 * (index / 2), MPI_CHAR, right, index, comm);
    expect(x_Comm_waitall(comm), MPI_ERR_TRUNCATE, "2 operations");
    CHECK(x_Comm_waitall(comm) == MPI_SUCCESS);
    for (int index = 0; index < 4; ++index)
        CHECK(in[index][9] == index + 1 && in[index][29] == (index % 2 ? 0 : index + 1));
}

/* A communicator is not freed before its operations are complete, and, where that is checked, its messages received. */
static void freeing(void)
{
    MPI_Comm comm;
    MPI_Request request;
    const char *checks = getenv("RANKPOINT_CHECK");
    int word = 4, got = 0, other = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    x_Irecv_noreq(&got, 1, MPI_INT, before, 0, comm);
    MPI_Comm same = comm;
    expect(MPI_Comm_free(&same), MPI_ERR_PENDING, "MPIX_Comm_waitall");
    MPI_Barrier(comm);
    MPI_Send(&word, 1, MPI_INT, other, 0, comm);
    CHECK(x_Comm_waitall(comm) == MPI_SUCCESS && got == 4);
    x_Send_nomatch(&word, 1, MPI_INT, other, comm);
    MPI_Barrier(comm);
    if (checks && strstr(checks, "hints")) {
        expect(MPI_Comm_free(&same), MPI_ERR_PENDING, "_nomatch");
        x_Irecv_nomatch(&got, 1, MPI_INT, comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    MPI_Comm part, inter, constant = MPIX_COMM_1;
    start(&argc, &argv, &rank, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_split(MPI_COMM_WORLD, rank != 0, 0, &part);
    MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, rank == 0 ? 1 : 0, 9, &inter);
    MPI_Comm_set_errhandler(part, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    CHECK(x_Comm_dup_predefined(MPI_COMM_WORLD, constant) == MPI_SUCCESS);
    messages(part, inter);
    places();
    truncation(MPI_COMM_WORLD);
    truncation(constant);
    freeing();
    MPI_Comm_free(&inter);
    MPI_Comm_free(&part);
    MPI_Comm_free(&constant);
    return finish(rank);
}
