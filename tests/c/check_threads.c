/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 2 3 4 7
 * ENV: RANKPOINT_CHECK=threads
 * ENV: RANKPOINT_CHECK=threads RANKPOINT_VCIS=1
 * ENV: RANKPOINT_CHECK=threads,hints,types,collectives RANKPOINT_VCIS=8
 * Two threads of rank 0 make calls that must not overlap: one of them gets an error that names both, the other one goes on. The other
 * ranks let it end only when the error is there. */
#define _GNU_SOURCE
#include "check.h"
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>

enum { GO = 1, DATA = 2 };

static int rank, size;
/* For what the ranks say to each other meanwhile. */
static MPI_Comm aside;
static int failures;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The error of this thread's last call has this class and says these words. */
static void tells(int code, int expected, const char *words, const char *more)
{
    char text[MPI_MAX_ERROR_STRING];
    int class, length;
    MPI_Error_class(code, &class);
    MPI_Error_string(code, text, &length);
    if (class != expected || !strstr(text, words) || !strstr(text, more))
        fprintf(stderr, "class %d, text: %s\n", class, text);
    CHECK(class == expected);
    CHECK(strstr(text, words));
    CHECK(strstr(text, more));
}

/* Counts the thread that got an error, which lets the others go on. */
static void failed(int code, int class, const char *words)
{
    if (code == MPI_SUCCESS)
        return;
    tells(code, class, words, "RANKPOINT_CHECK=threads");
    pthread_mutex_lock(&lock);
    ++failures;
    pthread_mutex_unlock(&lock);
    for (int to = 1; to < size; ++to)
        MPI_Send(NULL, 0, MPI_INT, to, GO, aside);
}

static void await_go(void)
{
    MPI_Recv(NULL, 0, MPI_INT, 0, GO, aside, MPI_STATUS_IGNORE);
}

/* Runs both at once on rank 0; exactly one of them fails. */
static void at_once(void *(*one)(void *), void *(*two)(void *), void *argument)
{
    pthread_t threads[2];
    failures = 0;
    CHECK(pthread_create(&threads[0], NULL, one, argument) == 0);
    CHECK(pthread_create(&threads[1], NULL, two, argument) == 0);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    CHECK(failures == 1);
}

static void *barrier(void *comm)
{
    failed(MPI_Barrier(*(MPI_Comm *)comm), MPI_ERR_COMM, "is in MPI_Barrier while thread");
    return NULL;
}

static void *allreduce(void *comm)
{
    int one = 1, sum = 0, code = MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, *(MPI_Comm *)comm);
    failed(code, MPI_ERR_COMM, "MPI_Allreduce: argument 'comm'");
    CHECK(code != MPI_SUCCESS || sum == size);
    return NULL;
}

static void *duplicate(void *comm)
{
    MPI_Comm made;
    int code = MPI_Comm_dup(*(MPI_Comm *)comm, &made);
    failed(code, MPI_ERR_COMM, "MPI_Comm_dup: argument 'comm'");
    if (code == MPI_SUCCESS)
        MPI_Comm_free(&made);
    return NULL;
}

static void collectives(MPI_Comm comm)
{
    for (int round = 0; round < 20; ++round) {
        if (rank == 0) {
            at_once(barrier, barrier, &comm);
            at_once(allreduce, allreduce, &comm);
            at_once(duplicate, duplicate, &comm);
        } else {
            await_go();
            CHECK(MPI_Barrier(comm) == MPI_SUCCESS);
            await_go();
            int one = 1, sum = 0;
            CHECK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS && sum == size);
            await_go();
            MPI_Comm made;
            CHECK(MPI_Comm_dup(comm, &made) == MPI_SUCCESS);
            MPI_Comm_free(&made);
        }
    }
}

static void *wait_one(void *request)
{
    MPI_Request copy = *(MPI_Request *)request;
    failed(MPI_Wait(&copy, MPI_STATUS_IGNORE), MPI_ERR_REQUEST, "MPI_Wait: argument 'request' is 0x");
    return NULL;
}

static void *wait_all(void *request)
{
    MPI_Request copies[2] = {MPI_REQUEST_NULL, *(MPI_Request *)request};
    failed(MPI_Waitall(2, copies, MPI_STATUSES_IGNORE), MPI_ERR_REQUEST, "MPI_Waitall: argument 'array_of_requests' is 0x");
    return NULL;
}

/* Tests until the other thread is inside its wait, which ends when this one has failed. Between its calls the other one can get there,
 * also on the same core. */
static void *test_one(void *request)
{
    MPI_Request copy = *(MPI_Request *)request;
    int code, flag;
    while ((code = MPI_Test(&copy, &flag, MPI_STATUS_IGNORE)) == MPI_SUCCESS) {
        CHECK(!flag);
        sched_yield();
    }
    failed(code, MPI_ERR_REQUEST, "MPI_Test: argument 'request' is 0x");
    return NULL;
}

/* As there; a start of an active request fails in any case. */
static void *start_one(void *request)
{
    MPI_Request copy = *(MPI_Request *)request;
    char text[MPI_MAX_ERROR_STRING];
    int code, length;
    do {
        code = MPI_Start(&copy);
        CHECK(code != MPI_SUCCESS);
        MPI_Error_string(code, text, &length);
    } while (!strstr(text, "is in MPI_Wait"));
    failed(code, MPI_ERR_REQUEST, "MPI_Start: argument 'request' is 0x");
    return NULL;
}

/* The wait that goes on although another thread tests or starts: it must not be the one that fails. */
static void *wait_long(void *request)
{
    MPI_Request copy = *(MPI_Request *)request;
    int code;
    while ((code = MPI_Wait(&copy, MPI_STATUS_IGNORE)) != MPI_SUCCESS)
        tells(code, MPI_ERR_REQUEST, "MPI_Wait: argument 'request'", "RANKPOINT_CHECK=threads");
    return NULL;
}

static void requests(MPI_Comm comm)
{
    void *(*others[])(void *) = {wait_one, wait_all, test_one, start_one};
    for (int round = 0; round < 40; ++round) {
        int number = -1;
        if (rank == 0) {
            MPI_Request request;
            int is_persistent = round % 4 == 3, has_winner = round % 4 < 2;
            if (is_persistent) {
                MPI_Recv_init(&number, 1, MPI_INT, 1, DATA, comm, &request);
                MPI_Start(&request);
            } else {
                MPI_Irecv(&number, 1, MPI_INT, 1, DATA, comm, &request);
            }
            at_once(has_winner ? wait_one : wait_long, others[round % 4], &request);
            CHECK(number == round);
            if (is_persistent)
                CHECK(MPI_Request_free(&request) == MPI_SUCCESS);
        } else {
            await_go();
            if (rank == 1)
                MPI_Send(&round, 1, MPI_INT, 0, DATA, comm);
        }
    }
}

static MPI_Comm endpoints[2];

static void *receive_at_endpoint(void *unused)
{
    (void)unused;
    int number = 0, code;
    while ((code = MPI_Recv(&number, 1, MPI_INT, 1, DATA, endpoints[0], MPI_STATUS_IGNORE)) != MPI_SUCCESS)
        tells(code, MPI_ERR_COMM, "MPI_Recv: argument 'comm' is that of an endpoint", "uses in MPI_");
    CHECK(number == 4711);
    return NULL;
}

static void *probe_at_endpoint(void *unused)
{
    (void)unused;
    int code, flag, number = 4711;
    while ((code = MPI_Iprobe(0, DATA, endpoints[0], &flag, MPI_STATUS_IGNORE)) == MPI_SUCCESS) {
        CHECK(!flag);
        sched_yield();
    }
    tells(code, MPI_ERR_COMM, "MPI_Iprobe: argument 'comm' is that of an endpoint", "uses in MPI_Recv");
    code = MPI_Send(&number, 1, MPI_INT, 1, DATA, endpoints[0]);
    tells(code, MPI_ERR_COMM, "MPI_Send: argument 'comm' is that of an endpoint", "uses in MPI_Recv");
    code = MPI_Barrier(endpoints[0]);
    tells(code, MPI_ERR_COMM, "MPI_Barrier: argument 'comm' is that of an endpoint", "uses in MPI_Recv");
    /* The other endpoint of this process is this thread's. */
    CHECK(MPI_Send(&number, 1, MPI_INT, 0, DATA, endpoints[1]) == MPI_SUCCESS);
    return NULL;
}

static void *meet_at_endpoint(void *endpoint)
{
    CHECK(MPI_Barrier(*(MPI_Comm *)endpoint) == MPI_SUCCESS);
    return NULL;
}

static void at_endpoints(void)
{
    int (*create)(MPI_Comm, int, MPI_Info, MPI_Comm *);
    *(void **)&create = dlsym(RTLD_DEFAULT, "MPIX_Comm_create_endpoints");
    CHECK(create);
    CHECK(create(MPI_COMM_WORLD, 2, MPI_INFO_NULL, endpoints) == MPI_SUCCESS);
    MPI_Comm_set_errhandler(endpoints[0], MPI_ERRORS_RETURN);
    pthread_t threads[2];
    for (int round = 0; round < 20 && rank == 0; ++round) {
        CHECK(pthread_create(&threads[0], NULL, receive_at_endpoint, NULL) == 0);
        probe_at_endpoint(NULL);
        pthread_join(threads[0], NULL);
    }
    for (int thread = 0; thread < 2; ++thread)
        CHECK(pthread_create(&threads[thread], NULL, meet_at_endpoint, &endpoints[thread]) == 0);
    for (int thread = 0; thread < 2; ++thread) {
        pthread_join(threads[thread], NULL);
        MPI_Comm_free(&endpoints[thread]);
    }
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_dup(MPI_COMM_WORLD, &aside);
    MPI_Comm other;
    MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &other);
    collectives(MPI_COMM_WORLD);
    collectives(other);
    requests(MPI_COMM_WORLD);
    at_endpoints();
    MPI_Comm_free(&other);
    MPI_Comm_free(&aside);
    return finish(rank);
}
