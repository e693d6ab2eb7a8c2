/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Calls of mpi_rankpoint.h and the ordinary ones beside them, with 8 bytes, from rank 0 of two to itself, as often as the first argument
 * says, for counting instructions, in functions that are named after them: a receive is posted, its message sent, and the receive
 * completed. Those named `permuted` use a communicator in which rank 0 of MPI_COMM_WORLD is rank 1. The second argument is the thread level
 * (single or multiple). */
#include <mpi.h>
#include <mpi_rankpoint_inline.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int64_t out = 1, in;
static MPI_Comm comm, permuted;
static MPI_Win window, permuted_window;
static MPI_Request sent, request;
static int64_t *base, *permuted_base;
static const char *volatile counted; /* Keeps functions of the same text apart. */

#define COUNTED(name, ...)                                                                                                     \
    static __attribute__((noinline)) void counted_##name(void)                                                                 \
    {                                                                                                                          \
        counted = #name;                                                                                                       \
        __VA_ARGS__;                                                                                                           \
    }

COUNTED(isend, MPI_Isend(&out, 8, MPI_CHAR, 0, 0, comm, &sent))
COUNTED(isend_global, MPIX_Isend_global(&out, 8, MPI_CHAR, 0, 0, comm, &sent))
COUNTED(isend_npn, MPIX_Isend_npn(&out, 8, MPI_CHAR, 0, 0, comm, &sent))
COUNTED(isend_noreq, MPIX_Isend_noreq(&out, 8, MPI_CHAR, 0, 0, comm))
COUNTED(isend_nomatch, MPIX_Isend_nomatch(&out, 8, MPI_CHAR, 0, comm, &sent))
COUNTED(isend_all_opts, (MPIX_Isend_all_opts)(&out, 8, MPI_CHAR, 0, MPIX_COMM_1))
COUNTED(isend_all_opts_inline, MPIX_Isend_all_opts(&out, 8, MPI_CHAR, 0, MPIX_COMM_1))
COUNTED(send, MPI_Send(&out, 8, MPI_CHAR, 0, 0, comm))
COUNTED(irecv, MPI_Irecv(&in, 8, MPI_CHAR, 0, 0, comm, &request))
COUNTED(irecv_global, MPIX_Irecv_global(&in, 8, MPI_CHAR, 0, 0, comm, &request))
COUNTED(irecv_npn, MPIX_Irecv_npn(&in, 8, MPI_CHAR, 0, 0, comm, &request))
COUNTED(irecv_noreq, MPIX_Irecv_noreq(&in, 8, MPI_CHAR, 0, 0, comm))
COUNTED(irecv_nomatch, MPIX_Irecv_nomatch(&in, 8, MPI_CHAR, comm, &request))
COUNTED(irecv_all_opts, MPIX_Irecv_all_opts(&in, 8, MPI_CHAR, MPIX_COMM_1))
COUNTED(recv, MPI_Recv(&in, 8, MPI_CHAR, 0, 0, comm, MPI_STATUS_IGNORE))
COUNTED(wait, MPI_Wait(&request, MPI_STATUS_IGNORE))
COUNTED(wait_nomatch, MPI_Wait(&request, MPI_STATUS_IGNORE))
COUNTED(waitall_noreq, MPIX_Comm_waitall(comm))
COUNTED(waitall_all_opts, MPIX_Comm_waitall(MPIX_COMM_1))
COUNTED(put, MPI_Put(&out, 1, MPI_INT64_T, 0, 3, 1, MPI_INT64_T, window))
COUNTED(put_global, MPIX_Put_global(&out, 1, MPI_INT64_T, 0, 3, 1, MPI_INT64_T, window))
COUNTED(put_npn, MPIX_Put_npn(&out, 1, MPI_INT64_T, 0, 3, 1, MPI_INT64_T, window))
COUNTED(put_virtual_addr, MPIX_Put_virtual_addr(&out, 1, MPI_INT64_T, 0, base + 3, 1, MPI_INT64_T, window))
COUNTED(put_all_opts, MPIX_Put_all_opts(&out, 1, MPI_INT64_T, 0, base + 3, 1, MPI_INT64_T, window))
COUNTED(get, MPI_Get(&in, 1, MPI_INT64_T, 0, 3, 1, MPI_INT64_T, window))
COUNTED(get_all_opts, MPIX_Get_all_opts(&in, 1, MPI_INT64_T, 0, base + 3, 1, MPI_INT64_T, window))
COUNTED(irecv_permuted, MPI_Irecv(&in, 8, MPI_CHAR, 1, 0, permuted, &request))
COUNTED(isend_permuted, MPI_Isend(&out, 8, MPI_CHAR, 1, 0, permuted, &sent))
COUNTED(isend_global_permuted, MPIX_Isend_global(&out, 8, MPI_CHAR, 0, 0, permuted, &sent))
COUNTED(put_permuted, MPI_Put(&out, 1, MPI_INT64_T, 1, 3, 1, MPI_INT64_T, permuted_window))
COUNTED(put_global_permuted, MPIX_Put_global(&out, 1, MPI_INT64_T, 0, 3, 1, MPI_INT64_T, permuted_window))
COUNTED(put_all_opts_permuted, MPIX_Put_all_opts(&out, 1, MPI_INT64_T, 0, permuted_base + 3, 1, MPI_INT64_T, permuted_window))

/* Receives, sends, and completes both. Sends are complete when they return. */
static void exchange(int calls, void (*receive)(void), void (*send)(void), void (*complete)(void))
{
    for (int i = 0; i < calls; ++i) {
        in = 0;
        receive();
        send();
        complete();
        if (in != out)
            MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void nothing(void) {}

static void run(int calls, void (*call)(void))
{
    for (int i = 0; i < calls; ++i)
        call();
}

static void count(int calls)
{
    /* What is made once: connections, entries of the slab, the target's lock. */
    for (int i = 0; i < 100; ++i) {
        MPI_Comm used = i % 2 ? MPI_COMM_WORLD : MPIX_COMM_1;
        MPI_Irecv(&in, 8, MPI_CHAR, 0, 0, used, &request);
        MPI_Send(&out, 8, MPI_CHAR, 0, 0, used);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Put(&out, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, window);
    MPIX_Put_global(&out, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, permuted_window);
    exchange(calls, counted_irecv, counted_isend, counted_wait);
    exchange(calls, counted_irecv_global, counted_isend_global, counted_wait);
    exchange(calls, counted_irecv_npn, counted_isend_npn, counted_wait);
    exchange(calls, counted_irecv_noreq, counted_isend_noreq, counted_waitall_noreq);
    exchange(calls, counted_irecv_nomatch, counted_isend_nomatch, counted_wait_nomatch);
    exchange(calls, counted_irecv_all_opts, counted_isend_all_opts, counted_waitall_all_opts);
    exchange(calls, counted_irecv_all_opts, counted_isend_all_opts_inline, counted_waitall_all_opts);
    exchange(calls, counted_irecv, counted_send, counted_wait);
    exchange(calls, counted_isend, nothing, counted_recv);
    run(calls, counted_put);
    run(calls, counted_put_global);
    run(calls, counted_put_npn);
    run(calls, counted_put_virtual_addr);
    run(calls, counted_put_all_opts);
    run(calls, counted_get);
    run(calls, counted_get_all_opts);
    exchange(calls, counted_irecv_permuted, counted_isend_permuted, counted_wait);
    exchange(calls, counted_irecv_permuted, counted_isend_global_permuted, counted_wait);
    run(calls, counted_put_permuted);
    run(calls, counted_put_global_permuted);
    run(calls, counted_put_all_opts_permuted);
}

int main(int argc, char **argv)
{
    int rank, got, calls = argc > 1 ? atoi(argv[1]) : 512;
    int level = argc > 2 && strcmp(argv[2], "multiple") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;

    MPI_Init_thread(&argc, &argv, level, &got);
    comm = MPI_COMM_WORLD;
    if (MPIX_Comm_dup_predefined(MPI_COMM_WORLD, MPIX_COMM_1) != MPI_SUCCESS)
        return 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &permuted);
    MPI_Win_allocate(64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
    MPI_Win_allocate(64, 8, MPI_INFO_NULL, permuted, &permuted_base, &permuted_window);
    MPI_Win_lock_all(0, window);
    MPI_Win_lock_all(0, permuted_window);
    /* The other rank sends nothing meanwhile: its message would wait in the queue that receives search. */
    if (rank == 0) {
        count(calls);
        MPI_Send(NULL, 0, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    } else {
        MPI_Recv(NULL, 0, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Win_unlock_all(permuted_window);
    MPI_Win_unlock_all(window);
    MPI_Win_free(&permuted_window);
    MPI_Win_free(&window);
    MPI_Comm_free(&permuted);
    MPI_Comm constant = MPIX_COMM_1;
    MPI_Comm_free(&constant);
    MPI_Finalize();
    return 0;
}
