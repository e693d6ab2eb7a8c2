/* SPDX-License-Identifier: MIT OR Apache-2.0
 * A part of peer.c: how often something runs. Twin of src/repeat.rs and of measure's sampling/budget.rs. */

/* The number of iterations after one whose time is known, and whether as many fill `each`. */
static long grow(long iterations, double took, double each, int *fits)
{
    double fitting = (double)iterations * each / (took > 1 ? took : 1);
    *fits = took >= each / 4 || iterations >= MOST;
    if (!*fits)
        return iterations * 2;
    return fitting < 1 ? 1 : fitting > MOST ? MOST : (long)fitting;
}

static double order(batch_t batch, work_t *work, int64_t iterations)
{
    MPI_Bcast(&iterations, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
    return batch(work, (long)iterations);
}

/* Gives how many iterations fill the budget; `seen` are those of the last run, `time` is its time. */
static long warm_up(batch_t batch, work_t *work, long *seen, double *time)
{
    const options_t *options = work->options;
    double budget = (double)options->budget_us * 1e3, limit = (double)options->limit_us * 1e3;
    if (options->iterations > 0) {
        *seen = (options->iterations + 9) / 10;
        *time = order(batch, work, *seen);
        return options->iterations;
    }
    long next = 1;
    for (int fits = 0; !fits;) {
        *seen = next;
        *time = order(batch, work, *seen);
        double again = *time < limit ? order(batch, work, *seen) : *time;
        *time = again < *time ? again : *time;
        next = grow(*seen, *time, budget, &fits);
    }
    return next;
}

/* Fills `values` with the nanoseconds of an iteration in each repetition, on rank 0. */
static void measure(batch_t batch, work_t *work, double *values)
{
    double limit = (double)work->options->limit_us * 1e3, start = now_ns(), time;
    int64_t iterations = 0;
    long seen;
    work->taken = 0;
    if (rank != 0) {
        while (MPI_Bcast(&iterations, 1, MPI_INT64_T, 0, MPI_COMM_WORLD), iterations != 0)
            if (iterations != LOOK)
                batch(work, (long)iterations);
            else if (line.page)
                line_answer();
        return;
    }
    if (work->first >= limit) {
        values[work->taken++] = work->first;
    } else {
        long count = warm_up(batch, work, &seen, &time);
        double expected = time * (double)count / (double)seen;
        while (work->taken < work->options->repetitions && now_ns() - start + expected <= limit) {
            line_look_before();
            expected = order(batch, work, count);
            line_look_after();
            values[work->taken++] = expected / (double)count;
        }
        if (work->taken == 0)
            values[work->taken++] = time / (double)seen;
    }
    MPI_Bcast(&iterations, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
}
