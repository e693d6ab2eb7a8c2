/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 4
 * NEEDS: checked arguments
 * A rank that can hold no more communicators, the first or the last: calls in which all ranks take part fail at all of them, leave
 * null handles, and leave nothing of them under way. */
#include "check.h"

enum { MOST = 100000 };

static MPI_Comm made[MOST], world = MPI_COMM_WORLD;
static int rank, size;

static void all_work(MPI_Comm comm)
{
    int sum, members, mine;
    MPI_Comm_size(comm, &members);
    MPI_Comm_rank(comm, &mine);
    CHECK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
    CHECK(sum == members * (members - 1) / 2);
}

#define FAILS(call)                                                     \
    do {                                                                \
        none = MPI_COMM_SELF;                                           \
        CHECK((call) == MPI_ERR_NO_MEM && none == MPI_COMM_NULL);       \
    } while (0)

static void calls_of_all(void)
{
    MPI_Comm none, late = MPI_COMM_SELF;
    MPI_Request request;
    MPI_Group all;
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Comm_group(world, &all);
    FAILS(MPI_Comm_split(world, 0, rank, &none));
    FAILS(MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &none));
    FAILS(MPI_Comm_create(world, all, &none));
    FAILS(MPI_Comm_create_group(world, all, 5, &none));
    FAILS(MPI_Comm_dup(world, &none));
    FAILS(MPI_Comm_dup_with_info(world, MPI_INFO_NULL, &none));
    MPI_Error_string(MPI_ERR_NO_MEM, text, &length);
    CHECK(strstr(text, "can hold no more communicators") != NULL);
    CHECK(MPI_Comm_idup(world, &late, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_ERR_NO_MEM);
    /* Its handle is gone with it. */
    CHECK(late == MPI_COMM_NULL || MPI_Comm_size(late, &length) != MPI_SUCCESS);
    MPI_Group_free(&all);
    all_work(world);
}

/* The same with two groups, of which one has a rank that is full. */
static void calls_of_two_groups(MPI_Comm inter, MPI_Comm local)
{
    MPI_Comm none, late;
    MPI_Request request;
    FAILS(MPI_Comm_dup(inter, &none));
    FAILS(MPI_Comm_split(inter, 0, 0, &none));
    FAILS(MPI_Intercomm_merge(inter, 0, &none));
    FAILS(MPI_Intercomm_create(local, 0, world, rank < size / 2 ? size / 2 : 0, 9, &none));
    CHECK(MPI_Comm_idup(inter, &late, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_ERR_NO_MEM);
    CHECK(MPI_Barrier(inter) == MPI_SUCCESS);
    all_work(world);
}

static void with_full(int full)
{
    MPI_Comm local, inter = MPI_COMM_NULL, comm;
    MPI_Request request;
    int count = 0, code;
    MPI_Comm_split(world, rank < size / 2, 0, &local);
    if (size > 1)
        MPI_Intercomm_create(local, 0, world, rank < size / 2 ? size / 2 : 0, 8, &inter);
    if (rank == full) {
        while (count < MOST && (code = MPI_Comm_dup(MPI_COMM_SELF, &made[count])) == MPI_SUCCESS)
            ++count;
        CHECK(count < MOST && code == MPI_ERR_NO_MEM && made[count] == MPI_COMM_NULL);
    }
    calls_of_all();
    if (size > 1)
        calls_of_two_groups(inter, local);
    for (int i = 0; i < count; ++i)
        CHECK(MPI_Comm_free(&made[i]) == MPI_SUCCESS);
    CHECK(MPI_Comm_idup(world, &comm, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    all_work(comm);
    MPI_Comm_free(&comm);
    if (size > 1) {
        CHECK(MPI_Comm_dup(inter, &comm) == MPI_SUCCESS);
        CHECK(MPI_Barrier(comm) == MPI_SUCCESS);
        MPI_Comm_free(&comm);
        MPI_Comm_free(&inter);
    }
    MPI_Comm_free(&local);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    with_full(0);
    if (size > 1)
        with_full(size - 1);
    return finish(rank);
}
