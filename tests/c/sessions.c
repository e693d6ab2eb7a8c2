/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 3 4
 * Sessions: before MPI_Init, several at once, beside the World Model, after each other; process sets; errors.
 */
#include "check.h"

/* A communicator of a session's process set. */
static MPI_Comm join(MPI_Session session, const char *set, const char *tag)
{
    MPI_Group group;
    MPI_Comm comm;
    CHECK(MPI_Group_from_session_pset(session, set, &group) == MPI_SUCCESS);
    CHECK(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm) == MPI_SUCCESS);
    CHECK(MPI_Group_free(&group) == MPI_SUCCESS);
    return comm;
}

static void use(MPI_Comm comm)
{
    int rank, size, sum = -1;
    CHECK(MPI_Comm_rank(comm, &rank) == MPI_SUCCESS && MPI_Comm_size(comm, &size) == MPI_SUCCESS);
    for (int i = 0; i < 5; i++) {
        int mine = rank + i;
        CHECK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
        CHECK(sum == size * (size - 1) / 2 + i * size);
    }
    int next = (rank + 1) % size, previous = (rank + size - 1) % size, got = -1;
    CHECK(MPI_Sendrecv(&rank, 1, MPI_INT, next, 1, &got, 1, MPI_INT, previous, 1, comm, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(got == previous);
}

static void sets(MPI_Session session)
{
    int count, class;
    CHECK(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &count) == MPI_SUCCESS && count == 2);
    for (int n = 0; n < count; n++) {
        char name[MPI_MAX_PSET_NAME_LEN], small[6] = "xxxxx", value[16];
        int length = 0, flag;
        MPI_Info info;
        CHECK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &length, NULL) == MPI_SUCCESS);
        int needed = length;
        CHECK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &length, name) == MPI_SUCCESS);
        CHECK((int)strlen(name) + 1 == needed && strcmp(name, n ? "mpi://SELF" : "mpi://WORLD") == 0);
        length = 4;
        CHECK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &length, small) == MPI_SUCCESS);
        CHECK(strcmp(small, "mpi") == 0 && small[4] == 'x' && length == needed);
        CHECK(MPI_Session_get_pset_info(session, name, &info) == MPI_SUCCESS);
        length = sizeof value;
        CHECK(MPI_Info_get_string(info, "mpi_size", &length, value, &flag) == MPI_SUCCESS && flag);
        CHECK(atoi(value) >= 1);
        MPI_Info_free(&info);
    }
    int length = 0;
    MPI_Error_class(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 7, &length, NULL), &class);
    CHECK(class == MPI_ERR_ARG);
    MPI_Group group;
    MPI_Error_class(MPI_Group_from_session_pset(session, "mpi://nobody", &group), &class);
    CHECK(class == MPI_ERR_ARG);
}

static int handled;

static void handler(MPI_Session *session, int *code, ...)
{
    handled += *session != MPI_SESSION_NULL && *code == MPI_ERR_OTHER;
}

int main(int count, char **words)
{
    MPI_Session one, other;
    MPI_Errhandler mine, found;
    MPI_Info info;
    int flag, number;
    CHECK(MPI_Info_create_env(count, words, &info) == MPI_SUCCESS);
    CHECK(MPI_Info_set(info, "thread_level", "MPI_THREAD_MULTIPLE") == MPI_SUCCESS);
    CHECK(MPI_Session_init(info, MPI_ERRORS_RETURN, &one) == MPI_SUCCESS);
    CHECK(MPI_Info_free(&info) == MPI_SUCCESS);
    CHECK(MPI_Initialized(&flag) == MPI_SUCCESS && !flag);
    sets(one);
    MPI_Comm comm = join(one, "mpi://WORLD", "first");
    use(comm);

    CHECK(MPI_Session_create_errhandler(handler, &mine) == MPI_SUCCESS);
    CHECK(MPI_Session_init(MPI_INFO_NULL, mine, &other) == MPI_SUCCESS);
    CHECK(MPI_Session_get_errhandler(other, &found) == MPI_SUCCESS && found == mine);
    MPI_Session_call_errhandler(other, MPI_ERR_OTHER);
    CHECK(handled == 1);
    CHECK(MPI_Session_get_info(other, &info) == MPI_SUCCESS && MPI_Info_get_nkeys(info, &number) == MPI_SUCCESS && number > 0);
    MPI_Info_free(&info);
    CHECK(MPI_Session_fromint(MPI_Session_toint(other)) == other);
    MPI_Comm second = join(other, "mpi://WORLD", "second");
    use(second);
    MPI_Comm alone = join(other, "mpi://SELF", "alone");
    use(alone);
    CHECK(MPI_Comm_free(&alone) == MPI_SUCCESS && MPI_Comm_free(&second) == MPI_SUCCESS);

    CHECK(MPI_Init(NULL, NULL) == MPI_SUCCESS);
    use(MPI_COMM_WORLD);
    MPI_Comm_rank(MPI_COMM_WORLD, &number);
    int mine_is_first = number == 0;
    CHECK(MPI_Session_finalize(&other) == MPI_SUCCESS && other == MPI_SESSION_NULL);
    use(comm);
    use(MPI_COMM_WORLD);
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    CHECK(MPI_Finalized(&flag) == MPI_SUCCESS && flag);
    use(comm);
    CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS);
    CHECK(MPI_Session_finalize(&one) == MPI_SUCCESS);

    for (int i = 0; i < 3; i++) {
        CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &one) == MPI_SUCCESS);
        comm = join(one, "mpi://WORLD", "again");
        use(comm);
        CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS);
        CHECK(MPI_Session_finalize(&one) == MPI_SUCCESS);
    }
    if (mine_is_first)
        printf("PASS\n");
    return 0;
}
