/* SPDX-License-Identifier: MIT OR Apache-2.0
 * A part of peer.c: more ranks than two: a ring of pairs, exchanges with neighbours, barrier. Twin of src/rows/many.rs. */

static void receive(work_t *work, int peer)
{
    if (strcmp(work->options->name, "ring-tests") != 0) {
        MPI_Recv(work->in, SMALL, MPI_BYTE, peer, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return;
    }
    MPI_Request request;
    MPI_Irecv(work->in, SMALL, MPI_BYTE, peer, 3, MPI_COMM_WORLD, &request);
    for (int is_complete = 0; !is_complete;)
        MPI_Test(&request, &is_complete, MPI_STATUS_IGNORE);
}

static void ping_pong(work_t *work, int peer, int leads, uint64_t number)
{
    if (work->options->verify)
        fill(work->out, SMALL, number + (uint64_t)rank);
    if (leads) {
        MPI_Send(work->out, SMALL, MPI_BYTE, peer, 3, MPI_COMM_WORLD);
        receive(work, peer);
    } else {
        receive(work, peer);
        MPI_Send(work->out, SMALL, MPI_BYTE, peer, 3, MPI_COMM_WORLD);
    }
    if (work->options->verify)
        check(work->in, SMALL, number + (uint64_t)peer);
}

static double ring_batch(work_t *work, long iterations)
{
    int leads = rank % 2 == 0, next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
    double start = now_ns();
    for (int half = 0; half < 2; half++)
        for (long number = 0; number < iterations; number++)
            ping_pong(work, leads == (half == 0) ? next : previous, leads, (uint64_t)number);
    MPI_Barrier(MPI_COMM_WORLD);
    return now_ns() - start;
}

static void ring(work_t *work, double *values)
{
    if (ranks % 2 != 0)
        give_up("a ring of pairs needs an even number of ranks, not %d", ranks);
    /* Ranks share cores in time slices of milliseconds; a run has to span many of them. */
    const options_t *given = work->options;
    options_t options = *given;
    options.budget_us = options.budget_us > SPAN_US ? options.budget_us : SPAN_US;
    work->options = &options;
    measure(ring_batch, work, values);
    work->options = given;
    for (long i = 0; i < work->taken; i++)
        values[i] /= 4;
}

static unsigned char *sides[2];

/* A message's tag says to which side it goes, because both neighbours may be the same rank. */
static void exchange_once(work_t *work)
{
    int neighbours[2] = {(rank + ranks - 1) % ranks, (rank + 1) % ranks};
    MPI_Request requests[4];
    for (int side = 0; side < 2; side++)
        MPI_Irecv(sides[side], work->size, MPI_BYTE, neighbours[side], 1 - side, MPI_COMM_WORLD, &requests[side]);
    for (int side = 0; side < 2; side++)
        MPI_Isend(work->out, work->size, MPI_BYTE, neighbours[side], side, MPI_COMM_WORLD, &requests[2 + side]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

static double neighbour_exchanges(work_t *work, long iterations)
{
    double start = now_ns();
    for (long i = 0; i < iterations; i++)
        exchange_once(work);
    MPI_Barrier(MPI_COMM_WORLD);
    return now_ns() - start;
}

static void exchange(work_t *work, double *values)
{
    size_t size = (size_t)work->size;
    for (int side = 0; side < 2; side++)
        sides[side] = memory(size, 0);
    fill(work->out, size, (uint64_t)rank);
    work->first = neighbour_exchanges(work, 1);
    if (work->options->verify) {
        check(sides[0], size, (uint64_t)((rank + ranks - 1) % ranks));
        check(sides[1], size, (uint64_t)((rank + 1) % ranks));
    }
    measure(neighbour_exchanges, work, values);
    for (int side = 0; side < 2; side++)
        free(sides[side]);
}

static double barriers(work_t *work, long iterations)
{
    (void)work;
    double start = now_ns();
    for (long i = 0; i < iterations; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    return now_ns() - start;
}

static void many(work_t *work, double *values)
{
    measure(barriers, work, values);
}
