! SPDX-License-Identifier: MIT OR Apache-2.0
! RANKS: 1,2 -fdefault-real-8
! REALs of 8 bytes by an option of the compiler, and DOUBLE PRECISION of 16, in all faces.
subroutine expect(condition, number, failed)
  implicit none
  logical, intent(in) :: condition
  integer, intent(in) :: number
  integer, intent(inout) :: failed
  if (condition) return
  failed = failed + 1
  print '(a, i0)', 'check ', number
end subroutine

subroutine modern(ranks, failed)
  use mpi_f08
  implicit none
  integer, intent(in) :: ranks
  integer, intent(inout) :: failed
  real :: x(3), pairs(2, 2)
  real(4) :: small(2)
  real, asynchronous :: table(2, 3)
  complex :: z(2)
  double precision :: d(2), e(2)
  integer :: bytes
  type(MPI_Request) :: request
  x = [1.25, 2.5, 1 / 3.0]
  call MPI_Allreduce(MPI_IN_PLACE, x, 3, MPI_REAL, MPI_SUM, MPI_COMM_WORLD)
  call expect(all(abs(x - ranks * [1.25, 2.5, 1 / 3.0]) < 1e-12), 1, failed)
  z = (1.0, 2.0)
  call MPI_Allreduce(MPI_IN_PLACE, z, 2, MPI_COMPLEX, MPI_SUM, MPI_COMM_WORLD)
  call expect(all(z == ranks * (1.0, 2.0)), 2, failed)
  pairs = reshape([1.0, 2.0, 3.0, 4.0], [2, 2])
  call MPI_Allreduce(MPI_IN_PLACE, pairs, 2, MPI_2REAL, MPI_MAXLOC, MPI_COMM_WORLD)
  call expect(all(pairs(1, :) == [1.0, 3.0]), 3, failed)
  small = 1.5_4
  call MPI_Allreduce(MPI_IN_PLACE, small, 2, MPI_REAL4, MPI_SUM, MPI_COMM_WORLD)
  call expect(all(small == 1.5_4 * ranks), 4, failed)
  d = 1.5d0
  e = 0
  call MPI_Sendrecv(d, 2, MPI_DOUBLE_PRECISION, 0, 1, e, 2, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE)
  call expect(all(d == e), 5, failed)
  call MPI_Type_size(MPI_DOUBLE_PRECISION, bytes)
  call expect(bytes == storage_size(d) / 8, 6, failed)
  call MPI_Type_size(MPI_DOUBLE_COMPLEX, bytes)
  call expect(bytes == 2 * storage_size(d) / 8, 7, failed)
  call MPI_Type_size(MPI_REAL, bytes)
  call expect(bytes == 8 .and. storage_size(x) == 64, 8, failed)
  table = 0
  table(1, :) = x
  call MPI_Irecv(table(2, 3:1:-1), 3, MPI_REAL, 0, 2, MPI_COMM_SELF, request)
  call MPI_Send(table(1, :), 3, MPI_REAL, 0, 2, MPI_COMM_SELF)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call expect(all(table(2, 3:1:-1) == x), 9, failed)
  call expect(MPI_Wtime() > 0 .and. MPI_Wtick() < 1, 10, failed)
end subroutine

subroutine with_mpi(failed)
  use mpi
  implicit none
  integer, intent(inout) :: failed
  real :: x(2)
  integer :: ierror, bytes
  x = 0.1
  call MPI_Allreduce(MPI_IN_PLACE, x, 2, MPI_REAL, MPI_MAX, MPI_COMM_WORLD, ierror)
  call expect(all(x == 0.1), 20, failed)
  call MPI_Type_size(MPI_2REAL, bytes, ierror)
  call expect(bytes == 16, 21, failed)
end subroutine

subroutine with_header(failed)
  implicit none
  include 'mpif.h'
  integer failed, ierror, bytes
  real x(2)
  x = 0.1
  call MPI_ALLREDUCE(MPI_IN_PLACE, x, 2, MPI_REAL, MPI_MIN, MPI_COMM_WORLD, ierror)
  call expect(all(x == 0.1), 30, failed)
  call MPI_TYPE_SIZE(MPI_COMPLEX, bytes, ierror)
  call expect(bytes == 16 .and. MPI_WTIME() > 0, 31, failed)
end subroutine

program reals
  use mpi_f08
  implicit none
  integer :: failed = 0, rank, ranks
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call modern(ranks, failed)
  call with_mpi(failed)
  call with_header(failed)
  call MPI_Allreduce(MPI_IN_PLACE, failed, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0 .and. failed == 0) print '(a)', 'PASS'
  call MPI_Finalize()
end program
