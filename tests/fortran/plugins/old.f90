! SPDX-License-Identifier: MIT OR Apache-2.0
! A plugin with the module mpi, which does the same.
integer(c_int) function old(comm) bind(C)
  use, intrinsic :: iso_c_binding, only: c_int
  use mpi
  implicit none
  integer(c_int), value :: comm
  integer :: rank, total, ierror, request
  call MPI_Comm_rank(comm, rank, ierror)
  total = rank + 1
  call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM, comm, ierror)
  call MPI_Iallreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_MAX, comm, request, ierror)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
  old = total
end function
