/* SPDX-License-Identifier: MIT OR Apache-2.0
 * A part of peer.c: collectives, blocking, nonblocking and persistent. Twin of src/rows/collective.rs and src/mpi/collective.rs. */

enum form { BLOCKING, NONBLOCKING, PERSISTENT };

static struct {
    int operation;
    enum form form;
    size_t count;
    int64_t *out, *into;
    MPI_Request request;
} plan;

static const char *const OPERATIONS[] = {"bcast",     "reduce",   "allreduce",      "gather", "scatter",
                                         "allgather", "alltoall", "reduce-scatter", "scan"};
enum { BCAST, REDUCE, ALLREDUCE, GATHER, SCATTER, ALLGATHER, ALLTOALL, REDUCE_SCATTER, SCAN, OPERATION_COUNT, SEND };

static int64_t value_of(int from, size_t index)
{
    return (int64_t)from * 1000003 + (int64_t)index;
}

/* Whether a measurement is a collective; sets the plan's operation and form. */
static int find_collective(const char *name)
{
    for (int operation = 0; operation < OPERATION_COUNT; operation++) {
        char nonblocking[32], persistent[32];
        snprintf(nonblocking, sizeof nonblocking, "i%s", OPERATIONS[operation]);
        snprintf(persistent, sizeof persistent, "%s-init", OPERATIONS[operation]);
        plan.operation = operation;
        plan.form = strcmp(name, nonblocking) == 0 ? NONBLOCKING : strcmp(name, persistent) == 0 ? PERSISTENT : BLOCKING;
        if (plan.form != BLOCKING || strcmp(name, OPERATIONS[operation]) == 0)
            return 1;
    }
    return 0;
}

#define IN_FORM(NAME, ...)                                                                                                   \
    (plan.form == BLOCKING      ? MPI_##NAME(__VA_ARGS__, MPI_COMM_WORLD)                                                    \
     : plan.form == NONBLOCKING ? MPI_I##NAME##_(__VA_ARGS__, MPI_COMM_WORLD, &plan.request)                                 \
                                : MPI_##NAME##_init(__VA_ARGS__, MPI_COMM_WORLD, MPI_INFO_NULL, &plan.request))
/* The nonblocking names have a small letter. */
#define MPI_IBcast_ MPI_Ibcast
#define MPI_IReduce_ MPI_Ireduce
#define MPI_IAllreduce_ MPI_Iallreduce
#define MPI_IGather_ MPI_Igather
#define MPI_IScatter_ MPI_Iscatter
#define MPI_IAllgather_ MPI_Iallgather
#define MPI_IAlltoall_ MPI_Ialltoall
#define MPI_IReduce_scatter_block_ MPI_Ireduce_scatter_block
#define MPI_IScan_ MPI_Iscan

static void plan_start(void)
{
    int count = (int)plan.count;
    int64_t *out = plan.out, *into = plan.into;
    switch (plan.operation) {
    case BCAST: IN_FORM(Bcast, out, count, MPI_INT64_T, 0); break;
    case REDUCE: IN_FORM(Reduce, out, into, count, MPI_INT64_T, MPI_SUM, 0); break;
    case ALLREDUCE: IN_FORM(Allreduce, out, into, count, MPI_INT64_T, MPI_SUM); break;
    case GATHER: IN_FORM(Gather, out, count, MPI_INT64_T, into, count, MPI_INT64_T, 0); break;
    case SCATTER: IN_FORM(Scatter, out, count, MPI_INT64_T, into, count, MPI_INT64_T, 0); break;
    case ALLGATHER: IN_FORM(Allgather, out, count, MPI_INT64_T, into, count, MPI_INT64_T); break;
    case ALLTOALL: IN_FORM(Alltoall, out, count, MPI_INT64_T, into, count, MPI_INT64_T); break;
    case REDUCE_SCATTER: IN_FORM(Reduce_scatter_block, out, into, count, MPI_INT64_T, MPI_SUM); break;
    case SEND:
        if (rank == 0)
            MPI_Isend(out, count, MPI_INT64_T, 1, 0, MPI_COMM_WORLD, &plan.request);
        else if (rank == 1)
            MPI_Irecv(into, count, MPI_INT64_T, 0, 0, MPI_COMM_WORLD, &plan.request);
        break;
    default: IN_FORM(Scan, out, into, count, MPI_INT64_T, MPI_SUM);
    }
}

static void plan_run(void)
{
    if (plan.form == PERSISTENT)
        MPI_Start(&plan.request);
    else
        plan_start();
    if (plan.form != BLOCKING)
        MPI_Wait(&plan.request, MPI_STATUS_IGNORE);
}

static int64_t sum_of(int up_to, size_t index)
{
    int64_t sum = 0;
    for (int from = 0; from < up_to; from++)
        sum += value_of(from, index);
    return sum;
}

static int64_t expected_at(size_t index)
{
    size_t count = plan.count, mine = (size_t)rank * count;
    switch (plan.operation) {
    case BCAST:
    case SEND: return value_of(0, index);
    case REDUCE:
    case ALLREDUCE: return sum_of(ranks, index);
    case GATHER:
    case ALLGATHER: return value_of((int)(index / count), index % count);
    case SCATTER: return value_of(0, mine + index);
    case ALLTOALL: return value_of((int)(index / count), mine + index % count);
    case REDUCE_SCATTER: return sum_of(ranks, mine + index);
    default: return sum_of(rank + 1, index);
    }
}

static void plan_check(void)
{
    int gathers = plan.operation == GATHER || plan.operation == ALLGATHER || plan.operation == ALLTOALL;
    size_t whole = plan.count * (gathers ? (size_t)ranks : 1);
    const int64_t *result = plan.operation == BCAST ? plan.out : plan.into;
    if (((plan.operation == REDUCE || plan.operation == GATHER) && rank != 0) || (plan.operation == SEND && rank != 1))
        return;
    for (size_t index = 0; index < whole; index++)
        if (result[index] != expected_at(index))
            give_up("operation %d gave %lld at %zu", plan.operation, (long long)result[index], index);
}

static double plan_runs(work_t *work, long iterations)
{
    (void)work;
    double start = now_ns();
    for (long i = 0; i < iterations; i++)
        plan_run();
    MPI_Barrier(MPI_COMM_WORLD);
    return now_ns() - start;
}

static void plan_make(work_t *work)
{
    plan.count = (size_t)work->size / sizeof(int64_t);
    size_t all = plan.count * (size_t)ranks;
    plan.out = memory(all * sizeof(int64_t), 0);
    plan.into = memory(all * sizeof(int64_t), 0xff);
    plan.request = MPI_REQUEST_NULL;
    for (size_t index = 0; index < all; index++)
        plan.out[index] = value_of(rank, index);
    if (plan.form == PERSISTENT)
        plan_start();
    double start = now_ns();
    plan_run();
    MPI_Barrier(MPI_COMM_WORLD);
    work->first = now_ns() - start;
    if (work->options->verify)
        plan_check();
}

static void plan_drop(void)
{
    if (plan.form == PERSISTENT)
        MPI_Request_free(&plan.request);
    free(plan.out);
    free(plan.into);
}

static void collective(work_t *work, double *values)
{
    plan_make(work);
    measure(plan_runs, work, values);
    plan_drop();
}
