/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Two ranks and one long message into an offered receive (RANKPOINT_RENDEZVOUS=write), while something breaks. The job that runs this
 * expects how it ends, and looks at FILE afterwards: the receive's buffer lies in it, between two guards, all bytes 0xee at first.
 *
 *   sender FILE     rank 1 is killed while it writes
 *   receiver FILE   rank 0 is killed while it is written to
 *   offer FILE      rank 0 is killed after it has offered its receive, before the send
 *   chunks-sender FILE, chunks-receiver FILE
 *                   the same while the data go in chunks, because the system refuses to write
 *   crossing-sender FILE, crossing-receiver FILE
 *                   the same when the RTS is out before the receive is posted
 *   different       the ranks have different settings: MPI_Init of the second one fails
 *   forbidden CALL...  the system refuses to `write` or `read` the memory of others: all messages arrive
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { GUARD = 1 << 16, LONG = 64 << 20, STEPS = 4096, TAG = 7, GO = 8, UNTOUCHED = 0xee, SENT = 0x11, MOST_CALLS = 2 };

static volatile unsigned char *buffer;

static void fail(const char *why)
{
    fprintf(stderr, "faults: %s\n", why);
    exit(3);
}

static void map(const char *name)
{
    int file = open(name, O_RDWR);
    if (file < 0)
        fail("cannot open the file");
    unsigned char *start = mmap(NULL, LONG + 2 * GUARD + STEPS, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (start == MAP_FAILED)
        fail("cannot map the file");
    buffer = start + GUARD;
}

/* Outside MPI: the ranks tell each other which steps they have taken, in the bytes behind the guards. */
static void take_step(int step)
{
    __atomic_store_n(buffer + LONG + GUARD + step, 1, __ATOMIC_RELEASE);
}

static void await_step(int step)
{
    while (!__atomic_load_n(buffer + LONG + GUARD + step, __ATOMIC_ACQUIRE))
        usleep(20);
}

/* Waits until half of the message is there. */
static void await_half(void)
{
    while (buffer[LONG / 2] == UNTOUCHED)
        usleep(20);
}

static void *die_at_half(void *none)
{
    await_half();
    kill(getpid(), SIGKILL);
    return none;
}

/* Whether a process has ended, though its parent has not heard of it. */
static int has_ended(int pid)
{
    char name[64], state = 0;
    snprintf(name, sizeof name, "/proc/%d/stat", pid);
    FILE *file = fopen(name, "r");
    if (!file)
        return 1;
    if (fscanf(file, "%*d %*[^)]) %c", &state) != 1)
        state = 0;
    fclose(file);
    return state == 'Z' || state == 'X' || state == 'x';
}

static void forbid(int count, char **calls)
{
    struct sock_filter program[2 * MOST_CALLS + 2] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    unsigned short length = 1;
    for (int i = 0; i < count && i < MOST_CALLS; i++) {
        unsigned number = strcmp(calls[i], "read") == 0 ? SYS_process_vm_readv : SYS_process_vm_writev;
        program[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1);
        program[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1);
    }
    program[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog filter = {.len = length, .filter = program};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
        fail("no filter");
}

static int is(const char *mode, const char *part)
{
    return strstr(mode, part) != NULL;
}

static void start_dying_at_half(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, die_at_half, NULL) != 0)
        fail("no thread");
}

static void receive_broken(const char *mode)
{
    MPI_Request request;
    int pid = getpid();
    if (is(mode, "crossing"))
        await_step(0);
    MPI_Irecv((void *)buffer, LONG, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request);
    if (is(mode, "crossing"))
        take_step(1);
    else
        MPI_Send(&pid, 1, MPI_INT, 1, GO, MPI_COMM_WORLD);
    if (strcmp(mode, "offer") == 0)
        kill(getpid(), SIGKILL);
    if (is(mode, "chunks")) {
        /* Chunks need both sides. */
        if (is(mode, "receiver"))
            start_dying_at_half();
    } else {
        /* Outside MPI: only the sender can move the data. */
        await_half();
        if (is(mode, "receiver"))
            kill(getpid(), SIGKILL);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void send_broken(const char *mode)
{
    int pid;
    MPI_Request request;
    unsigned char *data = malloc(LONG);
    memset(data, SENT, LONG);
    if (!is(mode, "crossing"))
        MPI_Recv(&pid, 1, MPI_INT, 0, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (is(mode, "sender"))
        start_dying_at_half();
    while (strcmp(mode, "offer") == 0 && !has_ended(pid))
        usleep(20);
    MPI_Isend(data, LONG, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request);
    if (is(mode, "crossing")) {
        take_step(0);
        await_step(1);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    /* Rank 0 is dead, or this one was to be. */
    fail("the message was sent");
}

/* Messages into receives that are posted first and last, cut short or not; the bytes beside them stay. */
static void all_arrive(int rank)
{
    const int sizes[] = {300000, 1 << 20, (1 << 20) + 13, 5 << 20};
    for (int round = 0; round < 16; round++) {
        int bytes = sizes[round % 4], posted_first = round / 4 % 2, capacity = round < 8 ? bytes : bytes - 999;
        unsigned char *memory = malloc((size_t)bytes + 2 * GUARD), *data = memory + GUARD;
        memset(memory, UNTOUCHED, (size_t)bytes + 2 * GUARD);
        if (rank == 0) {
            MPI_Request request;
            MPI_Status status;
            if (posted_first)
                MPI_Irecv(data, capacity, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request);
            MPI_Barrier(MPI_COMM_WORLD);
            if (!posted_first)
                MPI_Irecv(data, capacity, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request);
            int class, code = MPI_Wait(&request, &status);
            MPI_Error_class(code, &class);
            if (class != (capacity < bytes ? MPI_ERR_TRUNCATE : MPI_SUCCESS))
                fail("a receive ended in another way");
            for (int i = -GUARD; i < bytes + GUARD; i++)
                if (data[i] != (i >= 0 && i < capacity ? (unsigned char)(i * 7 + round) % 200 : UNTOUCHED))
                    fail("a byte is wrong");
        } else {
            for (int i = 0; i < bytes; i++)
                data[i] = (unsigned char)(i * 7 + round) % 200;
            MPI_Barrier(MPI_COMM_WORLD);
            MPI_Send(data, bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
        }
        free(memory);
    }
}

int main(int count, char **words)
{
    int rank;
    char *writing[] = {"write"};
    if (count < 2 || (count < 3 && strcmp(words[1], "different") != 0))
        fail("expected what breaks, and a file or calls");
    if (strcmp(words[1], "forbidden") == 0)
        forbid(count - 2, words + 2);
    else if (count >= 3)
        map(words[2]);
    if (is(words[1], "chunks"))
        forbid(1, writing);
    /* The rank that is left makes its call, whatever the launcher says meanwhile. */
    if (strcmp(words[1], "offer") == 0)
        signal(SIGTERM, SIG_IGN);
    MPI_Init(&count, &words);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (strcmp(words[1], "different") == 0) {
        /* The first rank cannot know; the other one does not get here. */
        MPI_Barrier(MPI_COMM_WORLD);
        fail("MPI_Init returned in both");
    }
    if (strcmp(words[1], "forbidden") == 0)
        all_arrive(rank);
    else if (rank == 0)
        receive_broken(words[1]);
    else
        send_broken(words[1]);
    MPI_Finalize();
    if (rank == 0)
        puts("PASS");
    return 0;
}
