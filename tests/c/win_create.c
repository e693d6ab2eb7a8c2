/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 3 4 7
 * ENV: RANKPOINT_RMA=
 * ENV: RANKPOINT_RMA=attach
 * ENV: RANKPOINT_RMA=message
 * Windows of each kind: memory, attributes, names, groups, hints, and many of them made and freed. */
#include "check.h"

static int rank, size;

/* The predefined attributes of a window. */
static void attributes(MPI_Win win, void *base, MPI_Aint bytes, int unit, int flavor)
{
    void *value;
    int flag;
    CHECK(MPI_Win_get_attr(win, MPI_WIN_BASE, &value, &flag) == MPI_SUCCESS && flag && value == base);
    CHECK(MPI_Win_get_attr(win, MPI_WIN_SIZE, &value, &flag) == MPI_SUCCESS && flag && *(MPI_Aint *)value == bytes);
    CHECK(MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &value, &flag) == MPI_SUCCESS && flag && *(int *)value == unit);
    CHECK(MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &value, &flag) == MPI_SUCCESS && flag && *(int *)value == flavor);
    CHECK(MPI_Win_get_attr(win, MPI_WIN_MODEL, &value, &flag) == MPI_SUCCESS && flag && *(int *)value == MPI_WIN_UNIFIED);
}

/* Each rank puts its number into every other rank's window, between fences. */
static void exchange(MPI_Win win, const int *memory)
{
    MPI_Win_fence(0, win);
    for (int to = 0; to < size; ++to)
        CHECK(MPI_Put(&rank, 1, MPI_INT, to, rank, 1, MPI_INT, win) == MPI_SUCCESS);
    MPI_Win_fence(0, win);
    for (int from = 0; memory && from < size; ++from)
        CHECK(memory[from] == from);
    int *all = malloc(sizeof(int) * (size_t)size);
    for (int from = 0; from < size; ++from) {
        memset(all, -1, sizeof(int) * (size_t)size);
        CHECK(MPI_Get(all, size, MPI_INT, from, 0, size, MPI_INT, win) == MPI_SUCCESS);
        MPI_Win_fence(0, win);
        for (int i = 0; i < size; ++i)
            CHECK(all[i] == i);
    }
    free(all);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
}

static void created(void)
{
    MPI_Win win;
    int *memory;
    MPI_Aint bytes = (MPI_Aint)sizeof(int) * size;
    /* Memory of MPI_Alloc_mem, and of the program itself. */
    MPI_Alloc_mem(bytes, MPI_INFO_NULL, &memory);
    CHECK(MPI_Win_create(memory, bytes, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win) == MPI_SUCCESS);
    attributes(win, memory, bytes, sizeof(int), MPI_WIN_FLAVOR_CREATE);
    exchange(win, memory);
    CHECK(MPI_Win_free(&win) == MPI_SUCCESS && win == MPI_WIN_NULL);
    MPI_Free_mem(memory);
    /* No memory on any rank. */
    CHECK(MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win) == MPI_SUCCESS);
    attributes(win, NULL, 0, 1, MPI_WIN_FLAVOR_CREATE);
    MPI_Win_free(&win);
}

static void allocated(void)
{
    MPI_Win win;
    int *memory;
    MPI_Aint bytes = (MPI_Aint)sizeof(int) * size;
    CHECK(MPI_Win_allocate(bytes, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win) == MPI_SUCCESS);
    attributes(win, memory, bytes, sizeof(int), MPI_WIN_FLAVOR_ALLOCATE);
    exchange(win, memory);
    MPI_Win_free(&win);
    /* Each rank has another size and another displacement unit; some have no memory. */
    int unit = rank + 1, count = rank % 3 * 5;
    MPI_Aint length = (MPI_Aint)count * unit;
    char *bytes_of_mine;
    CHECK(MPI_Win_allocate(length, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &bytes_of_mine, &win) == MPI_SUCCESS);
    attributes(win, bytes_of_mine, length, unit, MPI_WIN_FLAVOR_ALLOCATE);
    memset(bytes_of_mine, 0, (size_t)length);
    MPI_Win_fence(0, win);
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    char mark = (char)(rank + 1);
    for (int i = 0; i < to % 3 * 5; ++i)
        MPI_Put(&mark, 1, MPI_CHAR, to, i, 1, MPI_CHAR, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < length; ++i)
        CHECK(bytes_of_mine[i] == (i % unit ? 0 : from + 1));
    MPI_Win_free(&win);
}

static void names_groups_and_hints(void)
{
    MPI_Win win;
    int *memory, length, result, flag;
    char text[MPI_MAX_OBJECT_NAME];
    MPI_Info info, used;
    MPI_Info_create(&info);
    MPI_Info_set(info, "no_locks", "true");
    MPI_Info_set(info, "unknown_to_mpi", "true");
    MPI_Win_allocate(8, 8, info, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_get_name(win, text, &length);
    CHECK(length == 0 && text[0] == 0);
    MPI_Win_set_name(win, "wall");
    MPI_Win_get_name(win, text, &length);
    CHECK(length == 4 && strcmp(text, "wall") == 0);
    MPI_Group ours, world;
    MPI_Win_get_group(win, &ours);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_compare(ours, world, &result);
    CHECK(result == MPI_IDENT);
    MPI_Group_free(&ours);
    MPI_Group_free(&world);
    MPI_Win_get_info(win, &used);
    MPI_Info_get(used, "no_locks", MPI_MAX_OBJECT_NAME - 1, text, &flag);
    CHECK(flag && strcmp(text, "true") == 0);
    MPI_Info_get(used, "accumulate_ordering", MPI_MAX_OBJECT_NAME - 1, text, &flag);
    CHECK(flag && strcmp(text, "rar,raw,war,waw") == 0);
    MPI_Info_get(used, "unknown_to_mpi", MPI_MAX_OBJECT_NAME - 1, text, &flag);
    CHECK(!flag);
    MPI_Info_free(&used);
    MPI_Info_set(info, "same_size", "true");
    CHECK(MPI_Win_set_info(win, info) == MPI_SUCCESS);
    MPI_Win_get_info(win, &used);
    MPI_Info_get(used, "same_size", MPI_MAX_OBJECT_NAME - 1, text, &flag);
    CHECK(flag && strcmp(text, "true") == 0);
    MPI_Info_free(&used);
    MPI_Info_set(info, "no_locks", "false");
    MPI_Info_set(info, "mpi_minimum_memory_alignment", "65536");
    CHECK(MPI_Win_set_info(win, info) == MPI_SUCCESS);
    MPI_Win_get_info(win, &used);
    MPI_Info_get(used, "mpi_minimum_memory_alignment", MPI_MAX_OBJECT_NAME - 1, text, &flag);
    CHECK(flag && strcmp(text, "4096") == 0);
    MPI_Info_free(&used);
    CHECK(MPI_Win_lock_all(0, win) == MPI_SUCCESS && MPI_Win_unlock_all(win) == MPI_SUCCESS);
    MPI_Info_free(&info);
    CHECK(MPI_Win_fromint(MPI_Win_toint(win)) == win);
    MPI_Win_free(&win);
    CHECK(MPI_Win_fromint(MPI_Win_toint(MPI_WIN_NULL)) == MPI_WIN_NULL);
}

/* Windows of half of the ranks, and of one rank alone. */
static void of_other_communicators(void)
{
    MPI_Comm half;
    MPI_Win win, own;
    int *memory, *mine, ranks, place;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    MPI_Comm_size(half, &ranks);
    MPI_Comm_rank(half, &place);
    MPI_Win_allocate(sizeof(int), 1, MPI_INFO_NULL, half, &memory, &win);
    MPI_Win_allocate(sizeof(int), 1, MPI_INFO_NULL, MPI_COMM_SELF, &mine, &own);
    /* The window outlives the communicator. */
    MPI_Comm_free(&half);
    MPI_Win_fence(0, win);
    MPI_Put(&rank, 1, MPI_INT, (place + 1) % ranks, 0, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    int from = ranks == 1 ? rank : place == 0 ? rank % 2 : rank + 2;
    CHECK(*memory == from);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, own);
    MPI_Put(&size, 1, MPI_INT, 0, 0, 1, MPI_INT, own);
    MPI_Win_unlock(0, own);
    CHECK(*mine == size);
    MPI_Win_free(&own);
    MPI_Win_free(&win);
}

static void many(void)
{
    enum { AT_ONCE = 100 };
    static MPI_Win wins[AT_ONCE];
    static int *memories[AT_ONCE];
    for (int i = 0; i < AT_ONCE; ++i)
        MPI_Win_allocate(sizeof(int), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memories[i], &wins[i]);
    for (int i = 0; i < AT_ONCE; ++i) {
        int value = i * size + rank;
        MPI_Win_fence(0, wins[i]);
        MPI_Put(&value, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, wins[i]);
    }
    for (int i = 0; i < AT_ONCE; ++i) {
        MPI_Win_fence(0, wins[i]);
        CHECK(*memories[i] == i * size + (rank + size - 1) % size);
    }
    for (int i = AT_ONCE - 1; i >= 0; --i)
        MPI_Win_free(&wins[i]);
    for (int i = 0; i < AT_ONCE; ++i) {
        MPI_Win_create(&memories, sizeof memories, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &wins[0]);
        MPI_Win_free(&wins[0]);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    created();
    allocated();
    names_groups_and_hints();
    of_other_communicators();
    many();
    return finish(rank);
}
