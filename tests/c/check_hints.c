/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 3 4 7
 * ENV: RANKPOINT_CHECK=hints RANKPOINT_VCIS=4
 * ENV: RANKPOINT_CHECK=hints,types,collectives RANKPOINT_VCIS=4
 * Promises about a communicator or a window that the program breaks are named; those that it keeps are not. Each rank sends to the next one. */
#include "check.h"

static int rank, size, left, right;

/* The call fails with this class, and its text names the call, the object, the promise, and what was done. */
#define TELLS(call, expected, name, promise, done) TELLS_OF("promising", call, expected, name, promise, done)
#define TELLS_OF(object, call, expected, name, promise, done)                                           \
    do {                                                                                                \
        int code_ = (call), class_ = -1, length_;                                                       \
        char text_[MPI_MAX_ERROR_STRING];                                                               \
        MPI_Error_class(code_, &class_);                                                                \
        MPI_Error_string(code_, text_, &length_);                                                       \
        const char *words_[] = {name ": ", promise, done, object};                                 \
        for (int word_ = 0; word_ < 4; ++word_)                                                         \
            if (class_ != (expected) || !strstr(text_, words_[word_])) {                                \
                fprintf(stderr, "class %d, without '%s': %s\n", class_, words_[word_], text_);          \
                CHECK(!"the error names all");                                                          \
            }                                                                                           \
    } while (0)

static MPI_Comm with_hints(int count, const char *pairs[][2])
{
    MPI_Info info;
    MPI_Comm comm;
    MPI_Info_create(&info);
    for (int i = 0; i < count; ++i)
        MPI_Info_set(info, pairs[i][0], pairs[i][1]);
    CHECK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm) == MPI_SUCCESS);
    MPI_Info_free(&info);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_name(comm, "promising");
    return comm;
}

static void exact_lengths(MPI_Comm comm)
{
    static int out[30000], in[30000];
    static const int counts[] = {0, 1, 10, 1000, 20000};
    MPI_Status status;
    for (int i = 0; i < 5; ++i) {
        int count = counts[i], got;
        MPI_Request send, receive;
        for (int is_short = 0; is_short < 2; ++is_short) {
            MPI_Irecv(in, count + is_short, MPI_INT, left, 1, comm, &receive);
            MPI_Isend(out, count, MPI_INT, right, 1, comm, &send);
            if (is_short)
                TELLS(MPI_Wait(&receive, &status), MPI_ERR_COUNT, "MPI_Wait", "mpi_assert_exact_length", "with tag 1 has ");
            else {
                CHECK(MPI_Wait(&receive, &status) == MPI_SUCCESS);
                MPI_Get_count(&status, MPI_INT, &got);
                CHECK(got == count);
            }
            MPI_Wait(&send, MPI_STATUS_IGNORE);
            MPI_Isend(out, count, MPI_INT, right, 2, comm, &send);
            int code = MPI_Recv(in, count + is_short, MPI_INT, MPI_ANY_SOURCE, 2, comm, &status);
            if (is_short)
                TELLS(code, MPI_ERR_COUNT, "MPI_Recv", "mpi_assert_exact_length", "with tag 2 has ");
            else
                CHECK(code == MPI_SUCCESS);
            MPI_Wait(&send, MPI_STATUS_IGNORE);
            code = MPI_Sendrecv(out, count, MPI_INT, right, 3, in, count + is_short, MPI_INT, left, 3, comm, &status);
            if (is_short)
                TELLS(code, MPI_ERR_COUNT, "MPI_Sendrecv", "mpi_assert_exact_length", "with tag 3 has ");
            else
                CHECK(code == MPI_SUCCESS);
        }
    }
    /* Other communicators have promised nothing, and collectives are none of its messages. */
    MPI_Sendrecv(out, 1, MPI_INT, right, 4, in, 100, MPI_INT, left, 4, MPI_COMM_WORLD, &status);
    int one = 1, sum = 0;
    CHECK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS && sum == size);
    for (int root = 0; root < size; ++root)
        CHECK(MPI_Gather(out, 10, MPI_INT, in, 10, MPI_INT, root, comm) == MPI_SUCCESS);
    CHECK(MPI_Recv(in, 10, MPI_INT, MPI_PROC_NULL, 0, comm, &status) == MPI_SUCCESS);
    /* The promise can be taken back. */
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_assert_exact_length", "false");
    MPI_Comm_set_info(comm, info);
    MPI_Info_free(&info);
    CHECK(MPI_Sendrecv(out, 1, MPI_INT, right, 5, in, 100, MPI_INT, left, 5, comm, &status) == MPI_SUCCESS);
}

static void wildcards(MPI_Comm comm)
{
    int number;
    MPI_Request request;
    MPI_Status status;
    TELLS(MPI_Recv(&number, 1, MPI_INT, MPI_ANY_SOURCE, 0, comm, &status), MPI_ERR_RANK, "MPI_Recv", "mpi_assert_no_any_source",
          "'source' is MPI_ANY_SOURCE");
    TELLS(MPI_Irecv(&number, 1, MPI_INT, left, MPI_ANY_TAG, comm, &request), MPI_ERR_TAG, "MPI_Irecv", "mpi_assert_no_any_tag",
          "'tag' is MPI_ANY_TAG");
    TELLS(MPI_Probe(left, MPI_ANY_TAG, comm, &status), MPI_ERR_TAG, "MPI_Probe", "mpi_assert_no_any_tag: RANKPOINT_CHECK=hints",
          "'tag' is MPI_ANY_TAG");
}

static void tags(MPI_Comm comm)
{
    int number = rank, got = -1;
    MPI_Request request;
    MPI_Status status;
    TELLS(MPI_Send(&number, 1, MPI_INT, right, 13, comm), MPI_ERR_TAG, "MPI_Send", "rankpoint_num_vcis = 3",
          "'tag' is 13, which names the sending thread 3");
    TELLS(MPI_Isend(&number, 1, MPI_INT, right, 7, comm, &request), MPI_ERR_TAG, "MPI_Isend", "rankpoint_tag_vci_hash = one-to-one",
          "'tag' is 7, which names the receiving thread 3");
    TELLS(MPI_Recv(&number, 1, MPI_INT, left, 3, comm, &status), MPI_ERR_TAG, "MPI_Recv", "rankpoint_num_vcis = 3",
          "'tag' is 3, which names the receiving thread 3");
    for (int from = 0; from < 3; ++from)
        for (int to = 0; to < 3; ++to) {
            int tag = 16 * 5 + 4 * from + to;
            CHECK(MPI_Sendrecv(&number, 1, MPI_INT, right, tag, &got, 1, MPI_INT, left, tag, comm, &status) == MPI_SUCCESS);
            CHECK(got == left);
        }
}

static MPI_Info info_with(const char *key)
{
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, key, "true");
    return info;
}

static void windows(void)
{
    MPI_Win win;
    char *memory;
    MPI_Info info = info_with("no_locks");
    MPI_Win_allocate(8, 1, info, MPI_COMM_WORLD, &memory, &win);
    MPI_Info_free(&info);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_set_name(win, "promising");
    TELLS(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win), MPI_ERR_RMA_SYNC, "MPI_Win_lock", "no_locks", "RANKPOINT_CHECK=hints");
    TELLS(MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC, "MPI_Win_lock_all", "no_locks", "RANKPOINT_CHECK=hints");
    MPI_Win_free(&win);
    if (size == 1)
        return;
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    /* The ranks differ in what one of them promises to be the same. */
    info = rank == 1 ? info_with("same_size") : MPI_INFO_NULL;
    TELLS_OF("RANKPOINT_CHECK=hints", MPI_Win_allocate(8 + rank, 1, info, comm, &memory, &win), MPI_ERR_SIZE, "MPI_Win_allocate",
             "rank 1 gave the hint same_size", "windows of 8 and 9 bytes");
    if (rank == 1)
        MPI_Info_free(&info);
    info = rank == 1 ? info_with("same_disp_unit") : MPI_INFO_NULL;
    TELLS_OF("RANKPOINT_CHECK=hints", MPI_Win_create(memory = NULL, 0, 1 + rank, info, comm, &win), MPI_ERR_DISP, "MPI_Win_create",
             "rank 1 gave the hint same_disp_unit", "units of 1 and 2 bytes");
    if (rank == 1)
        MPI_Info_free(&info);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
    const char *exact[][2] = {{"mpi_assert_exact_length", "true"}, {"mpi_assert_allow_overtaking", "true"}};
    const char *named[][2] = {{"mpi_assert_no_any_source", "true"}, {"mpi_assert_no_any_tag", "true"}};
    const char *spread[][2] = {{"mpi_assert_no_any_tag", "true"}, {"rankpoint_num_vcis", "3"}, {"rankpoint_num_tag_bits_for_vci", "2"}};
    MPI_Comm comms[] = {with_hints(2, exact), with_hints(2, named), with_hints(3, spread)};
    exact_lengths(comms[0]);
    wildcards(comms[1]);
    tags(comms[2]);
    windows();
    for (int i = 0; i < 3; ++i)
        MPI_Comm_free(&comms[i]);
    return finish(rank);
}
