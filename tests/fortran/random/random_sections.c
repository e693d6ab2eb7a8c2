/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Random sections of arrays in calls of mpi_f08, each against the same call of C on contiguous copies.
 *
 * usage: random_sections CASES [SEED]
 *
 * The program makes descriptors as compilers do, of up to 15 dimensions with steps of both signs, extents of 0 to 9 and elements of 1 to
 * 16 bytes, and calls the entry points that compilers call. All ranks draw the same numbers. Memory around the elements must stay as it
 * was. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DIMENSIONS = 15, MOST_BYTES = 1 << 16 };

// Fortran 2018, 18.5.3, as gfortran and flang lay it out.
typedef struct {
    void *base;
    size_t element_bytes;
    int version;
    uint8_t rank, attributes[3];
    struct { intptr_t lower_bound, extent, stride; } dimensions[MOST_DIMENSIONS];
} Descriptor;

void mpirp_sendrecv_cfi(Descriptor *, int *, int *, int *, int *, Descriptor *, int *, int *, int *, int *, int *, int *, int *);
void mpirp_isend_cfi(Descriptor *, int *, int *, int *, int *, int *, int *, int *);
void mpirp_irecv_cfi(Descriptor *, int *, int *, int *, int *, int *, int *, int *);
void mpirp_send_init_cfi(Descriptor *, int *, int *, int *, int *, int *, int *, int *);
void mpirp_recv_init_cfi(Descriptor *, int *, int *, int *, int *, int *, int *, int *);
void mpirp_bcast_cfi(Descriptor *, int *, int *, int *, int *, int *);
void mpirp_ibcast_cfi(Descriptor *, int *, int *, int *, int *, int *, int *);
void mpirp_allreduce_cfi(Descriptor *, Descriptor *, int *, int *, int *, int *, int *);
void mpirp_iallreduce_cfi(Descriptor *, Descriptor *, int *, int *, int *, int *, int *, int *);
void mpirp_alltoallv_cfi(Descriptor *, int *, int *, int *, Descriptor *, int *, int *, int *, int *, int *);
void mpirp_ialltoallv_cfi(Descriptor *, int *, int *, int *, Descriptor *, int *, int *, int *, int *, int *, int *);
void mpirp_put_cfi(Descriptor *, int *, int *, int *, int64_t *, int *, int *, int *, int *);
void mpirp_get_cfi(Descriptor *, int *, int *, int *, int64_t *, int *, int *, int *, int *);
void mpirp_file_write_at_cfi(int *, int64_t *, Descriptor *, int *, int *, int *, int *);
void mpirp_file_iread_at_cfi(int *, int64_t *, Descriptor *, int *, int *, int *, int *);
void mpi_wait_(int *, int *, int *);
void mpi_start_(int *, int *);
void mpi_request_free_(int *, int *);

static uint64_t state;
static int rank, ranks, other, world, tag = 1, error, status[8];
static long cases;

static unsigned draw(unsigned below) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (unsigned)((state >> 20) % below);
}

// A section with its memory, what the memory should hold, and a contiguous copy.
typedef struct {
    Descriptor given;
    size_t bytes, elements;
    unsigned char memory[MOST_BYTES], expected[MOST_BYTES], copy[MOST_BYTES];
} Section;

static Section sent, received;

// Calls with each element's place in the memory, in the order of the array.
static void each(Section *section, void (*visit)(Section *, size_t index, unsigned char *place)) {
    intptr_t at[MOST_DIMENSIONS] = {0};
    for (size_t index = 0; index < section->elements; index++) {
        unsigned char *place = section->given.base;
        for (int d = 0; d < section->given.rank; d++) place += at[d] * section->given.dimensions[d].stride;
        visit(section, index, place);
        for (int d = 0; d < section->given.rank && ++at[d] == section->given.dimensions[d].extent; d++) at[d] = 0;
    }
}

static void take(Section *section, size_t index, unsigned char *place) {
    size_t size = section->given.element_bytes;
    memcpy(section->copy + index * size, place, size);
}

static void expect(Section *section, size_t index, unsigned char *place) {
    size_t size = section->given.element_bytes;
    memcpy(section->expected + (place - section->memory), section->copy + index * size, size);
}

// Draws a section that fits into the memory. Dimensions are nested in a random order, each around all elements of those inside.
static void draw_section(Section *section, size_t element_bytes) {
    for (;;) {
        Descriptor *given = &section->given;
        int order[MOST_DIMENSIONS];
        intptr_t span = (intptr_t)element_bytes, start = 0;
        memset(given, 0, sizeof *given);
        given->rank = (uint8_t)(draw(4) ? 1 + draw(3) : 1 + draw(MOST_DIMENSIONS));
        given->element_bytes = element_bytes;
        section->elements = 1;
        for (int d = 0; d < given->rank; d++) order[d] = d;
        // Compilers make arrays with the first dimension inside, pointers have any order.
        for (int d = given->rank - 1; d > 0 && draw(3) == 0; d--) {
            int swapped = (int)draw((unsigned)d + 1), kept = order[d];
            order[d] = order[swapped], order[swapped] = kept;
        }
        for (int i = 0; i < given->rank; i++) {
            int d = order[i];
            intptr_t extent = given->rank <= 3 ? draw(10) : 1 + draw(3), step = span * (intptr_t)(1 + (draw(2) ? 0 : draw(3)));
            if (extent > 0) span = step * extent;
            if (extent > 0 && draw(3) == 0) start += step * (extent - 1), step = -step;
            given->dimensions[d].lower_bound = (intptr_t)draw(3);
            given->dimensions[d].extent = extent, given->dimensions[d].stride = step;
            section->elements *= (size_t)extent;
            if (span > MOST_BYTES / 2) break;
        }
        if (span > MOST_BYTES / 2) continue;
        given->base = section->memory + 64 + start;
        section->bytes = section->elements * element_bytes;
        for (size_t i = 0; i < MOST_BYTES; i++) section->memory[i] = (unsigned char)(draw(256) + (unsigned)rank * 7);
        memcpy(section->expected, section->memory, MOST_BYTES);
        each(section, take);
        return;
    }
}

typedef struct {
    MPI_Datatype handle;
    int number, size, is_arithmetic, extent, reach;
} Type;

enum { TYPES = 20 };
static Type types[TYPES];

static void make_types(void) {
    MPI_Datatype predefined[] = {MPI_BYTE, MPI_CHAR, MPI_INT8_T, MPI_INT16_T, MPI_UINT16_T, MPI_INT32_T, MPI_INTEGER, MPI_UINT32_T,
                                 MPI_INT64_T, MPI_UINT64_T, MPI_LOGICAL, MPI_CHARACTER, MPI_INTEGER8, MPI_DOUBLE_COMPLEX, MPI_COMPLEX,
                                 MPI_2INTEGER};
    int count = (int)(sizeof predefined / sizeof *predefined);
    for (int i = 0; i < count; i++) types[i].handle = predefined[i];
    MPI_Type_contiguous(3, MPI_INT16_T, &types[count].handle);
    MPI_Type_vector(2, 1, 3, MPI_INT32_T, &types[count + 1].handle);
    MPI_Type_create_resized(MPI_INT16_T, 0, 6, &types[count + 2].handle);
    int lengths[] = {1, 2};
    MPI_Aint places[] = {2, 8};
    MPI_Datatype parts[] = {MPI_INT32_T, MPI_BYTE};
    MPI_Type_create_struct(2, lengths, places, parts, &types[count + 3].handle);
    for (int i = 0; i < TYPES; i++) {
        MPI_Aint low, extent, true_low, true_extent;
        MPI_Type_commit(&types[i].handle);
        MPI_Type_size(types[i].handle, &types[i].size);
        MPI_Type_get_extent(types[i].handle, &low, &extent);
        MPI_Type_get_true_extent(types[i].handle, &true_low, &true_extent);
        types[i].extent = (int)extent, types[i].reach = (int)(true_low + true_extent);
        types[i].is_arithmetic = i >= 2 && i < 10;
        types[i].number = i < count ? (int)(intptr_t)types[i].handle : MPI_Type_toint(types[i].handle);
    }
}

// How many items of a type a section holds.
static int room(Section *section, Type *type) {
    if (section->bytes < (size_t)type->reach) return 0;
    return 1 + (int)((section->bytes - (size_t)type->reach) / (size_t)type->extent);
}

static int smaller(int a, int b) { return a < b ? a : b; }

static void check(const char *call, Type *type, int count) {
    each(&received, expect);
    if (error == 0 && memcmp(received.memory, received.expected, MOST_BYTES) == 0) return;
    printf("rank %d, case %ld: %s of %d items of type %d, error %d, sections of", rank, cases, call, count, (int)(type - types), error);
    for (int side = 0; side < 2; side++) {
        Descriptor *given = side ? &received.given : &sent.given;
        printf(" (");
        for (int d = 0; d < given->rank; d++)
            printf("%ld by %ld ", (long)given->dimensions[d].extent, (long)given->dimensions[d].stride);
        printf("of %zu bytes)", given->element_bytes);
    }
    printf("\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void messages(Type *type) {
    int count = smaller(room(&sent, type), room(&received, type)), requests[2];
    if (count > 0 && draw(3) == 0) count = (int)draw((unsigned)count + 1);
    MPI_Sendrecv(sent.copy, count, type->handle, other, 0, received.copy, count, type->handle, other, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    Descriptor *from = &sent.given, *to = &received.given;
    switch (draw(3)) {
    case 0:
        mpirp_sendrecv_cfi(from, &count, &type->number, &other, &tag, to, &count, &type->number, &other, &tag, &world, status, &error);
        return check("MPI_Sendrecv", type, count);
    case 1:
        mpirp_irecv_cfi(to, &count, &type->number, &other, &tag, &world, &requests[0], &error);
        mpirp_isend_cfi(from, &count, &type->number, &other, &tag, &world, &requests[1], &error);
        for (int i = 0; i < 2; i++) mpi_wait_(&requests[i], status, &error);
        return check("MPI_Isend and MPI_Irecv", type, count);
    default:
        mpirp_recv_init_cfi(to, &count, &type->number, &other, &tag, &world, &requests[0], &error);
        mpirp_send_init_cfi(from, &count, &type->number, &other, &tag, &world, &requests[1], &error);
        for (int round = 0; round < 2; round++) {
            for (int i = 0; i < 2; i++) mpi_start_(&requests[i], &error);
            for (int i = 0; i < 2; i++) mpi_wait_(&requests[i], status, &error);
        }
        for (int i = 0; i < 2; i++) mpi_request_free_(&requests[i], &error);
        return check("MPI_Send_init and MPI_Recv_init", type, count);
    }
}

static void broadcast(Type *type) {
    int count = room(&received, type), root = (int)draw((unsigned)ranks), request;
    MPI_Bcast(received.copy, count, type->handle, root, MPI_COMM_WORLD);
    if (draw(2)) {
        mpirp_bcast_cfi(&received.given, &count, &type->number, &root, &world, &error);
    } else {
        mpirp_ibcast_cfi(&received.given, &count, &type->number, &root, &world, &request, &error);
        mpi_wait_(&request, status, &error);
    }
    check("MPI_Bcast", type, count);
}

static void reduction(Type *type) {
    if (!type->is_arithmetic) return broadcast(type);
    int count = smaller(room(&sent, type), room(&received, type)), request;
    MPI_Op op = draw(2) ? MPI_SUM : MPI_MAX;
    int number = (int)(intptr_t)op;
    MPI_Allreduce(sent.copy, received.copy, count, type->handle, op, MPI_COMM_WORLD);
    if (draw(2)) {
        mpirp_allreduce_cfi(&sent.given, &received.given, &count, &type->number, &number, &world, &error);
    } else {
        mpirp_iallreduce_cfi(&sent.given, &received.given, &count, &type->number, &number, &world, &request, &error);
        mpi_wait_(&request, status, &error);
    }
    check("MPI_Allreduce", type, count);
}

static void all_to_all(Type *type) {
    int most = smaller(room(&sent, type), room(&received, type)), request, counts[2], places[2], back[2];
    // Two blocks, those that are received in the other order.
    counts[0] = most > 0 ? (int)draw((unsigned)most + 1) : 0;
    counts[1] = ranks == 2 ? smaller(counts[0], most - counts[0]) : 0;
    if (ranks == 2) counts[0] = counts[1];
    places[0] = 0, places[1] = back[0] = counts[0], back[1] = 0;
    if (ranks == 1) back[0] = 0;
    MPI_Alltoallv(sent.copy, counts, places, type->handle, received.copy, counts, back, type->handle, MPI_COMM_WORLD);
    Descriptor *from = &sent.given, *to = &received.given;
    if (draw(2)) {
        mpirp_alltoallv_cfi(from, counts, places, &type->number, to, counts, back, &type->number, &world, &error);
    } else {
        mpirp_ialltoallv_cfi(from, counts, places, &type->number, to, counts, back, &type->number, &world, &request, &error);
        mpi_wait_(&request, status, &error);
    }
    check("MPI_Alltoallv", type, counts[0]);
}

static unsigned char window_memory[MOST_BYTES];
static MPI_Win win;
static MPI_File file;

static void one_sided(Type *type) {
    int count = smaller(room(&sent, type), room(&received, type)), number = MPI_Win_toint(win);
    int64_t place = 0;
    memcpy(window_memory, received.copy, received.bytes);
    MPI_Win_fence(0, win);
    MPI_Sendrecv(sent.copy, count, type->handle, other, 0, received.copy, count, type->handle, other, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    mpirp_put_cfi(&sent.given, &count, &type->number, &other, &place, &count, &type->number, &number, &error);
    MPI_Win_fence(0, win);
    // Of the items only: what lies between them is not the window's.
    if (memcmp(window_memory, received.copy, received.bytes) != 0) error = -1;
    mpirp_get_cfi(&received.given, &count, &type->number, &rank, &place, &count, &type->number, &number, &error);
    MPI_Win_fence(0, win);
    check("MPI_Put and MPI_Get", type, count);
}

static void storage(Type *type) {
    int count = smaller(room(&sent, type), room(&received, type)), number = MPI_File_toint(file), request;
    int64_t place = 0;
    MPI_Sendrecv(sent.copy, count, type->handle, rank, 0, received.copy, count, type->handle, rank, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    mpirp_file_write_at_cfi(&number, &place, &sent.given, &count, &type->number, status, &error);
    mpirp_file_iread_at_cfi(&number, &place, &received.given, &count, &type->number, &request, &error);
    mpi_wait_(&request, status, &error);
    check("MPI_File_write_at and MPI_File_iread_at", type, count);
}

int main(int argc, char **argv) {
    long wanted = argc > 1 ? atol(argv[1]) : 1000;
    state = argc > 2 ? strtoull(argv[2], NULL, 10) : 88172645463325252ULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks > 2) MPI_Abort(MPI_COMM_WORLD, 2);
    other = ranks - 1 - rank;
    world = (int)(intptr_t)MPI_COMM_WORLD;
    make_types();
    MPI_Win_create(window_memory, sizeof window_memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    MPI_File_open(MPI_COMM_SELF, rank ? "random_sections.1" : "random_sections.0",
                  MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
    static const unsigned sizes[] = {1, 2, 4, 4, 8, 8, 16, 3, 12};
    for (cases = 0; cases < wanted; cases++) {
        size_t size = sizes[draw(9)];
        draw_section(&sent, size);
        draw_section(&received, draw(4) ? size : sizes[draw(9)]);
        Type *type = &types[draw(TYPES)];
        switch (draw(16)) {
        case 0: storage(type); break;
        case 1: case 2: one_sided(type); break;
        case 3: case 4: all_to_all(type); break;
        case 5: case 6: broadcast(type); break;
        case 7: case 8: case 9: reduction(type); break;
        default: messages(type);
        }
    }
    MPI_File_close(&file);
    MPI_Win_free(&win);
    for (int i = 16; i < TYPES; i++) MPI_Type_free(&types[i].handle);
    if (rank == 0) printf("PASS %ld cases\n", cases);
    MPI_Finalize();
    return 0;
}
