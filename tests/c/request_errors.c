/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 3
 * NEEDS: checked arguments
 * What is said of requests that cannot be started or waited for, what the functions of generalized requests return (MPI-5.0, section
 * 13.2), and whose errors those of communicators are that were freed before their requests. */
#include "check.h"

static int rank, size, told;
static MPI_Comm told_of;

static void note(MPI_Comm *comm, int *code, ...)
{
    (void)code;
    ++told;
    told_of = *comm;
}

static void expect(int code, int class, const char *words, int line)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length, found = -1;
    MPI_Error_class(code, &found);
    MPI_Error_string(code, text, &length);
    if (found != class || !strstr(text, words))
        fprintf(stderr, "line %d: class %d, '%s' does not say '%s'\n", line, found, text, words);
    CHECK(found == class && strstr(text, words));
}
#define SAYS(code, class, words) expect(code, class, words, __LINE__)

static void starts(void)
{
    int from = rank, into;
    MPI_Request request = MPI_REQUEST_NULL, two[2];
    SAYS(MPI_Start(&request), MPI_ERR_REQUEST, "MPI_Start: argument 'request' is MPI_REQUEST_NULL, expected a persistent request");
    request = (MPI_Request)0x5200000000fffffeUL;
    SAYS(MPI_Start(&request), MPI_ERR_REQUEST, "0x5200000000fffffe, freed or never a request");
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    SAYS(MPI_Start(&request), MPI_ERR_REQUEST, "a request of MPI_Ibarrier that is not persistent, expected a persistent request");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Irecv(&into, 1, MPI_INT, rank, 7, MPI_COMM_WORLD, &request);
    SAYS(MPI_Start(&request), MPI_ERR_REQUEST, "a request of a receive that is not persistent");
    MPI_Recv_init(&into, 1, MPI_INT, rank, 8, MPI_COMM_WORLD, &two[0]);
    two[1] = request;
    /* The first one is started. */
    SAYS(MPI_Startall(2, two), MPI_ERR_REQUEST, "MPI_Startall: argument 'array_of_requests' is ");
    SAYS(MPI_Startall(2, two), MPI_ERR_REQUEST, "an active persistent request of a receive at index 0, expected one that is not active");
    MPI_Send(&from, 1, MPI_INT, rank, 7, MPI_COMM_WORLD);
    MPI_Send(&from, 1, MPI_INT, rank, 8, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Wait(&two[0], MPI_STATUS_IGNORE);
    MPI_Request_free(&two[0]);
    MPI_Isend(&from, 1, MPI_INT, rank, 7, MPI_COMM_WORLD, &request);
    SAYS(MPI_Start(&request), MPI_ERR_REQUEST, "a request of a send that is not persistent");
    MPI_Recv(&into, 1, MPI_INT, rank, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Allreduce_init(&from, &into, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    SAYS(MPI_Start(&request), MPI_ERR_REQUEST, "an active persistent request of MPI_Allreduce_init, expected one that is not active");
    SAYS(MPI_Start(&request), MPI_ERR_REQUEST, "(communicator MPI_COMM_WORLD, rank ");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(into == size * (size - 1) / 2);
    MPI_Request_free(&request);
}

/* Text and other values where a request should be. */
static void inventions(void)
{
    int flag, index;
    MPI_Request words;
    memcpy(&words, "calendar", sizeof words);
    MPI_Request values[] = {words, (MPI_Request)0x7fff12345678UL, (MPI_Request)-1, (MPI_Request)0x72ff000000001000UL, (MPI_Request)MPI_COMM_WORLD};
    for (size_t i = 0; i < sizeof values / sizeof *values; ++i) {
        MPI_Request pair[2] = {MPI_REQUEST_NULL, values[i]}, one = values[i];
        SAYS(MPI_Wait(&one, MPI_STATUS_IGNORE), MPI_ERR_REQUEST, "freed or never a request");
        SAYS(MPI_Test(&one, &flag, MPI_STATUS_IGNORE), MPI_ERR_REQUEST, "freed or never a request");
        SAYS(MPI_Request_free(&one), MPI_ERR_REQUEST, "freed or never a request");
        SAYS(MPI_Cancel(&one), MPI_ERR_REQUEST, "freed or never a request");
        SAYS(MPI_Request_get_status(one, &flag, MPI_STATUS_IGNORE), MPI_ERR_REQUEST, "freed or never a request");
        SAYS(MPI_Waitall(2, pair, MPI_STATUSES_IGNORE), MPI_ERR_REQUEST, "argument 'array_of_requests' is ");
        SAYS(MPI_Waitany(2, pair, &index, MPI_STATUS_IGNORE), MPI_ERR_REQUEST, "at index 1");
        SAYS(MPI_Testall(2, pair, &flag, MPI_STATUSES_IGNORE), MPI_ERR_REQUEST, "at index 1");
    }
}

/* The functions of generalized requests, and what they return. */
struct state {
    int query, free, cancel;
    int queries, frees, cancels;
};
static int query(void *data, MPI_Status *status)
{
    struct state *state = data;
    int size_;
    ++state->queries;
    /* Calls of MPI are allowed. */
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    MPI_Status_set_elements(status, MPI_INT, 3);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = 11;
    status->MPI_TAG = 12;
    return state->query;
}
static int release(void *data)
{
    struct state *state = data;
    ++state->frees;
    return state->free;
}
static int cancel(void *data, int complete)
{
    struct state *state = data;
    (void)complete;
    ++state->cancels;
    return state->cancel;
}

static struct state states[2];
static MPI_Request begin(int which, int query_code, int free_code)
{
    MPI_Request request;
    states[which] = (struct state){.query = query_code, .free = free_code};
    MPI_Grequest_start(query, release, cancel, &states[which], &request);
    return request;
}
static MPI_Request ended(int which, int query_code, int free_code)
{
    MPI_Request request = begin(which, query_code, free_code);
    CHECK(MPI_Grequest_complete(request) == MPI_SUCCESS);
    return request;
}
static int ran(int which, int queries, int frees)
{
    return states[which].queries == queries && states[which].frees == frees;
}
static int is_told(const MPI_Status *status)
{
    int count;
    MPI_Get_count(status, MPI_INT, &count);
    return status->MPI_SOURCE == 11 && status->MPI_TAG == 12 && count == 3;
}

static void generalized(void)
{
    int code, flag, index, some, indices[2];
    MPI_Status status, statuses[2];
    MPI_Request one, two[2];
    MPI_Add_error_code(MPI_ERR_OTHER, &code);

    status.MPI_ERROR = 77;
    one = ended(0, 0, 0);
    CHECK(MPI_Request_get_status(one, &flag, &status) == MPI_SUCCESS && flag && is_told(&status) && ran(0, 1, 0));
    status.MPI_ERROR = 77;
    CHECK(MPI_Wait(&one, &status) == MPI_SUCCESS && is_told(&status) && status.MPI_ERROR == 77 && ran(0, 2, 1));

    told = 0;
    one = ended(0, 0, code);
    CHECK(MPI_Wait(&one, &status) == code && one == MPI_REQUEST_NULL && told == 1 && told_of == MPI_COMM_SELF && ran(0, 1, 1));
    one = ended(0, MPI_ERR_INTERN, 0);
    CHECK(MPI_Wait(&one, MPI_STATUS_IGNORE) == MPI_ERR_INTERN && one == MPI_REQUEST_NULL && ran(0, 1, 1));
    one = ended(0, MPI_ERR_INTERN, code);
    CHECK(MPI_Test(&one, &flag, &status) == code && flag && one == MPI_REQUEST_NULL && ran(0, 1, 1));
    one = ended(0, 0, MPI_ERR_INTERN);
    SAYS(MPI_Test(&one, &flag, &status), MPI_ERR_INTERN, "function of a generalized request returned 17");

    one = ended(0, 0, code);
    CHECK(MPI_Waitany(1, &one, &index, &status) == code && index == 0 && one == MPI_REQUEST_NULL && ran(0, 1, 1));
    one = ended(0, 0, code);
    CHECK(MPI_Testany(1, &one, &index, &flag, &status) == code && index == 0 && flag && ran(0, 1, 1));

    two[0] = ended(0, 0, 0), two[1] = ended(1, 0, code);
    CHECK(MPI_Waitall(2, two, statuses) == MPI_ERR_IN_STATUS && statuses[0].MPI_ERROR == 0 && statuses[1].MPI_ERROR == code);
    CHECK(is_told(&statuses[0]) && is_told(&statuses[1]) && ran(0, 1, 1) && ran(1, 1, 1));
    two[0] = ended(0, code, 0), two[1] = ended(1, 0, 0);
    CHECK(MPI_Testall(2, two, &flag, statuses) == MPI_ERR_IN_STATUS && flag && statuses[0].MPI_ERROR == code && statuses[1].MPI_ERROR == 0);
    two[0] = ended(0, 0, code), two[1] = ended(1, 0, code);
    CHECK(MPI_Waitall(2, two, MPI_STATUSES_IGNORE) == MPI_ERR_IN_STATUS && two[0] == MPI_REQUEST_NULL && two[1] == MPI_REQUEST_NULL);
    two[0] = begin(0, 0, 0), two[1] = ended(1, 0, code);
    CHECK(MPI_Waitsome(2, two, &some, indices, statuses) == MPI_ERR_IN_STATUS && some == 1 && indices[0] == 1);
    CHECK(statuses[0].MPI_ERROR == code && is_told(&statuses[0]) && ran(0, 0, 0) && ran(1, 1, 1));
    MPI_Grequest_complete(two[0]);
    CHECK(MPI_Testsome(2, two, &some, indices, MPI_STATUSES_IGNORE) == MPI_SUCCESS && some == 1 && indices[0] == 0 && ran(0, 1, 1));

    /* Beside a message that fails. */
    int small, data[2] = {1, 2};
    MPI_Irecv(&small, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &two[0]);
    MPI_Send(data, 2, MPI_INT, 0, 1, MPI_COMM_SELF);
    two[1] = ended(1, 0, 0);
    CHECK(MPI_Waitall(2, two, statuses) == MPI_ERR_IN_STATUS && statuses[0].MPI_ERROR == MPI_ERR_TRUNCATE && statuses[1].MPI_ERROR == 0);
    CHECK(ran(1, 1, 1));
    MPI_Irecv(&small, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &two[1]);
    MPI_Send(data, 2, MPI_INT, 0, 1, MPI_COMM_SELF);
    two[0] = MPI_REQUEST_NULL;
    CHECK(MPI_Waitany(2, two, &index, &status) == MPI_ERR_TRUNCATE && index == 1 && two[1] == MPI_REQUEST_NULL);

    one = begin(0, 0, code);
    states[0].cancel = MPI_ERR_UNSUPPORTED_OPERATION;
    CHECK(MPI_Cancel(&one) == MPI_ERR_UNSUPPORTED_OPERATION && states[0].cancels == 1);
    MPI_Request copy = one;
    CHECK(MPI_Request_free(&one) == MPI_SUCCESS && one == MPI_REQUEST_NULL && ran(0, 0, 0));
    CHECK(MPI_Grequest_complete(copy) == code && ran(0, 0, 1));
    one = ended(0, 0, code);
    CHECK(MPI_Request_free(&one) == code && ran(0, 0, 1));
}

/* A rank that frees a communicator before its requests are done still gets their errors through its handler. */
static void freed(void)
{
    MPI_Comm comm;
    MPI_Errhandler own;
    MPI_Request request, plan;
    char text[MPI_MAX_ERROR_STRING];
    int small, data[2] = {1, 2}, length;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    /* Until it has a name it is called by how it was made. */
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    char expected[80];
    snprintf(expected, sizeof expected, "(an unnamed communicator, dup of MPI_COMM_WORLD, %d rank%s; rank %d)", size, size > 1 ? "s" : "", rank);
    SAYS(MPI_Bcast(&small, 1, MPI_INT, -5, comm), MPI_ERR_ROOT, expected);
    MPI_Comm_set_name(comm, "gone");
    MPI_Comm_create_errhandler(note, &own);
    MPI_Comm_set_errhandler(comm, own);
    MPI_Errhandler_free(&own);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Irecv(&small, 1, MPI_INT, rank, 1, comm, &request);
    MPI_Send(data, 2, MPI_INT, rank, 1, comm);
    MPI_Barrier_init(comm, MPI_INFO_NULL, &plan);
    MPI_Comm_free(&comm);
    told = 0;
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_ERR_TRUNCATE && told == 1 && told_of == MPI_COMM_NULL);
    MPI_Error_string(MPI_ERR_TRUNCATE, text, &length);
    CHECK(strstr(text, "(communicator gone, rank ") && strstr(text, ", which was freed)"));
    for (int round = 0; round < 2; ++round) {
        CHECK(MPI_Start(&plan) == MPI_SUCCESS);
        CHECK(MPI_Start(&plan) == MPI_ERR_REQUEST && told == 2 + round && told_of == MPI_COMM_NULL);
        CHECK(MPI_Wait(&plan, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
    MPI_Request_free(&plan);
}

int main(int argc, char **argv)
{
    MPI_Errhandler handler;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_create_errhandler(note, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    starts();
    inventions();
    generalized();
    freed();
    MPI_Errhandler_free(&handler);
    return finish(rank);
}
