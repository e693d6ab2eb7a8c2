/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 3
 * NEEDS: checked arguments
 * Partitioned communication (MPI-5.0, chapter 4): rings of ranks with different divisions on both sides, threads that make their
 * partitions ready, derived types and large counts, statuses, and the errors of wrong calls; all on one VCI and spread over several. */
#include "check.h"
#include <pthread.h>

enum { DIVISIONS = 5, ELEMENTS = 12, THREADS = 4, ROUNDS = 3, TAG = 6 };

static const int divisions[DIVISIONS] = {1, 2, 3, 4, 12};
static int rank, size, right, left;
/* MPI_INFO_NULL, or one that spreads the partitions of a send over several VCIs of libraries that know its key. */
static MPI_Info info = MPI_INFO_NULL;

static int given(int of, int i, int round)
{
    return of * 1000003 + i * 7 + round;
}

static int arrived(MPI_Request request, int partition)
{
    int flag = -1;
    MPI_Parrived(request, partition, &flag);
    CHECK(flag == 0 || flag == 1);
    return flag;
}

/* A ring: each rank sends to the right in `sent` partitions what the right neighbour receives in `received` ones. */
static void ring(int sent, int received, int scale)
{
    int count = ELEMENTS * scale;
    int *out = malloc(count * sizeof(int)), *in = malloc(count * sizeof(int));
    MPI_Request requests[2];
    MPI_Psend_init(out, sent, count / sent, MPI_INT, right, TAG, MPI_COMM_WORLD, info, &requests[0]);
    MPI_Precv_init(in, received, count / received, MPI_INT, left, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    CHECK(arrived(requests[1], 0));
    for (int round = 0; round < ROUNDS; ++round) {
        MPI_Status statuses[2];
        int elements;
        for (int i = 0; i < count; ++i) {
            out[i] = given(rank, i, round);
            in[i] = -1;
        }
        MPI_Startall(2, requests);
        if (round == 0)
            for (int i = sent - 1; i >= 0; --i)
                MPI_Pready(i, requests[0]);
        else if (round == 1)
            MPI_Pready_range(0, sent - 1, requests[0]);
        else {
            int list[ELEMENTS];
            for (int i = 0; i < sent; ++i)
                list[i] = (i * 5 + 1) % sent;
            MPI_Pready_list(sent, list, requests[0]);
        }
        for (int q = 0; q < received; ++q) {
            while (!arrived(requests[1], q))
                ;
            for (int i = q * (count / received); i < (q + 1) * (count / received); ++i)
                CHECK(in[i] == given(left, i, round));
        }
        MPI_Waitall(2, requests, statuses);
        MPI_Get_count(&statuses[1], MPI_INT, &elements);
        CHECK(elements == count && statuses[1].MPI_SOURCE == left && statuses[1].MPI_TAG == TAG);
        CHECK(requests[0] != MPI_REQUEST_NULL && requests[1] != MPI_REQUEST_NULL);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
    free(out);
    free(in);
}

/* Every other int of the sender's memory; the receiver takes them with large counts. */
static void types(void)
{
    enum { COUNT = 6000 };
    static int out[2 * COUNT], in[COUNT];
    MPI_Datatype sparse;
    MPI_Request requests[2];
    MPI_Type_vector(COUNT / 4, 1, 2, MPI_INT, &sparse);
    MPI_Type_create_resized(sparse, 0, COUNT / 2 * sizeof(int), &sparse);
    MPI_Type_commit(&sparse);
    for (int i = 0; i < 2 * COUNT; ++i)
        out[i] = given(rank, i, 0);
    MPI_Psend_init(out, 4, 1, sparse, right, TAG, MPI_COMM_WORLD, info, &requests[0]);
    MPI_Precv_init(in, 3, COUNT / 3, MPI_INT, left, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    MPI_Type_free(&sparse);
    MPI_Startall(2, requests);
    MPI_Pready_range(0, 3, requests[0]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < COUNT; ++i)
        CHECK(in[i] == given(left, 2 * i, 0));
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

enum { PART = 30000 };
static int shared[THREADS * PART];
static MPI_Request sending;

static void *produce(void *argument)
{
    int me = (int)(long)argument;
    for (int i = me * PART; i < (me + 1) * PART; ++i)
        shared[i] = given(rank, i, 9);
    MPI_Pready(me, sending);
    return NULL;
}

static void threads(void)
{
    int *in = malloc(sizeof shared);
    MPI_Request receiving;
    MPI_Psend_init(shared, THREADS, PART, MPI_INT, right, TAG, MPI_COMM_WORLD, info, &sending);
    MPI_Precv_init(in, 1, THREADS * PART, MPI_INT, left, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &receiving);
    for (int round = 0; round < ROUNDS; ++round) {
        pthread_t threads[THREADS];
        memset(in, 0, sizeof shared);
        MPI_Start(&receiving);
        MPI_Start(&sending);
        for (long i = 0; i < THREADS; ++i)
            pthread_create(&threads[i], NULL, produce, (void *)i);
        MPI_Wait(&sending, MPI_STATUS_IGNORE);
        MPI_Wait(&receiving, MPI_STATUS_IGNORE);
        for (int i = 0; i < THREADS; ++i)
            pthread_join(threads[i], NULL);
        for (int i = 0; i < THREADS * PART; ++i)
            CHECK(in[i] == given(left, i, 9));
    }
    MPI_Request_free(&sending);
    MPI_Request_free(&receiving);
    free(in);
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

static void errors(void)
{
    int out[4] = {1, 2, 3, 4}, in[4], flag, twice[] = {1, 1}, some[] = {3, 0};
    MPI_Request send, receive, null = MPI_REQUEST_NULL, plain;
    MPI_Comm self = MPI_COMM_SELF;
    MPI_Info_set(info, "rankpoint_num_vcis", "65");
    SAYS(MPI_Psend_init(out, 2, 1, MPI_INT, 0, 0, self, info, &send), MPI_ERR_INFO_VALUE,
         "MPI_Psend_init: argument 'info' is 65 for the key rankpoint_num_vcis, expected 1..64");
    SAYS(MPI_Precv_init(out, 2, 1, MPI_INT, 0, 0, self, info, &send), MPI_ERR_INFO_VALUE, "'info' is 65 for");
    SAYS(MPI_Psend_init(out, -1, 1, MPI_INT, 0, 0, self, MPI_INFO_NULL, &send), MPI_ERR_ARG,
         "MPI_Psend_init: argument 'partitions' is -1, expected 0..2147483647");
    SAYS(MPI_Psend_init(out, 2, -1, MPI_INT, 0, 0, self, MPI_INFO_NULL, &send), MPI_ERR_COUNT, "'count' is -1");
    SAYS(MPI_Psend_init(out, 4, 1L << 62, MPI_INT, 0, 0, self, MPI_INFO_NULL, &send), MPI_ERR_COUNT,
         "MPI_Psend_init: argument 'count' is 4611686018427387904");
    SAYS(MPI_Psend_init(out, 2, 1, MPI_INT, 1, 0, self, MPI_INFO_NULL, &send), MPI_ERR_RANK, "'dest' is 1");
    SAYS(MPI_Psend_init(out, 2, 1, MPI_INT, 0, -1, self, MPI_INFO_NULL, &send), MPI_ERR_TAG, "'tag' is -1");
    SAYS(MPI_Psend_init(out, 2, 1, MPI_DATATYPE_NULL, 0, 0, self, MPI_INFO_NULL, &send), MPI_ERR_TYPE, "MPI_DATATYPE_NULL");
    SAYS(MPI_Psend_init(out, 2, 1, MPI_INT, 0, 0, MPI_COMM_NULL, MPI_INFO_NULL, &send), MPI_ERR_COMM, "MPI_COMM_NULL");
    SAYS(MPI_Psend_init(out, 2, 1, MPI_INT, 0, 0, self, (MPI_Info)4711UL, &send), MPI_ERR_INFO, "'info'");
    SAYS(MPI_Psend_init(NULL, 2, 1, MPI_INT, 0, 0, self, MPI_INFO_NULL, &send), MPI_ERR_BUFFER, "'buf'");
    SAYS(MPI_Psend_init(out, 2, 1, MPI_INT, 0, 0, self, MPI_INFO_NULL, NULL), MPI_ERR_ARG, "'request' is null");
    SAYS(MPI_Precv_init(in, 2, 1, MPI_INT, MPI_ANY_SOURCE, 0, self, MPI_INFO_NULL, &receive), MPI_ERR_RANK,
         "MPI_Precv_init: argument 'source' is MPI_ANY_SOURCE, expected no wildcard");
    SAYS(MPI_Precv_init(in, 2, 1, MPI_INT, 0, MPI_ANY_TAG, self, MPI_INFO_NULL, &receive), MPI_ERR_TAG, "'tag' is MPI_ANY_TAG");

    MPI_Psend_init(out, 4, 1, MPI_INT, 0, 0, self, MPI_INFO_NULL, &send);
    MPI_Precv_init(in, 2, 2, MPI_INT, 0, 0, self, MPI_INFO_NULL, &receive);
    SAYS(MPI_Pready(0, send), MPI_ERR_REQUEST, "MPI_Pready: argument 'request' is 0x52");
    SAYS(MPI_Pready(0, send), MPI_ERR_REQUEST, "which is not active, expected a partitioned send that MPI_Start has started");
    SAYS(MPI_Pready(0, receive), MPI_ERR_REQUEST, "a partitioned receive, expected a partitioned send, as MPI_Psend_init makes");
    SAYS(MPI_Pready(0, null), MPI_ERR_REQUEST, "MPI_REQUEST_NULL");
    SAYS(MPI_Pready(0, (MPI_Request)0x1234567UL), MPI_ERR_REQUEST, "0x1234567");
    SAYS(MPI_Parrived(send, 0, &flag), MPI_ERR_REQUEST, "a partitioned send, expected a partitioned receive, as MPI_Precv_init makes");
    /* Nothing is under way. */
    flag = 0;
    CHECK(MPI_Parrived(null, 0, &flag) == MPI_SUCCESS && flag);
    flag = 0;
    CHECK(MPI_Parrived(receive, 1, &flag) == MPI_SUCCESS && flag);
    SAYS(MPI_Parrived(receive, 2, &flag), MPI_ERR_ARG, "MPI_Parrived: argument 'partition' is 2, expected 0..1");
    SAYS(MPI_Parrived(receive, 0, NULL), MPI_ERR_ARG, "'flag' is null");
    MPI_Irecv(in, 1, MPI_INT, 0, 5, self, &plain);
    SAYS(MPI_Pready(0, plain), MPI_ERR_REQUEST, "a request that is not partitioned");
    SAYS(MPI_Parrived(plain, 0, &flag), MPI_ERR_REQUEST, "a request that is not partitioned");
    MPI_Send(out, 1, MPI_INT, 0, 5, self);
    MPI_Wait(&plain, MPI_STATUS_IGNORE);

    MPI_Start(&send);
    MPI_Start(&receive);
    SAYS(MPI_Start(&send), MPI_ERR_REQUEST, "an active persistent request of partitioned communication");
    SAYS(MPI_Request_free(&send), MPI_ERR_REQUEST, "an active request of partitioned communication");
    SAYS(MPI_Cancel(&receive), MPI_ERR_REQUEST, "a request of partitioned communication");
    SAYS(MPI_Pready(4, send), MPI_ERR_ARG, "MPI_Pready: argument 'partition' is 4, expected 0..3");
    SAYS(MPI_Pready_range(2, 1, send), MPI_ERR_ARG, "MPI_Pready_range: argument 'partition_high' is 1, expected at least partition_low, 2");
    SAYS(MPI_Pready_range(-1, 1, send), MPI_ERR_ARG, "'partition_low' is -1, expected 0..3");
    SAYS(MPI_Pready_list(2, twice, send), MPI_ERR_ARG, "'array_of_partitions' is 1, which is ready already at index 1");
    SAYS(MPI_Pready_list(-2, twice, send), MPI_ERR_ARG, "'length' is -2");
    SAYS(MPI_Pready_list(2, NULL, send), MPI_ERR_ARG, "'array_of_partitions' is null");
    CHECK(MPI_Pready_list(0, NULL, send) == MPI_SUCCESS);
    CHECK(MPI_Pready_list(2, some, send) == MPI_SUCCESS);
    SAYS(MPI_Pready(3, send), MPI_ERR_ARG, "'partition' is 3, which is ready already, expected each partition once after each start");
    CHECK(MPI_Pready_range(1, 2, send) == MPI_SUCCESS);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    CHECK(memcmp(in, out, sizeof in) == 0);
    MPI_Request_free(&send);
    MPI_Request_free(&receive);

    MPI_Psend_init(out, 4, 1, MPI_INT, 0, 0, self, MPI_INFO_NULL, &send);
    MPI_Precv_init(in, 1, 3, MPI_INT, 0, 0, self, MPI_INFO_NULL, &receive);
    MPI_Start(&send);
    MPI_Start(&receive);
    MPI_Pready_range(0, 3, send);
    SAYS(MPI_Wait(&receive, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE,
         "the sender has 4 partitions of 4 bytes, 16 bytes in all, the receive buffer holds 12");
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    MPI_Request_free(&send);
    MPI_Request_free(&receive);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    for (int spread = 0; spread < 2; ++spread) {
        for (int s = 0; s < DIVISIONS; ++s)
            for (int r = 0; r < DIVISIONS; ++r)
                for (int scale = 1; scale <= 10000; scale *= 100)
                    ring(divisions[s], divisions[r], scale);
        types();
        threads();
        if (!spread) {
            MPI_Info_create(&info);
            MPI_Info_set(info, "rankpoint_num_vcis", "3");
        }
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    errors();
    MPI_Info_free(&info);
    return finish(rank);
}
