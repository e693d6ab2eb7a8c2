! SPDX-License-Identifier: MIT OR Apache-2.0
! RANKS: 2
! Sections in point-to-point calls, one-sided calls and files, with predefined and derived datatypes, whole and partial elements; and what
! no call takes.
module checks
  use mpi_f08
  implicit none
  integer :: rank, other, failed = 0
contains
  subroutine expect(condition, number)
    logical, intent(in) :: condition
    integer, intent(in) :: number
    if (condition) return
    failed = failed + 1
    print '(a, i0, a, i0)', 'rank ', rank, ': check ', number
  end subroutine

  ! Messages with a derived datatype: elements 1, 3 and 4 of four.
  subroutine derived()
    integer, target, asynchronous :: table(2, 8)
    integer, pointer, asynchronous :: row(:)
    integer :: i, index, count, indices(2), line(9)
    type(MPI_Datatype) :: some, ends
    type(MPI_Request) :: requests(2)
    type(MPI_Status) :: status
    row => table(2, :)
    call MPI_Type_indexed(2, [1, 2], [0, 2], MPI_INTEGER, some)
    call MPI_Type_commit(some)
    call MPI_Type_create_indexed_block(2, 1, [1, 7], MPI_INTEGER, ends)
    call MPI_Type_commit(ends)

    ! Two receives into disjoint parts of one section, which complete in either order.
    table = -1
    call MPI_Irecv(row, 1, ends, other, 1, MPI_COMM_WORLD, requests(1))
    call MPI_Irecv(row, 1, some, other, 2, MPI_COMM_WORLD, requests(2))
    call MPI_Send([(10 * rank + i, i = 1, 3)], 3, MPI_INTEGER, other, 2, MPI_COMM_WORLD)
    call MPI_Waitany(2, requests, index, status)
    call expect(index == 2 .and. status%MPI_TAG == 2 .and. requests(2) == MPI_REQUEST_NULL, 1)
    call expect(all(row == [10 * other + 1, -1, 10 * other + 2, 10 * other + 3, -1, -1, -1, -1]), 2)
    row(5) = 77
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_Send([(20 * rank + i, i = 1, 2)], 2, MPI_INTEGER, other, 1, MPI_COMM_WORLD)
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
    call expect(all(row == [10 * other + 1, 20 * other + 1, 10 * other + 2, 10 * other + 3, 77, -1, -1, 20 * other + 2]), 3)
    call expect(all(table(1, :) == -1), 4)

    ! A blocking receive while a nonblocking one is under way in the same section.
    table = -1
    call MPI_Irecv(row, 1, some, other, 3, MPI_COMM_WORLD, requests(1))
    call MPI_Send([4, 5, 6], 3, MPI_INTEGER, other, 3, MPI_COMM_WORLD)
    call MPI_Sendrecv([7, 8], 2, MPI_INTEGER, other, 4, row, 1, ends, other, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Waitsome(1, requests, count, indices, MPI_STATUSES_IGNORE)
    call expect(count == 1 .and. indices(1) == 1 .and. all(row == [4, 7, 5, 6, -1, -1, -1, 8]), 5)

    ! Sends, the second of which is synchronous.
    row = [(100 * rank + i, i = 1, 8)]
    call MPI_Isend(row, 2, some, other, 5, MPI_COMM_WORLD, requests(1))
    call MPI_Issend(row(8:1:-1), 1, some, other, 5, MPI_COMM_WORLD, requests(2))
    call MPI_Recv(line, 9, MPI_INTEGER, other, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call expect(all(line(1:6) == 100 * other + [1, 3, 4, 5, 7, 8]), 6)
    call MPI_Recv(line, 9, MPI_INTEGER, other, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call expect(all(line(1:3) == 100 * other + [8, 6, 5]), 7)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    call MPI_Type_free(ends)
    call persist(some)
    call MPI_Type_free(some)
  end subroutine

  ! Persistent requests of both directions, tested, asked for and freed.
  subroutine persist(some)
    type(MPI_Datatype), intent(in) :: some
    integer, target, asynchronous :: table(2, 8), result(2, 8)
    integer :: round, i, line(6)
    logical :: is_complete
    type(MPI_Request) :: requests(2)
    call MPI_Send_init(table(1, 8:1:-1), 1, some, other, 7, MPI_COMM_WORLD, requests(1))
    call MPI_Recv_init(result(2, :), 1, some, other, 7, MPI_COMM_WORLD, requests(2))
    do round = 1, 3
      table(1, :) = [(100 * rank + 10 * round + i, i = 1, 8)]
      result = -1
      call MPI_Startall(2, requests)
      if (round == 1) then
        call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
      else if (round == 2) then
        is_complete = .false.
        do while (.not. is_complete)
          call MPI_Testall(2, requests, is_complete, MPI_STATUSES_IGNORE)
        end do
      else
        is_complete = .false.
        do while (.not. is_complete)
          call MPI_Request_get_status(requests(2), is_complete, MPI_STATUS_IGNORE)
        end do
        call expect(result(2, 1) == 100 * other + 38, 10)
        call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
      end if
      line = 100 * other + 10 * round
      call expect(all(result(2, :) == [line(1) + 8, -1, line(1) + 6, line(1) + 5, -1, -1, -1, -1]), 10 + round)
      call expect(all(result(1, :) == -1), 14)
    end do
    call MPI_Request_free(requests(1))
    call MPI_Request_free(requests(2))
  end subroutine

  ! Items that are no whole elements: bytes of integers, halves of texts, complex numbers as their parts.
  subroutine partial()
    integer, asynchronous :: numbers(2, 6)
    character(4), target, asynchronous :: words(6)
    complex, asynchronous :: values(8)
    type(MPI_Request) :: requests(2)
    integer :: i
    numbers(1, :) = [(i * 16843009, i = 1, 6)]
    numbers(2, :) = 0
    call MPI_Irecv(numbers(2, 6:1:-1), 10, MPI_BYTE, other, 20, MPI_COMM_WORLD, requests(1))
    call MPI_Isend(numbers(1, :), 10, MPI_BYTE, other, 20, MPI_COMM_WORLD, requests(2))
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    call expect(all(numbers(2, 6:5:-1) == [1, 2] * 16843009) .and. all(numbers(2, 1:3) == 0), 20)
    call expect(iand(numbers(2, 4), 65535) == 3 * 257 .and. ishft(numbers(2, 4), -16) == 0, 21)

    words = ['abcd', 'efgh', 'ijkl', 'mnop', 'qrst', 'uvwx']
    call MPI_Irecv(words(2::2), 5, MPI_CHARACTER, other, 21, MPI_COMM_WORLD, requests(1))
    call MPI_Isend(words(1::2)(2:3), 5, MPI_CHARACTER, other, 21, MPI_COMM_WORLD, requests(2))
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    call expect(words(2) == 'bcjk' .and. words(4) == 'rnop' .and. words(6) == 'uvwx', 22)

    values = [(cmplx(i, -i), i = 1, 8)]
    call MPI_Isendrecv(values(1::4), 3, MPI_REAL, other, 22, values(2::4), 3, MPI_REAL, other, 22, MPI_COMM_WORLD, requests(1))
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
    call expect(values(2) == (1, -1) .and. values(6) == (5, -6) .and. values(3) == (3, -3), 23)
    values(1::2) = rank
    call MPI_Isendrecv_replace(values(1::2), 4, MPI_COMPLEX, other, 23, other, 23, MPI_COMM_WORLD, requests(1))
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
    call expect(all(values(1::2) == other) .and. values(2) == (1, -1), 24)
  end subroutine

  subroutine one_sided()
    integer, asynchronous :: memory(12), table(3, 8), one(4)
    integer :: i
    type(MPI_Win) :: win
    type(MPI_Request) :: request
    memory = 100 * rank + [(i, i = 1, 12)]
    call MPI_Win_create(memory, int(4 * size(memory), MPI_ADDRESS_KIND), 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
    table = -1
    call MPI_Win_fence(0, win)
    call MPI_Get(table(2, 1:7:2), 3, MPI_INTEGER, other, 1_MPI_ADDRESS_KIND, 3, MPI_INTEGER, win)
    call MPI_Win_fence(0, win)
    call expect(all(table(2, 1:7:2) == [100 * other + [2, 3, 4], -1]) .and. all(table(2, 2:8:2) == -1), 30)
    call MPI_Win_fence(0, win)
    call MPI_Accumulate(table(2, 5:1:-4), 2, MPI_INTEGER, other, 7_MPI_ADDRESS_KIND, 2, MPI_INTEGER, MPI_SUM, win)
    call MPI_Put(table(2, 3:5:2), 6, MPI_BYTE, other, 10_MPI_ADDRESS_KIND, 6, MPI_BYTE, win)
    call MPI_Win_fence(0, win)
    call expect(all(memory(8:9) == [200 * rank + 12, 200 * rank + 11]), 31)
    call expect(memory(11) == 100 * rank + 3, 32)
    ! One element of a section needs no other, and is the first.
    one = 5
    call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, other, 0, win)
    call MPI_Fetch_and_op(one(1:3:2), table(1:3:2, 8), MPI_INTEGER, other, 0_MPI_ADDRESS_KIND, MPI_SUM, win)
    call MPI_Win_unlock(other, win)
    call MPI_Barrier(MPI_COMM_WORLD)
    call expect(table(1, 8) == 100 * other + 1 .and. memory(1) == 100 * rank + 6, 33)
    call MPI_Win_lock_all(0, win)
    call MPI_Rget(table(3, ::2), 4, MPI_INTEGER, other, 1_MPI_ADDRESS_KIND, 4, MPI_INTEGER, win, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_Win_unlock_all(win)
    call expect(all(table(3, ::2) == 100 * other + [2, 3, 4, 5]), 34)
    call with_derived(win)
    call MPI_Win_free(win)
  end subroutine

  ! Elements 1, 3 and 4 of four, from the second on, and a structure with a double between integers, which crosses elements.
  subroutine with_derived(win)
    type(MPI_Win), intent(in) :: win
    integer, asynchronous :: table(3, 8)
    integer :: i
    type(MPI_Datatype) :: some, mixed
    integer(MPI_ADDRESS_KIND) :: target
    call MPI_Type_indexed(2, [1, 2], [1, 3], MPI_INTEGER, some)
    call MPI_Type_create_struct(3, [1, 1, 1], [0_MPI_ADDRESS_KIND, 4_MPI_ADDRESS_KIND, 12_MPI_ADDRESS_KIND], &
                                [MPI_INTEGER, MPI_DOUBLE_PRECISION, MPI_INTEGER], mixed)
    call MPI_Type_commit(some)
    call MPI_Type_commit(mixed)
    table = 0
    table(2, :) = 1000 * (rank + 1) + [(i, i = 1, 8)]
    target = 0
    call MPI_Win_fence(0, win)
    call MPI_Put(table(2, :), 1, some, other, target, 3, MPI_INTEGER, win)
    call MPI_Win_fence(0, win)
    call MPI_Accumulate(table(2, 8:1:-1), 1, some, other, target, 3, MPI_INTEGER, MPI_SUM, win)
    call MPI_Win_fence(0, win)
    call MPI_Get(table(1, :), 1, some, other, target, 3, MPI_INTEGER, win)
    call MPI_Get(table(3, 8:1:-2), 1, mixed, other, target, 1, mixed, win)
    call MPI_Win_fence(0, win)
    ! The target has 2 + 7, 4 + 5 and 5 + 4, of the thousands of this rank.
    call expect(all(table(1, :) == [0, 1, 0, 1, 1, 0, 0, 0] * (2000 * (rank + 1) + 9)), 35)
    call expect(all(table(3, 8:4:-2) == 2000 * (rank + 1) + 9) .and. all(table(3, 1::2) == 0), 36)
    call MPI_Type_free(some)
    call MPI_Type_free(mixed)
  end subroutine

  subroutine files()
    integer, target, asynchronous :: table(2, 8)
    integer :: i
    type(MPI_File) :: file
    type(MPI_Datatype) :: some
    type(MPI_Request) :: request
    integer(MPI_OFFSET_KIND) :: place
    call MPI_Type_indexed(2, [1, 2], [0, 2], MPI_INTEGER, some)
    call MPI_Type_commit(some)
    call MPI_File_open(MPI_COMM_WORLD, 'sections.data', MPI_MODE_RDWR + MPI_MODE_CREATE + MPI_MODE_DELETE_ON_CLOSE, &
                       MPI_INFO_NULL, file)
    place = 32 * rank
    table(1, :) = [(10 * rank + i, i = 1, 8)]
    call MPI_File_iwrite_at(file, place, table(1, :), 8, MPI_INTEGER, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    table = -1
    call MPI_File_iread_at(file, place, table(2, 8:1:-1), 1, some, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call expect(all(table(2, :) == [-1, -1, -1, -1, 10 * rank + 3, 10 * rank + 2, -1, 10 * rank + 1]), 40)
    table = -1
    call MPI_File_read_at_all_begin(file, place, table(2, :), 1, some)
    call MPI_File_read_at_all_end(file, table(2, :), MPI_STATUS_IGNORE)
    call expect(all(table(2, 1:4) == [10 * rank + 1, -1, 10 * rank + 2, 10 * rank + 3]) .and. all(table(1, :) == -1), 41)
    call MPI_File_read_at(file, place, table(1, 1:4), 4, MPI_INTEGER, MPI_STATUS_IGNORE)
    call expect(all(table(1, 1:4) == 10 * rank + [1, 2, 3, 4]) .and. table(1, 5) == -1 .and. table(2, 2) == -1, 42)
    call MPI_File_close(file)
    call MPI_Type_free(some)
  end subroutine

  ! Too many elements, memory that must be contiguous, and addresses of sections.
  subroutine refused()
    integer, asynchronous :: table(2, 8)
    integer, allocatable :: nothing(:)
    integer(MPI_ADDRESS_KIND) :: address, first
    type(MPI_Request) :: request
    type(MPI_Win) :: win
    type(MPI_Datatype) :: back
    integer :: ierror, counts(2) = 4, places(2) = [0, 5]
    table = 0
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
    call MPI_Send(table(1, :), 9, MPI_INTEGER, other, 50, MPI_COMM_WORLD, ierror)
    call expect(ierror == MPI_ERR_COUNT, 50)
    call MPI_Isend(table(1, :), 9, MPI_INTEGER, other, 50, MPI_COMM_WORLD, request, ierror)
    call expect(ierror == MPI_ERR_COUNT, 51)
    call MPI_Allgatherv(table(1, :), 4, MPI_INTEGER, table(2, :), counts, places, MPI_INTEGER, MPI_COMM_WORLD, ierror)
    call expect(ierror == MPI_ERR_COUNT, 52)
    call MPI_Type_create_hvector(2, 1, -4_MPI_ADDRESS_KIND, MPI_INTEGER, back)
    call MPI_Type_commit(back)
    call MPI_Send(table(1, :), 1, back, other, 50, MPI_COMM_WORLD, ierror)
    call expect(ierror == MPI_ERR_COUNT, 53)
    call MPI_Type_free(back)
    call MPI_Win_create(table(1, :), 32_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierror)
    call expect(ierror == MPI_ERR_BUFFER, 54)
    call MPI_Get_address(table(2, 1::2), address)
    call MPI_Get_address(table, first)
    call expect(address == first + 4, 55)
    ! Nobody to exchange the elements with.
    call MPI_Send(table(1, :), 9, MPI_INTEGER, MPI_PROC_NULL, 50, MPI_COMM_WORLD, ierror)
    call expect(ierror == MPI_SUCCESS, 56)

    ! An array that is not allocated is no MPI_BOTTOM.
    call MPI_Send(nothing, 1, MPI_INTEGER, other, 50, MPI_COMM_WORLD, ierror)
    call expect(ierror == MPI_ERR_BUFFER, 57)
    call MPI_Bcast(nothing, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
    call expect(ierror == MPI_ERR_BUFFER, 58)
    call MPI_Bcast(nothing, 0, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
    call expect(ierror == MPI_SUCCESS, 59)
    if (rank == 0) then
      call MPI_Gather(table(1, 1:2), 2, MPI_INTEGER, table(2, :), 2, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
    else
      call MPI_Gather(table(1, 1:2), 2, MPI_INTEGER, nothing, 2, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
    end if
    call expect(ierror == MPI_SUCCESS, 60)
    call MPI_Allreduce(table(1, :), nothing, 8, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    call expect(ierror == MPI_ERR_BUFFER, 61)
  end subroutine
end module

program section_requests
  use checks
  implicit none
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  other = 1 - rank
  call derived()
  call partial()
  call one_sided()
  call files()
  call refused()
  call MPI_Allreduce(MPI_IN_PLACE, failed, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0 .and. failed == 0) print '(a)', 'PASS'
  call MPI_Finalize()
end program
