! SPDX-License-Identifier: MIT OR Apache-2.0
! RANKS: 1,3,4
! Sections in all collective calls: blocking, nonblocking and persistent. Each must do what the blocking call does with contiguous arrays.
module arrays
  use mpi_f08
  implicit none
  integer, parameter :: rows = 12, total = 2 * rows
  ! What surrounds the elements of the sections and must stay.
  integer, parameter :: untouched = -7
  integer, target, asynchronous :: sent_table(3, total, 2), received_table(3, total, 2)
  ! The sections: one row of three, every other column from the last one.
  integer, pointer, asynchronous :: sent(:, :), received(:, :)
  ! The same elements, contiguous, and what must be received.
  integer :: plain(total), expected(total)
  integer :: rank, ranks, failed = 0
  type(MPI_Request) :: request
contains
  ! A call ahead of each one that is tested.
  subroutine prepare()
    integer :: i
    plain = [(i + 1000 * rank, i = 1, total)]
    sent_table = untouched
    received_table = untouched
    sent => sent_table(2, total:1:-2, :)
    received => received_table(2, total:1:-2, :)
    sent = reshape(plain, [rows, 2])
    received = -1 - rank
  end subroutine

  ! The contiguous array that the reference receives into.
  subroutine expect_first()
    call prepare()
    expected = -1 - rank
  end subroutine

  subroutine check(name)
    character(*), intent(in) :: name
    integer :: found(total)
    logical :: is_outside(3, total, 2)
    found = reshape(received, [total])
    is_outside = .true.
    is_outside(2, total:1:-2, :) = .false.
    if (all(found == expected) .and. all(received_table == untouched .or. .not. is_outside)) return
    failed = failed + 1
    print '(a, i0, 2a)', 'rank ', rank, ': ', name
    print '(24(i0, 1x))', found
    print '(24(i0, 1x))', expected
  end subroutine

  ! Behind a nonblocking call.
  subroutine wait_and_check(name)
    character(*), intent(in) :: name
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    if (request /= MPI_REQUEST_NULL) failed = failed + 1
    call check(name)
  end subroutine

  ! Behind a call that makes a persistent request.
  subroutine run_and_check(name)
    character(*), intent(in) :: name
    integer :: round
    logical :: is_complete
    do round = 1, 2
      call prepare()
      call MPI_Start(request)
      if (round == 1) then
        call MPI_Wait(request, MPI_STATUS_IGNORE)
      else
        is_complete = .false.
        do while (.not. is_complete)
          call MPI_Test(request, is_complete, MPI_STATUS_IGNORE)
        end do
      end if
      call check(name)
    end do
    call MPI_Request_free(request)
  end subroutine
end module

module calls
  use arrays
  implicit none
contains
  subroutine reductions()
    integer :: counts(ranks), i
    call expect_first()
    call MPI_Allreduce(plain, expected, total, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call MPI_Allreduce(sent, received, total, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call check('Allreduce')
    call prepare()
    call MPI_Iallreduce(sent, received, total, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request)
    call wait_and_check('Iallreduce')
    call prepare()
    received = sent
    call MPI_Iallreduce(MPI_IN_PLACE, received, total, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request)
    call wait_and_check('Iallreduce in place')
    call MPI_Allreduce_init(sent, received, total, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call run_and_check('Allreduce_init')

    call expect_first()
    call MPI_Reduce(plain, expected, total - 3, MPI_INTEGER, MPI_MAX, ranks - 1, MPI_COMM_WORLD)
    call MPI_Reduce(sent, received, total - 3, MPI_INTEGER, MPI_MAX, ranks - 1, MPI_COMM_WORLD)
    call check('Reduce')
    call prepare()
    call MPI_Ireduce(sent, received, total - 3, MPI_INTEGER, MPI_MAX, ranks - 1, MPI_COMM_WORLD, request)
    call wait_and_check('Ireduce')
    call MPI_Reduce_init(sent, received, total - 3, MPI_INTEGER, MPI_MAX, ranks - 1, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call run_and_check('Reduce_init')

    call expect_first()
    call MPI_Scan(plain, expected, 15, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call MPI_Scan(sent, received, 15, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call check('Scan')
    call prepare()
    call MPI_Iscan(sent, received, 15, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request)
    call wait_and_check('Iscan')
    call MPI_Scan_init(sent, received, 15, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call run_and_check('Scan_init')

    call expect_first()
    call MPI_Exscan(plain, expected, 15, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call MPI_Exscan(sent, received, 15, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call check('Exscan')
    call prepare()
    call MPI_Iexscan(sent, received, 15, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request)
    call wait_and_check('Iexscan')
    call MPI_Exscan_init(sent, received, 15, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call run_and_check('Exscan_init')

    counts = [(i, i = 1, ranks)]
    call expect_first()
    call MPI_Reduce_scatter(plain, expected, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call MPI_Reduce_scatter(sent, received, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call check('Reduce_scatter')
    call prepare()
    call MPI_Ireduce_scatter(sent, received, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request)
    call wait_and_check('Ireduce_scatter')
    call MPI_Reduce_scatter_init(sent, received, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call run_and_check('Reduce_scatter_init')
    call MPI_Ireduce_scatter(MPI_IN_PLACE, plain, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call prepare()
    received = sent
    call MPI_Ireduce_scatter(MPI_IN_PLACE, received, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    found: block
      integer :: own(total)
      own = reshape(received, [total])
      if (any(own(1:rank + 1) /= expected(1:rank + 1))) failed = failed + 1
    end block found

    call expect_first()
    call MPI_Reduce_scatter_block(plain, expected, 3, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call MPI_Reduce_scatter_block(sent, received, 3, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call check('Reduce_scatter_block')
    call prepare()
    call MPI_Ireduce_scatter_block(sent, received, 3, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request)
    call wait_and_check('Ireduce_scatter_block')
    call MPI_Reduce_scatter_block_init(sent, received, 3, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call run_and_check('Reduce_scatter_block_init')

    call expect_first()
    expected = expected + plain
    call MPI_Reduce_local(sent, received, total, MPI_INTEGER, MPI_SUM)
    call check('Reduce_local')
  end subroutine

  subroutine exchanges()
    integer(MPI_COUNT_KIND) :: wide = 3
    call expect_first()
    call MPI_Bcast(expected, 15, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call MPI_Bcast(received, 15, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call check('Bcast')
    call prepare()
    call MPI_Ibcast(received, 15, MPI_INTEGER, 0, MPI_COMM_WORLD, request)
    call wait_and_check('Ibcast')
    call MPI_Bcast_init(received, 15, MPI_INTEGER, 0, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call run_and_check('Bcast_init')

    call expect_first()
    call MPI_Allgather(plain, 3, MPI_INTEGER, expected, 3, MPI_INTEGER, MPI_COMM_WORLD)
    call MPI_Allgather(sent, 3, MPI_INTEGER, received, 3, MPI_INTEGER, MPI_COMM_WORLD)
    call check('Allgather')
    call prepare()
    call MPI_Iallgather(sent, wide, MPI_INTEGER, received, wide, MPI_INTEGER, MPI_COMM_WORLD, request)
    call wait_and_check('Iallgather')
    call MPI_Allgather_init(sent, 3, MPI_INTEGER, received, 3, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call run_and_check('Allgather_init')

    call expect_first()
    call MPI_Gather(plain, 3, MPI_INTEGER, expected, 3, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call MPI_Gather(sent, 3, MPI_INTEGER, received, 3, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call check('Gather')
    call prepare()
    call MPI_Igather(sent, 3, MPI_INTEGER, received, 3, MPI_INTEGER, 0, MPI_COMM_WORLD, request)
    call wait_and_check('Igather')
    call MPI_Gather_init(sent, 3, MPI_INTEGER, received, 3, MPI_INTEGER, 0, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call run_and_check('Gather_init')

    call expect_first()
    call MPI_Scatter(plain, 3, MPI_INTEGER, expected, 3, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call MPI_Scatter(sent, 3, MPI_INTEGER, received, 3, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call check('Scatter')
    call prepare()
    call MPI_Iscatter(sent, 3, MPI_INTEGER, received, 3, MPI_INTEGER, 0, MPI_COMM_WORLD, request)
    call wait_and_check('Iscatter')
    call MPI_Scatter_init(sent, 3, MPI_INTEGER, received, 3, MPI_INTEGER, 0, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call run_and_check('Scatter_init')

    call expect_first()
    call MPI_Alltoall(plain, 3, MPI_INTEGER, expected, 3, MPI_INTEGER, MPI_COMM_WORLD)
    call MPI_Alltoall(sent, 3, MPI_INTEGER, received, 3, MPI_INTEGER, MPI_COMM_WORLD)
    call check('Alltoall')
    call prepare()
    call MPI_Ialltoall(sent, 3, MPI_INTEGER, received, 3, MPI_INTEGER, MPI_COMM_WORLD, request)
    call wait_and_check('Ialltoall')
    call MPI_Alltoall_init(sent, 3, MPI_INTEGER, received, 3, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call run_and_check('Alltoall_init')
    call expect_first()
    expected = plain
    call MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INTEGER, expected, 3, MPI_INTEGER, MPI_COMM_WORLD)
    received = sent
    call MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INTEGER, received, 3, MPI_INTEGER, MPI_COMM_WORLD)
    call check('Alltoall in place')
  end subroutine

  ! Each rank has a block of another length, with a gap behind it.
  subroutine with_counts()
    integer :: counts(ranks), places(ranks), i
    integer(MPI_COUNT_KIND) :: wide_counts(ranks)
    integer(MPI_ADDRESS_KIND) :: wide_places(ranks)
    counts = [(i, i = 1, ranks)]
    places = [(5 * (ranks - i), i = 1, ranks)]
    wide_counts = counts
    wide_places = places

    call expect_first()
    call MPI_Allgatherv(plain, rank + 1, MPI_INTEGER, expected, counts, places, MPI_INTEGER, MPI_COMM_WORLD)
    call MPI_Allgatherv(sent, rank + 1, MPI_INTEGER, received, counts, places, MPI_INTEGER, MPI_COMM_WORLD)
    call check('Allgatherv')
    call prepare()
    call MPI_Iallgatherv(sent, int(rank + 1, MPI_COUNT_KIND), MPI_INTEGER, received, wide_counts, wide_places, MPI_INTEGER, &
                         MPI_COMM_WORLD, request)
    call wait_and_check('Iallgatherv')
    call MPI_Allgatherv_init(sent, rank + 1, MPI_INTEGER, received, counts, places, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, &
                             request)
    call run_and_check('Allgatherv_init')

    call expect_first()
    call MPI_Gatherv(plain, rank + 1, MPI_INTEGER, expected, counts, places, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call MPI_Gatherv(sent, rank + 1, MPI_INTEGER, received, counts, places, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call check('Gatherv')
    call prepare()
    call MPI_Igatherv(sent, rank + 1, MPI_INTEGER, received, counts, places, MPI_INTEGER, 0, MPI_COMM_WORLD, request)
    call wait_and_check('Igatherv')
    call MPI_Gatherv_init(sent, rank + 1, MPI_INTEGER, received, counts, places, MPI_INTEGER, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &
                          request)
    call run_and_check('Gatherv_init')

    call expect_first()
    call MPI_Scatterv(plain, counts, places, MPI_INTEGER, expected, rank + 1, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call MPI_Scatterv(sent, counts, places, MPI_INTEGER, received, rank + 1, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call check('Scatterv')
    call prepare()
    call MPI_Iscatterv(sent, counts, places, MPI_INTEGER, received, rank + 1, MPI_INTEGER, 0, MPI_COMM_WORLD, request)
    call wait_and_check('Iscatterv')
    call MPI_Scatterv_init(sent, counts, places, MPI_INTEGER, received, rank + 1, MPI_INTEGER, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &
                           request)
    call run_and_check('Scatterv_init')
  end subroutine

  subroutine to_all_with_counts()
    integer :: counts(ranks), own(ranks), places(ranks), bytes(ranks), i
    type(MPI_Datatype) :: types(ranks), pair
    ! What goes to rank i has as many elements as that rank's number, and comes from each in the same length.
    own = [(rank + 1, i = 1, ranks)]
    counts = [(i, i = 1, ranks)]
    places = [(5 * (ranks - i), i = 1, ranks)]
    bytes = 4 * places

    call expect_first()
    call MPI_Alltoallv(plain, counts, places, MPI_INTEGER, expected, own, places, MPI_INTEGER, MPI_COMM_WORLD)
    call MPI_Alltoallv(sent, counts, places, MPI_INTEGER, received, own, places, MPI_INTEGER, MPI_COMM_WORLD)
    call check('Alltoallv')
    call prepare()
    call MPI_Ialltoallv(sent, counts, places, MPI_INTEGER, received, own, places, MPI_INTEGER, MPI_COMM_WORLD, request)
    call wait_and_check('Ialltoallv')
    call MPI_Alltoallv_init(sent, counts, places, MPI_INTEGER, received, own, places, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, &
                            request)
    call run_and_check('Alltoallv_init')

    ! Two elements with one between them, which crosses the ends of columns.
    call MPI_Type_vector(2, 1, 2, MPI_INTEGER, pair)
    call MPI_Type_commit(pair)
    types = pair
    own = 1
    bytes = [(4 * (5 * i + 1), i = 1, ranks)]
    call expect_first()
    call MPI_Alltoallw(plain, own, bytes, types, expected, own, bytes, types, MPI_COMM_WORLD)
    call MPI_Alltoallw(sent, own, bytes, types, received, own, bytes, types, MPI_COMM_WORLD)
    call check('Alltoallw')
    call prepare()
    call MPI_Ialltoallw(sent, own, bytes, types, received, own, bytes, types, MPI_COMM_WORLD, request)
    call wait_and_check('Ialltoallw')
    call MPI_Alltoallw_init(sent, own, bytes, types, received, own, bytes, types, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    call run_and_check('Alltoallw_init')
    call MPI_Type_free(pair)
  end subroutine

  subroutine with_neighbours()
    type(MPI_Comm) :: ring
    integer :: counts(2) = [2, 3], places(2) = [7, 1]
    integer(MPI_ADDRESS_KIND) :: bytes(2) = [28, 4]
    type(MPI_Datatype) :: types(2)
    types = MPI_INTEGER
    call MPI_Cart_create(MPI_COMM_WORLD, 1, [ranks], [.true.], .false., ring)

    call expect_first()
    call MPI_Neighbor_allgather(plain, 3, MPI_INTEGER, expected, 3, MPI_INTEGER, ring)
    call MPI_Neighbor_allgather(sent, 3, MPI_INTEGER, received, 3, MPI_INTEGER, ring)
    call check('Neighbor_allgather')
    call prepare()
    call MPI_Ineighbor_allgather(sent, 3, MPI_INTEGER, received, 3, MPI_INTEGER, ring, request)
    call wait_and_check('Ineighbor_allgather')
    call MPI_Neighbor_allgather_init(sent, 3, MPI_INTEGER, received, 3, MPI_INTEGER, ring, MPI_INFO_NULL, request)
    call run_and_check('Neighbor_allgather_init')

    call expect_first()
    call MPI_Neighbor_allgatherv(plain, 2, MPI_INTEGER, expected, [2, 2], places, MPI_INTEGER, ring)
    call MPI_Neighbor_allgatherv(sent, 2, MPI_INTEGER, received, [2, 2], places, MPI_INTEGER, ring)
    call check('Neighbor_allgatherv')
    call prepare()
    call MPI_Ineighbor_allgatherv(sent, 2, MPI_INTEGER, received, [2, 2], places, MPI_INTEGER, ring, request)
    call wait_and_check('Ineighbor_allgatherv')

    call expect_first()
    call MPI_Neighbor_alltoall(plain, 4, MPI_INTEGER, expected, 4, MPI_INTEGER, ring)
    call MPI_Neighbor_alltoall(sent, 4, MPI_INTEGER, received, 4, MPI_INTEGER, ring)
    call check('Neighbor_alltoall')
    call prepare()
    call MPI_Ineighbor_alltoall(sent, 4, MPI_INTEGER, received, 4, MPI_INTEGER, ring, request)
    call wait_and_check('Ineighbor_alltoall')

    ! What goes down comes from above.
    call expect_first()
    call MPI_Neighbor_alltoallv(plain, counts, places, MPI_INTEGER, expected, counts(2:1:-1), places, MPI_INTEGER, ring)
    call MPI_Neighbor_alltoallv(sent, counts, places, MPI_INTEGER, received, counts(2:1:-1), places, MPI_INTEGER, ring)
    call check('Neighbor_alltoallv')
    call prepare()
    call MPI_Ineighbor_alltoallv(sent, counts, places, MPI_INTEGER, received, [3, 2], places, MPI_INTEGER, ring, request)
    call wait_and_check('Ineighbor_alltoallv')
    call prepare()
    call MPI_Ineighbor_alltoallw(sent, counts, bytes, types, received, [3, 2], bytes, types, ring, request)
    call wait_and_check('Ineighbor_alltoallw')
    call MPI_Comm_free(ring)
  end subroutine
end module

program sections
  use calls
  implicit none
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call reductions()
  call exchanges()
  call with_counts()
  call to_all_with_counts()
  call with_neighbours()
  call MPI_Allreduce(MPI_IN_PLACE, failed, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0 .and. failed == 0) print '(a)', 'PASS'
  call MPI_Finalize()
end program
