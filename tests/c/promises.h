/* SPDX-License-Identifier: MIT OR Apache-2.0
 * What the programs share that make the calls of mpi_rankpoint.h: the functions, which MPIX_Query_rankpoint finds. */
#ifndef PROMISES_H
#define PROMISES_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../xtask/src/install/mpi_rankpoint.h"
#include "check.h"
#include <dlfcn.h>

#define EACH_FUNCTION(X)                                                                                            \
    X(Isend_global) X(Isend_npn) X(Isend_noreq) X(Isend_nomatch) X(Isend_all_opts) X(Send_global) X(Send_npn)       \
    X(Send_nomatch) X(Send_all_opts) X(Irecv_global) X(Irecv_npn) X(Irecv_noreq) X(Irecv_nomatch) X(Irecv_all_opts) \
    X(Comm_waitall) X(Put_global) X(Put_npn) X(Put_virtual_addr) X(Put_all_opts) X(Get_global) X(Get_npn)           \
    X(Get_virtual_addr) X(Get_all_opts) X(Accumulate_virtual_addr) X(Comm_dup_predefined)

#define DECLARE(name) static __typeof__(MPIX_##name) *x_##name __attribute__((unused));
EACH_FUNCTION(DECLARE)

static int (*query)(const char *, void (**)(void));

static void find(const char *name, void *place)
{
    void (*function)(void) = NULL;
    CHECK(query(name, &function) == MPI_SUCCESS && function != NULL);
    CHECK((void *)function == dlsym(RTLD_DEFAULT, name));
    memcpy(place, &function, sizeof function);
}

/* Finds all functions; may be called before MPI_Init. */
static void find_functions(void)
{
    void *found = dlsym(RTLD_DEFAULT, "MPIX_Query_rankpoint");
    memcpy(&query, &found, sizeof found);
    if (query == NULL) {
        fprintf(stderr, "the library has no MPIX_Query_rankpoint\n");
        exit(98);
    }
#define FIND(name) find("MPIX_" #name, &x_##name);
    EACH_FUNCTION(FIND)
    void (*none)(void) = (void (*)(void))query;
    CHECK(query("MPIX_Isend_faster", &none) == MPI_SUCCESS && none == NULL);
}

/* Starts MPI with the level that the variable PROMISES_LEVEL names. */
static __attribute__((unused)) void start(int *argc, char ***argv, int *rank, int *size)
{
    const char *level = getenv("PROMISES_LEVEL");
    int wanted = level && strcmp(level, "multiple") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, provided;
    find_functions();
    MPI_Init_thread(argc, argv, wanted, &provided);
    CHECK(provided >= wanted || wanted == MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, rank);
    MPI_Comm_size(MPI_COMM_WORLD, size);
}

#endif
