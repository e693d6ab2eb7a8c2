/* SPDX-License-Identifier: MIT OR Apache-2.0
 * The error handler that a program is started with, in a program without MPI_Init: of errors that belong to no object, before, during
 * and after its sessions, and of calls outside MPI (MPI-5.0, section 9.3).
 *
 * RANKS: 1 2
 * NEEDS: checked arguments
 * ENV: RANKPOINT_INITIAL_ERRHANDLER=2
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* MPI_Abort would start nothing here: the program has no MPI_COMM_WORLD. */
#define CHECK(condition)                                                     \
    do {                                                                     \
        if (!(condition)) {                                                  \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);  \
            exit(1);                                                         \
        }                                                                    \
    } while (0)

/* Errors of calls that may be made at any time. */
static void belongs_to_none(void)
{
    MPI_Info info = (MPI_Info)0x143;
    MPI_Session session;
    CHECK(MPI_Info_free(&info) == MPI_ERR_INFO);
    CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRHANDLER_NULL, &session) == MPI_ERR_ERRHANDLER);
}

/* A call that communicates, outside MPI. */
static void is_refused(const char *why)
{
    char text[MPI_MAX_ERROR_STRING];
    int code = MPI_Barrier(MPI_COMM_WORLD), length;
    CHECK(code == MPI_ERR_OTHER);
    MPI_Error_string(code, text, &length);
    CHECK(strstr(text, why));
}

int main(void)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Datatype type;
    int rank;
    belongs_to_none();
    is_refused("MPI_Barrier: called before MPI_Init");
    CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session) == MPI_SUCCESS);
    belongs_to_none();
    CHECK(MPI_Type_contiguous(-1, MPI_INT, &type) == MPI_ERR_COUNT);
    CHECK(MPI_Group_size(MPI_GROUP_NULL, &rank) == MPI_ERR_GROUP);
    CHECK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group) == MPI_SUCCESS);
    CHECK(MPI_Group_rank(group, &rank) == MPI_SUCCESS && MPI_Group_free(&group) == MPI_SUCCESS);
    CHECK(MPI_Session_finalize(&session) == MPI_SUCCESS);
    belongs_to_none();
    is_refused("MPI_Barrier: called after the last session was finalized");
    if (rank == 0)
        printf("PASS\n");
    return 0;
}
