/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2
 * The tool information interface has no variables yet. Its calls return codes, before MPI_Init and after MPI_Finalize, too, and call no
 * error handler: before MPI_Init every handler would end the program (MPI-5.0, chapter 15). */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int failures;

static void expect(int code, int expected, int line)
{
    if (code != expected)
        failures += printf("line %d: %d, not %d\n", line, code, expected) > 0;
}
#define GIVES(call, code) expect(call, code, __LINE__)

static int index_, number, length = 64, verbosity, bind, scope;
static char name[64], text[64];
static MPI_Datatype type;
static MPI_T_enum kinds;

static void without_start(void)
{
    GIVES(MPI_T_finalize(), MPI_T_ERR_NOT_INITIALIZED);
    GIVES(MPI_T_cvar_get_num(&number), MPI_T_ERR_NOT_INITIALIZED);
    GIVES(MPI_T_cvar_get_index("eager_limit", &index_), MPI_T_ERR_NOT_INITIALIZED);
    GIVES(MPI_T_category_get_cvars(0, 1, &index_), MPI_T_ERR_NOT_INITIALIZED);
}

static void asks(void)
{
    int provided = -1;
    MPI_T_pvar_session session;
    MPI_T_cvar_handle variable;
    MPI_T_pvar_handle counter;
    GIVES(MPI_T_init_thread(MPI_THREAD_SERIALIZED, &provided), MPI_SUCCESS);
    GIVES(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_SUCCESS);
    GIVES(MPI_T_init_thread(MPI_THREAD_SINGLE, NULL), MPI_T_ERR_INVALID);
    failures += provided < MPI_THREAD_SERIALIZED;
    int (*numbers[])(int *) = {MPI_T_cvar_get_num, MPI_T_pvar_get_num, MPI_T_category_get_num,
                               MPI_T_category_changed, MPI_T_event_get_num, MPI_T_source_get_num};
    for (unsigned i = 0; i < sizeof numbers / sizeof numbers[0]; ++i) {
        number = 77;
        GIVES(numbers[i](&number), MPI_SUCCESS);
        GIVES(numbers[i](NULL), MPI_T_ERR_INVALID);
        failures += number != 0;
    }
    GIVES(MPI_T_cvar_get_index("eager_limit", &index_), MPI_T_ERR_INVALID_NAME);
    GIVES(MPI_T_pvar_get_index("messages", MPI_T_PVAR_CLASS_COUNTER, &index_), MPI_T_ERR_INVALID_NAME);
    GIVES(MPI_T_category_get_index("all", &index_), MPI_T_ERR_INVALID_NAME);
    GIVES(MPI_T_event_get_index("send", &index_), MPI_T_ERR_INVALID_NAME);
    GIVES(MPI_T_cvar_get_info(0, name, &length, &verbosity, &type, &kinds, text, &length, &bind, &scope), MPI_T_ERR_INVALID_INDEX);
    GIVES(MPI_T_category_get_cvars(0, 1, &index_), MPI_T_ERR_INVALID_INDEX);
    GIVES(MPI_T_cvar_handle_alloc(0, NULL, &variable, &number), MPI_T_ERR_INVALID_INDEX);
    variable = MPI_T_CVAR_HANDLE_NULL;
    GIVES(MPI_T_cvar_read(variable, &number), MPI_T_ERR_INVALID_HANDLE);
    GIVES(MPI_T_cvar_handle_free(&variable), MPI_T_ERR_INVALID_HANDLE);
    GIVES(MPI_T_enum_get_info(MPI_T_ENUM_NULL, &number, name, &length), MPI_T_ERR_INVALID_HANDLE);

    GIVES(MPI_T_pvar_session_create(&session), MPI_SUCCESS);
    GIVES(MPI_T_pvar_handle_alloc(session, 0, NULL, &counter, &number), MPI_T_ERR_INVALID_INDEX);
    GIVES(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
    GIVES(MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
    GIVES(MPI_T_pvar_reset(session, MPI_T_PVAR_HANDLE_NULL), MPI_T_ERR_INVALID_HANDLE);
    GIVES(MPI_T_pvar_session_free(&session), MPI_SUCCESS);
    failures += session != MPI_T_PVAR_SESSION_NULL;
    GIVES(MPI_T_pvar_session_free(&session), MPI_T_ERR_INVALID_SESSION);
    GIVES(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES), MPI_T_ERR_INVALID_SESSION);
    GIVES(MPI_T_finalize(), MPI_SUCCESS);
    GIVES(MPI_T_cvar_get_num(&number), MPI_SUCCESS);
    GIVES(MPI_T_finalize(), MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    int rank, class = -1;
    char said[MPI_MAX_ERROR_STRING] = "";
    without_start();
    asks();
    without_start();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    without_start();
    asks();
    GIVES(MPI_Error_class(MPI_T_ERR_INVALID_NAME, &class), MPI_SUCCESS);
    GIVES(MPI_Error_string(MPI_T_ERR_INVALID_NAME, said, &length), MPI_SUCCESS);
    failures += class != MPI_T_ERR_INVALID_NAME || strncmp(said, "MPI_T_ERR_INVALID_NAME", 22) != 0;
    MPI_Finalize();
    asks();
    without_start();
    if (rank == 0 && failures == 0)
        printf("PASS\n");
    return failures != 0;
}
