/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 3 6
 * Communicators: split, groups, intercommunicators and their messages, many made and freed. */
#include "check.h"

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
    many();
    return finish(rank);
}
