/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Calls MPI_Isend, MPI_Irecv, MPI_Send and MPI_Recv with 1, 8 and 64 bytes, for counting instructions. Rank 0's calls are counted,
 * in functions named after them: a receive is posted before its message is sent, and MPI_Recv finds its message arrived.
 *
 * Arguments: number of calls, thread level (single or multiple), communicator (world, table: one with a table as rank map, other: one
 * on another VCI than MPI_COMM_WORLD, tags: one whose tags name VCIs), and a file of at least a page that all ranks can map. The ranks
 * take turns through that file, so that no other messages are sent. */
#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static char data[64];
static MPI_Comm comm;
static MPI_Request request;
static const char *volatile counted; /* Keeps functions of the same text apart. */

/* The number of steps that the ranks 0 and 1 of `comm` have done. */
static struct {
    _Atomic int done[2];
} *turns;
static int rank, step, tag;

/* Says that this rank has done the next step, or waits until the given one has. */
static void next(int whose)
{
    step += 1;
    if (rank == whose)
        atomic_store(&turns->done[whose], step);
    while (atomic_load(&turns->done[whose]) < step)
        sched_yield();
}

#define CALLS(bytes)                                                                                                           \
    static __attribute__((noinline)) void counted_isend_##bytes(void)                                                          \
    {                                                                                                                          \
        counted = "isend " #bytes;                                                                                             \
        MPI_Isend(data, bytes, MPI_CHAR, 1, tag, comm, &request);                                                              \
    }                                                                                                                          \
    static __attribute__((noinline)) void counted_irecv_##bytes(void)                                                          \
    {                                                                                                                          \
        counted = "irecv " #bytes;                                                                                             \
        MPI_Irecv(data, bytes, MPI_CHAR, 1, tag, comm, &request);                                                              \
    }                                                                                                                          \
    static __attribute__((noinline)) void counted_send_##bytes(void)                                                           \
    {                                                                                                                          \
        counted = "send " #bytes;                                                                                              \
        MPI_Send(data, bytes, MPI_CHAR, 1, tag, comm);                                                                         \
    }                                                                                                                          \
    static __attribute__((noinline)) void counted_recv_##bytes(void)                                                           \
    {                                                                                                                          \
        counted = "recv " #bytes;                                                                                              \
        MPI_Recv(data, bytes, MPI_CHAR, 1, tag, comm, MPI_STATUS_IGNORE);                                                      \
    }

CALLS(1)
CALLS(8)
CALLS(64)

/* Makes calls whose first ones are not counted, because they make what is made once. */
static void run(int calls, int bytes, void (*isend)(void), void (*irecv)(void), void (*send)(void), void (*recv)(void))
{
    for (int i = -64; i < calls; ++i) {
        /* A send whose receive is posted, first nonblocking, then blocking. */
        for (int blocking = 0; blocking < 2; ++blocking) {
            if (rank == 1)
                MPI_Irecv(data, bytes, MPI_CHAR, 0, tag, comm, &request);
            next(1);
            if (rank == 0 && i < 0)
                MPI_Isend(data, bytes, MPI_CHAR, 1, tag, comm, &request);
            else if (rank == 0 && blocking)
                send();
            else if (rank == 0)
                isend();
            if (rank == 1 || i < 0 || !blocking)
                MPI_Wait(&request, MPI_STATUS_IGNORE);
            next(1);
        }
        /* A receive that is posted before its message is sent. */
        if (rank == 0 && i < 0)
            MPI_Irecv(data, bytes, MPI_CHAR, 1, tag, comm, &request);
        else if (rank == 0)
            irecv();
        next(0);
        if (rank == 1)
            MPI_Send(data, bytes, MPI_CHAR, 0, tag, comm);
        else
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        next(0);
        /* A receive whose message has come. */
        if (rank == 1)
            MPI_Send(data, bytes, MPI_CHAR, 0, tag, comm);
        next(1);
        if (rank == 0 && i < 0)
            MPI_Recv(data, bytes, MPI_CHAR, 1, tag, comm, MPI_STATUS_IGNORE);
        else if (rank == 0)
            recv();
        next(0);
    }
}

/* The VCI of a communicator, which Rankpoint's requests name. */
static unsigned vci_of(MPI_Comm one)
{
    MPI_Request receive;
    MPI_Irecv(data, 0, MPI_CHAR, MPI_PROC_NULL, 0, one, &receive);
    unsigned vci = ((uintptr_t)receive & INT32_MAX) >> 25;
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    return vci;
}

/* A duplicate of MPI_COMM_WORLD whose tags name the VCIs of the sending and of the receiving thread. */
static MPI_Comm with_tags(void)
{
    MPI_Comm made;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
    MPI_Info_set(info, "rankpoint_num_vcis", "2");
    MPI_Info_set(info, "rankpoint_num_tag_bits_for_vci", "4");
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &made);
    MPI_Info_free(&info);
    return made;
}

/* A duplicate of MPI_COMM_WORLD that uses another VCI: duplicates take the VCIs in turn. */
static MPI_Comm on_another_vci(void)
{
    for (int i = 0; i < 4; ++i) {
        MPI_Comm made;
        MPI_Comm_dup(MPI_COMM_WORLD, &made);
        if (vci_of(made) != vci_of(MPI_COMM_WORLD))
            return made;
    }
    MPI_Abort(MPI_COMM_WORLD, 5);
    return MPI_COMM_NULL;
}

int main(int argc, char **argv)
{
    if (argc < 5)
        return 2;
    int provided, calls = atoi(argv[1]), wanted = strcmp(argv[2], "multiple") ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE;
    MPI_Init_thread(&argc, &argv, wanted, &provided);
    if (provided < wanted)
        MPI_Abort(MPI_COMM_WORLD, 3);
    int file = open(argv[4], O_RDWR);
    turns = mmap(NULL, sizeof *turns, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file < 0 || turns == MAP_FAILED)
        MPI_Abort(MPI_COMM_WORLD, 4);
    comm = MPI_COMM_WORLD;
    if (!strcmp(argv[3], "other")) {
        comm = on_another_vci();
    } else if (!strcmp(argv[3], "tags")) {
        comm = with_tags();
        tag = 1 << 4 | 1;
    } else if (!strcmp(argv[3], "table")) {
        /* An order of ranks that is no arithmetic sequence. */
        const int order[] = {0, 3, 1, 2};
        MPI_Group world, group;
        MPI_Comm_group(MPI_COMM_WORLD, &world);
        MPI_Group_incl(world, 4, order, &group);
        MPI_Comm_create(MPI_COMM_WORLD, group, &comm);
    }
    MPI_Comm_rank(comm, &rank);
    if (rank < 2) {
        run(calls, 1, counted_isend_1, counted_irecv_1, counted_send_1, counted_recv_1);
        run(calls, 8, counted_isend_8, counted_irecv_8, counted_send_8, counted_recv_8);
        run(calls, 64, counted_isend_64, counted_irecv_64, counted_send_64, counted_recv_64);
    }
    MPI_Finalize();
    return 0;
}
