/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Threads that are ranks: messages, probes, collectives and communicators of endpoints. usage: endpoints MODE N
 *   equal     each process has N endpoints
 *   unequal   the processes have N, 0, N - 1, ... endpoints
 *   refused   what endpoints cannot do is refused by name
 *   too_many  a process asks for more endpoints than it may have, and the error handler is that of MPI's start
 *   freed     so does a call on an endpoint communicator that was freed
 *   forever   endpoints are in barriers until the job ends */
#include "endpoints.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

// Weak: the library that is preloaded has it.
__attribute__((weak)) int MPIX_Comm_create_endpoints(MPI_Comm parent_comm, int my_num_ep, MPI_Info info, MPI_Comm ep_comm[]);

enum { LONG = 300000 };

static char byte_of(int rank, int step, int at) { return (char)(rank * 31 + step * 7 + at); }

static void messages_go_around(MPI_Comm comm, int rank, int size) {
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    int lengths[] = {0, 1, 31, 32, 33, 4000, LONG};
    char *out = malloc(LONG), *in = malloc(LONG + 1);
    for (int step = 0; step < (int)(sizeof lengths / sizeof *lengths); step++) {
        int length = lengths[step], count;
        MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        MPI_Status statuses[3];
        for (int at = 0; at < length; at++)
            out[at] = byte_of(rank, step, at);
        memset(in, 99, LONG + 1);
        MPI_Irecv(in, LONG, MPI_CHAR, left, step, comm, &requests[0]);
        MPI_Isend(out, length, MPI_CHAR, right, step, comm, &requests[2]);
        EXPECT(MPI_Waitall(3, requests, statuses) == MPI_SUCCESS);
        EXPECT(requests[0] == MPI_REQUEST_NULL && requests[2] == MPI_REQUEST_NULL);
        MPI_Get_count(&statuses[0], MPI_CHAR, &count);
        EXPECT(count == length && statuses[0].MPI_SOURCE == left && statuses[0].MPI_TAG == step);
        for (int at = 0; at < length; at++)
            EXPECT(in[at] == byte_of(left, step, at));
        EXPECT(in[length] == 99);
    }
    free(out);
    free(in);
}

static void blocking_calls_do_not_wait_for_each_other(MPI_Comm comm, int rank, int size) {
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    double mine[5] = {rank, 1, 2, 3, 4}, theirs[5];
    MPI_Status status;
    MPI_Sendrecv(mine, 5, MPI_DOUBLE, right, 8, theirs, 5, MPI_DOUBLE, left, MPI_ANY_TAG, comm, &status);
    EXPECT(theirs[0] == left && theirs[4] == 4 && status.MPI_TAG == 8);
    if (rank % 2) {
        MPI_Recv(theirs, 5, MPI_DOUBLE, left, 9, comm, MPI_STATUS_IGNORE);
        EXPECT(theirs[0] == left);
    } else if (rank + 1 < size) {
        MPI_Ssend(mine, 5, MPI_DOUBLE, right, 9, comm);
    }
}

static void wildcards_find_all(MPI_Comm comm, int rank, int size) {
    if (rank != 0) {
        MPI_Send(&rank, 1, MPI_INT, 0, rank, comm);
        return;
    }
    long sum = 0;
    for (int other = 1; other < size; other++) {
        int found, count;
        MPI_Status status, probed;
        MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &probed);
        MPI_Get_count(&probed, MPI_INT, &count);
        EXPECT(count == 1 && probed.MPI_SOURCE == probed.MPI_TAG);
        MPI_Recv(&found, 1, MPI_INT, probed.MPI_SOURCE, MPI_ANY_TAG, comm, &status);
        EXPECT(found == status.MPI_SOURCE && found == probed.MPI_SOURCE);
        sum += found;
    }
    EXPECT(sum == (long)size * (size - 1) / 2);
}

static void messages_to_oneself_arrive(MPI_Comm comm, int rank) {
    int mine = rank + 1000, found = 0, flag = 0, index = 7, number, indices[2];
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Iprobe(rank, 77, comm, &flag, MPI_STATUS_IGNORE);
    EXPECT(!flag);
    MPI_Irecv(&found, 1, MPI_INT, rank, 5, comm, &requests[1]);
    MPI_Testany(2, requests, &index, &flag, MPI_STATUS_IGNORE);
    EXPECT(!flag && index == MPI_UNDEFINED);
    MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
    EXPECT(!flag && requests[1] != MPI_REQUEST_NULL);
    MPI_Request_get_status(requests[1], &flag, MPI_STATUS_IGNORE);
    EXPECT(!flag);
    MPI_Send(&mine, 1, MPI_INT, rank, 5, comm);
    MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
    EXPECT(index == 1 && found == mine && requests[1] == MPI_REQUEST_NULL);
    MPI_Irecv(&found, 1, MPI_INT, rank, 6, comm, &requests[0]);
    MPI_Isend(&rank, 1, MPI_INT, rank, 6, comm, &requests[1]);
    for (int left = 2; left > 0; left -= number) {
        MPI_Waitsome(2, requests, &number, indices, MPI_STATUSES_IGNORE);
        EXPECT(number >= 1 && number <= left);
    }
    EXPECT(found == rank);
    MPI_Isend(&rank, 1, MPI_INT, rank, 7, comm, &requests[0]);
    MPI_Request_free(&requests[0]);
    MPI_Recv(&found, 1, MPI_INT, rank, 7, comm, MPI_STATUS_IGNORE);
    MPI_Isend(&rank, 1, MPI_INT, MPI_PROC_NULL, 7, comm, &requests[0]);
    for (flag = 0; !flag;)
        MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
    EXPECT(requests[0] == MPI_REQUEST_NULL);
}

static void collectives_have_all_threads(MPI_Comm comm, int rank, int size) {
    long mine = rank, sum = -1;
    int *blocks = malloc(size * sizeof *blocks), *others = malloc(size * sizeof *others);
    MPI_Barrier(comm);
    MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, comm);
    EXPECT(sum == (long)size * (size - 1) / 2);
    sum = rank;
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_LONG, MPI_MAX, comm);
    EXPECT(sum == size - 1);
    struct { double value; int rank; } pair = {-rank, rank}, least = {0, -1};
    MPI_Reduce(&pair, &least, 1, MPI_DOUBLE_INT, MPI_MINLOC, size - 1, comm);
    if (rank == size - 1)
        EXPECT(least.value == -(size - 1) && least.rank == size - 1);
    char text[200] = {0};
    if (rank == size / 2)
        memset(text, 'x', sizeof text);
    MPI_Bcast(text, sizeof text, MPI_CHAR, size / 2, comm);
    EXPECT(text[0] == 'x' && text[199] == 'x');
    MPI_Allgather(&rank, 1, MPI_INT, blocks, 1, MPI_INT, comm);
    for (int other = 0; other < size; other++)
        EXPECT(blocks[other] == other);
    for (int other = 0; other < size; other++)
        blocks[other] = rank * 1000 + other;
    MPI_Alltoall(blocks, 1, MPI_INT, others, 1, MPI_INT, comm);
    for (int other = 0; other < size; other++)
        EXPECT(others[other] == other * 1000 + rank);
    free(blocks);
    free(others);
}

static void communicators_are_made_of_them(MPI_Comm comm, int rank, int size) {
    MPI_Comm copy, half, none;
    int result, half_rank, half_size, found = -1;
    MPI_Comm_dup(comm, &copy);
    char name[MPI_MAX_OBJECT_NAME] = "?";
    MPI_Comm_set_name(comm, "threads");
    MPI_Comm_get_name(copy, name, &result);
    EXPECT(result == 0 && !name[0]);
    MPI_Comm_get_name(comm, name, &result);
    EXPECT(result == 7 && !strcmp(name, "threads"));
    MPI_Comm_compare(comm, copy, &result);
    EXPECT(result == MPI_CONGRUENT);
    MPI_Comm_compare(comm, comm, &result);
    EXPECT(result == MPI_IDENT);
    MPI_Comm_compare(comm, MPI_COMM_SELF, &result);
    EXPECT(result == MPI_UNEQUAL);
    // A message of one communicator is not found in another.
    MPI_Request requests[2];
    int two = 2, one = 1;
    MPI_Isend(&one, 1, MPI_INT, rank, 3, comm, &requests[0]);
    MPI_Isend(&two, 1, MPI_INT, rank, 3, copy, &requests[1]);
    MPI_Recv(&found, 1, MPI_INT, rank, 3, copy, MPI_STATUS_IGNORE);
    EXPECT(found == 2);
    MPI_Recv(&found, 1, MPI_INT, rank, 3, comm, MPI_STATUS_IGNORE);
    EXPECT(found == 1);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Comm_split(copy, rank % 2, -rank, &half);
    MPI_Comm_rank(half, &half_rank);
    MPI_Comm_size(half, &half_size);
    EXPECT(half_size == (rank % 2 ? size / 2 : (size + 1) / 2));
    EXPECT(half_rank == half_size - 1 - rank / 2);
    MPI_Barrier(half);
    MPI_Comm_free(&half);
    MPI_Comm_split(copy, rank == 0 ? 1 : MPI_UNDEFINED, 0, &none);
    EXPECT((none == MPI_COMM_NULL) == (rank != 0));
    if (rank == 0)
        MPI_Comm_free(&none);
    MPI_Comm_free(&copy);
    EXPECT(copy == MPI_COMM_NULL);
}

static void errors_have_classes(MPI_Comm comm, int rank, int size) {
    int data[2] = {1, 2};
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    EXPECT(class_of(MPI_Send(data, 1, MPI_INT, size, 0, comm)) == MPI_ERR_RANK);
    EXPECT(class_of(MPI_Send(data, -1, MPI_INT, 0, 0, comm)) == MPI_ERR_COUNT);
    MPI_Request request;
    MPI_Irecv(data, 1, MPI_INT, rank, 4, comm, &request);
    MPI_Send(data, 2, MPI_INT, rank, 4, comm);
    EXPECT(class_of(MPI_Wait(&request, MPI_STATUS_IGNORE)) == MPI_ERR_TRUNCATE);
    // The arguments of persistent requests are looked at when these are made.
    EXPECT(class_of(MPI_Send_init(data, 1, MPI_INT, size, 0, comm, &request)) == MPI_ERR_RANK);
    EXPECT(class_of(MPI_Ssend_init(data, 1, MPI_INT, MPI_ANY_SOURCE, 0, comm, &request)) == MPI_ERR_RANK);
    EXPECT(class_of(MPI_Send_init(data, 1, MPI_INT, rank, -5, comm, &request)) == MPI_ERR_TAG);
    EXPECT(class_of(MPI_Rsend_init(data, 1, MPI_INT, rank, MPI_ANY_TAG, comm, &request)) == MPI_ERR_TAG);
    EXPECT(class_of(MPI_Recv_init(data, 1, MPI_INT, size, 0, comm, &request)) == MPI_ERR_RANK);
    EXPECT(class_of(MPI_Recv_init(data, 1, MPI_INT, rank, -5, comm, &request)) == MPI_ERR_TAG);
    EXPECT(class_of(MPI_Allreduce(&data[0], &data[1], 1, MPI_DATATYPE_NULL, MPI_SUM, comm)) == MPI_ERR_TYPE);
}

static void *exercise(void *argument) {
    MPI_Comm comm = *(MPI_Comm *)argument;
    int rank, size, flag = 1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Comm_test_inter(comm, &flag);
    EXPECT(!flag);
    messages_go_around(comm, rank, size);
    blocking_calls_do_not_wait_for_each_other(comm, rank, size);
    MPI_Barrier(comm);
    wildcards_find_all(comm, rank, size);
    messages_to_oneself_arrive(comm, rank);
    collectives_have_all_threads(comm, rank, size);
    communicators_are_made_of_them(comm, rank, size);
    derived_types_travel(comm, rank, size);
    collectives_move_blocks(comm, rank, size);
    requests_complete(comm, rank, size);
    threads_share_an_endpoint(comm, rank, size);
    errors_have_classes(comm, rank, size);
    MPI_Barrier(comm);
    MPI_Comm_free(&comm);
    EXPECT(comm == MPI_COMM_NULL);
    return NULL;
}

static void *exchange_for_ever(void *argument) {
    MPI_Comm comm = *(MPI_Comm *)argument;
    int rank;
    MPI_Comm_rank(comm, &rank);
    for (int step = 0; step >= 0; step = step < 20 ? step + 1 : step) {
        MPI_Barrier(comm);
        if (rank == 0 && step == 10) {
            printf("READY\n");
            fflush(stdout);
        }
    }
    return NULL;
}

static void *refuse(void *argument) {
    MPI_Comm comm = *(MPI_Comm *)argument;
    int keys = 0;
    MPI_Group group;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    int codes[] = {MPI_Ibcast(&keys, 1, MPI_INT, 0, comm, &request), MPI_Ibarrier(comm, &request),
                   MPI_Comm_group(comm, &group), MPI_Bsend(&keys, 1, MPI_INT, 0, 0, comm),
                   PMPI_Barrier(comm), PMPI_Comm_rank(comm, &keys), PMPI_Send(&keys, 1, MPI_INT, 0, 0, comm)};
    for (int at = 0; at < (int)(sizeof codes / sizeof *codes); at++)
        EXPECT(class_of(codes[at]) == MPI_ERR_UNSUPPORTED_OPERATION);
    MPI_Comm made;
    EXPECT(class_of(MPIX_Comm_create_endpoints(comm, 1, MPI_INFO_NULL, &made)) == MPI_ERR_UNSUPPORTED_OPERATION);
    MPI_Irecv(&keys, 1, MPI_INT, MPI_PROC_NULL, 88, comm, &request);
    EXPECT(class_of(MPI_Cancel(&request)) == MPI_ERR_UNSUPPORTED_OPERATION);
    EXPECT(class_of(PMPI_Wait(&request, MPI_STATUS_IGNORE)) == MPI_ERR_UNSUPPORTED_OPERATION);
    EXPECT(class_of(PMPI_Waitall(1, &request, MPI_STATUSES_IGNORE)) == MPI_ERR_UNSUPPORTED_OPERATION);
    MPI_Request_free(&request);
    MPI_Comm_free(&comm);
    return NULL;
}

static void *use_after_free(void *argument) {
    MPI_Comm comm = *(MPI_Comm *)argument, copy = comm;
    MPI_Comm_free(&comm);
    MPI_Barrier(copy);
    return NULL;
}

static void run(MPI_Comm parent, int number, void *(*work)(void *)) {
    MPI_Comm *comms = malloc((number + 1) * sizeof *comms);
    pthread_t *threads = malloc((number + 1) * sizeof *threads);
    EXPECT(MPIX_Comm_create_endpoints(parent, number, MPI_INFO_NULL, comms) == MPI_SUCCESS);
    int before = 0;
    MPI_Exscan(&number, &before, 1, MPI_INT, MPI_SUM, parent);
    int parent_rank, rank;
    MPI_Comm_rank(parent, &parent_rank);
    if (parent_rank == 0)
        before = 0;
    for (int at = 0; at < number; at++) {
        MPI_Comm_rank(comms[at], &rank);
        EXPECT(rank == before + at);
        pthread_create(&threads[at], NULL, work, &comms[at]);
    }
    for (int at = 0; at < number; at++)
        pthread_join(threads[at], NULL);
    free(comms);
    free(threads);
}

int main(int argc, char **argv) {
    int provided, rank, size, number;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (argc < 3 || provided < MPI_THREAD_MULTIPLE || !MPIX_Comm_create_endpoints) {
        fprintf(stderr, "usage: rankpoint endpoints ... endpoints MODE N, with a library that has MPI_THREAD_MULTIPLE\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    number = atoi(argv[2]);
    make_types();
    make_operations();
    if (!strcmp(argv[1], "refused")) {
        MPI_Comm comms[1];
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        int code = MPIX_Comm_create_endpoints(MPI_COMM_WORLD, rank ? 1 : 65, MPI_INFO_NULL, comms);
        EXPECT(class_of(code) == MPI_ERR_ARG);
        run(MPI_COMM_WORLD, number, refuse);
    } else if (!strcmp(argv[1], "too_many")) {
        MPI_Comm comms[1];
        MPIX_Comm_create_endpoints(MPI_COMM_WORLD, 65, MPI_INFO_NULL, comms);
    } else if (!strcmp(argv[1], "freed")) {
        run(MPI_COMM_WORLD, number, use_after_free);
    } else if (!strcmp(argv[1], "forever")) {
        run(MPI_COMM_WORLD, number, exchange_for_ever);
    } else if (!strcmp(argv[1], "unequal")) {
        run(MPI_COMM_WORLD, rank % 2 ? 0 : number - rank / 2, exercise);
        run(MPI_COMM_WORLD, 0, exercise);
        // A parent whose ranks are the other way round, without process 0 where there are others.
        MPI_Comm part;
        MPI_Comm_split(MPI_COMM_WORLD, size > 1 && rank == 0 ? MPI_UNDEFINED : 0, -rank, &part);
        if (part != MPI_COMM_NULL) {
            run(part, number, exercise);
            MPI_Comm_free(&part);
        }
    } else {
        run(MPI_COMM_WORLD, number, exercise);
    }
    free_types();
    free_operations();
    if (rank == 0)
        printf("PASS\n");
    MPI_Finalize();
    return 0;
}
