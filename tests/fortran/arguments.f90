! SPDX-License-Identifier: MIT OR Apache-2.0
! RANKS: 1,3
! Buffers of all kinds, and the constants that stand for buffers, statuses and weights, in mpi_f08 and in the two old faces.
module arguments_f08
  use mpi_f08
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

  ! An array of assumed size, of which the call knows nothing but the address.
  subroutine assumed_size(values, count)
    integer, asynchronous :: values(2, *)
    integer, intent(in) :: count
    type(MPI_Request) :: request
    integer :: total
    call MPI_Allreduce(MPI_IN_PLACE, values, 2 * count, MPI_INTEGER, MPI_MAX, MPI_COMM_SELF)
    call MPI_Iallreduce(values, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_SELF, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call expect(total == values(1, 1), 1)
    call MPI_Irecv(values(1, 2), 1, MPI_INTEGER, 0, 1, MPI_COMM_SELF, request)
    call MPI_Send(values(2, 1), 1, MPI_INTEGER, 0, 1, MPI_COMM_SELF)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
  end subroutine

  subroutine kinds_of_buffers()
    integer, asynchronous :: table(2, 3), scalar, i
    integer, allocatable :: allocated(:), empty(:), nothing(:)
    integer, pointer :: nowhere(:)
    character(5), asynchronous :: text, texts(3)
    logical :: flag
    real(8), asynchronous :: matrix(2, 2)
    complex(8), asynchronous :: value
    type(MPI_Request) :: request
    type :: pair
      integer :: number
      real(8) :: value
    end type
    type(pair) :: pairs(3), other(3)
    table = reshape([(i, i = 1, 6)], [2, 3])
    call assumed_size(table, 3)
    call expect(table(1, 2) == 2 .and. table(2, 3) == 6, 2)

    scalar = 7
    call MPI_Sendrecv(scalar, 1, MPI_INTEGER, 0, 2, i, 1, MPI_INTEGER, 0, 2, MPI_COMM_SELF, MPI_STATUS_IGNORE)
    call expect(i == 7, 3)
    ! An element of a row: scalar, and the first of what follows it.
    call MPI_Bcast(table(2, 1), 1, MPI_INTEGER, 0, MPI_COMM_WORLD)
    text = 'abc'
    texts = 'xxxxx'
    call MPI_Irecv(texts(2), 3, MPI_CHARACTER, 0, 3, MPI_COMM_SELF, request)
    call MPI_Send(text(2:4), 3, MPI_CHARACTER, 0, 3, MPI_COMM_SELF)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call expect(texts(2) == 'bc xx' .and. texts(1) == 'xxxxx' .and. texts(3) == 'xxxxx', 4)
    call MPI_Bcast(text, 5, MPI_CHARACTER, 0, MPI_COMM_WORLD)
    flag = .true.
    call MPI_Allreduce(MPI_IN_PLACE, flag, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD)
    call expect(flag, 5)
    matrix = 1
    call MPI_Allreduce(MPI_IN_PLACE, matrix, 4, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_SELF)
    value = (1, 2)
    call MPI_Allreduce(MPI_IN_PLACE, value, 1, MPI_DOUBLE_COMPLEX, MPI_PROD, MPI_COMM_SELF)
    call expect(all(matrix == 1) .and. value == (1, 2), 6)
    ! The components of an array of structures are a section.
    pairs = [(pair(i, i / 2d0), i = 1, 3)]
    other = pair(0, 0)
    call MPI_Irecv(other%value, 3, MPI_REAL8, 0, 4, MPI_COMM_SELF, request)
    call MPI_Send(pairs%value, 3, MPI_REAL8, 0, 4, MPI_COMM_SELF)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call expect(all(other%value == pairs%value) .and. all(other%number == 0), 7)

    ! Nothing to send, in buffers of all kinds.
    allocate (allocated(3), empty(0))
    nullify (nowhere)
    allocated = 1
    call MPI_Allreduce(MPI_IN_PLACE, allocated, 3, MPI_INTEGER, MPI_SUM, MPI_COMM_SELF)
    call MPI_Allreduce(empty, empty, 0, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call MPI_Allreduce(nothing, nothing, 0, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call MPI_Sendrecv(nowhere, 0, MPI_INTEGER, 0, 5, nothing, 0, MPI_INTEGER, 0, 5, MPI_COMM_SELF, MPI_STATUS_IGNORE)
    call MPI_Sendrecv(table(2, 3:2), 0, MPI_INTEGER, 0, 5, empty, 0, MPI_INTEGER, 0, 5, MPI_COMM_SELF, MPI_STATUS_IGNORE)
    call MPI_Send(nothing, 1, MPI_INTEGER, MPI_PROC_NULL, 5, MPI_COMM_SELF)
    call MPI_Isend(table(2, 3:2), 0, MPI_INTEGER, MPI_PROC_NULL, 5, MPI_COMM_SELF, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
  end subroutine

  ! MPI_BOTTOM with a datatype of absolute addresses.
  subroutine bottom()
    integer, asynchronous, volatile :: from(2), to(2)
    integer(MPI_ADDRESS_KIND) :: addresses(2)
    type(MPI_Datatype) :: sent, received
    type(MPI_Request) :: request
    integer :: i
    from = [3, 4]
    to = 0
    call MPI_Get_address(from, addresses(1))
    call MPI_Get_address(to, addresses(2))
    call MPI_Type_create_struct(1, [2], addresses(1:1), [MPI_INTEGER], sent)
    call MPI_Type_create_struct(1, [2], addresses(2:2), [MPI_INTEGER], received)
    call MPI_Type_commit(sent)
    call MPI_Type_commit(received)
    call MPI_Irecv(MPI_BOTTOM, 1, received, 0, 6, MPI_COMM_SELF, request)
    call MPI_Send(MPI_BOTTOM, 1, sent, 0, 6, MPI_COMM_SELF)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call expect(all(to == [3, 4]), 10)
    from = [5, 6]
    call MPI_Ialltoall(MPI_BOTTOM, 1, sent, MPI_BOTTOM, 1, received, MPI_COMM_SELF, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call expect(all(to == [5, 6]), 11)
    to = 1
    call MPI_Bcast(MPI_BOTTOM, 1, received, 0, MPI_COMM_WORLD)
    call MPI_Get_address(MPI_BOTTOM, addresses(1))
    call MPI_Type_free(sent)
    call MPI_Type_free(received)
  end subroutine

  ! MPI_IN_PLACE in each call that takes it.
  subroutine in_place()
    integer, asynchronous :: values(12)
    integer :: rank, ranks, counts(3), places(3), bytes(3), i, error
    type(MPI_Request) :: request
    type(MPI_Datatype) :: types(3)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    counts = 1
    places = [0, 1, 2]
    bytes = 4 * places
    types = MPI_INTEGER
    values = rank
    call MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, values, 1, MPI_INTEGER, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call expect(all(values(1:ranks) == [(i, i = 0, ranks - 1)]), 20)
    values = rank
    call MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, values, counts, places, MPI_INTEGER, MPI_COMM_WORLD)
    call expect(all(values(1:ranks) == [(i, i = 0, ranks - 1)]), 21)
    values = rank
    if (rank == 0) then
      call MPI_Gather(MPI_IN_PLACE, 1, MPI_INTEGER, values, 1, MPI_INTEGER, 0, MPI_COMM_WORLD)
      call expect(all(values(1:ranks) == [(i, i = 0, ranks - 1)]), 22)
      call MPI_Igatherv(MPI_IN_PLACE, 1, MPI_INTEGER, values, counts, places, MPI_INTEGER, 0, MPI_COMM_WORLD, request)
      call MPI_Wait(request, MPI_STATUS_IGNORE)
      call MPI_Scatter(values, 1, MPI_INTEGER, MPI_IN_PLACE, 1, MPI_INTEGER, 0, MPI_COMM_WORLD)
      call MPI_Iscatterv(values, counts, places, MPI_INTEGER, MPI_IN_PLACE, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, request)
      call MPI_Wait(request, MPI_STATUS_IGNORE)
      call MPI_Reduce(MPI_IN_PLACE, values, 3, MPI_INTEGER, MPI_MAX, 0, MPI_COMM_WORLD)
    else
      call MPI_Gather(values, 1, MPI_INTEGER, i, 1, MPI_INTEGER, 0, MPI_COMM_WORLD)
      call MPI_Igatherv(values, 1, MPI_INTEGER, i, counts, places, MPI_INTEGER, 0, MPI_COMM_WORLD, request)
      call MPI_Wait(request, MPI_STATUS_IGNORE)
      call MPI_Scatter(i, 1, MPI_INTEGER, values, 1, MPI_INTEGER, 0, MPI_COMM_WORLD)
      call expect(values(1) == rank, 23)
      call MPI_Iscatterv(i, counts, places, MPI_INTEGER, values, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, request)
      call MPI_Wait(request, MPI_STATUS_IGNORE)
      call MPI_Reduce(values, i, 3, MPI_INTEGER, MPI_MAX, 0, MPI_COMM_WORLD)
    end if
    values = rank
    call MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, values, 1, MPI_INTEGER, MPI_COMM_WORLD)
    call expect(all(values(1:ranks) == [(i, i = 0, ranks - 1)]), 24)
    values = rank
    call MPI_Ialltoallv(MPI_IN_PLACE, counts, places, MPI_INTEGER, values, counts, places, MPI_INTEGER, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call expect(all(values(1:ranks) == [(i, i = 0, ranks - 1)]), 25)
    values = rank
    call MPI_Alltoallw(MPI_IN_PLACE, counts, bytes, types, values, counts, bytes, types, MPI_COMM_WORLD)
    call expect(all(values(1:ranks) == [(i, i = 0, ranks - 1)]), 26)
    values = rank
    call MPI_Ialltoallw(MPI_IN_PLACE, counts, bytes, types, values, counts, bytes, types, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call expect(all(values(1:ranks) == [(i, i = 0, ranks - 1)]), 27)
    values = 1
    call MPI_Scan(MPI_IN_PLACE, values, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call expect(all(values(1:2) == rank + 1), 28)
    values = 1
    call MPI_Iexscan(MPI_IN_PLACE, values, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call expect(rank == 0 .or. all(values(1:2) == rank), 29)
    values = 1
    call MPI_Reduce_scatter_block(MPI_IN_PLACE, values, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call expect(all(values(1:2) == ranks), 30)
    values = 1
    call MPI_Ireduce_scatter(MPI_IN_PLACE, values, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call expect(values(1) == ranks, 31)

    ! It is no buffer of other calls.
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
    call MPI_Send(MPI_IN_PLACE, 1, MPI_INTEGER, 0, 7, MPI_COMM_SELF, error)
    call expect(error == MPI_ERR_BUFFER, 32)
    call MPI_Irecv(MPI_IN_PLACE, 1, MPI_INTEGER, 0, 7, MPI_COMM_SELF, request, error)
    call expect(error == MPI_ERR_BUFFER, 33)
    call MPI_Bcast(MPI_IN_PLACE, 1, MPI_INTEGER, 0, MPI_COMM_SELF, error)
    call expect(error == MPI_ERR_BUFFER, 34)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL)
  end subroutine

  subroutine others()
    type(MPI_Comm) :: graph
    integer :: sources(2), destinations(2), indegree, outdegree, size
    logical :: is_weighted
    type(c_ptr) :: buffer
    call MPI_Dist_graph_create_adjacent(MPI_COMM_SELF, 1, [0], MPI_UNWEIGHTED, 1, [0], MPI_UNWEIGHTED, MPI_INFO_NULL, &
                                        .false., graph)
    call MPI_Dist_graph_neighbors_count(graph, indegree, outdegree, is_weighted)
    call expect(indegree == 1 .and. outdegree == 1 .and. .not. is_weighted, 40)
    call MPI_Dist_graph_neighbors(graph, 1, sources, MPI_UNWEIGHTED, 1, destinations, MPI_UNWEIGHTED)
    call expect(sources(1) == 0 .and. destinations(1) == 0, 41)
    call MPI_Comm_free(graph)
    call MPI_Dist_graph_create_adjacent(MPI_COMM_SELF, 0, sources, MPI_WEIGHTS_EMPTY, 0, destinations, MPI_WEIGHTS_EMPTY, &
                                        MPI_INFO_NULL, .false., graph)
    call MPI_Dist_graph_neighbors_count(graph, indegree, outdegree, is_weighted)
    call expect(indegree == 0 .and. outdegree == 0 .and. is_weighted, 42)
    call MPI_Comm_free(graph)
    call MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0)
    call MPI_Bsend(outdegree, 1, MPI_INTEGER, 0, 8, MPI_COMM_SELF)
    call MPI_Recv(indegree, 1, MPI_INTEGER, 0, 8, MPI_COMM_SELF, MPI_STATUS_IGNORE)
    call MPI_Buffer_detach(buffer, size)
  end subroutine
end module

! The same constants through an old face, and statuses that nobody asks for in every call that returns them.
subroutine with_mpi(failed)
  use mpi
  implicit none
  integer, intent(inout) :: failed
  integer :: error, request, requests(2), count, index, indices(2), from(2), to(2), message, i
  integer, allocatable :: nothing(:)
  logical :: flag
  do i = 1, 2
    call MPI_Irecv(to(i), 1, MPI_INTEGER, 0, i, MPI_COMM_SELF, requests(i), error)
  end do
  from = [8, 9]
  call MPI_Send(from(1), 1, MPI_INTEGER, 0, 1, MPI_COMM_SELF, error)
  call MPI_Waitany(2, requests, index, MPI_STATUS_IGNORE, error)
  if (index /= 1) failed = failed + 1
  call MPI_Send(from(2), 1, MPI_INTEGER, 0, 2, MPI_COMM_SELF, error)
  call MPI_Waitsome(2, requests, count, indices, MPI_STATUSES_IGNORE, error)
  if (count /= 1 .or. indices(1) /= 2 .or. any(to /= from)) failed = failed + 1
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
  call MPI_Testall(2, requests, flag, MPI_STATUSES_IGNORE, error)
  call MPI_Testany(2, requests, index, flag, MPI_STATUS_IGNORE, error)
  call MPI_Testsome(2, requests, count, indices, MPI_STATUSES_IGNORE, error)
  if (.not. flag .or. index /= MPI_UNDEFINED .or. count /= MPI_UNDEFINED) failed = failed + 1
  call MPI_Isend(from, 2, MPI_INTEGER, 0, 3, MPI_COMM_SELF, request, error)
  call MPI_Probe(0, 3, MPI_COMM_SELF, MPI_STATUS_IGNORE, error)
  call MPI_Iprobe(0, 3, MPI_COMM_SELF, flag, MPI_STATUS_IGNORE, error)
  call MPI_Mprobe(0, 3, MPI_COMM_SELF, message, MPI_STATUS_IGNORE, error)
  call MPI_Mrecv(to, 2, MPI_INTEGER, message, MPI_STATUS_IGNORE, error)
  call MPI_Request_get_status(request, flag, MPI_STATUS_IGNORE, error)
  call MPI_Test(request, flag, MPI_STATUS_IGNORE, error)
  if (.not. flag .or. any(to /= from)) failed = failed + 1
  call MPI_Allreduce(MPI_IN_PLACE, to, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_SELF, error)
  if (any(to /= from)) failed = failed + 1
  call MPI_Allreduce(nothing, nothing, 0, MPI_INTEGER, MPI_SUM, MPI_COMM_SELF, error)
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN, error)
  call MPI_Send(nothing, 1, MPI_INTEGER, 0, 1, MPI_COMM_SELF, error)
  if (error /= MPI_ERR_BUFFER) failed = failed + 1
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL, error)
end subroutine

subroutine with_header(failed)
  implicit none
  include 'mpif.h'
  integer failed, error, status(MPI_STATUS_SIZE), from, to, request
  from = 5
  call MPI_Sendrecv(from, 1, MPI_INTEGER, 0, 1, to, 1, MPI_INTEGER, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE, error)
  if (to /= from) failed = failed + 1
  call MPI_Iallreduce(MPI_IN_PLACE, to, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_SELF, request, error)
  call MPI_Wait(request, status, error)
  if (to /= from) failed = failed + 1
end subroutine

program arguments
  use arguments_f08
  implicit none
  call MPI_Init()
  call kinds_of_buffers()
  call bottom()
  call in_place()
  call others()
  call with_mpi(failed)
  call with_header(failed)
  call MPI_Allreduce(MPI_IN_PLACE, failed, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (failed == 0) print '(a)', 'PASS'
  call MPI_Finalize()
end program
