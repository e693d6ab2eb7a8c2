/* SPDX-License-Identifier: MIT OR Apache-2.0
 * A part of peer.c: memory that is resident after initialisation. Twin of src/rows/memory.rs. */

static uint64_t field(const char *name)
{
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    unsigned long long kilobytes = 0;
    if (!file)
        give_up("cannot read /proc/self/smaps_rollup");
    while (fgets(line, sizeof line, file))
        if (strncmp(line, name, strlen(name)) == 0 && sscanf(line + strlen(name), "%llu", &kilobytes) == 1)
            break;
    fclose(file);
    return kilobytes * 1024;
}

static void resident(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    uint64_t mine[2] = {field("Private_Clean:") + field("Private_Dirty:"), field("Pss:")};
    mine[1] = mine[1] > mine[0] ? mine[1] - mine[0] : 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != 0) {
        MPI_Send(mine, 2, MPI_UINT64_T, 0, 4, MPI_COMM_WORLD);
        return;
    }
    double largest = (double)mine[0], sum = (double)mine[1];
    for (int from = 1; from < ranks; from++) {
        MPI_Recv(mine, 2, MPI_UINT64_T, from, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        largest = (double)mine[0] > largest ? (double)mine[0] : largest;
        sum += (double)mine[1];
    }
    report("private-memory", 0, &largest, 1);
    report("shared-memory", 0, &sum, 1);
}
