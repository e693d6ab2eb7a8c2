! SPDX-License-Identifier: MIT OR Apache-2.0
! RANKS: 1,2
! The module mpi with what only newer programs use, and handles and statuses that go from one face to the other.
module counting
  implicit none
  integer :: failed = 0
contains
  subroutine expect(condition, number)
    logical, intent(in) :: condition
    integer, intent(in) :: number
    if (condition) return
    failed = failed + 1
    print '(a, i0)', 'check ', number
  end subroutine
end module

module with_mpi
  use, intrinsic :: iso_c_binding
  use mpi
  use counting
  implicit none
contains
  subroutine memory()
    type(c_ptr) :: base
    integer(MPI_ADDRESS_KIND) :: address, bytes
    real(8), pointer :: values(:)
    integer :: win, error, unit, rank, ranks, shared
    call MPI_Comm_rank(comm=MPI_COMM_WORLD, rank=rank, ierror=error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
    call MPI_Alloc_mem(80_MPI_ADDRESS_KIND, MPI_INFO_NULL, base, error)
    call c_f_pointer(base, values, [10])
    values = 2
    call MPI_Allreduce(MPI_IN_PLACE, values, 10, MPI_REAL8, MPI_SUM, MPI_COMM_WORLD, error)
    call expect(all(values == 2 * ranks), 1)
    call MPI_Free_mem(values, error)
    call MPI_Alloc_mem(8_MPI_ADDRESS_KIND, MPI_INFO_NULL, address, error)
    call expect(address /= 0, 2)
    call c_f_pointer(transfer(address, base), values, [1])
    call MPI_Free_mem(values, error)

    call MPI_Win_allocate(32_MPI_ADDRESS_KIND, 8, MPI_INFO_NULL, MPI_COMM_WORLD, base, win, error)
    call c_f_pointer(base, values, [4])
    values = 0
    call MPI_Win_fence(0, win, error)
    call MPI_Put([1.5d0, 2.5d0], 2, MPI_REAL8, ranks - 1 - rank, 1_MPI_ADDRESS_KIND, 2, MPI_REAL8, win, error)
    call MPI_Win_fence(0, win, error)
    call expect(all(values == [0d0, 1.5d0, 2.5d0, 0d0]), 3)
    call MPI_Win_free(win, error)
    call MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, shared, error)
    call MPI_Win_allocate_shared(8_MPI_ADDRESS_KIND, 8, MPI_INFO_NULL, shared, base, win, error)
    call MPI_Win_shared_query(win, 0, bytes, unit, base, error)
    call c_f_pointer(base, values, [1])
    call expect(bytes == 8 .and. unit == 8, 4)
    call MPI_Win_lock_all(0, win, error)
    if (rank == 0) values(1) = 9
    call MPI_Win_sync(win, error)
    call MPI_Barrier(shared, error)
    call MPI_Win_sync(win, error)
    call expect(values(1) == 9, 5)
    call MPI_Win_unlock_all(win, error)
    call MPI_Win_free(win, error)
    call MPI_Comm_free(shared, error)
  end subroutine

  subroutine messages()
    type pair
      sequence
      integer :: number
      real :: value
    end type
    type(pair) :: from(3), to(3)
    integer :: space(400), requests(2), status(MPI_STATUS_SIZE), error, i, size, position
    integer(MPI_ADDRESS_KIND) :: wide
    integer :: numbers(6), received(3)
    character :: packed(24)
    from = [(pair(i, i / 2.0), i = 1, 3)]
    call MPI_Sendrecv(from, 24, MPI_BYTE, 0, 1, to, 24, MPI_BYTE, 0, 1, MPI_COMM_SELF, status, error)
    call expect(all(to%number == [1, 2, 3]) .and. all(to%value == from%value), 10)
    ! Blocking calls get copies of sections.
    numbers = [1, 2, 3, 4, 5, 6]
    received = 0
    call MPI_Sendrecv(numbers(6:1:-2), 3, MPI_INTEGER, 0, 2, received(3:1:-1), 3, MPI_INTEGER, 0, 2, MPI_COMM_SELF, &
                      MPI_STATUS_IGNORE, error)
    call expect(all(received == [2, 4, 6]), 11)
    call MPI_Buffer_attach(space, 1600, error)
    call MPI_Bsend(numbers(3), 1, MPI_INTEGER, 0, 3, MPI_COMM_SELF, error)
    call MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, status, error)
    call MPI_Recv(received, 1, MPI_INTEGER, 0, 3, MPI_COMM_SELF, MPI_STATUS_IGNORE, error)
    call MPI_Buffer_detach(space, size, error)
    call expect(status(MPI_TAG) == 3 .and. received(1) == 3 .and. size == 1600, 12)
    call MPI_Recv_init(received, 2, MPI_INTEGER, 0, 4, MPI_COMM_SELF, requests(1), error)
    call MPI_Send_init(numbers, 2, MPI_INTEGER, 0, 4, MPI_COMM_SELF, requests(2), error)
    call MPI_Startall(2, requests, error)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
    call expect(all(received(1:2) == [1, 2]) .and. all(requests /= MPI_REQUEST_NULL), 13)
    call MPI_Request_free(requests(1), error)
    call MPI_Request_free(requests(2), error)
    wide = 0
    call MPI_Pack_external('external32  ', numbers, 3, MPI_INTEGER, packed, 24_MPI_ADDRESS_KIND, wide, error)
    call expect(error == MPI_SUCCESS .and. wide == 12 .and. ichar(packed(4)) == 1, 14)
    position = 0
    call MPI_Unpack(numbers, 8, position, received, 2, MPI_INTEGER, MPI_COMM_SELF, error)
    call expect(position == 8 .and. all(received(1:2) == [1, 2]), 15)
  end subroutine
end module

subroutine from_face_to_face()
  use mpi, only: MPI_STATUS_SIZE, world => MPI_COMM_WORLD, type_integer => MPI_INTEGER
  use mpi_f08, only: MPI_Comm, MPI_Status, MPI_Datatype, MPI_Request, MPI_COMM_SELF, MPI_INTEGER, MPI_Sendrecv, MPI_Status_f082f, &
                     MPI_Status_f2f08, MPI_Get_count, MPI_Comm_compare, MPI_IDENT, MPI_CONGRUENT, operator(==), MPI_COMM_WORLD, &
                     MPI_Comm_dup, MPI_Comm_free
  use counting
  implicit none
  type(MPI_Comm) :: comm, copy
  type(MPI_Status) :: status, again
  integer :: old(MPI_STATUS_SIZE), found(2), count, result
  comm%MPI_VAL = world
  call expect(comm == MPI_COMM_WORLD .and. MPI_INTEGER == MPI_Datatype(type_integer), 20)
  call MPI_Sendrecv([7, 8], 2, MPI_INTEGER, 0, 5, found, 2, MPI_INTEGER, 0, 5, MPI_COMM_SELF, status)
  call MPI_Status_f082f(status, old)
  call MPI_Status_f2f08(old, again)
  call MPI_Get_count(again, MPI_INTEGER, count)
  call expect(count == 2 .and. old(2) == 5 .and. again%MPI_TAG == 5 .and. all(found == [7, 8]), 21)
  call MPI_Comm_dup(comm, copy)
  comm = MPI_Comm(copy%MPI_VAL)
  call MPI_Comm_compare(comm, copy, result)
  call expect(result == MPI_IDENT, 22)
  call MPI_Comm_compare(comm, MPI_COMM_WORLD, result)
  call expect(result == MPI_CONGRUENT, 23)
  call MPI_Comm_free(comm)
end subroutine

program mixed
  use mpi
  use with_mpi
  implicit none
  integer :: error, provided
  call MPI_Init_thread(MPI_THREAD_MULTIPLE, provided, error)
  call memory()
  call messages()
  call from_face_to_face()
  call MPI_Allreduce(MPI_IN_PLACE, failed, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  if (failed == 0) print '(a)', 'PASS'
  call MPI_Finalize(error)
end program
