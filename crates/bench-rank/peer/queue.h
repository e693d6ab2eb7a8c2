/* SPDX-License-Identifier: MIT OR Apache-2.0
 * A part of peer.c: deep queues. Twin of src/rows/queue.rs. */

static double unexpected_once(work_t *work)
{
    if (rank != 0) {
        MPI_Recv(NULL, 0, MPI_BYTE, 0, DEPTH, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < DEPTH; i++)
            MPI_Isend(work->out, SMALL, MPI_BYTE, 0, i, MPI_COMM_WORLD, &work->sends[i]);
        MPI_Waitall(DEPTH, work->sends, MPI_STATUSES_IGNORE);
        MPI_Send(NULL, 0, MPI_BYTE, 0, DEPTH, MPI_COMM_WORLD);
        return 0;
    }
    MPI_Send(NULL, 0, MPI_BYTE, 1, DEPTH, MPI_COMM_WORLD);
    MPI_Recv(NULL, 0, MPI_BYTE, 1, DEPTH, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    double start = now_ns();
    for (int tag = DEPTH - 1; tag >= 0; tag--)
        MPI_Recv(work->in, SMALL, MPI_BYTE, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    double time = now_ns() - start;
    if (work->options->verify)
        check(work->in, SMALL, 1);
    return time;
}

static double posted_once(work_t *work)
{
    if (rank != 0) {
        MPI_Recv(NULL, 0, MPI_BYTE, 0, DEPTH, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < DEPTH; i++)
            MPI_Isend(work->out, SMALL, MPI_BYTE, 0, DEPTH - 1 - i, MPI_COMM_WORLD, &work->sends[i]);
        MPI_Waitall(DEPTH, work->sends, MPI_STATUSES_IGNORE);
        return 0;
    }
    for (int i = 0; i < DEPTH; i++)
        MPI_Irecv(work->in + (size_t)i * SMALL, SMALL, MPI_BYTE, 1, i, MPI_COMM_WORLD, &work->receives[i]);
    double start = now_ns();
    MPI_Send(NULL, 0, MPI_BYTE, 1, DEPTH, MPI_COMM_WORLD);
    MPI_Waitall(DEPTH, work->receives, MPI_STATUSES_IGNORE);
    double time = now_ns() - start;
    for (int i = 0; work->options->verify && i < DEPTH; i++)
        check(work->in + (size_t)i * SMALL, SMALL, 1);
    memset(work->in, 0, (size_t)DEPTH * SMALL);
    return time;
}

static double unexpected(work_t *work, long iterations)
{
    double total = 0;
    for (long i = 0; i < iterations; i++)
        total += unexpected_once(work);
    return total;
}

static double posted(work_t *work, long iterations)
{
    double total = 0;
    for (long i = 0; i < iterations; i++)
        total += posted_once(work);
    return total;
}

static void queue(work_t *work, double *values)
{
    fill(work->out, SMALL, 1);
    measure(strcmp(work->options->name, "posted") == 0 ? posted : unexpected, work, values);
    for (long i = 0; i < work->taken; i++)
        values[i] /= DEPTH;
}
