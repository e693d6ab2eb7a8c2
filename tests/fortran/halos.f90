! SPDX-License-Identifier: MIT OR Apache-2.0
! RANKS: 1,2,4
! Halos of a periodic grid on several levels, as the MG kernel of NAS has them: faces are sections of the grid, sent without copies of the
! program's own. Each level has half the points of the one below. All numbers are integers, so the result is exact.
module levels
  use mpi_f08
  implicit none
  integer, parameter :: prime = 9973
  type(MPI_Comm) :: grid
  integer :: dims(3), coords(3), neighbours(2, 3)
contains
  ! Each face of a grid with one layer of halos, axis after axis, so that edges and corners come along.
  subroutine exchange(u, n)
    integer, intent(in) :: n(3)
    integer, contiguous, asynchronous, intent(inout) :: u(0:, 0:, 0:)
    type(MPI_Request) :: requests(4)
    integer :: area
    area = (n(2) + 2) * (n(3) + 2)
    call MPI_Irecv(u(0, :, :), area, MPI_INTEGER, neighbours(1, 1), 1, grid, requests(1))
    call MPI_Irecv(u(n(1) + 1, :, :), area, MPI_INTEGER, neighbours(2, 1), 2, grid, requests(2))
    call MPI_Isend(u(n(1), :, :), area, MPI_INTEGER, neighbours(2, 1), 1, grid, requests(3))
    call MPI_Isend(u(1, :, :), area, MPI_INTEGER, neighbours(1, 1), 2, grid, requests(4))
    call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE)
    area = (n(1) + 2) * (n(3) + 2)
    call MPI_Irecv(u(:, 0, :), area, MPI_INTEGER, neighbours(1, 2), 3, grid, requests(1))
    call MPI_Irecv(u(:, n(2) + 1, :), area, MPI_INTEGER, neighbours(2, 2), 4, grid, requests(2))
    call MPI_Isend(u(:, n(2), :), area, MPI_INTEGER, neighbours(2, 2), 3, grid, requests(3))
    call MPI_Isend(u(:, 1, :), area, MPI_INTEGER, neighbours(1, 2), 4, grid, requests(4))
    call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE)
    area = (n(1) + 2) * (n(2) + 2)
    call MPI_Sendrecv(u(:, :, n(3)), area, MPI_INTEGER, neighbours(2, 3), 5, &
                      u(:, :, 0), area, MPI_INTEGER, neighbours(1, 3), 5, grid, MPI_STATUS_IGNORE)
    call MPI_Sendrecv(u(:, :, 1), area, MPI_INTEGER, neighbours(1, 3), 6, &
                      u(:, :, n(3) + 1), area, MPI_INTEGER, neighbours(2, 3), 6, grid, MPI_STATUS_IGNORE)
  end subroutine

  ! The sum of all 27 points around each one.
  subroutine smooth(u, n)
    integer, intent(in) :: n(3)
    integer, intent(inout) :: u(0:, 0:, 0:)
    integer :: v(n(1), n(2), n(3)), i, j, k
    do k = 1, n(3)
      do j = 1, n(2)
        do i = 1, n(1)
          v(i, j, k) = mod(sum(u(i - 1:i + 1, j - 1:j + 1, k - 1:k + 1)) + 3 * u(i, j, k), prime)
        end do
      end do
    end do
    u(1:n(1), 1:n(2), 1:n(3)) = v
  end subroutine

  ! Halos of the whole grid, which one process has.
  subroutine wrap(u, n)
    integer, intent(in) :: n(3)
    integer, intent(inout) :: u(0:, 0:, 0:)
    u(0, :, :) = u(n(1), :, :)
    u(n(1) + 1, :, :) = u(1, :, :)
    u(:, 0, :) = u(:, n(2), :)
    u(:, n(2) + 1, :) = u(:, 1, :)
    u(:, :, 0) = u(:, :, n(3))
    u(:, :, n(3) + 1) = u(:, :, 1)
  end subroutine

  ! Points of a level that are wrong.
  integer function level(size) result(wrong)
    integer, intent(in) :: size
    integer :: n(3), whole_n(3), low(3), i, j, k, step
    integer, allocatable :: u(:, :, :), whole(:, :, :)
    whole_n = size
    n = size / dims
    low = coords * n
    allocate (u(0:n(1) + 1, 0:n(2) + 1, 0:n(3) + 1), whole(0:size + 1, 0:size + 1, 0:size + 1))
    u = -1
    do k = 1, size
      do j = 1, size
        do i = 1, size
          whole(i, j, k) = mod(i * j + 17 * k * i + 31 * j, prime)
        end do
      end do
    end do
    u(1:n(1), 1:n(2), 1:n(3)) = whole(low(1) + 1:low(1) + n(1), low(2) + 1:low(2) + n(2), low(3) + 1:low(3) + n(3))
    do step = 1, 4
      call exchange(u, n)
      call smooth(u, n)
      call wrap(whole, whole_n)
      call smooth(whole, whole_n)
    end do
    wrong = count(u(1:n(1), 1:n(2), 1:n(3)) /= &
                  whole(low(1) + 1:low(1) + n(1), low(2) + 1:low(2) + n(2), low(3) + 1:low(3) + n(3)))
  end function
end module

program halos
  use levels
  implicit none
  integer :: rank, ranks, wrong, axis, size
  call MPI_Init()
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  dims = 0
  call MPI_Dims_create(ranks, 3, dims)
  call MPI_Cart_create(MPI_COMM_WORLD, 3, dims, [.true., .true., .true.], .true., grid)
  call MPI_Comm_rank(grid, rank)
  call MPI_Cart_coords(grid, rank, 3, coords)
  do axis = 1, 3
    call MPI_Cart_shift(grid, axis - 1, 1, neighbours(1, axis), neighbours(2, axis))
  end do
  wrong = 0
  size = 32
  do while (size >= 4)
    wrong = wrong + level(size)
    size = size / 2
  end do
  call MPI_Allreduce(MPI_IN_PLACE, wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call MPI_Comm_free(grid)
  if (rank == 0 .and. wrong == 0) print '(a)', 'PASS'
  call MPI_Finalize()
end program
