/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2
 * Errors for want of memory or descriptors name the limit of the process that is to blame: the length of files (ulimit -f) that of windows,
 * of MPI_Alloc_mem and of requests, the number of descriptors (ulimit -n) that of a process that starts alone. */
#include "check.h"
#include <sys/resource.h>

#define FILE_BYTES 100000000
#define FILE_TEXT "ulimit -f allows 100000000 bytes"

/* The error's text names the limit. */
static void check_text(int error)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    CHECK(error != MPI_SUCCESS);
    MPI_Error_string(error, text, &length);
    if (strstr(text, FILE_TEXT) == NULL) {
        fprintf(stderr, "'%s' is not in '%s'\n", FILE_TEXT, text);
        CHECK(0);
    }
}

/* More receives than fit into the file. */
static void check_requests(void)
{
    enum { MOST = 10000000 };
    static MPI_Request *requests;
    int number, error = MPI_SUCCESS, count = 0;
    requests = malloc(MOST * sizeof *requests);
    CHECK(requests != NULL);
    while (count < MOST && error == MPI_SUCCESS) {
        error = MPI_Irecv(&number, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &requests[count]);
        count += error == MPI_SUCCESS;
    }
    check_text(error);
    for (int i = 0; i < count; ++i) {
        MPI_Cancel(&requests[i]);
        MPI_Request_free(&requests[i]);
    }
    free(requests);
}

/* A process that starts alone with so few descriptors that there is none left. */
static void check_alone(const char *program)
{
    char command[4096], line[1024];
    int found = 0;
    snprintf(command, sizeof command,
        "exec 2>&1 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; ulimit -n 4; exec env -u RANKPOINT_JOB '%s' alone", program);
    FILE *output = popen(command, "r");
    CHECK(output != NULL);
    while (fgets(line, sizeof line, output) != NULL)
        found |= strstr(line, "MPI_Init: Too many open files (os error 24): ulimit -n allows 4 descriptors") != NULL;
    CHECK(pclose(output) != 0);
    CHECK(found);
}

int main(int argc, char **argv)
{
    struct rlimit limit = {FILE_BYTES, FILE_BYTES};
    const MPI_Aint bytes = (MPI_Aint)1 << 45;
    int rank;
    void *memory;
    MPI_Win window;
    if (argc == 1)
        setrlimit(RLIMIT_FSIZE, &limit);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    check_text(MPI_Alloc_mem(bytes, MPI_INFO_NULL, &memory));
    check_text(MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window));
    check_text(MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window));
    check_requests();
    if (rank == 0)
        check_alone(argv[0]);
    return finish(rank);
}
