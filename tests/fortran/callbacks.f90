! SPDX-License-Identifier: MIT OR Apache-2.0
! RANKS: 2
! Procedures of the program that MPI calls, in mpi_f08 and in mpi.
module procedures
  use mpi_f08
  implicit none
  integer :: handled = 0, copied = 0, deleted = 0, freed = 0
contains
  subroutine longest(invec, inoutvec, len, datatype)
    use iso_c_binding, only: c_ptr, c_f_pointer
    type(c_ptr), value :: invec, inoutvec
    integer :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: a(:), b(:)
    if (datatype /= MPI_INTEGER) call MPI_Abort(MPI_COMM_WORLD, 20)
    call c_f_pointer(invec, a, [len])
    call c_f_pointer(inoutvec, b, [len])
    where (abs(a) > abs(b)) b = a
  end subroutine

  subroutine handle(comm, error_code)
    type(MPI_Comm) :: comm
    integer :: error_code, class
    call MPI_Error_class(error_code, class)
    if (class == MPI_ERR_RANK .and. comm /= MPI_COMM_NULL) handled = handled + 1
  end subroutine

  subroutine copy(oldcomm, keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror)
    type(MPI_Comm) :: oldcomm
    integer :: keyval, ierror
    integer(MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
    logical :: flag
    copied = copied + 1
    attribute_val_out = attribute_val_in + extra_state
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine

  subroutine delete(comm, keyval, attribute_val, extra_state, ierror)
    type(MPI_Comm) :: comm
    integer :: keyval, ierror
    integer(MPI_ADDRESS_KIND) :: attribute_val, extra_state
    if (attribute_val >= 2_8**40) deleted = deleted + int(extra_state)
    ierror = MPI_SUCCESS
  end subroutine

  subroutine query(extra_state, status, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    type(MPI_Status) :: status
    integer :: ierror
    status%MPI_SOURCE = 5
    status%MPI_TAG = int(extra_state)
    call MPI_Status_set_elements(status, MPI_BYTE, 3)
    call MPI_Status_set_cancelled(status, .false.)
    ierror = MPI_SUCCESS
  end subroutine

  subroutine release(extra_state, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    integer :: ierror
    freed = freed + int(extra_state)
    ierror = MPI_SUCCESS
  end subroutine

  subroutine cancel(extra_state, complete, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    logical :: complete
    integer :: ierror
    ierror = MPI_SUCCESS
  end subroutine
end module

subroutine in_old_face(rank)
  use mpi
  implicit none
  integer :: rank, keyval, comm, ierror, op, values(2)
  integer(MPI_ADDRESS_KIND) :: value
  logical :: flag
  external :: add
  ! Predefined procedures, and an operation that is made in a loop: a procedure takes one place however often it is used.
  call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, keyval, 0_MPI_ADDRESS_KIND, ierror)
  call MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, -7_MPI_ADDRESS_KIND, ierror)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierror)
  call MPI_Comm_get_attr(comm, keyval, value, flag, ierror)
  if (.not. flag .or. value /= -7) call MPI_Abort(MPI_COMM_WORLD, 10, ierror)
  call MPI_Comm_free(comm, ierror)
  call MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval, ierror)
  call MPI_Comm_free_keyval(keyval, ierror)
  do keyval = 1, 3000
    call MPI_Op_create(add, .true., op, ierror)
    if (ierror /= MPI_SUCCESS) call MPI_Abort(MPI_COMM_WORLD, 11, ierror)
    if (keyval < 3000) call MPI_Op_free(op, ierror)
  end do
  values = [rank, 1]
  call MPI_Allreduce(MPI_IN_PLACE, values, 2, MPI_INTEGER, op, MPI_COMM_WORLD, ierror)
  if (any(values /= [1, 2])) call MPI_Abort(MPI_COMM_WORLD, 12, ierror)
  call MPI_Op_free(op, ierror)
end subroutine

subroutine add(a, b, length, datatype)
  implicit none
  integer :: length, datatype, a(length), b(length)
  b = a + b
end subroutine

program callbacks
  use procedures
  implicit none
  integer :: rank, values(3), keyval, i
  integer(MPI_ADDRESS_KIND) :: value
  logical :: flag
  type(MPI_Op) :: op
  type(MPI_Comm) :: comm, other
  type(MPI_Errhandler) :: handler
  type(MPI_Request) :: request
  type(MPI_Status) :: status
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)

  call MPI_Op_create(longest, .true., op)
  values = [-5 * rank, 3 - rank, 1]
  call MPI_Allreduce(MPI_IN_PLACE, values, 3, MPI_INTEGER, op, MPI_COMM_WORLD)
  if (any(values /= [-5, 3, 1])) call MPI_Abort(MPI_COMM_WORLD, 2)
  call MPI_Op_free(op)

  call MPI_Comm_dup(MPI_COMM_WORLD, comm)
  call MPI_Comm_create_errhandler(handle, handler)
  call MPI_Comm_set_errhandler(comm, handler)
  call MPI_Errhandler_free(handler)
  call MPI_Send(values, 1, MPI_INTEGER, 99, 0, comm)
  if (handled /= 1) call MPI_Abort(MPI_COMM_WORLD, 3)

  call MPI_Comm_create_keyval(copy, delete, keyval, 3_MPI_ADDRESS_KIND)
  call MPI_Comm_set_attr(comm, keyval, 2_MPI_ADDRESS_KIND**40)
  call MPI_Comm_dup(comm, other)
  call MPI_Comm_get_attr(other, keyval, value, flag)
  if (.not. flag .or. value /= 2_8**40 + 3 .or. copied /= 1) call MPI_Abort(MPI_COMM_WORLD, 4)
  call MPI_Comm_free(other)
  call MPI_Comm_free(comm)
  if (deleted /= 6) call MPI_Abort(MPI_COMM_WORLD, 5)
  call MPI_Comm_free_keyval(keyval)

  call MPI_Grequest_start(query, release, cancel, 11_MPI_ADDRESS_KIND, request)
  call MPI_Grequest_complete(request)
  call MPI_Wait(request, status)
  call MPI_Get_count(status, MPI_BYTE, i)
  if (i /= 3 .or. status%MPI_SOURCE /= 5 .or. status%MPI_TAG /= 11 .or. freed /= 11) call MPI_Abort(MPI_COMM_WORLD, 6)

  call in_old_face(rank)
  if (rank == 0) print '(a)', 'PASS'
  call MPI_Finalize()
end program
