/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2
 * Sources that turn handles into Fortran's and back by the names of before the ABI compile, and get the same handles. */
#include "check.h"

int main(void)
{
    int rank;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
/* Other headers of the ABI lack the names. */
#ifdef MPI_Comm_c2f
    MPI_Fint number = MPI_Comm_c2f(MPI_COMM_WORLD);
    CHECK(number == MPI_Comm_toint(MPI_COMM_WORLD) && MPI_Comm_f2c(number) == MPI_COMM_WORLD);
    CHECK(MPI_Type_f2c(MPI_Type_c2f(MPI_DOUBLE)) == MPI_DOUBLE);
    CHECK(MPI_Op_f2c(MPI_Op_c2f(MPI_SUM)) == MPI_SUM);
    CHECK(MPI_Errhandler_f2c(MPI_Errhandler_c2f(MPI_ERRORS_RETURN)) == MPI_ERRORS_RETURN);
    CHECK(MPI_File_f2c(MPI_File_c2f(MPI_FILE_NULL)) == MPI_FILE_NULL);
    CHECK(MPI_Win_f2c(MPI_Win_c2f(MPI_WIN_NULL)) == MPI_WIN_NULL);
    CHECK(MPI_Message_f2c(MPI_Message_c2f(MPI_MESSAGE_NO_PROC)) == MPI_MESSAGE_NO_PROC);
    CHECK(MPI_Session_f2c(MPI_Session_c2f(MPI_SESSION_NULL)) == MPI_SESSION_NULL);

    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    CHECK(MPI_Comm_f2c(MPI_Comm_c2f(copy)) == copy);
    MPI_Comm_free(&copy);
    MPI_Datatype pair;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    CHECK(MPI_Type_f2c(MPI_Type_c2f(pair)) == pair);
    MPI_Type_free(&pair);
    MPI_Group group;
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    CHECK(MPI_Group_f2c(MPI_Group_c2f(group)) == group);
    MPI_Group_free(&group);
    MPI_Info info;
    MPI_Info_create(&info);
    CHECK(MPI_Info_f2c(MPI_Info_c2f(info)) == info);
    MPI_Info_free(&info);

    MPI_Request request;
    int sent = 7, received = 0;
    MPI_Irecv(&received, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &request);
    request = MPI_Request_f2c(MPI_Request_c2f(request));
    MPI_Send(&sent, 1, MPI_INT, 0, 3, MPI_COMM_SELF);
    MPI_Status status, again;
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS && received == sent);
    MPI_Fint fortran[MPI_F_STATUS_SIZE];
    int count;
    CHECK(MPI_Status_c2f(&status, fortran) == MPI_SUCCESS && fortran[MPI_F_SOURCE] == 0 && fortran[MPI_F_TAG] == 3);
    CHECK(MPI_Status_f2c(fortran, &again) == MPI_SUCCESS && MPI_Get_count(&again, MPI_INT, &count) == MPI_SUCCESS && count == 1);
#endif
    return finish(rank);
}
