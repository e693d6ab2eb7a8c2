/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1
 * NEEDS: checked arguments
 * Null pointers that calls refuse themselves, because other arguments decide whether null is right there. */
#include "check.h"

#define REFUSED(argument, call)                                                       \
    do {                                                                              \
        char said_[MPI_MAX_ERROR_STRING];                                             \
        int length_, code_ = (call);                                                  \
        CHECK(code_ != MPI_SUCCESS);                                                  \
        MPI_Error_string(code_, said_, &length_);                                     \
        if (!strstr(said_, "argument '" argument "' is null")) {                      \
            fprintf(stderr, "%s\n", said_);                                           \
            CHECK(!"the text names the argument");                                    \
        }                                                                             \
    } while (0)

int main(int argc, char **argv)
{
    /* The first call of the program. */
    MPI_Session early;
    CHECK(MPI_Session_init((MPI_Info)0x123456789abcUL, MPI_ERRORS_RETURN, &early) == MPI_ERR_INFO);
    MPI_Init(&argc, &argv);
    int flag, length, index;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);

    REFUSED("request", MPI_Cancel(NULL));

    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "key", "value");
    length = 6;
    REFUSED("value", MPI_Info_get_string(info, "key", &length, NULL, &flag));
    REFUSED("value", MPI_Info_get_string(info, "other", &length, NULL, &flag));
    length = 0;
    CHECK(MPI_Info_get_string(info, "key", &length, NULL, &flag) == MPI_SUCCESS && flag && length == 6);
    REFUSED("key", MPI_Info_get_string(info, NULL, &length, NULL, &flag));
    REFUSED("key", MPI_Info_get_valuelen(info, NULL, &length, &flag));
    REFUSED("key", MPI_Info_delete(info, NULL));
    REFUSED("key", MPI_Info_set(info, NULL, "value"));
    REFUSED("value", MPI_Info_set(info, "key", NULL));
    MPI_Info_free(&info);

    char first[] = "program", *words[] = {first, NULL}, *none[] = {NULL};
    CHECK(MPI_Info_create_env(1, words, &info) == MPI_SUCCESS && MPI_Info_free(&info) == MPI_SUCCESS);
    CHECK(MPI_Info_create_env(0, NULL, &info) == MPI_SUCCESS && MPI_Info_free(&info) == MPI_SUCCESS);
    REFUSED("argv", MPI_Info_create_env(1, none, &info));
    CHECK(info == MPI_INFO_NULL);
    REFUSED("argv", MPI_Info_create_env(2, words, &info));

    MPI_Session session;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    length = 4;
    REFUSED("pset_name", MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &length, NULL));
    length = 0;
    CHECK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &length, NULL) == MPI_SUCCESS && length == 12);
    REFUSED("pset_len", MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, NULL, NULL));
    MPI_Session_finalize(&session);

    REFUSED("array_of_requests", MPI_Waitall(1, NULL, MPI_STATUSES_IGNORE));
    REFUSED("array_of_requests", MPI_Request_get_status_any(1, NULL, &index, &flag, MPI_STATUS_IGNORE));

    /* Functions of a generalized request that do nothing, as Open MPI has it. */
    MPI_Request request;
    MPI_Status status;
    CHECK(MPI_Grequest_start(NULL, NULL, NULL, NULL, &request) == MPI_SUCCESS);
    CHECK(MPI_Cancel(&request) == MPI_SUCCESS && MPI_Grequest_complete(request) == MPI_SUCCESS);
    CHECK(MPI_Request_get_status(request, &flag, &status) == MPI_SUCCESS && flag);
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS && request == MPI_REQUEST_NULL);

    /* Info objects that are none. */
    MPI_Info garbage = (MPI_Info)0x123456789abcUL;
    void *memory = NULL;
    CHECK(MPI_Alloc_mem(64, garbage, &memory) == MPI_ERR_INFO);
    CHECK(MPI_Alloc_mem(64, (MPI_Info)MPI_COMM_WORLD, &memory) == MPI_ERR_INFO);
    CHECK(MPI_Session_init(garbage, MPI_ERRORS_RETURN, &session) == MPI_ERR_INFO && session == MPI_SESSION_NULL);
    CHECK(MPI_Session_init((MPI_Info)MPI_COMM_WORLD, MPI_ERRORS_RETURN, &session) == MPI_ERR_INFO);
    return finish(0);
}
