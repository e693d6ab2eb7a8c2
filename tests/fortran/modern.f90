! SPDX-License-Identifier: MIT OR Apache-2.0
! RANKS: 1,2
! What programs with mpi_f08 do beside the usual: texts without length, LOGICALs of other compilers, handlers of all objects, handles as
! parts of other things.
module everything
  use mpi_f08
  implicit none
  integer :: failed = 0, called(4) = 0, last_code = 0, type_copied = 0, type_deleted = 0, win_deleted = 0
  type(MPI_Comm) :: handled_comm
  type(MPI_Request) :: all_null(3) = MPI_REQUEST_NULL
  type holder
    type(MPI_Comm) :: comm = MPI_COMM_NULL
    type(MPI_Datatype), allocatable :: types(:)
  end type
contains
  subroutine expect(condition, number)
    logical, intent(in) :: condition
    integer, intent(in) :: number
    if (condition) return
    failed = failed + 1
    print '(a, i0)', 'check ', number
  end subroutine

  ! A true LOGICAL as other compilers store it: all bits set.
  function odd(truth) result(value)
    logical, intent(in) :: truth
    logical :: value
    integer, volatile :: bits
    bits = 0
    if (truth) bits = -1
    value = transfer(bits, value)
  end function

  subroutine texts()
    character(0) :: nothing
    character(1) :: letter
    character(:), allocatable :: long
    character(MPI_MAX_OBJECT_NAME) :: name
    type(MPI_Comm) :: comm
    type(MPI_Info) :: info
    integer :: length, n, class, code
    logical :: flag
    call MPI_Comm_dup(MPI_COMM_WORLD, comm)
    call MPI_Comm_set_name(comm, '  two words   ')
    call MPI_Comm_get_name(comm, name, length)
    call expect(name == '  two words' .and. length == 11, 1)
    call MPI_Comm_get_name(comm, letter, length)
    call expect(letter == ' ' .and. length == 1, 2)
    call MPI_Comm_get_name(comm, nothing, length)
    call expect(length == 0, 3)
    call MPI_Comm_set_name(comm, nothing)
    call MPI_Comm_get_name(comm, name, length)
    call expect(name == '' .and. length == 0, 4)
    call MPI_Comm_set_name(comm, '')
    call MPI_Comm_free(comm)

    call MPI_Info_create(info)
    call MPI_Info_set(info, ' key  ', '  some value ')
    call MPI_Info_get_valuelen(info, 'key', n, flag)
    call expect(flag .and. n == 10, 5)
    long = repeat('x', 20)
    call MPI_Info_get(info, 'key', 20, long, flag)
    call expect(flag .and. long == 'some value', 6)
    call MPI_Info_get(info, 'key', 20, letter, flag)
    call expect(flag .and. letter == 's', 7)
    call MPI_Info_get(info, 'key', 0, nothing, flag)
    call expect(flag, 8)
    n = 20
    long = repeat('x', 20)
    call MPI_Info_get_string(info, 'key', n, long, flag)
    call expect(flag .and. long == 'some value' .and. n == 10, 9)
    n = 4
    call MPI_Info_get_string(info, 'key', n, long, flag)
    call expect(flag .and. long == 'some' .and. n == 10, 10)
    n = 0
    long = 'untouched'
    call MPI_Info_get_string(info, 'key', n, long, flag)
    call expect(flag .and. long == 'untouched' .and. n == 10, 11)
    call MPI_Info_get_string(info, 'missing', n, long, flag)
    call expect(.not. flag, 12)
    call MPI_Info_get_nkeys(info, n)
    call expect(n == 1, 13)
    call MPI_Info_get_nthkey(info, 0, name)
    call expect(name == 'key', 14)
    call MPI_Info_delete(info, ' key')
    call MPI_Info_free(info)
    call expect(info == MPI_INFO_NULL, 15)

    call MPI_Get_processor_name(name, length)
    call expect(length > 0 .and. name(length + 1:) == '', 16)
    call MPI_Add_error_class(class)
    call MPI_Add_error_code(class, code)
    call MPI_Add_error_string(code, 'a new error  ')
    call MPI_Error_string(code, name, length)
    call expect(name == 'a new error' .and. length == 11, 17)
    call MPI_Error_string(code, letter, length)
    call expect(letter == 'a' .and. length == 1, 18)
    call MPI_Remove_error_string(code)
    call MPI_Remove_error_code(code)
    call MPI_Remove_error_class(class)
  end subroutine

  subroutine logicals()
    type(MPI_Comm) :: grid, row
    integer :: dims(2), coords(2), ranks, dimensions
    logical :: periods(2), found(3)
    dims = 0
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    call MPI_Dims_create(ranks, 2, dims)
    periods = [odd(.true.), odd(.false.)]
    call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, odd(.false.), grid)
    found = .false.
    call MPI_Cart_get(grid, 2, dims, found, coords)
    call expect((found(1) .eqv. .true.) .and. transfer(found(1), 0) == transfer(.true., 0) .and. .not. any(found(2:)), 20)
    call MPI_Cart_sub(grid, [odd(.false.), odd(.true.)], row)
    call MPI_Cartdim_get(row, dimensions)
    call expect(dimensions == 1, 21)
    call MPI_Comm_free(row)
    call MPI_Comm_free(grid)
    found(1) = odd(.true.)
    call MPI_Allreduce(MPI_IN_PLACE, found, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD)
    call expect(found(1), 22)
  end subroutine

  subroutine on_comm(comm, error_code)
    type(MPI_Comm) :: comm
    integer :: error_code
    called(1) = called(1) + 1
    handled_comm = comm
    call MPI_Error_class(error_code, last_code)
  end subroutine

  subroutine on_win(win, error_code)
    type(MPI_Win) :: win
    integer :: error_code
    if (win /= MPI_WIN_NULL) called(2) = called(2) + 1
    call MPI_Error_class(error_code, last_code)
  end subroutine

  subroutine on_file(file, error_code)
    type(MPI_File) :: file
    integer :: error_code
    called(3) = called(3) + 1
    call MPI_Error_class(error_code, last_code)
  end subroutine

  subroutine on_session(session, error_code)
    type(MPI_Session) :: session
    integer :: error_code
    if (session /= MPI_SESSION_NULL) called(4) = called(4) + 1
  end subroutine

  subroutine handlers()
    type(MPI_Comm) :: comm
    type(MPI_Win) :: win
    type(MPI_File) :: file
    type(MPI_Session) :: session
    type(MPI_Errhandler) :: handler, found
    integer :: error
    integer, asynchronous :: buffer(4)
    call MPI_Comm_dup(MPI_COMM_WORLD, comm)
    call MPI_Comm_create_errhandler(on_comm, handler)
    call MPI_Comm_set_errhandler(comm, handler)
    call MPI_Comm_get_errhandler(comm, found)
    call expect(found == handler, 30)
    call MPI_Errhandler_free(found)
    call MPI_Errhandler_free(handler)
    call expect(handler == MPI_ERRHANDLER_NULL, 31)
    call MPI_Send(buffer, -1, MPI_INTEGER, 0, 0, comm, error)
    call expect(called(1) == 1 .and. handled_comm == comm .and. last_code == MPI_ERR_COUNT, 32)
    ! Without ierror.
    call MPI_Send(buffer, 1, MPI_DATATYPE_NULL, 0, 0, comm)
    call expect(called(1) == 2 .and. last_code == MPI_ERR_TYPE, 33)
    call MPI_Send(buffer(4:1:-1), 5, MPI_INTEGER, 0, 0, comm)
    call expect(called(1) == 3 .and. last_code == MPI_ERR_COUNT, 34)
    call MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER)
    call expect(called(1) == 4 .and. last_code == MPI_ERR_OTHER, 35)
    call MPI_Comm_free(comm)

    call MPI_Win_create(buffer, 16_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
    call MPI_Win_create_errhandler(on_win, handler)
    call MPI_Win_set_errhandler(win, handler)
    call MPI_Errhandler_free(handler)
    call MPI_Win_fence(0, win)
    call MPI_Put(buffer, 1, MPI_INTEGER, 99, 0_MPI_ADDRESS_KIND, 1, MPI_INTEGER, win, error)
    call expect(called(2) == 1 .and. last_code == MPI_ERR_RANK, 36)
    call MPI_Win_fence(0, win)
    call MPI_Win_free(win)

    call MPI_File_create_errhandler(on_file, handler)
    call MPI_File_set_errhandler(MPI_FILE_NULL, handler)
    call MPI_File_open(MPI_COMM_SELF, '/nowhere/at/all', MPI_MODE_RDONLY, MPI_INFO_NULL, file, error)
    call expect(called(3) == 1 .and. last_code == MPI_ERR_NO_SUCH_FILE, 37)
    call MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN)
    call MPI_Errhandler_free(handler)

    call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, session)
    call MPI_Session_create_errhandler(on_session, handler)
    call MPI_Session_set_errhandler(session, handler)
    call MPI_Session_call_errhandler(session, MPI_ERR_OTHER)
    call expect(called(4) == 1, 38)
    call MPI_Errhandler_free(handler)
    call MPI_Session_finalize(session)
  end subroutine

  subroutine type_copy(oldtype, keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror)
    type(MPI_Datatype) :: oldtype
    integer :: keyval, ierror
    integer(MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
    logical :: flag
    type_copied = type_copied + int(extra_state)
    attribute_val_out = attribute_val_in - 1
    flag = odd(.true.)
    ierror = MPI_SUCCESS
  end subroutine

  subroutine type_delete(datatype, keyval, attribute_val, extra_state, ierror)
    type(MPI_Datatype) :: datatype
    integer :: keyval, ierror
    integer(MPI_ADDRESS_KIND) :: attribute_val, extra_state
    type_deleted = type_deleted + int(attribute_val)
    ierror = MPI_SUCCESS
  end subroutine

  subroutine win_delete(win, keyval, attribute_val, extra_state, ierror)
    type(MPI_Win) :: win
    integer :: keyval, ierror
    integer(MPI_ADDRESS_KIND) :: attribute_val, extra_state
    win_deleted = win_deleted + 1
    ierror = MPI_ERR_OTHER
    if (attribute_val == -5) ierror = MPI_SUCCESS
  end subroutine

  subroutine attributes()
    use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
    type(MPI_Datatype) :: one, two
    type(MPI_Win) :: win
    type(c_ptr) :: base
    integer, pointer :: memory(:)
    integer(MPI_ADDRESS_KIND) :: value
    integer :: keyval, error
    logical :: flag
    call MPI_Type_create_keyval(type_copy, type_delete, keyval, 7_MPI_ADDRESS_KIND)
    call MPI_Type_contiguous(2, MPI_INTEGER, one)
    call MPI_Type_set_attr(one, keyval, 100_MPI_ADDRESS_KIND)
    call MPI_Type_dup(one, two)
    call MPI_Type_get_attr(two, keyval, value, flag)
    call expect(flag .and. value == 99 .and. type_copied == 7, 40)
    call MPI_Type_free(one)
    call MPI_Type_free(two)
    call expect(type_deleted == 199, 41)
    call MPI_Type_free_keyval(keyval)
    call expect(keyval == MPI_KEYVAL_INVALID, 42)

    call MPI_Win_allocate(64_MPI_ADDRESS_KIND, 8, MPI_INFO_NULL, MPI_COMM_WORLD, base, win)
    call c_f_pointer(base, memory, [16])
    memory = 3
    call MPI_Win_get_attr(win, MPI_WIN_SIZE, value, flag)
    call expect(flag .and. value == 64, 43)
    call MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, value, flag)
    call expect(flag .and. value == 8, 44)
    call MPI_Win_get_attr(win, MPI_WIN_BASE, value, flag)
    call expect(flag .and. value == transfer(base, value), 45)
    call MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, win_delete, keyval, 0_MPI_ADDRESS_KIND)
    call MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN)
    call MPI_Win_set_attr(win, keyval, -6_MPI_ADDRESS_KIND)
    call MPI_Win_delete_attr(win, keyval, error)
    call expect(error /= MPI_SUCCESS .and. win_deleted == 1, 46)
    call MPI_Win_set_attr(win, keyval, -5_MPI_ADDRESS_KIND, error)
    call MPI_Win_free(win)
    call MPI_Win_free_keyval(keyval)
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag)
    call expect(flag .and. value >= 32767, 47)
  end subroutine

  ! Composes affine maps: not commutative, on pairs of a datatype of the program.
  subroutine compose(invec, inoutvec, len, datatype)
    use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
    type(c_ptr), value :: invec, inoutvec
    integer :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: a(:, :), b(:, :)
    integer :: i
    call c_f_pointer(invec, a, [2, len])
    call c_f_pointer(inoutvec, b, [2, len])
    do i = 1, len
      b(:, i) = [a(1, i) * b(1, i), a(2, i) * b(1, i) + b(2, i)]
    end do
  end subroutine

  subroutine compose_large(invec, inoutvec, len, datatype)
    use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
    type(c_ptr), value :: invec, inoutvec
    integer(MPI_COUNT_KIND) :: len
    type(MPI_Datatype) :: datatype
    call compose(invec, inoutvec, int(len), datatype)
  end subroutine

  subroutine operations()
    type(MPI_Op) :: op, large
    type(MPI_Datatype) :: pair
    integer :: rank, ranks, i, expected(2)
    integer, asynchronous :: maps(2, 3), results(2, 3), wide(2, 2, 3)
    type(MPI_Request) :: request
    logical :: commutes
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    call MPI_Type_contiguous(2, MPI_INTEGER, pair)
    call MPI_Type_commit(pair)
    call MPI_Op_create(compose, odd(.false.), op)
    call MPI_Op_create_c(compose_large, .false., large)
    call MPI_Op_commutative(op, commutes)
    call expect(.not. commutes, 50)
    expected = [1, 0]
    do i = 0, ranks - 1
      expected = [2 * expected(1), 2 * expected(2) + i]
    end do
    do i = 1, 3
      maps(:, i) = [2, rank]
    end do
    call MPI_Allreduce(maps, results, 3, pair, op, MPI_COMM_WORLD)
    call expect(all(results(1, :) == expected(1)) .and. all(results(2, :) == expected(2)), 51)
    results = 0
    wide = 0
    wide(:, 1, :) = maps
    call MPI_Iallreduce(wide(:, 1, 3:1:-1), results(:, 3:1:-1), 3_MPI_COUNT_KIND, pair, large, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call expect(all(results(1, :) == expected(1)) .and. all(results(2, :) == expected(2)), 52)
    call MPI_Reduce_local(maps, results(:, 1:3:2), 2, pair, op)
    call expect(results(1, 2) == expected(1) .and. all(results(1, 1:3:2) == 2 * expected(1)), 53)
    call MPI_Op_free(op)
    call MPI_Op_free(large)
    call MPI_Type_free(pair)
    call expect(op == MPI_OP_NULL .and. pair == MPI_DATATYPE_NULL, 54)
  end subroutine

  subroutine many_requests()
    integer, parameter :: many = 100
    type(MPI_Request) :: requests(many)
    type(MPI_Status) :: statuses(many), status
    integer, asynchronous :: sent(many), received(2, many)
    integer :: i, index, done, indices(many), count
    logical :: flag
    integer(MPI_COUNT_KIND) :: large
    call expect(all(all_null == MPI_REQUEST_NULL) .and. .not. any(all_null /= MPI_REQUEST_NULL), 60)
    call MPI_Waitany(3, all_null, index, MPI_STATUS_IGNORE)
    call expect(index == MPI_UNDEFINED, 61)
    call MPI_Waitsome(3, all_null, done, indices, MPI_STATUSES_IGNORE)
    call expect(done == MPI_UNDEFINED, 62)
    call MPI_Testany(3, all_null, index, flag, status)
    call expect(flag .and. index == MPI_UNDEFINED .and. status%MPI_SOURCE == MPI_ANY_SOURCE, 63)
    sent = [(i, i = 1, many)]
    received = 0
    do i = 1, many
      call MPI_Irecv(received(1, i), 1, MPI_INTEGER, 0, i, MPI_COMM_SELF, requests(i))
    end do
    call MPI_Send(sent(70), 1, MPI_INTEGER, 0, 70, MPI_COMM_SELF)
    call MPI_Waitany(many, requests, index, status)
    call expect(index == 70 .and. status%MPI_TAG == 70 .and. requests(70) == MPI_REQUEST_NULL, 64)
    do i = 1, many
      if (i /= 70) call MPI_Send(sent(i), 1, MPI_INTEGER, 0, i, MPI_COMM_SELF)
    end do
    call MPI_Waitsome(many, requests, done, indices, statuses)
    call expect(done >= 1 .and. all(indices(1:done) == statuses(1:done)%MPI_TAG), 65)
    ! Part of an array of requests, backwards.
    call MPI_Waitall(many / 2, requests(many:2:-2), statuses)
    call MPI_Waitall(many, requests, MPI_STATUSES_IGNORE)
    call expect(all(requests == MPI_REQUEST_NULL) .and. all(received(1, :) == sent) .and. all(received(2, :) == 0), 66)
    call MPI_Irecv(received(:, 2:1:-1), 4, MPI_INTEGER, 0, 1, MPI_COMM_SELF, requests(1))
    call MPI_Send(sent(8:1:-2), 3, MPI_INTEGER, 0, 1, MPI_COMM_SELF)
    call MPI_Wait(requests(1), status)
    call MPI_Get_count(status, MPI_INTEGER, count)
    call MPI_Get_count(status, MPI_INTEGER, large)
    call expect(count == 3 .and. large == 3 .and. all(received(:, 2) == [8, 6]) .and. received(1, 1) == 4, 67)
    call MPI_Get_elements(status, MPI_INTEGER, large)
    call expect(large == 3, 68)
  end subroutine

  subroutine shapes()
    integer, target :: cube(-1:2, 0:3, 2)
    integer, pointer :: view(:, :), none(:)
    real(8), allocatable :: field(:, :)
    type(holder) :: kept
    integer :: i, rank
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    cube = reshape([(i, i = 1, 32)], [4, 4, 2])
    if (rank /= 0) cube = 0
    view => cube(2:-1:-3, 3:0:-1, 2)
    call MPI_Bcast(view, 8, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call expect(cube(2, 3, 2) == 32 .and. cube(-1, 0, 2) == 17, 70)
    if (rank /= 0) call expect(cube(0, 3, 2) == 0, 71)
    call MPI_Bcast(cube(:, 1:1, 1), 4, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call MPI_Bcast(cube(0:1, 2:2, 1:1), 2, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call expect(all(cube(:, 1, 1) == [5, 6, 7, 8]) .and. all(cube(0:1, 2, 1) == [10, 11]), 72)
    nullify (none)
    call MPI_Bcast(none, 0, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call MPI_Bcast(cube(5:4, :, :), 0, MPI_INTEGER, 0, MPI_COMM_WORLD)
    allocate (field(0:3, 5))
    field = rank
    call MPI_Bcast(field(::3, :), 10, MPI_REAL8, 0, MPI_COMM_WORLD)
    call expect(all(field(::3, :) == 0) .and. all(field(1:2, :) == rank), 73)
    ! Handles as parts of other things.
    kept%comm = MPI_COMM_SELF
    allocate (kept%types(2))
    kept%types = MPI_INTEGER
    call expect(all(kept%types == MPI_INTEGER) .and. kept%comm /= MPI_COMM_WORLD, 74)
    call what(kept%comm)
  end subroutine

  ! A handle as an object of any type.
  subroutine what(thing)
    class(*), intent(in) :: thing
    call expect(storage_size(thing) == storage_size(MPI_COMM_SELF), 75)
  end subroutine

  subroutine constructors()
    type(MPI_Datatype) :: made, types(3), found(3)
    integer :: integers(8), combiner, counts(3)
    integer(MPI_ADDRESS_KIND) :: addresses(3), places(3), lower, extent
    integer(MPI_COUNT_KIND) :: size, wide(4), n(4)
    types = [MPI_INTEGER, MPI_REAL8, MPI_CHARACTER]
    places = [0_MPI_ADDRESS_KIND, 8_MPI_ADDRESS_KIND, 16_MPI_ADDRESS_KIND]
    call MPI_Type_create_struct(3, [1, 1, 3], places, types, made)
    call MPI_Type_get_envelope(made, counts(1), counts(2), counts(3), combiner)
    call expect(combiner == MPI_COMBINER_STRUCT .and. all(counts == [4, 3, 3]), 80)
    call MPI_Type_get_contents(made, 4, 3, 3, integers, addresses, found)
    call expect(all(integers(1:4) == [3, 1, 1, 3]) .and. all(addresses == places) .and. all(found == types), 81)
    call MPI_Type_get_extent(made, lower, extent)
    call expect(lower == 0 .and. extent == 24, 82)
    call MPI_Type_free(made)
    size = 3000000000_MPI_COUNT_KIND
    call MPI_Type_contiguous(size, MPI_CHARACTER, made)
    call MPI_Type_size(made, size)
    call expect(size == 3000000000_MPI_COUNT_KIND, 83)
    call MPI_Type_size(made, counts(1))
    call expect(counts(1) == MPI_UNDEFINED, 84)
    call MPI_Type_get_envelope(made, n(1), n(2), n(3), n(4), combiner)
    wide = 0
    call MPI_Type_get_contents(made, n(1), n(2), n(3), n(4), integers, addresses, wide, found)
    call expect(combiner == MPI_COMBINER_CONTIGUOUS .and. any(wide == 3000000000_MPI_COUNT_KIND), 85)
    call MPI_Type_free(made)
    call MPI_Type_create_subarray(2, [4, 5], [2, 3], [1, 1], MPI_ORDER_FORTRAN, MPI_INTEGER, made)
    call MPI_Type_size(made, counts(1))
    call expect(counts(1) == 24, 86)
    call MPI_Type_free(made)
    call MPI_Type_create_f90_real(6, MPI_UNDEFINED, made)
    call MPI_Type_size(made, counts(1))
    call expect(counts(1) == 4, 87)
    call MPI_Type_match_size(MPI_TYPECLASS_COMPLEX, 16, made)
    call expect(made == MPI_DOUBLE_COMPLEX .or. made == MPI_COMPLEX16, 88)
    call MPI_Sizeof('four', counts(1))
    call MPI_Sizeof([1d0], counts(2))
    call expect(counts(1) == 4 .and. counts(2) == 8, 89)
    call expect(MPI_Aint_add(40_MPI_ADDRESS_KIND, -8_MPI_ADDRESS_KIND) == 32, 90)
    call MPI_Pcontrol(1)
  end subroutine

  subroutine groups()
    type(MPI_Group) :: world, part
    integer :: ranges(3, 1), size, ranks(2), to(2)
    call MPI_Comm_group(MPI_COMM_WORLD, world)
    ranges(:, 1) = [0, 0, 1]
    call MPI_Group_range_incl(world, 1, ranges, part)
    call MPI_Group_size(part, size)
    call expect(size == 1, 95)
    ranks = [0, MPI_PROC_NULL]
    call MPI_Group_translate_ranks(part, 2, ranks, world, to)
    call expect(to(1) == 0 .and. to(2) == MPI_PROC_NULL, 96)
    call MPI_Group_free(part)
    call MPI_Group_free(world)
    call expect(part == MPI_GROUP_NULL, 97)
  end subroutine
end module

program modern
  use everything
  implicit none
  integer :: provided, version, subversion
  call MPI_Init_thread(MPI_THREAD_SERIALIZED, provided)
  call MPI_Get_version(version, subversion)
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
  call texts()
  call logicals()
  call handlers()
  call attributes()
  call operations()
  call many_requests()
  call shapes()
  call constructors()
  call groups()
  call MPI_Allreduce(MPI_IN_PLACE, failed, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (failed == 0) print '(a)', 'PASS'
  call MPI_Finalize()
end program
