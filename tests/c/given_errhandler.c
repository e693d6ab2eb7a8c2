/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2
 * NEEDS: checked arguments
 * MPI_Comm_create_from_group and MPI_Intercomm_create_from_groups raise their errors on the handler that they are given, whatever other
 * handlers do (MPI-5.0, sections 7.4.2 and 7.6.2). Without MPI_Init: then all others are fatal. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int calls, last;

static void note(MPI_Comm *comm, int *code, ...)
{
    if (*comm == MPI_COMM_NULL)
        ++calls;
    last = *code;
}

static int wrong(const char *what, int code, int class, const char *words)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length, found = -1;
    MPI_Error_class(code, &found);
    MPI_Error_string(code, text, &length);
    if (calls == 1 && last == code && found == class && strstr(text, words)) {
        calls = 0;
        return 0;
    }
    printf("%s: the handler was called %d times, class %d, '%s'\n", what, calls, found, text);
    return 1;
}

int main(void)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Errhandler handler;
    MPI_Comm comm;
    char far[MPI_MAX_STRINGTAG_LEN + 10];
    int failures = 0, rank;
    memset(far, 'x', sizeof far - 1);
    far[sizeof far - 1] = 0;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Comm_create_errhandler(note, &handler);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);

#define MAKE(group, tag, info, comm) MPI_Comm_create_from_group(group, tag, info, handler, comm)
    failures += wrong("null newcomm", MAKE(group, "a", MPI_INFO_NULL, NULL), MPI_ERR_ARG, "'newcomm' is null");
    failures += wrong("null group", MAKE(MPI_GROUP_NULL, "a", MPI_INFO_NULL, &comm), MPI_ERR_GROUP, "'group' is MPI_GROUP_NULL");
    failures += wrong("null tag", MAKE(group, NULL, MPI_INFO_NULL, &comm), MPI_ERR_ARG, "'stringtag' is null");
    failures += wrong("long tag", MAKE(group, far, MPI_INFO_NULL, &comm), MPI_ERR_ARG, "'stringtag' is ");
    failures += wrong("no info", MAKE(group, "a", (MPI_Info)(size_t)77, &comm), MPI_ERR_INFO, "'info' is ");

#define JOIN(local, leader, remote, tag, comm) \
    MPI_Intercomm_create_from_groups(local, leader, remote, 0, tag, MPI_INFO_NULL, handler, comm)
    failures += wrong("null newintercomm", JOIN(group, 0, group, "a", NULL), MPI_ERR_ARG, "'newintercomm' is null");
    failures += wrong("null local group", JOIN(MPI_GROUP_NULL, 0, group, "a", &comm), MPI_ERR_GROUP, "'local_group' is ");
    failures += wrong("null remote group", JOIN(group, 0, MPI_GROUP_NULL, "a", &comm), MPI_ERR_GROUP, "'remote_group' is ");
    failures += wrong("null tag of both", JOIN(group, 0, group, NULL, &comm), MPI_ERR_ARG, "'stringtag' is null");
    failures += wrong("wrong leader", JOIN(group, 77, group, "a", &comm), MPI_ERR_RANK, "'local_leader' is 77");

    /* The communicator that succeeds has the handler, too. */
    MPI_Comm_create_from_group(group, "good", MPI_INFO_NULL, handler, &comm);
    MPI_Comm_rank(comm, &rank);
    int code = MPI_Send(NULL, 1, MPI_INT, 999, 0, comm);
    if (calls != 0 || last != code || code == MPI_SUCCESS)
        failures += printf("the communicator's handler got %d of %d\n", last, code);
    MPI_Barrier(comm);
    if (rank == 0 && failures == 0)
        printf("PASS\n");
    MPI_Comm_free(&comm);
    MPI_Errhandler_free(&handler);
    MPI_Group_free(&group);
    MPI_Session_finalize(&session);
    return failures != 0;
}
