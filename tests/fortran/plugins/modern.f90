! SPDX-License-Identifier: MIT OR Apache-2.0
! A plugin with mpi_f08: adds numbers of all ranks, in place and by a section.
integer(c_int) function modern(comm) bind(C)
  use, intrinsic :: iso_c_binding, only: c_int
  use mpi_f08
  implicit none
  integer(c_int), value :: comm
  integer, asynchronous :: table(2, 4)
  integer :: rank
  type(MPI_Comm) :: given
  type(MPI_Request) :: request
  given%MPI_VAL = comm
  call MPI_Comm_rank(given, rank)
  table = rank + 1
  call MPI_Allreduce(MPI_IN_PLACE, table, 8, MPI_INTEGER, MPI_SUM, given)
  call MPI_Iallreduce(MPI_IN_PLACE, table(1, :), 4, MPI_INTEGER, MPI_MAX, given, request)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  modern = table(1, 4)
end function
