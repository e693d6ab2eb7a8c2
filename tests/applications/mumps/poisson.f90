! SPDX-License-Identifier: MIT OR Apache-2.0
! Solves the equation of Poisson on a cube by MUMPS: a matrix whose rows are spread over the ranks, general, positive definite and
! symmetric. The right-hand side belongs to a solution that is known.
program poisson
  use mpi
  implicit none
  include 'dmumps_struc.h'
  integer, parameter :: side = 16, unknowns = side ** 3
  type(dmumps_struc) :: problem
  integer :: rank, ranks, ierror, symmetry, i, count, wrong
  double precision :: furthest
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  wrong = 0
  do symmetry = 0, 2
    problem%comm = MPI_COMM_WORLD
    problem%par = 1
    problem%sym = symmetry
    call run(-1)
    ! No texts, no ScaLAPACK at the root of the tree, entries on all ranks.
    problem%icntl(1:4) = 0
    problem%icntl(13) = 1
    problem%icntl(18) = 3
    problem%n = unknowns
    allocate (problem%irn_loc(7 * unknowns), problem%jcn_loc(7 * unknowns), problem%a_loc(7 * unknowns))
    count = 0
    do i = 1 + rank, unknowns, ranks
      call add_row(i)
    end do
    problem%nnz_loc = count
    if (rank == 0) then
      allocate (problem%rhs(unknowns))
      do i = 1, unknowns
        problem%rhs(i) = product_of_row(i)
      end do
    end if
    call run(6)
    furthest = 0
    if (rank == 0) then
      furthest = maxval(abs(problem%rhs - [(solution(i), i = 1, unknowns)]))
      deallocate (problem%rhs)
    end if
    if (problem%infog(1) /= 0 .or. furthest > 1d-9) wrong = wrong + 1
    deallocate (problem%irn_loc, problem%jcn_loc, problem%a_loc)
    call run(-2)
  end do
  call MPI_Allreduce(MPI_IN_PLACE, wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  if (rank == 0 .and. wrong == 0) print '(a)', 'PASS'
  call MPI_Finalize(ierror)
contains
  subroutine run(job)
    integer, intent(in) :: job
    problem%job = job
    call dmumps(problem)
  end subroutine

  double precision function solution(i)
    integer, intent(in) :: i
    solution = 1 + mod(i, 7)
  end function

  ! The neighbours of a point, 0 outside the cube.
  function neighbours(i) result(all)
    integer, intent(in) :: i
    integer :: all(6), x, y, z
    x = mod(i - 1, side)
    y = mod((i - 1) / side, side)
    z = (i - 1) / side ** 2
    all = [i - 1, i + 1, i - side, i + side, i - side ** 2, i + side ** 2]
    where ([x == 0, x == side - 1, y == 0, y == side - 1, z == 0, z == side - 1]) all = 0
  end function

  double precision function product_of_row(i)
    integer, intent(in) :: i
    integer :: near(6), j
    near = neighbours(i)
    product_of_row = 6 * solution(i)
    do j = 1, 6
      if (near(j) > 0) product_of_row = product_of_row - solution(near(j))
    end do
  end function

  ! All entries of a row, of a symmetric matrix those up to the diagonal.
  subroutine add_row(i)
    integer, intent(in) :: i
    integer :: near(6), j
    call add(i, i, 6d0)
    near = neighbours(i)
    do j = 1, 6
      if (near(j) > 0 .and. (symmetry == 0 .or. near(j) < i)) call add(i, near(j), -1d0)
    end do
  end subroutine

  subroutine add(row, column, value)
    integer, intent(in) :: row, column
    double precision, intent(in) :: value
    count = count + 1
    problem%irn_loc(count) = row
    problem%jcn_loc(count) = column
    problem%a_loc(count) = value
  end subroutine
end program
