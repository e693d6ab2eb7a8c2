/* SPDX-License-Identifier: MIT OR Apache-2.0
 * A part of peer.c: long messages in an order that is forced. Twin of src/rows/rendezvous.rs; these libraries do not tell their control
 * messages. */

enum { LONG_TAG = 4, RECEIVER = 0, SENDER = 1, LEAD_NS = 5000, FIRST_NS = 20000, LONG_CHECKED = 2, OBSERVED = 3, SKEWS = 8 };
enum { RECEIVED, SENT, SWITCHES };

static struct {
    int64_t skew_ns;
    /* The same where it tells points of a row apart, else 0. */
    int64_t point;
    /* The rank that works between the start of its operation and the wait, or -1; only the work is done if it is silent. */
    int worker, is_silent;
    uint64_t steps;
    /* The receiver's, if receives are persistent. */
    MPI_Request persistent;
    /* What each batch observed. */
    double (*all)[OBSERVED];
    long count, room;
} trial;

static void wait_until(int64_t moment)
{
    while ((int64_t)now_ns() < moment)
        ;
}

static double count_switches(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (double)(usage.ru_nvcsw + usage.ru_nivcsw) : 0;
}

static double transfer(work_t *work)
{
    MPI_Barrier(MPI_COMM_WORLD);
    int64_t start = (int64_t)now_ns() + LEAD_NS;
    MPI_Bcast(&start, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
    int64_t receive_at = start - (trial.skew_ns < 0 ? trial.skew_ns : 0), send_at = start + (trial.skew_ns > 0 ? trial.skew_ns : 0);
    int64_t later = receive_at > send_at ? receive_at : send_at;
    wait_until(rank == RECEIVER ? receive_at : send_at);
    MPI_Request request = trial.persistent;
    int works = trial.worker == rank;
    if (!trial.is_silent && rank == RECEIVER && request != MPI_REQUEST_NULL)
        MPI_Start(&request);
    else if (!trial.is_silent && rank == RECEIVER)
        MPI_Irecv(work->in, work->size, MPI_BYTE, SENDER, LONG_TAG, MPI_COMM_WORLD, &request);
    else if (!trial.is_silent && works)
        MPI_Isend(work->out, work->size, MPI_BYTE, RECEIVER, LONG_TAG, MPI_COMM_WORLD, &request);
    else if (!trial.is_silent)
        MPI_Send(work->out, work->size, MPI_BYTE, RECEIVER, LONG_TAG, MPI_COMM_WORLD);
    if (works) {
        wait_until(later);
        spend(trial.steps);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return now_ns() - (double)later;
}

/* Remembers what all ranks observed of so many messages, on rank 0. */
static void gather(double *own)
{
    if (rank != 0) {
        MPI_Send(own, OBSERVED, MPI_DOUBLE, 0, LONG_TAG, MPI_COMM_WORLD);
        return;
    }
    for (int other = 1; other < ranks; other++) {
        double theirs[OBSERVED];
        MPI_Recv(theirs, OBSERVED, MPI_DOUBLE, other, LONG_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < OBSERVED; i++)
            own[i] += theirs[i];
    }
    if (trial.count == trial.room) {
        trial.room = 2 * trial.room + 64;
        trial.all = realloc(trial.all, (size_t)trial.room * sizeof *trial.all);
        if (!trial.all)
            give_up("no memory for %ld values", trial.room);
    }
    memcpy(trial.all[trial.count++], own, sizeof *trial.all);
}

static double transfers(work_t *work, long iterations)
{
    double *times = memory((size_t)iterations * sizeof *times, 0), own[OBSERVED] = {0};
    double start = now_ns(), before = count_switches();
    for (long i = 0; i < iterations; i++)
        times[i] = transfer(work);
    own[SWITCHES] = (count_switches() - before) / (double)iterations;
    own[rank == RECEIVER ? RECEIVED : SENT] = median(times, iterations);
    free(times);
    gather(own);
    return now_ns() - start;
}

static void turns(work_t *work, long iterations)
{
    for (long i = 0; i < 2 * iterations; i++)
        if ((i + rank) % 2 == 0)
            MPI_Send(work->out, work->size, MPI_BYTE, rank ^ 1, LONG_TAG, MPI_COMM_WORLD);
        else
            MPI_Recv(work->in, work->size, MPI_BYTE, rank ^ 1, LONG_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static double oversubscribed(work_t *work, long iterations)
{
    double start = now_ns(), before = count_switches(), own[OBSERVED] = {0};
    turns(work, iterations);
    MPI_Barrier(MPI_COMM_WORLD);
    own[SWITCHES] = (count_switches() - before) / (double)iterations / ranks;
    gather(own);
    return now_ns() - start;
}

/* Fills `values` with what the repetitions observed; the first batches were for warming up. */
static void pick(work_t *work, int which, double *values)
{
    for (long i = 0; i < work->taken; i++)
        values[i] = trial.all[trial.count - work->taken + i][which];
}

static void observe(work_t *work, int which, double *values)
{
    trial.count = 0;
    measure(transfers, work, values);
    pick(work, which, values);
}

static void verify_long(work_t *work)
{
    for (uint64_t message = 0; work->options->verify && message < LONG_CHECKED; message++) {
        if (rank == SENDER)
            fill(work->out, (size_t)work->size, message);
        transfer(work);
        if (rank == RECEIVER)
            check(work->in, (size_t)work->size, message);
    }
}

/* One row of those that the same repetitions gave: all of them met the same distances. */
static void report_part(work_t *work, const char *end, double *values)
{
    char name[128];
    snprintf(name, sizeof name, "%s%s", work->options->name, end);
    long met = line.met_count;
    report_at(name, work->size, trial.point, values, work->taken);
    line.met_count = met;
}

static void report_observed(work_t *work, double *values)
{
    pick(work, RECEIVED, values);
    report_part(work, "", values);
    pick(work, SENT, values);
    report_part(work, "-sent", values);
}

static void skews(work_t *work, double *values)
{
    const int64_t small[] = {250, 500, 1000, 2000};
    const double large[] = {0.25, 0.5, 1, 2};
    int64_t all[2 * SKEWS + 1] = {0};
    for (int i = 0; i < SKEWS; i++) {
        int64_t skew = i < SKEWS / 2 ? small[i] : (int64_t)(large[i - SKEWS / 2] * work->size / 10);
        all[1 + 2 * i] = skew;
        all[2 + 2 * i] = -skew;
    }
    for (int i = 0; i < 2 * SKEWS + 1; i++) {
        trial.skew_ns = trial.point = all[i];
        verify_long(work);
        observe(work, RECEIVED, values);
        report_observed(work, values);
        line.met_count = 0;
    }
}

static void overlap_long(work_t *work, double *values)
{
    int worker = strcmp(work->options->name, "rendezvous-overlap-send") == 0 ? SENDER : RECEIVER;
    if (rank == RECEIVER && strcmp(work->options->name, "rendezvous-overlap-start") == 0)
        MPI_Recv_init(work->in, work->size, MPI_BYTE, SENDER, LONG_TAG, MPI_COMM_WORLD, &trial.persistent);
    int which = worker == RECEIVER ? RECEIVED : SENT;
    trial.skew_ns = worker == RECEIVER ? FIRST_NS : -FIRST_NS;
    verify_long(work);
    observe(work, which, values);
    double alone = median(values, work->taken);
    spend(CALIBRATION);
    double start = now_ns();
    spend(CALIBRATION);
    double least = 3.0 * work->size / 10, spare = alone > least ? alone : least;
    int64_t steps = (int64_t)(spare * CALIBRATION / (now_ns() - start));
    MPI_Bcast(&steps, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
    trial.worker = worker;
    trial.steps = (uint64_t)steps;
    trial.is_silent = 1;
    observe(work, which, values);
    double spent = median(values, work->taken);
    trial.is_silent = 0;
    observe(work, which, values);
    for (long i = 0; i < work->taken; i++) {
        double hidden = 1 - (values[i] - spent) / alone;
        values[i] = 100 * (hidden < 0 ? 0 : hidden > 1 ? 1 : hidden);
    }
    report_part(work, "", values);
    if (trial.persistent != MPI_REQUEST_NULL)
        MPI_Request_free(&trial.persistent);
}

static void pairs_of_ranks(work_t *work, double *values)
{
    const options_t *given = work->options;
    options_t options = *given;
    options.budget_us = options.budget_us > SPAN_US ? options.budget_us : SPAN_US;
    work->options = &options;
    trial.count = 0;
    measure(oversubscribed, work, values);
    work->options = given;
    for (long i = 0; i < work->taken; i++)
        values[i] /= 2;
    report_part(work, "", values);
    pick(work, SWITCHES, values);
    report_part(work, "-switches", values);
}

static void rendezvous(const options_t *options)
{
    const char *name = options->name;
    trial.persistent = MPI_REQUEST_NULL;
    double *values = memory((size_t)options->repetitions * sizeof *values, 0);
    for (int i = 0; i < options->size_count; i++) {
        size_t size = (size_t)options->sizes[i];
        work_t work = {.options = options, .size = (int)size, .out = memory(size, 1), .in = memory(size, 2)};
        trial.worker = -1;
        trial.skew_ns = 0;
        if (strcmp(name, "rendezvous-skew") == 0)
            skews(&work, values);
        else if (strcmp(name, "rendezvous-oversubscribed") == 0)
            pairs_of_ranks(&work, values);
        else if (strncmp(name, "rendezvous-overlap-", 19) == 0)
            overlap_long(&work, values);
        else {
            int is_sender_first = strcmp(name, "rendezvous-sender-first") == 0;
            if (!is_sender_first && strcmp(name, "rendezvous-receiver-first") != 0 && strcmp(name, "rendezvous-together") != 0)
                give_up("nothing is called %s", name);
            trial.skew_ns = strcmp(name, "rendezvous-together") == 0 ? 0 : is_sender_first ? -FIRST_NS : FIRST_NS;
            verify_long(&work);
            observe(&work, RECEIVED, values);
            report_observed(&work, values);
            pick(&work, SWITCHES, values);
            report_part(&work, "-switches", values);
        }
        line.met_count = 0;
        free(work.out);
        free(work.in);
    }
    free(values);
}
