/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 3 4
 * Requests of collectives are never cancelled, and not freed before they are complete: the error goes to the communicator's handler and names
 * the call, and the collective goes on (MPI-5.0, sections 6.12 and 6.13). Generalized requests are cancelled and freed by their functions. */
#include "check.h"

enum { LONG = 100000 };
static int rank, size, told, said;
static MPI_Comm comm, grid, told_of;
static int from[LONG], into[LONG * 4];

static void note(MPI_Comm *which, int *code, ...)
{
    ++told;
    told_of = *which;
    MPI_Error_class(*code, &said);
}

/* The handler of `comm` was told MPI_ERR_REQUEST once, and the text holds these words. */
static void expect(int code, const char *call, const char *words, int line)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(code, text, &length);
    int good = told == 1 && said == MPI_ERR_REQUEST && told_of == comm && strstr(text, call) && strstr(text, words) &&
               strstr(text, "argument 'request' is");
    if (!good)
        fprintf(stderr, "line %d: told %d times, class %d, right communicator: %d, text: %s\n", line, told, said, told_of == comm, text);
    CHECK(good);
    told = 0;
}
#define TOLD(code, call, words) expect(code, call ": ", words, __LINE__)

/* The others enter a collective once the first rank has left `refuse`, so that its request is not complete there. */
static void hold(void)
{
    if (rank != 0)
        MPI_Recv(NULL, 0, MPI_INT, 0, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Refuses to cancel a request, and where it cannot be complete to free it; the handle stays. */
static void refuse(MPI_Request *request, const char *cancelled, const char *freed)
{
    MPI_Request before = *request;
    TOLD(MPI_Cancel(request), "MPI_Cancel", cancelled);
    if (rank == 0 && size > 1) {
        TOLD(MPI_Request_free(request), "MPI_Request_free", freed);
        for (int other = 1; other < size; ++other)
            MPI_Send(NULL, 0, MPI_INT, other, 99, MPI_COMM_WORLD);
    }
    CHECK(*request == before && before != MPI_REQUEST_NULL);
}
#define REFUSED(request, call) refuse(&(request), "a request of " call ", expected", "an active request of " call ", expected")

/* A request that is known to be complete is freed. */
static void free_complete(MPI_Request *request)
{
    int flag = 0;
    while (!flag)
        CHECK(MPI_Request_get_status(*request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Request_free(request) == MPI_SUCCESS && *request == MPI_REQUEST_NULL && told == 0);
}

static void wait(MPI_Request *request)
{
    MPI_Status status;
    int cancelled = -1;
    CHECK(MPI_Wait(request, &status) == MPI_SUCCESS);
    MPI_Test_cancelled(&status, &cancelled);
    CHECK(cancelled == 0 && told == 0);
}

static void nonblocking(int count)
{
    MPI_Request request;
    const int sum = size * (size - 1) / 2;
    for (int i = 0; i < count; ++i)
        from[i] = rank;

    hold();
    MPI_Ibarrier(comm, &request);
    REFUSED(request, "MPI_Ibarrier");
    wait(&request);
    CHECK(request == MPI_REQUEST_NULL);

    hold();
    MPI_Iallreduce(from, into, count, MPI_INT, MPI_SUM, comm, &request);
    REFUSED(request, "MPI_Iallreduce");
    wait(&request);
    CHECK(into[0] == sum && into[count - 1] == sum);

    hold();
    MPI_Iallgather(from, count, MPI_INT, into, count, MPI_INT, comm, &request);
    REFUSED(request, "MPI_Iallgather");
    wait(&request);
    CHECK(into[size * count - 1] == size - 1);

    /* As an integer and back, beside others. */
    MPI_Request both[2];
    int none[4] = {0};
    hold();
    MPI_Ireduce(from, into, count, MPI_INT, MPI_SUM, 0, comm, &both[0]);
    MPI_Ialltoallv(from, none, none, MPI_INT, into + count, none, none, MPI_INT, comm, &both[1]);
    TOLD(MPI_Cancel(&both[1]), "MPI_Cancel", "a request of MPI_Ialltoallv, expected");
    REFUSED(both[0], "MPI_Ireduce");
    CHECK(MPI_Waitall(2, both, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    CHECK((rank != 0 || into[0] == sum) && both[0] == MPI_REQUEST_NULL && both[1] == MPI_REQUEST_NULL);
}

/* Collectives that are complete. */
static void complete(int count)
{
    MPI_Request request;
    into[count - 1] = rank == size - 1 ? count : -1;
    MPI_Ibcast(into, count, MPI_INT, size - 1, comm, &request);
    free_complete(&request);
    CHECK(into[count - 1] == count);
    for (int i = 0; i < count; ++i)
        from[i] = rank;
    MPI_Ireduce(from, into, count, MPI_INT, MPI_SUM, 0, comm, &request);
    free_complete(&request);
    CHECK(rank != 0 || into[count - 1] == size * (size - 1) / 2);
    MPI_Ibarrier(comm, &request);
    free_complete(&request);
    MPI_Allreduce_init(from, into, count, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    free_complete(&request);
    CHECK(into[count - 1] == size * (size - 1) / 2);
    MPI_Ineighbor_allgather(from, count, MPI_INT, into, count, MPI_INT, grid, &request);
    free_complete(&request);
    CHECK(into[0] == (rank + size - 1) % size && into[2 * count - 1] == (rank + 1) % size);
    MPI_Comm copy;
    MPI_Comm_idup(comm, &copy, &request);
    free_complete(&request);
    MPI_Comm_free(&copy);
}

/* Partitioned and one-sided ones; each rank sends to the next one. */
static void complete_others(void)
{
    MPI_Request send, receive;
    MPI_Win win;
    int *memory;
    MPI_Psend_init(from, 2, 10, MPI_INT, (rank + 1) % size, 3, comm, MPI_INFO_NULL, &send);
    MPI_Precv_init(into, 2, 10, MPI_INT, (rank + size - 1) % size, 3, comm, MPI_INFO_NULL, &receive);
    MPI_Start(&receive);
    MPI_Start(&send);
    TOLD(MPI_Request_free(&send), "MPI_Request_free", "an active request of partitioned communication");
    MPI_Pready_range(0, 1, send);
    free_complete(&receive);
    free_complete(&send);
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &memory, &win);
    *memory = -1;
    MPI_Win_lock_all(0, win);
    MPI_Barrier(comm);
    MPI_Rput(&rank, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win, &send);
    free_complete(&send);
    MPI_Win_unlock_all(win);
    MPI_Barrier(comm);
    CHECK(*memory == (rank + size - 1) % size);
    MPI_Win_free(&win);
}

static void duplication(void)
{
    MPI_Comm copy;
    MPI_Request request;
    int sum;
    hold();
    MPI_Comm_idup(comm, &copy, &request);
    REFUSED(request, "MPI_Comm_idup");
    wait(&request);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, copy);
    CHECK(sum == size * (size - 1) / 2);
    MPI_Comm_free(&copy);
    hold();
    MPI_Comm_idup_with_info(comm, MPI_INFO_NULL, &copy, &request);
    REFUSED(request, "MPI_Comm_idup_with_info");
    wait(&request);
    MPI_Comm_free(&copy);
}

static void persistent(int count)
{
    MPI_Request plan;
    for (int i = 0; i < count; ++i)
        from[i] = rank;
    MPI_Allreduce_init(from, into, count, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &plan);
    TOLD(MPI_Cancel(&plan), "MPI_Cancel", "a request of MPI_Allreduce_init, expected");
    for (int round = 0; round < 3; ++round) {
        into[count - 1] = -1;
        hold();
        MPI_Start(&plan);
        REFUSED(plan, "MPI_Allreduce_init");
        wait(&plan);
        CHECK(into[count - 1] == size * (size - 1) / 2 && plan != MPI_REQUEST_NULL);
    }
    CHECK(MPI_Request_free(&plan) == MPI_SUCCESS && plan == MPI_REQUEST_NULL && told == 0);
    MPI_Barrier_init(comm, MPI_INFO_NULL, &plan);
    CHECK(MPI_Request_free(&plan) == MPI_SUCCESS);
}

static int queries, frees, cancels, cancelled_complete;
static int query(void *state, MPI_Status *status)
{
    (void)state;
    ++queries;
    MPI_Status_set_cancelled(status, cancels > 0);
    MPI_Status_set_elements(status, MPI_INT, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
}
static int release(void *state)
{
    (void)state;
    ++frees;
    return MPI_SUCCESS;
}
static int cancel(void *state, int complete)
{
    (void)state;
    ++cancels;
    cancelled_complete = complete;
    return MPI_SUCCESS;
}

/* Errors about generalized requests belong to no communicator, but to MPI_COMM_SELF. */
static void generalized(void)
{
    MPI_Request request, copy;
    MPI_Status status;
    int cancelled;
    MPI_Grequest_start(query, release, cancel, NULL, &request);
    CHECK(MPI_Cancel(&request) == MPI_SUCCESS && cancels == 1 && cancelled_complete == 0);
    CHECK(MPI_Grequest_complete(request) == MPI_SUCCESS);
    CHECK(MPI_Grequest_complete(request) == MPI_ERR_REQUEST);
    CHECK(MPI_Cancel(&request) == MPI_SUCCESS && cancels == 2 && cancelled_complete == 1);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    CHECK(cancelled == 1 && queries == 1 && frees == 1);

    /* Freed first: its functions run when it is complete, without a status to ask for. */
    MPI_Grequest_start(query, release, cancel, NULL, &request);
    copy = request;
    CHECK(MPI_Request_free(&request) == MPI_SUCCESS && request == MPI_REQUEST_NULL && frees == 1);
    CHECK(MPI_Grequest_complete(copy) == MPI_SUCCESS && frees == 2 && queries == 1);
    CHECK(MPI_Grequest_complete(copy) == MPI_ERR_REQUEST && frees == 2);

    /* Complete first: they run when it is freed. */
    MPI_Grequest_start(query, release, cancel, NULL, &request);
    MPI_Grequest_complete(request);
    CHECK(frees == 2);
    CHECK(MPI_Request_free(&request) == MPI_SUCCESS && frees == 3 && queries == 1);

    /* A program completes no request but its own. */
    MPI_Ibarrier(comm, &request);
    CHECK(MPI_Grequest_complete(request) == MPI_ERR_REQUEST);
    wait(&request);
    CHECK(MPI_Grequest_complete(MPI_REQUEST_NULL) == MPI_ERR_REQUEST);
}

int main(int argc, char **argv)
{
    MPI_Errhandler handler;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, (int[1]){1}, 0, &grid);
    MPI_Comm_create_errhandler(note, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (int round = 0; round < 3; ++round) {
        nonblocking(1);
        nonblocking(LONG);
        duplication();
        persistent(2);
        persistent(LONG);
        complete(1);
        complete(LONG / 2);
        complete_others();
    }
    MPI_Comm_free(&grid);
    generalized();

    /* What is no collective is cancelled and freed as before. */
    MPI_Request request;
    MPI_Status status;
    int cancelled;
    MPI_Irecv(into, 1, MPI_INT, rank, 5, comm, &request);
    CHECK(MPI_Cancel(&request) == MPI_SUCCESS);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    CHECK(cancelled);
    MPI_Isend(from, 1, MPI_INT, rank, 5, comm, &request);
    CHECK(MPI_Request_free(&request) == MPI_SUCCESS && request == MPI_REQUEST_NULL);
    MPI_Recv(into, 1, MPI_INT, rank, 5, comm, MPI_STATUS_IGNORE);
    CHECK(told == 0);
    MPI_Errhandler_free(&handler);
    MPI_Comm_free(&comm);
    return finish(rank);
}
