/* SPDX-License-Identifier: MIT OR Apache-2.0
 * What the layer for datatypes must not change: attributes, errors, error handlers, and completion by profiling names. One rank.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static int wrong;

#define CHECK(condition)                                                                                                           \
    do {                                                                                                                           \
        if (!(condition)) {                                                                                                        \
            printf("line %d: %s\n", __LINE__, #condition);                                                                         \
            ++wrong;                                                                                                               \
        }                                                                                                                          \
    } while (0)

static int copied, deleted, handled;

static int copy(MPI_Comm comm, int key, void *state, void *in, void *out, int *flag)
{
    (void)comm, (void)key, (void)state, (void)in, (void)out, *flag = 0;
    ++copied;
    return MPI_SUCCESS;
}

static int forget(MPI_Datatype type, int key, void *value, void *state)
{
    (void)type, (void)key, (void)value, (void)state;
    ++deleted;
    return MPI_SUCCESS;
}

static MPI_Datatype strided(int blocks)
{
    MPI_Datatype type;
    MPI_Type_vector(blocks, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    return type;
}

static void pack(void)
{
    int from[8] = {0}, to[4], position = 0;
    MPI_Datatype type = strided(4);
    MPI_Pack(from, 1, type, to, sizeof to, &position, MPI_COMM_SELF);
    CHECK(position == sizeof to);
    MPI_Type_free(&type);
}

static void handle(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    ++handled;
    pack();
}

/* Types inside types end with their outer ones. */
static void inner_types_end(void)
{
    int key;
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, forget, &key, 0);
    for (int i = 0; i < 100; ++i) {
        MPI_Datatype inner, middle, outer;
        MPI_Type_vector(3, 1, 2, MPI_INT, &inner);
        MPI_Type_set_attr(inner, key, 0);
        MPI_Type_vector(3, 1, 2, inner, &middle);
        MPI_Type_free(&inner);
        MPI_Type_create_resized(middle, 0, 200, &outer);
        MPI_Type_free(&middle);
        MPI_Type_commit(&outer);
        MPI_Type_free(&outer);
    }
    CHECK(deleted == 100);
    MPI_Type_free_keyval(&key);
}

/* A type that holds another twice at each of many levels. */
static void nested_types_take_no_time(void)
{
    MPI_Datatype type;
    MPI_Type_contiguous(1, MPI_DOUBLE, &type);
    for (int level = 0; level < 40; ++level) {
        int lengths[2] = {1, 0};
        MPI_Aint places[2] = {0, 8};
        MPI_Datatype types[2] = {type, type}, next;
        MPI_Type_create_struct(2, lengths, places, types, &next);
        MPI_Type_free(&type);
        type = next;
    }
    MPI_Type_commit(&type);
    MPI_Type_free(&type);
}

static void errors_remain(void)
{
    int data[8] = {7, 7, 7, 7, 7, 7, 7, 7};
    MPI_Datatype type = strided(4);
    MPI_Status status;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK(MPI_Send(0, 1, type, 0, 0, MPI_COMM_SELF) != MPI_SUCCESS);
    CHECK(MPI_Send(data, 1, type, 7, 0, MPI_COMM_SELF) != MPI_SUCCESS);
    CHECK(MPI_Send(data, 1, type, 0, 0, MPI_COMM_NULL) != MPI_SUCCESS);
    CHECK(MPI_Send(data, -1, type, 0, 0, MPI_COMM_SELF) != MPI_SUCCESS);
    pack();
    /* Some libraries return success when the handler has returned: nothing has arrived, and nothing has begun. */
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    memset(&status, 0, sizeof status);
    MPI_Recv(data, 1, type, 0, -5, MPI_COMM_SELF, &status);
    MPI_Irecv(data, 1, type, 7, 0, MPI_COMM_SELF, &request);
    CHECK(handled == 2);
    for (int i = 0; i < 8; ++i)
        CHECK(data[i] == 7);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&handler);
    MPI_Type_free(&type);
}

/* A program may have wrappers of its own for some calls. */
static void profiling_names_complete(void)
{
    int from[8] = {1, 2, 3, 4, 5, 6, 7, 8}, to[8] = {0}, flag = 0;
    MPI_Datatype type = strided(4);
    MPI_Request requests[2];
    MPI_Irecv(to, 1, type, 0, 0, MPI_COMM_SELF, &requests[0]);
    MPI_Isend(from, 1, type, 0, 0, MPI_COMM_SELF, &requests[1]);
    PMPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    while (!flag)
        PMPI_Test(&requests[1], &flag, MPI_STATUS_IGNORE);
    CHECK(to[0] == 1 && to[1] == 0 && to[2] == 3 && to[6] == 7);
    MPI_Type_free(&type);
}

enum { ROUNDS = 100, WINDOW = 32 };

/* Receives of one thread get the same handles as those of another that has just completed them. */
static void *plain(void *unused)
{
    for (int i = 0; i < ROUNDS * WINDOW; ++i) {
        int value = -1;
        MPI_Request request;
        MPI_Irecv(&value, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
        MPI_Send(&i, 1, MPI_INT, 0, 1, MPI_COMM_SELF);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(value == i);
    }
    return unused;
}

static void handles_of_threads_are_their_own(void)
{
    enum { BLOCKS = 512 };
    static int from[WINDOW][2 * BLOCKS], to[WINDOW][2 * BLOCKS];
    MPI_Datatype type = strided(BLOCKS);
    pthread_t thread;
    pthread_create(&thread, 0, plain, 0);
    for (int round = 0; round < ROUNDS; ++round) {
        MPI_Request requests[WINDOW];
        memset(to, 0, sizeof to);
        for (int i = 0; i < WINDOW; ++i) {
            for (int at = 0; at < BLOCKS; ++at)
                from[i][2 * at] = round * 1000 + i + at;
            MPI_Irecv(to[i], 1, type, 0, 2, MPI_COMM_SELF, &requests[i]);
        }
        for (int i = 0; i < WINDOW; ++i)
            MPI_Send(from[i], 1, type, 0, 2, MPI_COMM_SELF);
        MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
        CHECK(memcmp(from, to, sizeof from) == 0);
    }
    pthread_join(thread, 0);
    MPI_Type_free(&type);
}

enum { USERS = 8, ELEMENTS = 400000 };

static pthread_barrier_t together;
static MPI_Comm of_users[USERS];

/* Sends blocks of a length that no other thread has. */
static void *use_a_type(void *number)
{
    int user = (int)(size_t)number, length = 1 << user;
    static char from[USERS][4096], to[USERS][4096];
    MPI_Datatype type;
    MPI_Type_vector(8, length, 2 * length, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    memset(from[user], user + 1, sizeof from[user]);
    pthread_barrier_wait(&together);
    MPI_Sendrecv(from[user], 1, type, 0, 0, to[user], 1, type, 0, 0, of_users[user], MPI_STATUS_IGNORE);
    CHECK(to[user][14 * length] == user + 1);
    MPI_Type_free(&type);
    return NULL;
}

/* What a class of types costs is measured when it is used first, by several threads at once. */
static void first_uses_at_once(void)
{
    pthread_t threads[USERS];
    pthread_barrier_init(&together, NULL, USERS);
    for (int i = 0; i < USERS; i++)
        MPI_Comm_dup(MPI_COMM_SELF, &of_users[i]);
    for (size_t i = 0; i < USERS; i++)
        pthread_create(&threads[i], NULL, use_a_type, (void *)i);
    for (int i = 0; i < USERS; i++) {
        pthread_join(threads[i], NULL);
        MPI_Comm_free(&of_users[i]);
    }
    pthread_barrier_destroy(&together);
}

static int arrived[2 * ELEMENTS], sent[2 * ELEMENTS];
static MPI_Request looked_at;

static void *look(void *unused)
{
    int flag = 0;
    (void)unused;
    pthread_barrier_wait(&together);
    while (!flag)
        MPI_Request_get_status(looked_at, &flag, MPI_STATUS_IGNORE);
    CHECK(arrived[2 * (ELEMENTS - 1)] == 1);
    return NULL;
}

/* A thread that sees the flag sees the data. */
static void two_threads_look(void)
{
    MPI_Datatype type = strided(ELEMENTS);
    for (int i = 0; i < 2 * ELEMENTS; i++)
        sent[i] = 1;
    pthread_barrier_init(&together, NULL, 3);
    for (int round = 0; round < 5; round++) {
        pthread_t threads[2];
        MPI_Request request;
        memset(arrived, 0, sizeof arrived);
        MPI_Irecv(arrived, 1, type, 0, 0, MPI_COMM_SELF, &looked_at);
        for (int i = 0; i < 2; i++)
            pthread_create(&threads[i], NULL, look, NULL);
        pthread_barrier_wait(&together);
        MPI_Isend(sent, 1, type, 0, 0, MPI_COMM_SELF, &request);
        for (int i = 0; i < 2; i++)
            pthread_join(threads[i], NULL);
        MPI_Wait(&looked_at, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    pthread_barrier_destroy(&together);
    MPI_Type_free(&type);
}

/* Libraries give a structure different bounds when a member has bounds of its own; the data are the same. */
static void structures_of_resized_members(void)
{
    double from[32], to[32] = {0};
    MPI_Datatype wide, type;
    int lengths[] = {1, 1};
    MPI_Aint places[] = {0, 100};
    MPI_Type_create_resized(MPI_DOUBLE, 0, 16, &wide);
    MPI_Type_create_struct(2, lengths, places, (MPI_Datatype[]){wide, MPI_INT}, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < 32; i++)
        from[i] = i + 1;
    MPI_Sendrecv(from, 1, type, 0, 0, to, 1, type, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    CHECK(to[0] == 1 && memcmp((char *)to + 100, (char *)from + 100, 4) == 0 && to[1] == 0);
    MPI_Type_free(&wide);
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    int key, provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided == MPI_THREAD_MULTIPLE)
        first_uses_at_once();
    MPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, &key, 0);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, 0);
    inner_types_end();
    nested_types_take_no_time();
    errors_remain();
    profiling_names_complete();
    if (provided == MPI_THREAD_MULTIPLE)
        handles_of_threads_are_their_own();
    if (provided == MPI_THREAD_MULTIPLE)
        two_threads_look();
    structures_of_resized_members();
    CHECK(copied == 0);
    if (wrong == 0)
        printf("PASS\n");
    MPI_Finalize();
    return wrong != 0;
}
