/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2
 * NEEDS: checked arguments
 * What programs find after an error: null handles, a set flag, keys that attributes still use; and how types are called. */
#include "check.h"

static MPI_Comm world = MPI_COMM_WORLD;
static int deleted;

/* Frees its own key once more, as libraries do that free the key with its last attribute. */
static int free_key(MPI_Comm comm, int keyval, void *value, void *state)
{
    (void)comm, (void)value, (void)state;
    ++deleted;
    int code = MPI_Comm_free_keyval(&keyval);
    CHECK(code == MPI_SUCCESS && keyval == MPI_KEYVAL_INVALID);
    return MPI_SUCCESS;
}

static void keys(void)
{
    int key, copy, dead, flag;
    void *found;
    MPI_Comm holder;
    MPI_Comm_dup(MPI_COMM_SELF, &holder);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_key, &key, NULL);
    copy = dead = key;
    MPI_Comm_set_attr(holder, key, &key);
    CHECK(MPI_Comm_free_keyval(&key) == MPI_SUCCESS && key == MPI_KEYVAL_INVALID);
    /* An attribute holds it. */
    CHECK(MPI_Comm_get_attr(holder, copy, &found, &flag) == MPI_SUCCESS && flag && found == &key);
    CHECK(MPI_Comm_get_attr(MPI_COMM_SELF, copy, &found, &flag) == MPI_SUCCESS && !flag);
    CHECK(MPI_Comm_free_keyval(&copy) == MPI_SUCCESS);
    CHECK(MPI_Comm_free(&holder) == MPI_SUCCESS && deleted == 1);
    /* Nothing does any more. */
    CHECK(MPI_Comm_get_attr(MPI_COMM_SELF, dead, &found, &flag) == MPI_ERR_KEYVAL);
    CHECK(MPI_Comm_free_keyval(&dead) == MPI_ERR_KEYVAL);
}

static void null_handles(int size)
{
    int dims[2] = {size, 2}, periods[2] = {0, 0};
    MPI_Comm made = world;
    CHECK(MPI_Cart_create(world, 2, dims, periods, 0, &made) != MPI_SUCCESS && made == MPI_COMM_NULL);
    made = world;
    CHECK(MPI_Comm_split(world, -5, 0, &made) != MPI_SUCCESS && made == MPI_COMM_NULL);
    MPI_Datatype type = MPI_INT;
    CHECK(MPI_Type_contiguous(-1, MPI_INT, &type) != MPI_SUCCESS && type == MPI_DATATYPE_NULL);
    MPI_Group all, group;
    MPI_Comm_group(world, &all);
    group = all;
    CHECK(MPI_Group_incl(all, 1, &size, &group) != MPI_SUCCESS && group == MPI_GROUP_NULL);
    MPI_Request request = (MPI_Request)0x1234;
    CHECK(MPI_Issend(NULL, 1, MPI_INT, size, 0, world, &request) != MPI_SUCCESS);
    CHECK(request == MPI_REQUEST_NULL);
    MPI_Group_free(&all);
}

/* One of two requests fails: both are complete, which the flag says. */
static void failed_request(void)
{
    int small, data[2] = {1, 2}, flag = 0;
    MPI_Request both[2];
    MPI_Status statuses[2];
    MPI_Irecv(&small, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &both[0]);
    MPI_Irecv(data, 2, MPI_INT, 0, 2, MPI_COMM_SELF, &both[1]);
    MPI_Send(data, 2, MPI_INT, 0, 1, MPI_COMM_SELF);
    MPI_Send(data, 1, MPI_INT, 0, 2, MPI_COMM_SELF);
    CHECK(MPI_Testall(2, both, &flag, statuses) == MPI_ERR_IN_STATUS && flag);
    CHECK(statuses[0].MPI_ERROR == MPI_ERR_TRUNCATE && statuses[1].MPI_ERROR == MPI_SUCCESS);
    CHECK(both[0] == MPI_REQUEST_NULL && both[1] == MPI_REQUEST_NULL);
}

static void names(void)
{
    char name[MPI_MAX_OBJECT_NAME];
    int length;
    MPI_Type_get_name(MPI_LONG_LONG, name, &length);
    CHECK(strcmp(name, "MPI_LONG_LONG_INT") == 0 && length == (int)strlen(name));
    MPI_Type_get_name(MPI_C_FLOAT_COMPLEX, name, &length);
    CHECK(strcmp(name, "MPI_C_COMPLEX") == 0);
    MPI_Type_get_name(MPI_C_DOUBLE_COMPLEX, name, &length);
    CHECK(strcmp(name, "MPI_C_DOUBLE_COMPLEX") == 0);
}

/* Null handles are called by their names, and arguments by those that they have in the call. */
static void texts(int size)
{
    char text[MPI_MAX_ERROR_STRING];
    int data[8] = {0}, back[8], ones[8] = {1, 1, 1, 1, 1, 1, 1, 1}, places[8] = {0}, length;
    int wrong[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    MPI_Datatype ints[8], types[8], none;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Message message = MPI_MESSAGE_NULL;
    for (int i = 0; i < 8; ++i)
        ints[i] = types[i] = MPI_INT;
    types[size - 1] = MPI_DATATYPE_NULL;
    wrong[size - 1] = -3;
#define SAYS(call, ...)                                                     \
    do {                                                                    \
        char expected_[128];                                                \
        snprintf(expected_, sizeof expected_, __VA_ARGS__);                 \
        MPI_Error_string((call), text, &length);                            \
        if (!strstr(text, expected_))                                       \
            fprintf(stderr, "'%s' does not say '%s'\n", text, expected_);   \
        CHECK(strstr(text, expected_));                                     \
    } while (0)
    SAYS(MPI_Send(data, 1, MPI_DATATYPE_NULL, 0, 0, world), "'datatype' is MPI_DATATYPE_NULL,");
    SAYS(MPI_Send(data, 1, (MPI_Datatype)MPI_COMM_WORLD, 0, 0, world), "'datatype' is MPI_COMM_WORLD,");
    SAYS(MPI_Barrier(MPI_COMM_NULL), "'comm' is MPI_COMM_NULL,");
    SAYS(MPI_Allreduce(data, back, 1, MPI_INT, MPI_OP_NULL, world), "'op' is MPI_OP_NULL,");
    SAYS(MPI_Group_size(MPI_GROUP_NULL, &length), "'group' is MPI_GROUP_NULL,");
    SAYS(MPI_Info_delete(MPI_INFO_NULL, "a"), "'info' is MPI_INFO_NULL,");
    SAYS(MPI_Comm_set_errhandler(world, MPI_ERRHANDLER_NULL), "'errhandler' is MPI_ERRHANDLER_NULL,");
    SAYS(MPI_Start(&request), "'request' is MPI_REQUEST_NULL, expected a persistent request");
    SAYS(MPI_Mrecv(data, 1, MPI_INT, &message, MPI_STATUS_IGNORE), "'message' is MPI_MESSAGE_NULL,");
    SAYS(MPI_Type_dup(MPI_DATATYPE_NULL, &none), "'oldtype' is MPI_DATATYPE_NULL,");

    SAYS(MPI_Alltoallw(data, ones, places, types, back, ones, places, ints, world),
         "'sendtypes' is MPI_DATATYPE_NULL at index %d", size - 1);
    SAYS(MPI_Ialltoallw(data, ones, places, ints, back, ones, places, types, world, &request),
         "'recvtypes' is MPI_DATATYPE_NULL at index %d", size - 1);
    SAYS(MPI_Alltoallw_init(data, ones, places, ints, back, wrong, places, ints, world, MPI_INFO_NULL, &request),
         "'recvcounts' is -3 at index %d", size - 1);
    SAYS(MPI_Alltoallv(data, wrong, places, MPI_INT, back, ones, places, MPI_INT, world), "'sendcounts' is -3 at index %d", size - 1);
    SAYS(MPI_Alltoallv(data, ones, NULL, MPI_INT, back, ones, places, MPI_INT, world), "'sdispls' is null");
    SAYS(MPI_Alltoallv(data, ones, places, MPI_INT, back, ones, places, MPI_DATATYPE_NULL, world), "'recvtype' is MPI_DATATYPE_NULL,");
    SAYS(MPI_Alltoall(data, 1, MPI_DATATYPE_NULL, back, 1, MPI_INT, world), "'sendtype' is MPI_DATATYPE_NULL,");
    SAYS(MPI_Alltoall(data, 1, MPI_INT, back, -1, MPI_INT, world), "'recvcount' is -1,");
    SAYS(MPI_Allgather(data, 1, MPI_INT, back, 1, MPI_DATATYPE_NULL, world), "'recvtype' is MPI_DATATYPE_NULL,");
    SAYS(MPI_Allgatherv(data, 1, MPI_INT, back, wrong, places, MPI_INT, world), "'recvcounts' is -3 at index %d", size - 1);
    SAYS(MPI_Allgatherv(data, 1, MPI_INT, back, ones, NULL, MPI_INT, world), "'displs' is null");
    SAYS(MPI_Bcast(data, -1, MPI_INT, 0, world), "'count' is -1,");
    SAYS(MPI_Bcast(NULL, 1, MPI_INT, 0, world), "'buffer' is null,");
    SAYS(MPI_Iallreduce(data, NULL, 1, MPI_INT, MPI_SUM, world, &request), "'recvbuf' is null,");
    SAYS(MPI_Exscan(data, back, -1, MPI_INT, MPI_SUM, world), "'count' is -1,");
    SAYS(MPI_Reduce_scatter_block(data, back, -1, MPI_INT, MPI_SUM, world), "'recvcount' is -1,");
    if (size == 1) {
        SAYS(MPI_Gather(data, -1, MPI_INT, back, 1, MPI_INT, 0, world), "'sendcount' is -1,");
        SAYS(MPI_Gatherv(data, 1, MPI_INT, back, ones, NULL, MPI_INT, 0, world), "'displs' is null");
        SAYS(MPI_Scatterv(data, wrong, places, MPI_INT, back, 1, MPI_INT, 0, world), "'sendcounts' is -3 at index 0");
        SAYS(MPI_Scatter(data, 1, MPI_INT, NULL, 1, MPI_INT, 0, world), "'recvbuf' is null,");
    }
}

/* Arrays that only the call knows the length of. */
static void null_arrays(void)
{
    int data[8] = {0}, back[8], ones[2] = {1, 1}, places[2] = {0, 1};
    MPI_Datatype ints[2] = {MPI_INT, MPI_INT};
    CHECK(MPI_Alltoallv(data, NULL, places, MPI_INT, back, ones, places, MPI_INT, world) == MPI_ERR_ARG);
    CHECK(MPI_Alltoallv(data, ones, places, MPI_INT, back, ones, NULL, MPI_INT, world) == MPI_ERR_ARG);
    CHECK(MPI_Alltoallw(data, ones, places, NULL, back, ones, places, ints, world) == MPI_ERR_ARG);
    CHECK(MPI_Allgatherv(data, 1, MPI_INT, back, NULL, places, MPI_INT, world) == MPI_ERR_ARG);
    CHECK(MPI_Reduce_scatter(data, back, NULL, MPI_INT, MPI_SUM, world) == MPI_ERR_ARG);
    CHECK(MPI_Group_range_incl(MPI_GROUP_EMPTY, 1, NULL, NULL) == MPI_ERR_ARG);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    keys();
    null_handles(size);
    failed_request();
    names();
    null_arrays();
    texts(size);
    return finish(rank);
}
