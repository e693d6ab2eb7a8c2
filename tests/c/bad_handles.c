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
    return finish(rank);
}
