/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 3
 * ENV: RANKPOINT_VCIS=4
 * ENV: RANKPOINT_VCIS=2 RANKPOINT_PROGRESS=global
 * ENV: RANKPOINT_VCIS=4 RANKPOINT_PROGRESS=vci
 * ENV: RANKPOINT_LOCKS=global
 * ENV: RANKPOINT_CHECK=hints,threads
 * Messages of a communicator are in order, and found by wildcards, with all hints and in all models of locks and progress: those of a
 * thread with the wildcards that the hints leave, and those of several threads at once. */
#include "check.h"
#include <pthread.h>

enum { THREADS = 4, MESSAGES = 24, TAGS = 3, EACH = 6, LONGEST = 100000 };
enum { NO_ANY_TAG = 1, NO_ANY_SOURCE = 2, EXACT_LENGTH = 4, OVERTAKING = 8, PROMISES = 16 };
enum spread { NONE, ONE_TO_ONE, HASH, SPREADS };

static const int lengths[] = {4, 48, 64, 3000, LONGEST};
static int rank, size, right, left, promises, runs;
static MPI_Comm comm;

static int length_of(int number)
{
    return lengths[number % 5];
}

static MPI_Comm with_hints(enum spread spread)
{
    static const char *const names[] = {"mpi_assert_no_any_tag", "mpi_assert_no_any_source", "mpi_assert_exact_length",
                                        "mpi_assert_allow_overtaking"};
    MPI_Info info;
    MPI_Comm made;
    MPI_Info_create(&info);
    for (int i = 0; i < 4; i++)
        if (promises & 1 << i)
            MPI_Info_set(info, names[i], "true");
    if (spread != NONE) {
        MPI_Info_set(info, "rankpoint_num_vcis", "4");
        MPI_Info_set(info, "rankpoint_num_tag_bits_for_vci", "2");
        MPI_Info_set(info, "rankpoint_tag_vci_hash", spread == HASH ? "hash" : "one-to-one");
    }
    CHECK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &made) == MPI_SUCCESS);
    MPI_Info_free(&info);
    return made;
}

/* Receives a message that is probed before; gives its number and tag. */
static int next(int source, int tag, int number, int *found)
{
    static _Thread_local char data[LONGEST];
    MPI_Status probed, status;
    int bytes, number_in;
    CHECK(MPI_Probe(source, tag, comm, &probed) == MPI_SUCCESS);
    CHECK(MPI_Get_count(&probed, MPI_CHAR, &bytes) == MPI_SUCCESS);
    int most = promises & EXACT_LENGTH ? bytes : LONGEST;
    CHECK(MPI_Recv(data, most, MPI_CHAR, source, tag, comm, &status) == MPI_SUCCESS);
    memcpy(&number_in, data, sizeof number_in);
    CHECK(status.MPI_SOURCE == left && probed.MPI_SOURCE == left && (number < 0 || number_in == number));
    CHECK(bytes == length_of(number_in) && (bytes == 4 || data[bytes - 1] == (char)number_in));
    CHECK(status.MPI_TAG == probed.MPI_TAG && (tag == MPI_ANY_TAG || status.MPI_TAG == tag));
    *found = status.MPI_TAG;
    return number_in;
}

static char *message(int number)
{
    char *data = malloc(LONGEST);
    memset(data, number, LONGEST);
    memcpy(data, &number, sizeof number);
    return data;
}

/* One thread of each rank: a row of messages with three tags. */
static void in_a_row(void)
{
    MPI_Request sends[MESSAGES];
    char *data[MESSAGES];
    int source = promises & NO_ANY_SOURCE ? left : MPI_ANY_SOURCE, seen[MESSAGES] = {0}, tag;
    for (int i = 0; i < MESSAGES; i++) {
        data[i] = message(i);
        CHECK(MPI_Isend(data[i], length_of(i), MPI_CHAR, right, i % TAGS, comm, &sends[i]) == MPI_SUCCESS);
    }
    int has_order = !(promises & OVERTAKING);
    for (int i = 0; i < MESSAGES; i++) {
        int wanted = i, asked = MPI_ANY_TAG;
        if (promises & NO_ANY_TAG) {
            /* By tag: all of one, then all of the next one. */
            asked = i / (MESSAGES / TAGS);
            wanted = i % (MESSAGES / TAGS) * TAGS + asked;
        }
        int number = next(source, asked, has_order ? wanted : -1, &tag);
        CHECK(tag == number % TAGS && !seen[number]++);
    }
    CHECK(MPI_Waitall(MESSAGES, sends, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    for (int i = 0; i < MESSAGES; i++)
        free(data[i]);
}

/* Threads that send to all threads of the next rank: tags name sender and receiver. */
static void *at_once(void *argument)
{
    int me = *(int *)argument, tag;
    MPI_Request sends[THREADS * EACH];
    char *data[EACH];
    for (int i = 0; i < EACH; i++) {
        data[i] = message(i);
        for (int to = 0; to < THREADS; to++)
            CHECK(MPI_Isend(data[i], length_of(i), MPI_CHAR, right, me << 2 | to, comm, &sends[i * THREADS + to]) == MPI_SUCCESS);
    }
    for (int i = 0; i < EACH; i++)
        for (int from = 0; from < THREADS; from++) {
            int source = promises & NO_ANY_SOURCE || i % 2 ? left : MPI_ANY_SOURCE;
            next(source, from << 2 | me, promises & OVERTAKING ? -1 : i, &tag);
        }
    CHECK(MPI_Waitall(THREADS * EACH, sends, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    for (int i = 0; i < EACH; i++)
        free(data[i]);
    return NULL;
}

int main(void)
{
    int provided, numbers[THREADS];
    pthread_t threads[THREADS];
    CHECK(MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    for (promises = 0; promises < PROMISES; promises++)
        for (enum spread spread = NONE; spread < (promises & NO_ANY_TAG ? SPREADS : ONE_TO_ONE); spread++) {
            comm = with_hints(spread);
            in_a_row();
            for (int i = 0; i < THREADS; i++) {
                numbers[i] = i;
                CHECK(pthread_create(&threads[i], NULL, at_once, &numbers[i]) == 0);
            }
            for (int i = 0; i < THREADS; i++)
                CHECK(pthread_join(threads[i], NULL) == 0);
            CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS);
            runs++;
        }
    CHECK(runs == PROMISES / 2 + PROMISES / 2 * SPREADS);
    return finish(rank);
}
