! SPDX-License-Identifier: MIT OR Apache-2.0
! RANKS: 1,2,4
! A wavefront over a grid in blocks, as the LU kernel of NAS has it: planes follow each other, and each process waits for one row
! and one column of small messages, computes, and sends one of each on. All numbers are integers, so the result is exact.
      program wave
      implicit none
      include 'mpif.h'
      integer nx, ny, nz, prime
      parameter (nx = 24, ny = 20, nz = 30, prime = 9973)
      integer grid, rank, ranks, dims(2), coords(2), ierr
      integer north, south, west, east, lx, ly, x0, y0
      integer v(0:nx, 0:ny), whole(0:nx, 0:ny), row(ny), column(nx)
      integer i, j, k, wrong, sweep, status(MPI_STATUS_SIZE)
      logical periods(2)
      integer start
      start(i, j, k) = mod(7 * i + 13 * j + 29 * k, prime)
      call MPI_INIT(ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierr)
      dims(1) = 0
      dims(2) = 0
      periods(1) = .false.
      periods(2) = .false.
      call MPI_DIMS_CREATE(ranks, 2, dims, ierr)
      call MPI_CART_CREATE(MPI_COMM_WORLD, 2, dims, periods, .true.,
     &                     grid, ierr)
      call MPI_COMM_RANK(grid, rank, ierr)
      call MPI_CART_COORDS(grid, rank, 2, coords, ierr)
      call MPI_CART_SHIFT(grid, 0, 1, west, east, ierr)
      call MPI_CART_SHIFT(grid, 1, 1, north, south, ierr)
      lx = nx / dims(1)
      ly = ny / dims(2)
      x0 = coords(1) * lx
      y0 = coords(2) * ly
      wrong = 0
      do 60 sweep = 1, 3
      v = 0
      whole = 0
      do 50 k = 1, nz
!       What comes from the west is the column before the first one, what comes from the north the row before.
        column = 0
        row = 0
        call MPI_RECV(row, ly, MPI_INTEGER, west, k, grid, status,
     &                ierr)
        call MPI_RECV(column, lx, MPI_INTEGER, north, k, grid,
     &                MPI_STATUS_IGNORE, ierr)
        do 10 j = 1, ly
          v(0, j) = row(j)
 10     continue
        do 20 i = 1, lx
          v(i, 0) = column(i)
 20     continue
        do 31 j = 1, ly
          do 30 i = 1, lx
            v(i, j) = mod(v(i - 1, j) + v(i, j - 1) + v(i, j)
     &                    + start(x0 + i, y0 + j, k + sweep), prime)
 30       continue
 31     continue
        do 35 j = 1, ly
          row(j) = v(lx, j)
 35     continue
        call MPI_SEND(row, ly, MPI_INTEGER, east, k, grid, ierr)
        call MPI_SEND(v(1, ly), lx, MPI_INTEGER, south, k, grid, ierr)
        do 41 j = 1, ny
          do 40 i = 1, nx
            whole(i, j) = mod(whole(i - 1, j) + whole(i, j - 1)
     &                        + whole(i, j) + start(i, j, k + sweep),
     &                        prime)
 40       continue
 41     continue
 50   continue
      do 56 j = 1, ly
        do 55 i = 1, lx
          if (v(i, j) .ne. whole(x0 + i, y0 + j)) wrong = wrong + 1
 55     continue
 56   continue
 60   continue
      call MPI_ALLREDUCE(MPI_IN_PLACE, wrong, 1, MPI_INTEGER, MPI_SUM,
     &                   MPI_COMM_WORLD, ierr)
      if (rank .eq. 0 .and. wrong .eq. 0) print '(a)', 'PASS'
      call MPI_FINALIZE(ierr)
      end
