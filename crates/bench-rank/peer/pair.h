/* SPDX-License-Identifier: MIT OR Apache-2.0
 * A part of peer.c: two ranks and one stream of messages. Twin of src/rows/pair.rs. */

static void round_trip(work_t *work)
{
    if (rank == 0) {
        MPI_Send(work->out, work->size, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
        MPI_Recv(work->in, work->size, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(work->in, work->size, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(work->out, work->size, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
    }
}

static double round_trips(work_t *work, long iterations)
{
    double start = now_ns();
    for (long i = 0; i < iterations; i++)
        round_trip(work);
    return now_ns() - start;
}

static void start_receives(work_t *work, int from)
{
    size_t offset = 0, size = (size_t)work->size;
    for (int i = 0; i < WINDOW; i++, offset += size) {
        if (offset + size > work->room)
            offset = 0;
        MPI_Irecv(work->in + offset, work->size, MPI_BYTE, from, WINDOW_TAG, MPI_COMM_WORLD, &work->receives[i]);
    }
}

static void start_sends(work_t *work, int to)
{
    for (int i = 0; i < WINDOW; i++)
        MPI_Isend(work->out, work->size, MPI_BYTE, to, WINDOW_TAG, MPI_COMM_WORLD, &work->sends[i]);
}

static void one_window(work_t *work)
{
    unsigned char answer[4] = {0};
    if (rank == 0) {
        start_sends(work, 1);
        MPI_Waitall(WINDOW, work->sends, MPI_STATUSES_IGNORE);
        MPI_Recv(answer, 4, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        start_receives(work, 0);
        MPI_Waitall(WINDOW, work->receives, MPI_STATUSES_IGNORE);
        MPI_Send(answer, 4, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
    }
}

static void exchange_windows(work_t *work)
{
    start_receives(work, 1 - rank);
    start_sends(work, 1 - rank);
    MPI_Waitall(WINDOW, work->receives, MPI_STATUSES_IGNORE);
    MPI_Waitall(WINDOW, work->sends, MPI_STATUSES_IGNORE);
}

static double windows(work_t *work, long iterations)
{
    double start = now_ns();
    for (long i = 0; i < iterations; i++)
        one_window(work);
    return now_ns() - start;
}

static double exchanges(work_t *work, long iterations)
{
    double start = now_ns();
    for (long i = 0; i < iterations; i++)
        exchange_windows(work);
    return now_ns() - start;
}

static void check_slots(const work_t *work, uint64_t message)
{
    size_t size = (size_t)work->size;
    for (size_t offset = 0; size > 0 && offset + size <= work->room; offset += size)
        check(work->in + offset, size, message);
}

static void latency(work_t *work, double *values)
{
    for (uint64_t message = 0; work->options->verify && message < CHECKED; message++) {
        fill(work->out, (size_t)work->size, message + (uint64_t)rank);
        round_trip(work);
        check(work->in, (size_t)work->size, message + 1 - (uint64_t)rank);
    }
    measure(round_trips, work, values);
    for (long i = 0; i < work->taken; i++)
        values[i] /= 2;
}

static void bandwidth(work_t *work, double *values)
{
    for (uint64_t message = 0; work->options->verify && message < CHECKED; message++) {
        fill(work->out, (size_t)work->size, message);
        one_window(work);
        if (rank == 1)
            check_slots(work, message);
    }
    measure(windows, work, values);
    double each = strcmp(work->options->name, "rate") == 0 ? WINDOW : (double)WINDOW * work->size;
    for (long i = 0; i < work->taken; i++)
        values[i] = each * 1e9 / values[i];
}

static void bidirectional(work_t *work, double *values)
{
    for (uint64_t message = 0; work->options->verify && message < CHECKED; message++) {
        fill(work->out, (size_t)work->size, message + (uint64_t)rank);
        exchange_windows(work);
        check_slots(work, message + 1 - (uint64_t)rank);
    }
    measure(exchanges, work, values);
    for (long i = 0; i < work->taken; i++)
        values[i] = 2.0 * WINDOW * work->size * 1e9 / values[i];
}
