/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1
 * NEEDS: checked arguments
 * Integers of handles (MPI-5.0, section 20.3.4): that of a live object leads back to it. One that names no object of the kind
 * leads to 0, which every call refuses, never to a null handle or to a handle of another kind. */
#include "check.h"

#include <stdint.h>

/* Integers that no handle has: freed below, invented, negative, 0, and a value of the ABI that is not assigned. */
static const int NONE[] = {77777777, 5000, -5, -2147483647 - 1, 2147483647, 0, 0x3ff};

/* Predefined handles, one of each kind and each null handle. */
static const intptr_t PREDEFINED[] = {
    (intptr_t)MPI_SUM, (intptr_t)MPI_OP_NULL, (intptr_t)MPI_COMM_SELF, (intptr_t)MPI_COMM_NULL, (intptr_t)MPI_GROUP_EMPTY,
    (intptr_t)MPI_GROUP_NULL, (intptr_t)MPI_WIN_NULL, (intptr_t)MPI_FILE_NULL, (intptr_t)MPI_SESSION_NULL,
    (intptr_t)MPI_MESSAGE_NO_PROC, (intptr_t)MPI_MESSAGE_NULL, (intptr_t)MPI_INFO_ENV, (intptr_t)MPI_INFO_NULL,
    (intptr_t)MPI_ERRORS_RETURN, (intptr_t)MPI_ERRHANDLER_NULL, (intptr_t)MPI_REQUEST_NULL, (intptr_t)MPI_INT,
    (intptr_t)MPI_DATATYPE_NULL,
};

/* Those of the kind keep their integers, all others are no handles: as many as `own` of all of them lead to a handle. */
#define ONLY(kind, own)                                                          \
    do {                                                                         \
        int found = 0;                                                           \
        for (size_t i = 0; i < sizeof PREDEFINED / sizeof PREDEFINED[0]; ++i) {  \
            int number = (int)PREDEFINED[i];                                     \
            intptr_t handle = (intptr_t)MPI_##kind##_fromint(number);            \
            CHECK(handle == 0 || handle == PREDEFINED[i]);                       \
            found += handle != 0;                                                \
        }                                                                        \
        CHECK(found == (own));                                                   \
    } while (0)

/* All kinds. */
static void predefined(void)
{
    ONLY(Op, 2);
    ONLY(Comm, 2);
    ONLY(Group, 2);
    ONLY(Win, 1);
    ONLY(File, 1);
    ONLY(Session, 1);
    ONLY(Message, 2);
    ONLY(Info, 2);
    ONLY(Errhandler, 2);
    ONLY(Request, 1);
    ONLY(Type, 2);
}

static void expect(int code, int class, int number, int line)
{
    int found = -1;
    MPI_Error_class(code, &found);
    if (found != class)
        fprintf(stderr, "line %d: integer %d: class %d, not %d\n", line, number, found, class);
    CHECK(found == class);
}

/* `made` is a live handle, and `call` a call of `handle` that has to fail once `release` has freed it. */
#define TRY(kind, type, made, release, class, call)                         \
    do {                                                                    \
        type handle = made;                                                 \
        int number = MPI_##kind##_toint(handle);                            \
        CHECK(MPI_##kind##_fromint(number) == handle);                      \
        release;                                                            \
        for (int i = -1; i < (int)(sizeof NONE / sizeof NONE[0]); ++i) {    \
            int wrong = i < 0 ? number : NONE[i];                           \
            handle = MPI_##kind##_fromint(wrong);                           \
            CHECK(handle == (type)0);                                       \
            expect(call, class, wrong, __LINE__);                           \
        }                                                                   \
    } while (0)

static MPI_Comm made_comm(void)
{
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    return comm;
}

static MPI_Group made_group(void)
{
    MPI_Group group;
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    return group;
}

static MPI_Datatype made_type(void)
{
    MPI_Datatype type;
    MPI_Type_contiguous(3, MPI_INT, &type);
    return type;
}

static void add(void *in, void *out, int *count, MPI_Datatype *type)
{
    (void)in, (void)out, (void)count, (void)type;
}

static MPI_Op made_op(void)
{
    MPI_Op op;
    MPI_Op_create(add, 1, &op);
    return op;
}

static MPI_Info made_info(void)
{
    MPI_Info info;
    MPI_Info_create(&info);
    return info;
}

static void note(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
}

static MPI_Errhandler made_errhandler(void)
{
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(note, &handler);
    return handler;
}

static MPI_Session made_session(void)
{
    MPI_Session session;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    return session;
}

static MPI_Win made_window(void)
{
    static int memory[4];
    MPI_Win win;
    MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    return win;
}

static MPI_Request made_request(void)
{
    static int value;
    MPI_Request request;
    MPI_Irecv(&value, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, &request);
    return request;
}

static void complete(MPI_Request *request)
{
    int value = 7;
    MPI_Send(&value, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
    CHECK(MPI_Wait(request, MPI_STATUS_IGNORE) == MPI_SUCCESS && *request == MPI_REQUEST_NULL);
}

static MPI_Message made_message(void)
{
    int value = 9;
    MPI_Message message;
    MPI_Send(&value, 1, MPI_INT, 0, 4, MPI_COMM_WORLD);
    MPI_Mprobe(0, 4, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    return message;
}

int main(int argc, char **argv)
{
    int value, flag, rank;
    predefined();
    MPI_Init(&argc, &argv);
    predefined();
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);

    TRY(Comm, MPI_Comm, made_comm(), MPI_Comm_free(&handle), MPI_ERR_COMM, MPI_Barrier(handle));
    TRY(Group, MPI_Group, made_group(), MPI_Group_free(&handle), MPI_ERR_GROUP, MPI_Group_size(handle, &number));
    TRY(Type, MPI_Datatype, made_type(), MPI_Type_free(&handle), MPI_ERR_TYPE, MPI_Type_size(handle, &number));
    TRY(Op, MPI_Op, made_op(), MPI_Op_free(&handle), MPI_ERR_OP, MPI_Op_commutative(handle, &number));
    TRY(Info, MPI_Info, made_info(), MPI_Info_free(&handle), MPI_ERR_INFO, MPI_Info_get_nkeys(handle, &number));
    TRY(Errhandler, MPI_Errhandler, made_errhandler(), MPI_Errhandler_free(&handle), MPI_ERR_ERRHANDLER,
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, handle));
    TRY(Session, MPI_Session, made_session(), MPI_Session_finalize(&handle), MPI_ERR_SESSION,
        MPI_Session_get_num_psets(handle, MPI_INFO_NULL, &number));
    TRY(Win, MPI_Win, made_window(), MPI_Win_free(&handle), MPI_ERR_WIN, MPI_Win_fence(0, handle));
    TRY(Request, MPI_Request, made_request(), complete(&handle), MPI_ERR_REQUEST, MPI_Wait(&handle, MPI_STATUS_IGNORE));
    TRY(Request, MPI_Request, made_request(), complete(&handle), MPI_ERR_REQUEST, MPI_Test(&handle, &flag, MPI_STATUS_IGNORE));
    TRY(Request, MPI_Request, made_request(), complete(&handle), MPI_ERR_REQUEST, MPI_Request_free(&handle));
    TRY(Message, MPI_Message, made_message(), MPI_Mrecv(&value, 1, MPI_INT, &handle, MPI_STATUS_IGNORE), MPI_ERR_REQUEST,
        MPI_Mrecv(&value, 1, MPI_INT, &handle, MPI_STATUS_IGNORE));

    /* The first index of a request: it is that of all sends that were complete when they returned, once the program asks for it. */
    MPI_Request request = MPI_Request_fromint(4096);
    expect(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), MPI_ERR_REQUEST, 4096, __LINE__);
    MPI_Isend(&rank, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, &request);
    MPI_Request same = MPI_Request_fromint(MPI_Request_toint(request));
    CHECK(same == request && MPI_Wait(&same, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    /* A message that waits for its receive has an index, too, and is neither a request nor, before a probe, a message of the program. */
    for (int index = 4097; index < 4200; ++index) {
        CHECK(MPI_Request_fromint(index) == (MPI_Request)0);
        CHECK(MPI_Message_fromint(index) == (MPI_Message)0);
    }
    MPI_Message message;
    MPI_Mprobe(0, 5, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    value = MPI_Message_toint(message);
    CHECK(MPI_Message_fromint(value) == message);
    request = MPI_Request_fromint(value);
    expect(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), MPI_ERR_REQUEST, value, __LINE__);
    CHECK(MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE) == MPI_SUCCESS && value == rank);

    /* No file is open, so all integers but one are invalid. */
    CHECK(MPI_File_fromint(MPI_File_toint(MPI_FILE_NULL)) == MPI_FILE_NULL);
    CHECK(MPI_File_fromint(77777777) == (MPI_File)0 && MPI_File_fromint(-5) == (MPI_File)0);

    /* Handles of one kind are none of another, and null handles keep their integers. */
    expect(MPI_Barrier(MPI_Comm_fromint(MPI_Type_toint(MPI_INT))), MPI_ERR_COMM, 0, __LINE__);
    MPI_Request null = MPI_Request_fromint(MPI_Request_toint(MPI_REQUEST_NULL));
    CHECK(null == MPI_REQUEST_NULL && MPI_Wait(&null, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    return finish(rank);
}
