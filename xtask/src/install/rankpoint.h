/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Extensions of Rankpoint @VERSION@, which the MPI standard does not have. A program that must also run on other libraries
 * finds out by dlsym(RTLD_DEFAULT, "MPIX_...") whether a function exists. */
#ifndef RANKPOINT_H
#define RANKPOINT_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

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

#ifdef __cplusplus
}
#endif

#endif
