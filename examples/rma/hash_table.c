/* SPDX-License-Identifier: MIT OR Apache-2.0
 * A hash table over all ranks: inserts claim a slot with MPI_Compare_and_swap and try the next one if it is taken.
 *
 *     mpicc examples/rma/hash_table.c -o hash_table
 *     mpiexec -n 4 ./hash_table */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { SLOTS = 4096, KEYS = 2000 };

static MPI_Win window;
static int rank, size;

static uint64_t mixed(uint64_t key)
{
    key ^= key >> 31;
    key *= 0x9e3779b97f4a7c15u;
    return key ^ key >> 29;
}

/* Gives how many slots were taken by other keys. A slot without a key holds 0. */
static int insert(uint64_t key)
{
    uint64_t slots = (uint64_t)SLOTS * (uint64_t)size, at = mixed(key) % slots, none = 0, found = 0;
    for (int tried = 0;; tried++, at = (at + 1) % slots) {
        int owner = (int)(at / SLOTS);
        MPI_Compare_and_swap(&key, &none, &found, MPI_UINT64_T, owner, (MPI_Aint)(at % SLOTS), window);
        MPI_Win_flush(owner, window);
        if (found == none || found == key)
            return tried;
    }
}

static int contains(uint64_t key)
{
    uint64_t slots = (uint64_t)SLOTS * (uint64_t)size, at = mixed(key) % slots, found = 0;
    for (;; at = (at + 1) % slots) {
        int owner = (int)(at / SLOTS);
        MPI_Fetch_and_op(NULL, &found, MPI_UINT64_T, owner, (MPI_Aint)(at % SLOTS), MPI_NO_OP, window);
        MPI_Win_flush(owner, window);
        if (found == key || found == 0)
            return found == key;
    }
}

int main(int argc, char **argv)
{
    uint64_t *slots;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_allocate(SLOTS * sizeof *slots, sizeof *slots, MPI_INFO_NULL, MPI_COMM_WORLD, &slots, &window);
    memset(slots, 0, SLOTS * sizeof *slots);
    MPI_Barrier(MPI_COMM_WORLD);

    long long collisions = 0, wrong = 0, all[2], counted[2];
    MPI_Win_lock_all(0, window);
    /* Neighbours insert half of their keys twice. */
    for (uint64_t i = 1; i <= KEYS; i++)
        collisions += insert((uint64_t)rank * (KEYS / 2) + i);
    MPI_Win_unlock_all(window);
    MPI_Barrier(MPI_COMM_WORLD);

    uint64_t keys = (uint64_t)(size + 1) * (KEYS / 2);
    MPI_Win_lock_all(0, window);
    for (uint64_t key = 1 + (uint64_t)rank; key <= keys; key += (uint64_t)size)
        wrong += !contains(key);
    wrong += contains(keys + 1);
    MPI_Win_unlock_all(window);
    long long used = 0;
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window);
    for (int i = 0; i < SLOTS; i++)
        used += slots[i] != 0;
    MPI_Win_unlock(rank, window);

    long long mine[2] = {wrong, used};
    MPI_Allreduce(mine, all, 2, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    MPI_Reduce(&collisions, counted, 1, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    int is_wrong = all[0] != 0 || all[1] != (long long)keys;
    if (rank == 0)
        printf("hash_table: %d ranks, %lld keys, %lld collisions: %s\n", size, all[1], counted[0],
               is_wrong ? "wrong" : "verified");
    MPI_Win_free(&window);
    MPI_Finalize();
    return is_wrong;
}
