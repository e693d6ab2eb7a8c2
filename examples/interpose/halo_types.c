/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Exchange of the halo of a cube with 26 neighbours: messages of derived datatypes, which the MPI library packs and unpacks.
 *
 *     mpicc -O2 halo_types.c -o halo_types
 *     mpiexec -n 4 ./halo_types 64
 */
#include "halo.h"

static void exchange(struct halo *halo)
{
    MPI_Request requests[2 * NEIGHBOURS];
    double begun = MPI_Wtime();
    for (int k = 0; k < NEIGHBOURS; k++)
        MPI_Irecv(halo->data, 1, halo->ghost[k], halo->from[k], k, halo->comm, &requests[k]);
    for (int k = 0; k < NEIGHBOURS; k++)
        MPI_Isend(halo->data, 1, halo->edge[k], halo->to[k], k, halo->comm, &requests[NEIGHBOURS + k]);
    double started = MPI_Wtime();
    MPI_Waitall(2 * NEIGHBOURS, requests, MPI_STATUSES_IGNORE);
    halo->times[0] += started - begun;
    halo->times[1] += MPI_Wtime() - started;
}

int main(int argc, char **argv)
{
    struct halo halo;
    halo_begin(&halo, argc, argv);
    halo_run(&halo, exchange);
    return halo_end(&halo, "halo_types", 2, (const char *const[]){"start", "wait"});
}
