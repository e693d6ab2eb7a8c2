/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Halo exchange of a ring of vectors by MPI_Put, once with fences and once with notification: the flag that follows the data tells the
 * neighbour that they are there, so that only neighbours wait for each other.
 *
 *     mpicc examples/rma/halo_put.c -o halo_put
 *     mpiexec -n 4 ./halo_put */
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { CELLS = 500, STEPS = 200, LEFT = 0, RIGHT = 1 };

/* What neighbours write: the halo cells of even and odd steps, and how many steps of each side have come. */
typedef struct {
    uint64_t halo[2][2];
    int64_t arrived[2];
} mailbox_t;

static int rank, size;

static uint64_t start(int cell)
{
    return (uint64_t)cell * 2654435761u;
}

/* One step of a ring of `count` cells whose ends are given. */
static void step_cells(uint64_t *cells, int count, uint64_t left, uint64_t right)
{
    uint64_t before = left;
    for (int i = 0; i < count; i++) {
        uint64_t here = cells[i], after = i + 1 < count ? cells[i + 1] : right;
        cells[i] = before + 2 * here + after;
        before = here;
    }
}

static int is_wrong(const uint64_t *cells)
{
    static uint64_t all[CELLS * 64];
    if (size > 64)
        return 0;
    for (int i = 0; i < CELLS * size; i++)
        all[i] = start(i);
    for (int step = 0; step < STEPS; step++)
        step_cells(all, CELLS * size, all[CELLS * size - 1], all[0]);
    return memcmp(cells, all + CELLS * rank, CELLS * sizeof *cells) != 0;
}

static void put(const void *data, int bytes, int to, size_t where, MPI_Win window)
{
    MPI_Put(data, bytes, MPI_BYTE, to, (MPI_Aint)where, bytes, MPI_BYTE, window);
}

/* Writes the edges into the halos of the neighbours. */
static void put_edges(const uint64_t *cells, int step, const int *peers, MPI_Win window)
{
    for (int side = LEFT; side <= RIGHT; side++) {
        size_t there = offsetof(mailbox_t, halo) + sizeof(uint64_t) * (size_t)(2 * (step % 2) + 1 - side);
        put(&cells[side == LEFT ? 0 : CELLS - 1], sizeof *cells, peers[side], there, window);
    }
}

/* Tells the neighbours that the data of a step are there. */
static void notify(int64_t step, const int *peers, MPI_Win window)
{
    for (int side = LEFT; side <= RIGHT; side++) {
        MPI_Aint there = (MPI_Aint)(offsetof(mailbox_t, arrived) + sizeof step * (size_t)(1 - side));
        MPI_Accumulate(&step, 1, MPI_INT64_T, peers[side], there, 1, MPI_INT64_T, MPI_REPLACE, window);
    }
}

static void await(int side, int64_t step, MPI_Win window)
{
    int64_t arrived = 0;
    MPI_Aint here = (MPI_Aint)(offsetof(mailbox_t, arrived) + sizeof step * (size_t)side);
    while (arrived < step) {
        MPI_Fetch_and_op(NULL, &arrived, MPI_INT64_T, rank, here, MPI_NO_OP, window);
        MPI_Win_flush(rank, window);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int peers[2] = {(rank + size - 1) % size, (rank + 1) % size}, wrong = 0, all = 0;

    for (int notified = 0; notified < 2; notified++) {
        static uint64_t cells[CELLS];
        mailbox_t *box;
        MPI_Win window;
        MPI_Win_allocate(sizeof *box, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &box, &window);
        memset(box, 0, sizeof *box);
        for (int i = 0; i < CELLS; i++)
            cells[i] = start(CELLS * rank + i);
        MPI_Barrier(MPI_COMM_WORLD);
        if (notified)
            MPI_Win_lock_all(0, window);
        else
            MPI_Win_fence(MPI_MODE_NOPRECEDE, window);
        for (int step = 0; step < STEPS; step++) {
            put_edges(cells, step, peers, window);
            if (notified) {
                MPI_Win_flush_all(window);
                notify(step + 1, peers, window);
                await(LEFT, step + 1, window);
                await(RIGHT, step + 1, window);
                MPI_Win_sync(window);
            } else {
                MPI_Win_fence(0, window);
            }
            /* A neighbour writes these words again after the next step of this rank. */
            const uint64_t *halo = box->halo[step % 2];
            step_cells(cells, CELLS, halo[LEFT], halo[RIGHT]);
        }
        if (notified)
            MPI_Win_unlock_all(window);
        else
            MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
        wrong += is_wrong(cells);
        MPI_Win_free(&window);
    }
    MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("halo_put: %d ranks, %d steps with fences and with notification: %s\n", size, STEPS,
               all ? "wrong" : "verified");
    MPI_Finalize();
    return all != 0;
}
