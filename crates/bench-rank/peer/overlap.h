/* SPDX-License-Identifier: MIT OR Apache-2.0
 * A part of peer.c: how much of a nonblocking operation work hides. Twin of src/rows/overlap.rs. */

enum { TESTS = 16, CALIBRATION = 2000000 };

static struct {
    int tests;
    uint64_t part;
} overlapped;

static int find_overlap(const char *name)
{
    static const struct {
        const char *name;
        int operation;
    } rows[] = {{"overlap-isend", SEND}, {"overlap-ibcast", BCAST}, {"overlap-iallreduce", ALLREDUCE}, {"overlap-ialltoall", ALLTOALL}};
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        size_t length = strlen(rows[row].name);
        if (strncmp(name, rows[row].name, length) != 0 || (name[length] && strcmp(name + length, "-test") != 0))
            continue;
        plan.operation = rows[row].operation;
        plan.form = NONBLOCKING;
        overlapped.tests = name[length] ? TESTS : 0;
        return 1;
    }
    return 0;
}

static void spend(uint64_t steps)
{
    volatile uint64_t edge = 3;
    uint64_t number = edge;
    for (uint64_t step = 0; step < steps; step++) {
        number *= 6364136223846793005u;
        number = number << 7 | number >> 57;
    }
    edge = number;
}

static double works(work_t *work, long iterations)
{
    (void)work;
    double start = now_ns();
    for (long i = 0; i < iterations * (overlapped.tests + 1); i++)
        spend(overlapped.part);
    MPI_Barrier(MPI_COMM_WORLD);
    return now_ns() - start;
}

static double together(work_t *work, long iterations)
{
    (void)work;
    double start = now_ns();
    for (long i = 0; i < iterations; i++) {
        plan_start();
        for (int test = 0; test < overlapped.tests; test++) {
            int flag;
            spend(overlapped.part);
            MPI_Test(&plan.request, &flag, MPI_STATUS_IGNORE);
        }
        spend(overlapped.part);
        MPI_Wait(&plan.request, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return now_ns() - start;
}

static void overlap(work_t *work, double *values)
{
    plan_make(work);
    work->first = 0;
    measure(plan_runs, work, values);
    double alone = median(values, work->taken);
    spend(CALIBRATION);
    double start = now_ns();
    spend(CALIBRATION);
    int64_t steps = (int64_t)(alone * CALIBRATION / (now_ns() - start));
    MPI_Bcast(&steps, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
    overlapped.part = (uint64_t)steps / (uint64_t)(overlapped.tests + 1);
    measure(works, work, values);
    double spent = median(values, work->taken);
    measure(together, work, values);
    if (work->options->verify)
        plan_check();
    for (long i = 0; i < work->taken; i++) {
        double hidden = 1 - (values[i] - spent) / alone;
        values[i] = 100 * (hidden < 0 ? 0 : hidden > 1 ? 1 : hidden);
    }
    plan_drop();
}
