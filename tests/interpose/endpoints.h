/* SPDX-License-Identifier: MIT OR Apache-2.0
 * What the files of the program `endpoints` share. */
#include <mpi.h>
#include <stdio.h>

#define EXPECT(condition)                                                           \
    do {                                                                            \
        if (!(condition)) {                                                         \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
            MPI_Abort(MPI_COMM_WORLD, 3);                                           \
        }                                                                           \
    } while (0)

/* The class of an error code. */
static inline int class_of(int code) {
    int class;
    MPI_Error_class(code, &class);
    return class;
}

/* Make and free the datatypes and operations of the tests: one thread of a process calls these. */
void make_types(void);
void free_types(void);
void make_operations(void);
void free_operations(void);
/* Messages and collectives of derived types. */
void derived_types_travel(MPI_Comm comm, int rank, int size);
/* Blocks of different sizes, parts of reductions, and operations of the program. */
void collectives_move_blocks(MPI_Comm comm, int rank, int size);
/* Persistent requests, lists of requests, and messages that were probed. */
void requests_complete(MPI_Comm comm, int rank, int size);
/* Calls of several threads of one endpoint. */
void threads_share_an_endpoint(MPI_Comm comm, int rank, int size);
