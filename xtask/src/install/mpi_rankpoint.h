/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Extensions of Rankpoint @VERSION@, which the MPI standard does not have. A program that must also run on other libraries finds the
 * first function by dlsym(RTLD_DEFAULT, "MPIX_Query_rankpoint"), and all others by that one. */
#ifndef MPI_RANKPOINT_H
#define MPI_RANKPOINT_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Stores in function the address of the function of this header called name, or NULL if the library has none. May be called at any time,
 * also before MPI_Init. */
int MPIX_Query_rankpoint(const char *name, void (**function)(void));
int PMPIX_Query_rankpoint(const char *name, void (**function)(void));

/* Calls that promise more than MPI demands (Raffenetti et al., "Why Is MPI So Slow?", SC'17; docs/shortest-path.md). They and ordinary calls
 * may be mixed freely. What breaks a promise is an error of the class that is named, which the library without argument checks
 * does not find.
 *
 *   _global        the other rank is one of MPI_COMM_WORLD; the communicator still isolates. MPI_ERR_RANK if that process is no member,
 *                  MPI_ERR_COMM for intercommunicators and endpoints. A receive may also name MPI_ANY_SOURCE; its status has the
 *                  communicator's rank, as every status.
 *   _npn           no rank is MPI_PROC_NULL (MPI_ERR_RANK).
 *   _noreq         there is no request: MPIX_Comm_waitall waits for all such operations of this process on the communicator, and gives the
 *                  error of the first one that failed. The buffer is the program's again then. MPI_Comm_free before that is MPI_ERR_PENDING.
 *   _nomatch       the message has no tag, and its receive takes the next one that arrives on the communicator, from any sender; those of
 *                  one sender arrive in order. Only a _nomatch receive takes such a message, and it takes no other: MPI_Recv and MPI_Probe
 *                  with MPI_ANY_TAG do not see it. The status has the sender, and MPI_ANY_TAG. With RANKPOINT_CHECK=hints MPI_Comm_free
 *                  and MPI_Finalize fail (MPI_ERR_PENDING) where such messages were not received.
 *   _virtual_addr  the target's elements are named by their address in the target's process, on every kind of window.
 *   _all_opts      all of them, on a communicator MPIX_COMM_n (MPI_ERR_COMM); of one-sided operations _global, _npn and _virtual_addr.
 *
 * A send _all_opts is therefore received by MPIX_Irecv_nomatch or MPIX_Irecv_all_opts only. */
int MPIX_Isend_global(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request *request);
int PMPIX_Isend_global(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request *request);
int MPIX_Isend_npn(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request *request);
int PMPIX_Isend_npn(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request *request);
int MPIX_Isend_noreq(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm);
int PMPIX_Isend_noreq(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm);
int MPIX_Isend_nomatch(const void *buf, int count, MPI_Datatype datatype, int dest, MPI_Comm comm, MPI_Request *request);
int PMPIX_Isend_nomatch(const void *buf, int count, MPI_Datatype datatype, int dest, MPI_Comm comm, MPI_Request *request);
int MPIX_Isend_all_opts(const void *buf, int count, MPI_Datatype datatype, int dest, MPI_Comm comm);
int PMPIX_Isend_all_opts(const void *buf, int count, MPI_Datatype datatype, int dest, MPI_Comm comm);
int MPIX_Send_global(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm);
int PMPIX_Send_global(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm);
int MPIX_Send_npn(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm);
int PMPIX_Send_npn(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm);
int MPIX_Send_nomatch(const void *buf, int count, MPI_Datatype datatype, int dest, MPI_Comm comm);
int PMPIX_Send_nomatch(const void *buf, int count, MPI_Datatype datatype, int dest, MPI_Comm comm);
int MPIX_Send_all_opts(const void *buf, int count, MPI_Datatype datatype, int dest, MPI_Comm comm);
int PMPIX_Send_all_opts(const void *buf, int count, MPI_Datatype datatype, int dest, MPI_Comm comm);
int MPIX_Irecv_global(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Request *request);
int PMPIX_Irecv_global(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Request *request);
int MPIX_Irecv_npn(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Request *request);
int PMPIX_Irecv_npn(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Request *request);
int MPIX_Irecv_noreq(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm);
int PMPIX_Irecv_noreq(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm);
int MPIX_Irecv_nomatch(void *buf, int count, MPI_Datatype datatype, MPI_Comm comm, MPI_Request *request);
int PMPIX_Irecv_nomatch(void *buf, int count, MPI_Datatype datatype, MPI_Comm comm, MPI_Request *request);
int MPIX_Irecv_all_opts(void *buf, int count, MPI_Datatype datatype, MPI_Comm comm);
int PMPIX_Irecv_all_opts(void *buf, int count, MPI_Datatype datatype, MPI_Comm comm);
int MPIX_Comm_waitall(MPI_Comm comm);
int PMPIX_Comm_waitall(MPI_Comm comm);
int MPIX_Put_global(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
                    int target_count, MPI_Datatype target_datatype, MPI_Win win);
int PMPIX_Put_global(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
                     int target_count, MPI_Datatype target_datatype, MPI_Win win);
int MPIX_Put_npn(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
                 int target_count, MPI_Datatype target_datatype, MPI_Win win);
int PMPIX_Put_npn(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
                  int target_count, MPI_Datatype target_datatype, MPI_Win win);
int MPIX_Put_virtual_addr(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank, void *target_addr,
                          int target_count, MPI_Datatype target_datatype, MPI_Win win);
int PMPIX_Put_virtual_addr(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank, void *target_addr,
                           int target_count, MPI_Datatype target_datatype, MPI_Win win);
int MPIX_Put_all_opts(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank, void *target_addr,
                      int target_count, MPI_Datatype target_datatype, MPI_Win win);
int PMPIX_Put_all_opts(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank, void *target_addr,
                       int target_count, MPI_Datatype target_datatype, MPI_Win win);
int MPIX_Get_global(void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
                    int target_count, MPI_Datatype target_datatype, MPI_Win win);
int PMPIX_Get_global(void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
                     int target_count, MPI_Datatype target_datatype, MPI_Win win);
int MPIX_Get_npn(void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp, int target_count,
                 MPI_Datatype target_datatype, MPI_Win win);
int PMPIX_Get_npn(void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
                  int target_count, MPI_Datatype target_datatype, MPI_Win win);
int MPIX_Get_virtual_addr(void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank, void *target_addr,
                          int target_count, MPI_Datatype target_datatype, MPI_Win win);
int PMPIX_Get_virtual_addr(void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank, void *target_addr,
                           int target_count, MPI_Datatype target_datatype, MPI_Win win);
int MPIX_Get_all_opts(void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank, void *target_addr,
                      int target_count, MPI_Datatype target_datatype, MPI_Win win);
int PMPIX_Get_all_opts(void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank, void *target_addr,
                       int target_count, MPI_Datatype target_datatype, MPI_Win win);
int MPIX_Accumulate_virtual_addr(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
                                 void *target_addr, int target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win);
int PMPIX_Accumulate_virtual_addr(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
                                  void *target_addr, int target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win);

/* Communicators with constant handles: each is none before MPIX_Comm_dup_predefined has duplicated a communicator into it, and after
 * MPI_Comm_free. All calls take them. */
#define MPIX_COMM_1 ((MPI_Comm)0x4300000000000ff0)
#define MPIX_COMM_2 ((MPI_Comm)0x4300000000000ff1)
#define MPIX_COMM_3 ((MPI_Comm)0x4300000000000ff2)
#define MPIX_COMM_4 ((MPI_Comm)0x4300000000000ff3)
#define MPIX_COMM_5 ((MPI_Comm)0x4300000000000ff4)
#define MPIX_COMM_6 ((MPI_Comm)0x4300000000000ff5)
#define MPIX_COMM_7 ((MPI_Comm)0x4300000000000ff6)
#define MPIX_COMM_8 ((MPI_Comm)0x4300000000000ff7)
#define MPIX_COMM_9 ((MPI_Comm)0x4300000000000ff8)
#define MPIX_COMM_10 ((MPI_Comm)0x4300000000000ff9)
#define MPIX_COMM_11 ((MPI_Comm)0x4300000000000ffa)
#define MPIX_COMM_12 ((MPI_Comm)0x4300000000000ffb)
#define MPIX_COMM_13 ((MPI_Comm)0x4300000000000ffc)
#define MPIX_COMM_14 ((MPI_Comm)0x4300000000000ffd)
#define MPIX_COMM_15 ((MPI_Comm)0x4300000000000ffe)
#define MPIX_COMM_16 ((MPI_Comm)0x4300000000000fff)

/* Duplicates comm, as MPI_Comm_dup does, and gives the duplicate the handle predefined, which is one of MPIX_COMM_1 to MPIX_COMM_16, the
 * same at all members. MPI_ERR_COMM, at all members, where one of them gives another one, or one that is a communicator already. */
int MPIX_Comm_dup_predefined(MPI_Comm comm, MPI_Comm predefined);
int PMPIX_Comm_dup_predefined(MPI_Comm comm, MPI_Comm predefined);

/* A communicator in which this process has my_num_ep ranks, and each other process of parent_comm as many as it asks for (0 to 64).
 * Collective over parent_comm, called by one thread of each process. ep_comm gets my_num_ep handles, one for each of these ranks, in
 * rank order; ranks are numbered process by process. Each thread uses its own handle as a process uses a communicator: messages,
 * probes, collectives, MPI_Comm_dup, MPI_Comm_split, and MPI_Comm_free at the end. Needs MPI_THREAD_MULTIPLE if threads call at once. */
int MPIX_Comm_create_endpoints(MPI_Comm parent_comm, int my_num_ep, MPI_Info info, MPI_Comm ep_comm[]);
int PMPIX_Comm_create_endpoints(MPI_Comm parent_comm, int my_num_ep, MPI_Info info, MPI_Comm ep_comm[]);

/* A window in which this process is my_num_ep members, numbered as above: member i brings size[i] bytes at base[i], or memory that comes
 * with the window where base, or base[i], is NULL (MPI_WIN_BASE tells where). Members may bring the same memory. Collective over
 * parent_comm, called by one thread of each process, at MPI_THREAD_MULTIPLE. win gets my_num_ep handles. Each thread uses its own handle
 * as a process uses a window, also for MPI_Win_fence and MPI_Win_free. A thread that has an endpoint communicator already makes windows
 * of any kind on it by MPI_Win_create, MPI_Win_allocate and the others. */
int MPIX_Win_create_endpoints(void *const base[], const MPI_Aint size[], int disp_unit, MPI_Info info, MPI_Comm parent_comm,
                              int my_num_ep, MPI_Win win[]);
int PMPIX_Win_create_endpoints(void *const base[], const MPI_Aint size[], int disp_unit, MPI_Info info, MPI_Comm parent_comm,
                               int my_num_ep, MPI_Win win[]);

/* Whether calls take memory of GPUs, as programs ask other libraries; the info key mpi_memory_alloc_kinds says more (docs/gpu.md). The first
 * returns 1 if this process may have memory of CUDA's GPUs, and 0 before MPI is initialised. */
#define MPIX_GPU_SUPPORT_CUDA 0
#define MPIX_GPU_SUPPORT_ZE 1
#define MPIX_GPU_SUPPORT_HIP 2
int MPIX_Query_cuda_support(void);
int PMPIX_Query_cuda_support(void);
int MPIX_GPU_query_support(int gpu_type, int *is_supported);
int PMPIX_GPU_query_support(int gpu_type, int *is_supported);

#ifdef __cplusplus
}
#endif

#endif
