/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Exchange of the halo of a cube with 26 neighbours: MPI_Pack, one collective of all neighbours, MPI_Unpack.
 *
 *     mpicc -O2 halo_pack.c -o halo_pack
 *     mpiexec -n 4 ./halo_pack 64
 */
#include "halo.h"

static MPI_Comm graph;
/* Packed cells that leave and arrive: where those of each direction begin, and how many bytes they have. */
static char *leaving, *arriving;
static int total, places[NEIGHBOURS], bytes[NEIGHBOURS];

static void begin(struct halo *halo)
{
    for (int k = 0; k < NEIGHBOURS; k++) {
        places[k] = total;
        MPI_Pack_size(1, halo->edge[k], halo->comm, &bytes[k]);
        total += bytes[k];
    }
    leaving = malloc((size_t)total);
    arriving = malloc((size_t)total);
    MPI_Dist_graph_create_adjacent(halo->comm, NEIGHBOURS, halo->from, MPI_UNWEIGHTED, NEIGHBOURS, halo->to, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &graph);
}

static void exchange(struct halo *halo)
{
    double begun = MPI_Wtime();
    for (int k = 0; k < NEIGHBOURS; k++) {
        int position = places[k];
        MPI_Pack(halo->data, 1, halo->edge[k], leaving, total, &position, graph);
    }
    double packed = MPI_Wtime();
    MPI_Neighbor_alltoallv(leaving, bytes, places, MPI_PACKED, arriving, bytes, places, MPI_PACKED, graph);
    double arrived = MPI_Wtime();
    for (int k = 0; k < NEIGHBOURS; k++) {
        int position = places[k];
        MPI_Unpack(arriving, total, &position, halo->data, 1, halo->ghost[k], graph);
    }
    halo->times[0] += packed - begun;
    halo->times[1] += arrived - packed;
    halo->times[2] += MPI_Wtime() - arrived;
}

int main(int argc, char **argv)
{
    struct halo halo;
    halo_begin(&halo, argc, argv);
    begin(&halo);
    halo_run(&halo, exchange);
    MPI_Comm_free(&graph);
    free(leaving);
    free(arriving);
    return halo_end(&halo, "halo_pack", 3, (const char *const[]){"pack", "collective", "unpack"});
}
