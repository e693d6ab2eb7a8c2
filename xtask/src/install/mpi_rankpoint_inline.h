/* SPDX-License-Identifier: MIT OR Apache-2.0
 * MPIX_Send_all_opts and MPIX_Isend_all_opts of Rankpoint @VERSION@, compiled into the program: included in place of mpi_rankpoint.h, this
 * header makes them macros that write a message of up to 48 bytes into its receiver's ring without a call. That needs a constant count,
 * a constant predefined datatype of C, one of MPIX_COMM_n as a constant, and an optimising compiler with GCC's built-in functions.
 * Every other send goes to the library, and all of them do where threads may call at once, where messages are traced or checked, under
 * layers and tools of mpiexec, and where the library that is loaded has another version of what this header describes. Other profiling
 * tools see only what goes to the library. */
#ifndef MPI_RANKPOINT_INLINE_H
#define MPI_RANKPOINT_INLINE_H
/* Warnings for this file, such as those of older standards of C, are not the program's. */
#pragma GCC system_header

#include "mpi_rankpoint.h"
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { MPIX_INLINE_VERSION = 1, MPIX_INLINE_KIND = 15, MPIX_INLINE_BYTES = 48, MPIX_INLINE_PLACES = 16 };
/* MPI_BOTTOM, MPI_IN_PLACE and MPI_BUFFER_AUTOMATIC are addresses up to this one. */
enum { MPIX_INLINE_CONSTANTS = 2 };

/* A message in a ring. */
struct mpix_inline_cell {
    uint64_t head; /* Lap (32 bits), kind (8), bytes (8), from low to high. */
    uint64_t match_word;
    unsigned char data[MPIX_INLINE_BYTES];
};

/* The ring to a process. */
struct mpix_inline_link {
    struct mpix_inline_cell *cursor, *limit; /* The cell to write next, and the first one that may not be written. */
    uint64_t lap;
    void *reserved_1;
    const uint32_t *attention; /* Not 0 while the receiver has to be woken. */
    void *reserved_2;
    uint64_t bytes; /* Of the messages that went so. */
    uint64_t reserved_3;
};

/* What the library says of one of MPIX_COMM_n. */
struct mpix_inline_place {
    struct mpix_inline_link *links; /* One for each process of MPI_COMM_WORLD. */
    uint64_t match_word;
    uint32_t reserved_1;
    uint32_t ranks; /* Those to which messages may go so. */
    void *reserved_2[5];
};

/* The library's table for MPIX_COMM_1 and the following ones; NULL if the library has another version. May be called at any time. */
const void *MPIX_Inline_places(int version);
#pragma weak MPIX_Inline_places

/* Wakes the receiver of the last message; MPI_SUCCESS. */
int MPIX_Inline_wake(int dest, MPI_Comm comm);
#pragma weak MPIX_Inline_wake
/* A program that asks MPIX_Query_rankpoint first also starts with a library that lacks these. */
#pragma weak MPIX_Send_all_opts
#pragma weak MPIX_Isend_all_opts

/* No place has ranks before the library said so. */
static const struct mpix_inline_place mpix_inline_none[MPIX_INLINE_PLACES] = {{0, 0, 0, 0, {0}}};
static const struct mpix_inline_place *mpix_inline_places = mpix_inline_none;

__attribute__((constructor)) static void mpix_inline_start(void)
{
#ifdef __PIC__
    const void *(*volatile entry)(int) = MPIX_Inline_places;
#else
    /* Initialised by the loader: in code for a fixed address the linker gives a missing function one that is not null. */
    static const void *(*volatile entry)(int) = MPIX_Inline_places;
#endif
    const void *(*places)(int) = entry;
    const void *found = places != 0 ? places(MPIX_INLINE_VERSION) : 0;
    if (found != 0)
        mpix_inline_places = (const struct mpix_inline_place *)found;
}

/* Also for inline functions of programs that are not static. */
#ifdef __cplusplus
#define MPIX_INLINE __attribute__((always_inline)) static inline
#else
#define MPIX_INLINE extern __inline__ __attribute__((always_inline, gnu_inline))
#endif

/* Bytes of an element of a predefined datatype of C; 0 of all others. */
MPIX_INLINE size_t mpix_inline_bytes(MPI_Datatype type)
{
    return type == MPI_BYTE || type == MPI_CHAR || type == MPI_SIGNED_CHAR || type == MPI_UNSIGNED_CHAR || type == MPI_INT8_T ||
                   type == MPI_UINT8_T
               ? 1
           : type == MPI_SHORT || type == MPI_UNSIGNED_SHORT || type == MPI_INT16_T || type == MPI_UINT16_T ? 2
           : type == MPI_INT || type == MPI_UNSIGNED || type == MPI_INT32_T || type == MPI_UINT32_T          ? 4
           : type == MPI_LONG || type == MPI_UNSIGNED_LONG                                                   ? sizeof(long)
           : type == MPI_LONG_LONG || type == MPI_UNSIGNED_LONG_LONG || type == MPI_INT64_T || type == MPI_UINT64_T ? 8
           : type == MPI_AINT || type == MPI_COUNT || type == MPI_OFFSET                                     ? 8
           : type == MPI_FLOAT                                                                               ? sizeof(float)
           : type == MPI_DOUBLE                                                                              ? sizeof(double)
           : type == MPI_C_FLOAT_COMPLEX                                                                     ? 2 * sizeof(float)
           : type == MPI_C_DOUBLE_COMPLEX                                                                    ? 2 * sizeof(double)
                                                                                                             : 0;
}

MPIX_INLINE int mpix_inline_send(int (*call)(const void *, int, MPI_Datatype, int, MPI_Comm), const void *buf, int count,
                                 MPI_Datatype type, int dest, MPI_Comm comm)
{
    uintptr_t number = (uintptr_t)comm - (uintptr_t)MPIX_COMM_1;
    size_t each = mpix_inline_bytes(type);
    if (__builtin_constant_p(count) && __builtin_constant_p(each) && __builtin_constant_p(number) && count >= 0 && each != 0 &&
        (size_t)count <= MPIX_INLINE_BYTES / each && number < MPIX_INLINE_PLACES) {
        const struct mpix_inline_place *place = &mpix_inline_places[number];
        size_t bytes = (size_t)count * each;
        if (__builtin_expect((unsigned)dest < place->ranks && ((uintptr_t)buf > MPIX_INLINE_CONSTANTS || bytes == 0), 1)) {
            struct mpix_inline_link *link = &place->links[dest];
            struct mpix_inline_cell *cell = link->cursor;
            if (__builtin_expect(cell != link->limit, 1)) {
                cell->match_word = place->match_word;
                if (bytes != 0)
                    memcpy(cell->data, buf, bytes);
                /* Partner: the receiver's load of the head. */
                __atomic_store_n(&cell->head, link->lap | (uint64_t)MPIX_INLINE_KIND << 32 | (uint64_t)bytes << 40, __ATOMIC_RELEASE);
                link->cursor = cell + 1;
                link->bytes += bytes;
                if (__builtin_expect(__atomic_load_n(link->attention, __ATOMIC_RELAXED) != 0, 0))
                    return MPIX_Inline_wake(dest, comm);
                return MPI_SUCCESS;
            }
        }
    }
    return call(buf, count, type, dest, comm);
}

/* Commas inside an argument are the program's. */
#define MPIX_Send_all_opts(...) mpix_inline_send(MPIX_Send_all_opts, __VA_ARGS__)
#define MPIX_Isend_all_opts(...) mpix_inline_send(MPIX_Isend_all_opts, __VA_ARGS__)

#ifdef __cplusplus
}
#endif

#endif
