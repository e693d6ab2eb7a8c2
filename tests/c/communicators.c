/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 3 6
 * Communicators: split, groups, intercommunicators and their messages, many made and freed. */
#include "check.h"
#include <string.h>

static int rank, size;

/* The sum of the members' world ranks, which shows that the communicator works. */
static int sum_of(MPI_Comm comm)
{
    int sum;
    CHECK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
    return sum;
}

static void intercommunicators(void)
{
    if (size < 2)
        return;
    int low = size / 3 + 1, upper = rank >= low, result, members;
    MPI_Comm local, inter, copy, merged;
    MPI_Comm_split(MPI_COMM_WORLD, upper, -rank, &local);
    /* The last world rank of each side leads; keys have reversed the order. */
    MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, upper ? low - 1 : size - 1, 77, &inter);
    MPI_Comm_remote_size(inter, &members);
    CHECK(members == (upper ? low : size - low));
    MPI_Comm_test_inter(inter, &result);
    CHECK(result == 1);
    MPI_Comm_dup(inter, &copy);
    MPI_Comm_compare(inter, copy, &result);
    CHECK(result == MPI_CONGRUENT);
    MPI_Comm_compare(inter, local, &result);
    CHECK(result == MPI_UNEQUAL);

    /* Everyone of the lower side sends to everyone of the upper side; sources are ranks of the sending group. */
    int mine;
    MPI_Comm_rank(copy, &mine);
    if (!upper) {
        for (int to = 0; to < members; ++to)
            MPI_Send(&rank, 1, MPI_INT, to, mine, copy);
    } else {
        for (int n = 0; n < members; ++n) {
            int sender;
            MPI_Status status;
            MPI_Recv(&sender, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, copy, &status);
            CHECK(status.MPI_SOURCE == status.MPI_TAG && sender == low - 1 - status.MPI_SOURCE);
        }
    }
    MPI_Intercomm_merge(copy, !upper, &merged);
    CHECK(sum_of(merged) == size * (size - 1) / 2);
    int place;
    MPI_Comm_rank(merged, &place);
    CHECK(place == size - 1 - rank);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&local);
}

static void groups(void)
{
    MPI_Group world, some;
    MPI_Comm comm;
    int last[1] = {size - 1}, result;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_excl(world, size > 1, last, &some);
    MPI_Comm_create(MPI_COMM_WORLD, some, &comm);
    CHECK((comm == MPI_COMM_NULL) == (size > 1 && rank == size - 1));
    if (comm != MPI_COMM_NULL) {
        int expected = size > 1 ? (size - 1) * (size - 2) / 2 : 0;
        CHECK(sum_of(comm) == expected);
        MPI_Comm again, free_standing;
        MPI_Comm_create_group(MPI_COMM_WORLD, some, 3, &again);
        MPI_Comm_create_from_group(some, "org.example.groups", MPI_INFO_NULL, MPI_ERRORS_RETURN, &free_standing);
        MPI_Comm_compare(again, free_standing, &result);
        CHECK(result == MPI_CONGRUENT && sum_of(again) == expected && sum_of(free_standing) == expected);
        MPI_Comm_free(&again);
        MPI_Comm_free(&free_standing);
        MPI_Comm_free(&comm);
    }
    MPI_Group_free(&some);
    MPI_Group_free(&world);
}

/* What a hint is on a communicator: "true", "false", or "" if it has no meaning. */
static void expect_hint(MPI_Comm comm, const char *key, const char *expected)
{
    MPI_Info info;
    char value[MPI_MAX_INFO_VAL] = "";
    int found = 0, length = sizeof(value);
    CHECK(MPI_Comm_get_info(comm, &info) == MPI_SUCCESS);
    MPI_Info_get_string(info, key, &length, value, &found);
    CHECK(found == (expected[0] != 0) && (!found || strcmp(value, expected) == 0));
    MPI_Info_free(&info);
}

static void hints(void)
{
    const char *source = "mpi_assert_no_any_source", *tag = "mpi_assert_no_any_tag";
    MPI_Comm one, two, three;
    MPI_Request request;
    MPI_Info info;
    int number = 0;
    MPI_Info_create(&info);
    MPI_Info_set(info, source, "true");
    MPI_Info_set(info, tag, "perhaps");
    MPI_Info_set(info, "org.example.unknown", "true");
    CHECK(MPI_Comm_idup_with_info(MPI_COMM_WORLD, info, &one, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Comm_dup(one, &two) == MPI_SUCCESS);
    CHECK(MPI_Comm_dup_with_info(one, MPI_INFO_NULL, &three) == MPI_SUCCESS);
    expect_hint(MPI_COMM_WORLD, source, "false");
    expect_hint(one, source, "true");
    expect_hint(one, tag, "false");
    expect_hint(one, "org.example.unknown", "");
    expect_hint(two, source, "true");
    expect_hint(three, source, "false");
    CHECK(MPI_Irecv(&number, 1, MPI_INT, rank, MPI_ANY_TAG, two, &request) == MPI_SUCCESS);
    CHECK(MPI_Send(&rank, 1, MPI_INT, rank, 5, two) == MPI_SUCCESS && MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(number == rank);
    MPI_Info_set(info, source, "false");
    MPI_Info_set(info, tag, "true");
    CHECK(MPI_Comm_set_info(two, info) == MPI_SUCCESS);
    expect_hint(two, source, "false");
    CHECK(MPI_Iprobe(MPI_ANY_SOURCE, 5, two, &number, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    MPI_Info_free(&info);
    MPI_Comm_free(&one);
    MPI_Comm_free(&two);
    MPI_Comm_free(&three);
}

/* The members of a communicator of a split by type, 0 if there is none. */
static int split_size(int type, const char *key, const char *value)
{
    MPI_Comm part;
    MPI_Info info;
    int members = 0;
    MPI_Info_create(&info);
    if (key)
        MPI_Info_set(info, key, value);
    CHECK(MPI_Comm_split_type(MPI_COMM_WORLD, type, 0, info, &part) == MPI_SUCCESS);
    MPI_Info_free(&info);
    if (part != MPI_COMM_NULL) {
        MPI_Comm_size(part, &members);
        MPI_Comm_free(&part);
    }
    return members;
}

static void split_types(void)
{
    CHECK(split_size(MPI_COMM_TYPE_SHARED, NULL, NULL) == size);
    CHECK(split_size(MPI_COMM_TYPE_HW_GUIDED, "mpi_hw_resource_type", "mpi_shared_memory") == size);
    CHECK(split_size(MPI_COMM_TYPE_HW_GUIDED, "mpi_hw_resource_type", "org.example.unknown") == 0);
    CHECK(split_size(MPI_COMM_TYPE_HW_GUIDED, NULL, NULL) == 0);
    CHECK(split_size(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "mpi://WORLD") == size);
    CHECK(split_size(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "mpi://SELF") == 1);
    CHECK(split_size(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "org.example.unknown") == 0);
}

static void many(void)
{
    for (int n = 0; n < 3000; ++n) {
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        if (n % 500 == 0)
            CHECK(sum_of(comm) == size * (size - 1) / 2);
        MPI_Comm_free(&comm);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    intercommunicators();
    groups();
    hints();
    split_types();
    many();
    return finish(rank);
}
