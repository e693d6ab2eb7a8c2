! SPDX-License-Identifier: MIT OR Apache-2.0
! RANKS: 2
! One program with a part for each face: what one has made, the others use.
subroutine with_header(comm, sum)
  implicit none
  include 'mpif.h'
  integer :: comm, sum, ierror, status(MPI_STATUS_SIZE), rank, ranks, request(1)
  call MPI_Comm_rank(comm, rank, ierror)
  call MPI_Comm_size(comm, ranks, ierror)
  call MPI_Irecv(sum, 1, MPI_INTEGER, MPI_ANY_SOURCE, 7, comm, request, ierror)
  call MPI_Send(rank, 1, MPI_INTEGER, mod(rank + 1, ranks), 7, comm, ierror)
  call MPI_Wait(request, status, ierror)
  if (status(MPI_SOURCE) /= sum .or. status(MPI_TAG) /= 7) call MPI_Abort(comm, 2, ierror)
  call MPI_Allreduce(MPI_IN_PLACE, sum, 1, MPI_INTEGER, MPI_SUM, comm, ierror)
end subroutine

subroutine with_module(comm, sum)
  use mpi
  implicit none
  integer :: comm, sum, ierror, rank, other
  integer(MPI_ADDRESS_KIND) :: value
  logical :: is_set
  call MPI_Comm_get_attr(comm, MPI_TAG_UB, value, is_set, ierror)
  if (.not. is_set .or. value < 32767) call MPI_Abort(comm, 3, ierror)
  call MPI_Comm_rank(comm, rank, ierror)
  call MPI_Sendrecv_replace(rank, 1, MPI_INTEGER, 1 - rank, 8, 1 - rank, 8, comm, MPI_STATUS_IGNORE, ierror)
  other = rank
  call MPI_Allreduce(MPI_IN_PLACE, other, 1, MPI_INTEGER, MPI_SUM, comm, ierror)
  if (other /= sum) call MPI_Abort(comm, 4, ierror)
end subroutine

program faces
  use mpi_f08
  implicit none
  type(MPI_Comm) :: comm
  type(MPI_Status) :: status
  type(MPI_Request) :: requests(2)
  integer :: sum, rank, i
  integer :: table(10, 4), part(3, 4), line(5)
  integer(MPI_COUNT_KIND) :: count = 2
  call MPI_Init()
  call MPI_Comm_dup(MPI_COMM_WORLD, comm)
  call MPI_Comm_rank(comm, rank)
  call with_header(comm%MPI_VAL, sum)
  call with_module(comm%MPI_VAL, sum)
  if (comm == MPI_COMM_WORLD .or. .not. (comm /= MPI_COMM_NULL)) call MPI_Abort(comm, 5)

  ! Sections, in calls that are complete when they return.
  table = reshape([(i + 100 * rank, i = 1, 40)], [10, 4])
  part = -1
  call MPI_Sendrecv(table(2:9:3, :), 12, MPI_INTEGER, 1 - rank, 9, part(3:1:-1, :), 12, MPI_INTEGER, 1 - rank, 9, comm, status)
  if (any(part(3:1:-1, :) /= table(2:9:3, :) + 100 * (1 - 2 * rank))) call MPI_Abort(comm, 6)
  if (status%MPI_SOURCE /= 1 - rank) call MPI_Abort(comm, 7)

  ! A count of MPI_COUNT_KIND, and sections in nonblocking calls: all of one, and 7 elements of a part of one backwards.
  call MPI_Irecv(line, count, MPI_INTEGER, 1 - rank, 10, comm, requests(1))
  call MPI_Isend(table(5, 1), 2, MPI_INTEGER, 1 - rank, 10, comm, requests(2))
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
  if (any(line(1:2) /= [5, 6] + 100 * (1 - rank)) .or. requests(1) /= MPI_REQUEST_NULL) call MPI_Abort(comm, 8)
  part = -1
  call MPI_Irecv(part(3:1:-2, :), 28, MPI_BYTE, 1 - rank, 11, comm, requests(1))
  call MPI_Isend(table(9:1:-4, 1:4:3), 6, MPI_INTEGER, 1 - rank, 11, comm, requests(2))
  call MPI_Wait(requests(2), MPI_STATUS_IGNORE)
  call MPI_Wait(requests(1), status)
  call MPI_Get_count(status, MPI_INTEGER, i)
  if (i /= 6) call MPI_Abort(comm, 9)
  if (any(part(1, :) /= [5, 39, 31, -1] + 100 * (1 - rank) * [1, 1, 1, 0])) call MPI_Abort(comm, 10)
  if (any(part(2, :) /= -1) .or. any(part(3, 1:3) /= [9, 1, 35] + 100 * (1 - rank))) call MPI_Abort(comm, 11)

  call MPI_Comm_free(comm)
  if (rank == 0) print '(a)', 'PASS'
  call MPI_Finalize()
end program
