/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2
 * NEEDS: checked arguments
 * Errors of MPI_Session_init, and those of calls on the communicators of the World Model after MPI_Finalize, while a session is open. */
#include "check.h"

static int says(int code, const char *part)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(code, text, &length);
    return strstr(text, part) != NULL;
}

/* The program goes on after an error, which names the communicator. */
static void ended(int code)
{
    if (code != MPI_ERR_COMM || !says(code, "which ended with MPI_Finalize")) {
        fprintf(stderr, "%s: code %d\n", __FILE__, code);
        exit(1);
    }
}

int main(void)
{
    int rank, x = 1, y;
    MPI_Session session, none = MPI_SESSION_NULL;
    MPI_Request request;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    /* That of a wrong handler belongs to no object. */
    int code = MPI_Session_init(MPI_INFO_NULL, MPI_ERRHANDLER_NULL, &none);
    CHECK(code == MPI_ERR_ERRHANDLER && says(code, "'errhandler' is MPI_ERRHANDLER_NULL"));
    code = MPI_Session_init((MPI_Info)0x143, (MPI_Errhandler)0x123, &none);
    CHECK(code == MPI_ERR_ERRHANDLER && says(code, "'errhandler' is"));
    /* That of a wrong info goes to the handler. */
    code = MPI_Session_init((MPI_Info)0x143, MPI_ERRORS_RETURN, &none);
    CHECK(code == MPI_ERR_INFO && says(code, "'info' is"));
    CHECK(none == MPI_SESSION_NULL);

    CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS);
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    ended(MPI_Send(&x, 1, MPI_INT, 0, 0, MPI_COMM_SELF));
    ended(MPI_Isend(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request));
    ended(MPI_Irecv(&y, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request));
    ended(MPI_Barrier(MPI_COMM_WORLD));
    ended(MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF));
    ended(MPI_Comm_rank(MPI_COMM_WORLD, &y));
    if (MPI_Session_finalize(&session) != MPI_SUCCESS)
        return 1;
    if (rank == 0)
        printf("PASS\n");
    return 0;
}
