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

#ifdef __cplusplus
}
#endif

#endif
