! SPDX-License-Identifier: MIT OR Apache-2.0
! Calls with a contiguous buffer through each face, and the C function itself, for counting instructions. The peer is MPI_PROC_NULL, so each
! call takes as many instructions inside the MPI library.
module through_f08
  use mpi_f08
  implicit none
  integer, asynchronous :: line(4)
  integer, allocatable, asynchronous :: square(:, :)
  type(MPI_Request) :: request
contains
  subroutine counted_f08_send() bind(C)
    call MPI_Send(line, 4, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD)
  end subroutine

  subroutine counted_f08_send_square() bind(C)
    call MPI_Send(square, 4, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD)
  end subroutine

  subroutine counted_f08_isend() bind(C)
    call MPI_Isend(line, 4, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, request)
  end subroutine

  subroutine counted_f08_wait() bind(C)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
  end subroutine
end module

module through_mpi
  use mpi
  implicit none
  integer :: buffer(4), error, handle
contains
  subroutine counted_mpi_send() bind(C)
    call MPI_Send(buffer, 4, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, error)
  end subroutine

  subroutine counted_mpi_isend() bind(C)
    call MPI_Isend(buffer, 4, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, handle, error)
  end subroutine
end module

module through_c
  use, intrinsic :: iso_c_binding
  use mpi, only: MPI_INTEGER, MPI_COMM_WORLD, MPI_PROC_NULL, MPI_STATUS_SIZE
  implicit none
  integer(c_int) :: data(4), code
  integer(c_intptr_t) :: c_request
  interface
    integer(c_int) function send(buffer, count, datatype, peer, tag, comm) bind(C, name="MPI_Send")
      import
      integer(c_int) :: buffer(*)
      integer(c_int), value :: count, peer, tag
      integer(c_intptr_t), value :: datatype, comm
    end function
    integer(c_int) function isend(buffer, count, datatype, peer, tag, comm, request) bind(C, name="MPI_Isend")
      import
      integer(c_int) :: buffer(*)
      integer(c_int), value :: count, peer, tag
      integer(c_intptr_t), value :: datatype, comm
      integer(c_intptr_t) :: request
    end function
    integer(c_int) function wait(request, status) bind(C, name="MPI_Wait")
      import
      integer(c_intptr_t) :: request
      type(c_ptr), value :: status
    end function
  end interface
contains
  subroutine counted_c_send() bind(C)
    code = send(data, 4, int(MPI_INTEGER, c_intptr_t), MPI_PROC_NULL, 0, int(MPI_COMM_WORLD, c_intptr_t))
  end subroutine

  subroutine counted_c_isend() bind(C)
    code = isend(data, 4, int(MPI_INTEGER, c_intptr_t), MPI_PROC_NULL, 0, int(MPI_COMM_WORLD, c_intptr_t), c_request)
  end subroutine

  subroutine counted_c_wait() bind(C)
    code = wait(c_request, c_null_ptr)
  end subroutine
end module

program count_fortran
  use through_f08, only: MPI_Init, MPI_Finalize, square, counted_f08_send, counted_f08_send_square, counted_f08_isend, &
    counted_f08_wait
  use through_mpi, only: counted_mpi_send, counted_mpi_isend, handle, MPI_Wait, error, MPI_STATUS_IGNORE
  use through_c, only: counted_c_send, counted_c_isend, counted_c_wait
  implicit none
  integer :: i
  call MPI_Init()
  allocate (square(2, 2))
  ! The first call finds the C function.
  do i = 1, 6400
    call counted_c_send()
    call counted_c_isend()
    call counted_c_wait()
    call counted_f08_send()
    call counted_f08_send_square()
    call counted_f08_isend()
    call counted_f08_wait()
    call counted_mpi_send()
    call counted_mpi_isend()
    call MPI_Wait(handle, MPI_STATUS_IGNORE, error)
  end do
  call MPI_Finalize()
end program
