/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Random nested datatypes: what a library says of them, and the bytes that it packs, one line a type. Two libraries with the
 * standard ABI that are given the same seed print the same lines, or disagree about the type that a line names.
 *
 *     random SEED COUNT
 */
#include "made.h"

#define MOST_BYTES (64 << 10)
#define MOST_SPAN (1 << 20)

static unsigned long long hash(const unsigned char *bytes, size_t count)
{
    unsigned long long sum = 14695981039346656037ULL;
    for (size_t i = 0; i < count; ++i)
        sum = (sum ^ bytes[i]) * 1099511628211ULL;
    return sum;
}

/* Packs and unpacks `count` elements, and says what came of it. */
static void transfer(MPI_Datatype type, int count, int size, MPI_Aint low, MPI_Aint span)
{
    size_t room = (size_t)size * count;
    unsigned char *memory = malloc(span + 1), *packed = malloc(2 * room + 1), *ones = malloc(room + 1);
    int position = 0, error;
    for (MPI_Aint i = 0; i < span; ++i)
        memory[i] = (unsigned char)((i * 2654435761u) >> 13);
    MPI_Pack(memory - low, count, type, packed, (int)room, &position, MPI_COMM_SELF);
    printf(" packed %d %016llx", position, hash(packed, (size_t)position));

    MPI_Aint bytes = 0, place = 0;
    int is_portable = only >= 0 && !is_distributed;
    if (is_portable)
        MPI_Pack_external_size("external32", count, type, &bytes);
    unsigned char *foreign = malloc((size_t)bytes + 1);
    if (is_portable) {
        MPI_Pack_external("external32", memory - low, count, type, foreign, bytes, &place);
        printf(" external %lld %016llx", (long long)place, hash(foreign, (size_t)place));
    }

    /* Bytes that occur twice must not be received into: a library may say so, or not. */
    memset(memory, 0, (size_t)span + 1);
    memset(ones, 255, room + 1);
    position = 0;
    error = MPI_Unpack(ones, (int)room, &position, memory - low, count, type, MPI_COMM_SELF);
    size_t set = 0;
    for (MPI_Aint i = 0; i < span; ++i)
        set += memory[i] == 255;
    if (error != MPI_SUCCESS || set != room) {
        printf(" overlaps\n");
    } else {
        memset(memory, 1, (size_t)span + 1);
        position = 0;
        MPI_Unpack(packed, (int)room, &position, memory - low, count, type, MPI_COMM_SELF);
        printf(" unpacked %d %016llx", position, hash(memory, (size_t)span));
        if (is_portable) {
            memset(memory, 1, (size_t)span + 1);
            place = 0;
            MPI_Unpack_external("external32", foreign, bytes, &place, memory - low, count, type);
            printf(" external %lld %016llx", (long long)place, hash(memory, (size_t)span));
        }
        printf("\n");
    }
    free(memory);
    free(packed);
    free(foreign);
    free(ones);
}

static void one(int index, unsigned long long seed)
{
    struct made *made = made_of(seed, index);
    int count = between(0, 9) ? between(1, 3) : 0, size;
    MPI_Aint lb, extent, true_lb, true_extent;
    MPI_Type_commit(&made->type);
    MPI_Type_size(made->type, &size);
    MPI_Type_get_extent(made->type, &lb, &extent);
    MPI_Type_get_true_extent(made->type, &true_lb, &true_extent);
    printf("%d of %s: size %d", count, made->text, size);
    if (size > 0)
        printf(" extent %lld from %lld true %lld from %lld", (long long)extent, (long long)lb, (long long)true_extent,
               (long long)true_lb);
    MPI_Aint far = count > 0 ? extent * (count - 1) : 0;
    MPI_Aint span = true_extent + (far < 0 ? -far : far), low = true_lb + (far < 0 ? far : 0);
    if ((long long)size * count > MOST_BYTES || span > MOST_SPAN || size == 0)
        printf(" not packed\n");
    else
        transfer(made->type, count, size, low, span);
    release(made);
    free(made);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (int i = 0; i < atoi(argv[2]); ++i)
        one(i, strtoull(argv[1], 0, 10));
    MPI_Finalize();
    return 0;
}
