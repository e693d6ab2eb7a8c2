/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 3
 * One communicator whose tags name the VCIs of its messages, used by several threads; hints that contradict each other. */
#include "check.h"
#include <pthread.h>

#define THREADS 4
#define LONGEST 100000

static int rank, size;
static MPI_Comm comm;

static MPI_Info info_of(const char *vcis, const char *bits, const char *no_any_tag)
{
    MPI_Info info;
    MPI_Info_create(&info);
    if (vcis)
        MPI_Info_set(info, "rankpoint_num_vcis", vcis);
    if (bits)
        MPI_Info_set(info, "rankpoint_num_tag_bits_for_vci", bits);
    if (no_any_tag)
        MPI_Info_set(info, "mpi_assert_no_any_tag", no_any_tag);
    return info;
}

static void *run(void *argument)
{
    int thread = (int)(long)argument, right = (rank + 1) % size, left = (rank + size - 1) % size;
    unsigned char *out = malloc(LONGEST), *in = malloc(LONGEST);
    for (int round = 0; round < 60; ++round) {
        int length = round % 3 == 0 ? 8 : round % 3 == 1 ? 1000 : LONGEST;
        int partner = (thread + round) % THREADS, sender = (thread + 3 * round) % THREADS;
        MPI_Request requests[2];
        MPI_Status status;
        memset(out, 16 * rank + thread + round, (size_t)length);
        MPI_Irecv(in, length, MPI_BYTE, round % 2 ? MPI_ANY_SOURCE : left, sender * THREADS + thread, comm, &requests[0]);
        MPI_Isend(out, length, MPI_BYTE, right, thread * THREADS + partner, comm, &requests[1]);
        if (round % 4 == 0) {
            MPI_Status both[2];
            MPI_Waitall(2, requests, both);
            status = both[0];
        } else {
            MPI_Wait(&requests[0], &status);
            MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        }
        CHECK(status.MPI_SOURCE == left && status.MPI_TAG == sender * THREADS + thread);
        for (int index = 0; index < length; ++index)
            CHECK(in[index] == (unsigned char)(16 * left + sender + round));
    }
    free(out);
    free(in);
    return NULL;
}

static int class_of(MPI_Info info)
{
    MPI_Comm made;
    int class, code = MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &made);
    MPI_Error_class(code, &class);
    if (code == MPI_SUCCESS)
        MPI_Comm_free(&made);
    MPI_Info_free(&info);
    return class;
}

int main(int argc, char **argv)
{
    int level, flag, length = 8;
    char value[8];
    pthread_t threads[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Info info = info_of("4", "2", "true"), used;
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
    MPI_Info_free(&info);
    MPI_Comm_get_info(comm, &used);
    MPI_Info_get_string(used, "rankpoint_num_vcis", &length, value, &flag);
    CHECK(flag && strcmp(value, "4") == 0);
    MPI_Info_free(&used);
    for (long thread = 0; thread < THREADS; ++thread)
        pthread_create(&threads[thread], NULL, run, (void *)thread);
    for (int thread = 0; thread < THREADS; ++thread)
        pthread_join(threads[thread], NULL);
    int sum;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK(sum == size * (size - 1) / 2);
    MPI_Comm_free(&comm);

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(class_of(info_of("4", "2", "true")) == MPI_SUCCESS);
    CHECK(class_of(info_of("4", "2", NULL)) == MPI_ERR_INFO_VALUE);
    CHECK(class_of(info_of("4", NULL, "true")) == MPI_ERR_INFO_VALUE);
    CHECK(class_of(info_of("5", "2", "true")) == MPI_ERR_INFO_VALUE);
    CHECK(class_of(info_of("none", "2", "true")) == MPI_ERR_INFO_VALUE);
    CHECK(class_of(info_of(NULL, "2", "true")) == MPI_SUCCESS);
    /* Hints of one rank that the others do not have. */
    if (size > 1) {
        CHECK(class_of(info_of(rank == 1 ? "4" : "2", "2", "true")) == MPI_ERR_INFO_VALUE);
        CHECK(class_of(info_of(rank == 1 ? "none" : "2", "2", "true")) == MPI_ERR_INFO_VALUE);
        CHECK(class_of(info_of(rank == 0 ? NULL : "2", rank == 0 ? NULL : "2", "true")) == MPI_ERR_INFO_VALUE);
        MPI_Info info = info_of(rank == 1 ? "64" : "2", "2", "true");
        MPI_Comm made;
        MPI_Request request;
        CHECK(MPI_Comm_idup_with_info(MPI_COMM_WORLD, info, &made, &request) == MPI_SUCCESS);
        int class, code = MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Error_class(code, &class);
        CHECK(class == MPI_ERR_INFO_VALUE);
        MPI_Info_free(&info);
    }
    return finish(rank);
}
