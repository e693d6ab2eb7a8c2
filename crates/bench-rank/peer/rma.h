/* SPDX-License-Identifier: MIT OR Apache-2.0
 * A part of peer.c: one-sided communication. Twin of src/rows/rma.rs. */

enum { RMA_BLOCK = 16, RMA_BLOCKS = 256, RMA_STRIDE = 32 };

static struct {
    MPI_Win window;
    unsigned char *base, *own;
    MPI_Datatype strided;
    MPI_Group peer;
    int64_t iteration;
} rma;

static int is_row(const work_t *work, const char *name)
{
    return strcmp(work->options->name, name) == 0;
}

static void rma_new(size_t bytes, int is_private)
{
    if (is_private) {
        rma.base = rma.own = memory(bytes, 0);
        MPI_Win_create(rma.base, (MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &rma.window);
    } else {
        MPI_Win_allocate((MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &rma.base, &rma.window);
        memset(rma.base, 0, bytes);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void rma_once(work_t *work)
{
    int64_t value = 1, next = rma.iteration + 1, old = 0;
    int count = work->size / SMALL;
    if (is_row(work, "rma-put") || is_row(work, "rma-put-private")) {
        MPI_Put(work->out, work->size, MPI_BYTE, 1, 0, work->size, MPI_BYTE, rma.window);
    } else if (is_row(work, "rma-get") || is_row(work, "rma-get-private")) {
        MPI_Get(work->in, work->size, MPI_BYTE, 1, 0, work->size, MPI_BYTE, rma.window);
    } else if (is_row(work, "rma-put-strided")) {
        MPI_Put(work->in, RMA_BLOCK * RMA_BLOCKS, MPI_BYTE, 1, 0, 1, rma.strided, rma.window);
    } else if (is_row(work, "rma-bandwidth") || is_row(work, "rma-rate")) {
        for (int i = 0; i < WINDOW; i++)
            MPI_Put(work->out, work->size, MPI_BYTE, 1, 0, work->size, MPI_BYTE, rma.window);
    } else if (is_row(work, "rma-accumulate")) {
        MPI_Accumulate(work->out, count, MPI_INT64_T, 1, 0, count, MPI_INT64_T, MPI_SUM, rma.window);
    } else if (is_row(work, "rma-fetch-and-op")) {
        MPI_Fetch_and_op(&value, &old, MPI_INT64_T, 1, 0, MPI_SUM, rma.window);
    } else if (is_row(work, "rma-compare-and-swap")) {
        MPI_Compare_and_swap(&next, &rma.iteration, &old, MPI_INT64_T, 1, 0, rma.window);
    }
    MPI_Win_flush(1, rma.window);
    if ((is_row(work, "rma-fetch-and-op") || is_row(work, "rma-compare-and-swap")) && old != rma.iteration)
        give_up("found %lld instead of %lld", (long long)old, (long long)rma.iteration);
    rma.iteration++;
}

static double rma_batch(work_t *work, long iterations)
{
    double start = now_ns();
    if (rank == 0)
        for (long i = 0; i < iterations; i++)
            rma_once(work);
    return now_ns() - start;
}

/* Operations of rank 0 on rank 1. */
static void rma_operations(work_t *work, double *values)
{
    size_t size = (size_t)work->size, bytes = size < RMA_BLOCKS * RMA_STRIDE ? RMA_BLOCKS * RMA_STRIDE : size;
    int is_put = is_row(work, "rma-put") || is_row(work, "rma-put-private");
    int is_get = is_row(work, "rma-get") || is_row(work, "rma-get-private");
    rma.iteration = 0;
    rma_new(bytes, strstr(work->options->name, "-private") != NULL);
    MPI_Type_vector(RMA_BLOCKS, RMA_BLOCK, RMA_STRIDE, MPI_BYTE, &rma.strided);
    MPI_Type_commit(&rma.strided);
    if (is_put)
        fill(work->out, size, 7);
    else if (is_get)
        fill(rma.base, size, 9);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        MPI_Win_lock_all(0, rma.window);
    if (work->options->verify && (is_put || is_get)) {
        if (rank == 0)
            rma_once(work);
        MPI_Barrier(MPI_COMM_WORLD);
        if (is_get && rank == 0)
            check(work->in, size, 9);
        if (is_put && rank == 1) {
            MPI_Win_lock_all(0, rma.window);
            MPI_Win_sync(rma.window);
            check(rma.base, size, 7);
            MPI_Win_unlock_all(rma.window);
        }
    }
    measure(rma_batch, work, values);
    if (rank == 0)
        MPI_Win_unlock_all(rma.window);
    double each = is_row(work, "rma-rate") ? WINDOW : (double)WINDOW * work->size;
    if (is_row(work, "rma-rate") || is_row(work, "rma-bandwidth"))
        for (long i = 0; i < work->taken; i++)
            values[i] = each * 1e9 / values[i];
    MPI_Type_free(&rma.strided);
    MPI_Win_free(&rma.window);
    free(rma.own);
    rma.own = NULL;
}

static double lock_batch(work_t *work, long iterations)
{
    int by_all = is_row(work, "rma-lock-contended"), target = by_all ? 0 : 1;
    double start = now_ns();
    if (rank == 0 || by_all)
        for (long i = 0; i < iterations; i++) {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, rma.window);
            MPI_Put(work->out, SMALL, MPI_BYTE, target, 0, SMALL, MPI_BYTE, rma.window);
            MPI_Win_unlock(target, rma.window);
        }
    if (by_all)
        MPI_Barrier(MPI_COMM_WORLD);
    return now_ns() - start;
}

static double fence_batch(work_t *work, long iterations)
{
    (void)work;
    double start = now_ns();
    for (long i = 0; i < iterations; i++)
        MPI_Win_fence(0, rma.window);
    return now_ns() - start;
}

static double posted_batch(work_t *work, long iterations)
{
    double start = now_ns();
    for (long i = 0; i < iterations; i++) {
        MPI_Win_post(rma.peer, 0, rma.window);
        MPI_Win_start(rma.peer, 0, rma.window);
        MPI_Put(work->out, SMALL, MPI_BYTE, 1 - rank, 0, SMALL, MPI_BYTE, rma.window);
        MPI_Win_complete(rma.window);
        MPI_Win_wait(rma.window);
    }
    return now_ns() - start;
}

/* Locks, and synchronisation of all ranks. */
static void rma_synchronisation(work_t *work, double *values)
{
    rma_new(SMALL, 0);
    if (is_row(work, "rma-fence")) {
        measure(fence_batch, work, values);
    } else if (is_row(work, "rma-pscw")) {
        MPI_Group all;
        int other = 1 - rank;
        MPI_Comm_group(MPI_COMM_WORLD, &all);
        MPI_Group_incl(all, 1, &other, &rma.peer);
        measure(posted_batch, work, values);
        MPI_Group_free(&rma.peer);
        MPI_Group_free(&all);
    } else {
        measure(lock_batch, work, values);
        if (is_row(work, "rma-lock-contended"))
            for (long i = 0; i < work->taken; i++)
                values[i] /= ranks;
    }
    MPI_Win_free(&rma.window);
}
