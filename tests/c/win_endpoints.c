/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 3
 * ENV: RANKPOINT_RMA=
 * ENV: RANKPOINT_RMA=message
 * ENV: RANKPOINT_CHECK=threads,rma
 * Windows whose members are threads: made at once, and on the endpoint communicators of the threads; wrong arguments. */
#define _GNU_SOURCE
#include "check.h"
#include <dlfcn.h>
#include <pthread.h>

#define MOST 3
#define WORDS 8
#define ROUNDS 50

typedef int create_comms(MPI_Comm, int, MPI_Info, MPI_Comm *);
typedef int create_wins(void *const *, const MPI_Aint *, int, MPI_Info, MPI_Comm, int, MPI_Win *);

static int rank, size, ranks;

/* How many members a process is: not all the same, and none at the last of three. */
static int count_of(int process)
{
    return process == 2 ? 0 : 2 + process % 2;
}

/* Each member counts on the first one, and writes into the next one's memory with a fence and with a lock. */
static void use(MPI_Win win, int me)
{
    MPI_Group group;
    int all, flag;
    int *base;
    long one = 1, *words;
    MPI_Win_get_group(win, &group);
    MPI_Group_size(group, &all);
    MPI_Group_free(&group);
    CHECK(all == ranks);
    MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &flag);
    CHECK(flag && base);
    words = (long *)base;
    int right = (me + 1) % all, left = (me + all - 1) % all;
    for (int round = 0; round < ROUNDS; ++round) {
        long number = 100 * me + round, old;
        MPI_Win_fence(0, win);
        MPI_Put(&number, 1, MPI_LONG, right, 0, 1, MPI_LONG, win);
        MPI_Win_fence(0, win);
        CHECK(words[0] == 100 * left + round);
        MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
        MPI_Win_lock_all(0, win);
        MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, 1, MPI_SUM, win);
        MPI_Win_unlock_all(win);
        CHECK(old >= 0 && old < (long)ROUNDS * all);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, all - 1, 0, win);
        MPI_Get(&number, 1, MPI_LONG, all - 1, 2, 1, MPI_LONG, win);
        MPI_Win_flush(all - 1, win);
        ++number;
        MPI_Put(&number, 1, MPI_LONG, all - 1, 2, 1, MPI_LONG, win);
        MPI_Win_unlock(all - 1, win);
    }
    MPI_Win_fence(0, win);
    CHECK(me != 0 || words[1] == (long)ROUNDS * all);
    CHECK(me != all - 1 || words[2] == (long)ROUNDS * all);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
}

/* A window of this process, or a communicator, and which of its members. */
struct member {
    MPI_Win win;
    MPI_Comm comm;
    int index;
};

static void *use_window(void *argument)
{
    struct member *member = argument;
    int me = member->index;
    for (int process = 0; process < rank; ++process)
        me += count_of(process);
    use(member->win, me);
    return NULL;
}

static void *use_endpoint(void *argument)
{
    MPI_Win win;
    int me;
    long *base, memory[WORDS] = {0};
    MPI_Comm endpoint = ((struct member *)argument)->comm;
    MPI_Comm_rank(endpoint, &me);
    MPI_Win_allocate(sizeof memory, sizeof *memory, MPI_INFO_NULL, endpoint, &base, &win);
    use(win, me);
    MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, endpoint, &win);
    use(win, me);
    MPI_Comm_free(&endpoint);
    return NULL;
}

static void on_threads(int count, void *(*run)(void *), const MPI_Win *wins, const MPI_Comm *comms)
{
    pthread_t threads[MOST];
    struct member members[MOST];
    for (int index = 0; index < count; ++index) {
        struct member member = {wins[index], comms[index], index};
        members[index] = member;
        pthread_create(&threads[index], NULL, run, &members[index]);
    }
    for (int index = 0; index < count; ++index)
        pthread_join(threads[index], NULL);
}

int main(int argc, char **argv)
{
    create_comms *endpoints;
    create_wins *windows;
    int level, class;
    MPI_Comm comms[MOST] = {MPI_COMM_NULL, MPI_COMM_NULL, MPI_COMM_NULL};
    MPI_Win wins[MOST];
    *(void **)&endpoints = dlsym(RTLD_DEFAULT, "MPIX_Comm_create_endpoints");
    *(void **)&windows = dlsym(RTLD_DEFAULT, "MPIX_Win_create_endpoints");
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    CHECK(level == MPI_THREAD_MULTIPLE && endpoints && windows);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int process = 0; process < size; ++process)
        ranks += count_of(process);
    int count = count_of(rank);
    long memory[MOST][WORDS] = {{0}};
    void *bases[] = {memory[0], NULL, memory[2]};
    MPI_Aint sizes[] = {sizeof memory[0], sizeof memory[1], sizeof memory[2]};
    for (int round = 0; round < 3; ++round) {
        memset(memory, 0, sizeof memory);
        CHECK(windows(round ? bases : NULL, sizes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, count, wins) == MPI_SUCCESS);
        on_threads(count, use_window, wins, comms);
        CHECK(endpoints(MPI_COMM_WORLD, count, MPI_INFO_NULL, comms) == MPI_SUCCESS);
        on_threads(count, use_endpoint, wins, comms);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Error_class(windows(NULL, sizes, 0, MPI_INFO_NULL, MPI_COMM_WORLD, 1, wins), &class);
    CHECK(class == MPI_ERR_ARG && wins[0] == MPI_WIN_NULL);
    MPI_Error_class(windows(NULL, sizes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, 65, wins), &class);
    CHECK(class == MPI_ERR_ARG);
    /* One size is wrong: the member that gave it learns which, the others that somebody did. */
    char said[MPI_MAX_ERROR_STRING];
    sizes[0] = rank ? 8 : -5;
    int length, code = windows(NULL, sizes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, 1, wins);
    MPI_Error_string(code, said, &length);
    CHECK(strstr(said, rank ? "could not take part" : "argument 'size' is -5 for endpoint 0"));
    CHECK(windows(NULL, NULL, 8, MPI_INFO_NULL, MPI_COMM_WORLD, 1, wins) != MPI_SUCCESS);
    CHECK(windows(NULL, sizes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, 1, NULL) != MPI_SUCCESS);
    CHECK(windows(NULL, sizes, 8, MPI_INFO_NULL, MPI_COMM_NULL, 1, wins) != MPI_SUCCESS);
    return finish(rank);
}
