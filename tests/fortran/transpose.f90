! SPDX-License-Identifier: MIT OR Apache-2.0
! RANKS: 1,2,4
! A Fourier transform of a distributed square, as the FT kernel of NAS has it: each process transforms its columns, all exchange blocks, and
! each transforms what were rows. A wave of known numbers must become one point.
program transform
  use mpi
  implicit none
  integer, parameter :: n = 32, double = kind(1d0)
  complex(double), allocatable :: columns(:, :), packed(:, :, :), received(:, :, :)
  complex(double) :: total
  real(double) :: pi, furthest
  integer :: rank, ranks, ierror, width, wave, i, j, block, wrong
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  pi = acos(-1d0)
  width = n / ranks
  wrong = 0
  allocate (columns(n, width), packed(width, width, ranks), received(width, width, ranks))
  do wave = 1, 9, 4
    do j = 1, width
      do i = 1, n
        columns(i, j) = exp(cmplx(0, 2 * pi * (wave * (i - 1) + (wave + 2) * (rank * width + j - 1)) / n, double))
      end do
    end do
    call transformed(columns)
    do block = 1, ranks
      packed(:, :, block) = transpose(columns((block - 1) * width + 1:block * width, :))
    end do
    call MPI_Alltoall(packed, width * width, MPI_DOUBLE_COMPLEX, received, width * width, MPI_DOUBLE_COMPLEX, &
                      MPI_COMM_WORLD, ierror)
    do block = 1, ranks
      columns((block - 1) * width + 1:block * width, :) = received(:, :, block)
    end do
    call transformed(columns)
    ! The columns are the rows of the square now.
    if (wave / width == rank) columns(wave + 3, mod(wave, width) + 1) = columns(wave + 3, mod(wave, width) + 1) - n * n
    furthest = maxval(abs(columns))
    total = sum(columns)
    call MPI_Allreduce(MPI_IN_PLACE, furthest, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, ierror)
    call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_DOUBLE_COMPLEX, MPI_SUM, MPI_COMM_WORLD, ierror)
    if (furthest > 1d-8 .or. abs(total) > 1d-6) wrong = wrong + 1
  end do
  if (rank == 0 .and. wrong == 0) print '(a)', 'PASS'
  call MPI_Finalize(ierror)
contains
  subroutine transformed(square)
    complex(double), intent(inout) :: square(:, :)
    complex(double) :: result(n)
    integer :: j, k, m
    do j = 1, size(square, 2)
      do k = 0, n - 1
        result(k + 1) = sum([(square(m + 1, j) * exp(cmplx(0, -2 * pi * mod(k * m, n) / n, double)), m = 0, n - 1)])
      end do
      square(:, j) = result
    end do
  end subroutine
end program
