/* SPDX-License-Identifier: MIT OR Apache-2.0
 * The part of peer.c that is about derived datatypes: src/rows/pack.rs and src/mpi/datatype.rs. */

enum { MANY = 20000, CUBE = 262, INNER = 256, BOX_EDGE = 40, BOX = 24, BOX_START = 8, VECTOR_BYTES = 1 << 20 };
enum shape { BLOCKS, VECTOR, FACE, TRANSPOSE, IRREGULAR, REGULAR, STRUCT, BOXES };
/* Descriptions of one box. */
enum { SUBARRAY, VECTORS, ROWS, PLANES, ELEMENTS, DESCRIPTIONS };

static struct {
    MPI_Datatype handle;
    int count;
    size_t bytes, span;
    enum shape shape;
    /* Bytes of a block, or which description. */
    int length;
    unsigned char *memory, *packed;
} derived;

static const int *offsets(enum shape shape)
{
    static int regular[MANY], irregular[MANY];
    int *places = shape == REGULAR ? regular : irregular;
    if (places[1] == 0) {
        uint32_t random = 1;
        int at = 0;
        for (int i = 0; i < MANY; i++) {
            places[i] = shape == REGULAR ? 2 * i : at;
            random = random * 1664525u + 1013904223u;
            at += 2 + (int)((random >> 24) % 7);
        }
    }
    return places;
}

static void box(int description)
{
    static MPI_Aint rows[BOX * BOX];
    static int lengths[BOX * BOX], elements[BOX * BOX * BOX];
    MPI_Datatype planes[BOX], row, plane, cube;
    for (int z = 0; z < BOX; z++)
        for (int y = 0; y < BOX; y++) {
            int first = ((z + BOX_START) * BOX_EDGE + y + BOX_START) * BOX_EDGE + BOX_START;
            rows[z * BOX + y] = first * 8;
            lengths[z * BOX + y] = BOX;
            for (int x = 0; x < BOX; x++)
                elements[(z * BOX + y) * BOX + x] = first + x;
        }
    switch (description) {
    case SUBARRAY: {
        int sizes[] = {BOX_EDGE, BOX_EDGE, BOX_EDGE}, inner[] = {BOX, BOX, BOX}, starts[] = {BOX_START, BOX_START, BOX_START};
        MPI_Type_create_subarray(3, sizes, inner, starts, MPI_ORDER_C, MPI_DOUBLE, &derived.handle);
        break;
    }
    case VECTORS:
        MPI_Type_contiguous(BOX, MPI_DOUBLE, &row);
        MPI_Type_create_hvector(BOX, 1, BOX_EDGE * 8, row, &plane);
        MPI_Type_create_hvector(BOX, 1, BOX_EDGE * BOX_EDGE * 8, plane, &cube);
        MPI_Type_create_hindexed_block(1, 1, rows, cube, &derived.handle);
        MPI_Type_free(&row);
        MPI_Type_free(&plane);
        MPI_Type_free(&cube);
        break;
    case ROWS:
        MPI_Type_create_hindexed(BOX * BOX, lengths, rows, MPI_DOUBLE, &derived.handle);
        break;
    case PLANES: {
        MPI_Aint places[BOX];
        int ones[BOX];
        MPI_Type_vector(BOX, BOX, BOX_EDGE, MPI_DOUBLE, &plane);
        for (int z = 0; z < BOX; z++) {
            places[z] = rows[z * BOX];
            ones[z] = 1;
            planes[z] = plane;
        }
        MPI_Type_create_struct(BOX, ones, places, planes, &derived.handle);
        MPI_Type_free(&plane);
        break;
    }
    default:
        MPI_Type_create_indexed_block(BOX * BOX * BOX, 1, elements, MPI_DOUBLE, &derived.handle);
    }
}

static void derive(void)
{
    derived.count = 1;
    switch (derived.shape) {
    case BLOCKS:
        MPI_Type_vector(65536 / derived.length, derived.length, 2 * derived.length, MPI_BYTE, &derived.handle);
        derived.bytes = 65536;
        derived.span = 2 * 65536;
        break;
    case VECTOR:
        MPI_Type_vector(VECTOR_BYTES / 8, 1, 2, MPI_DOUBLE, &derived.handle);
        derived.bytes = VECTOR_BYTES;
        derived.span = 2 * VECTOR_BYTES;
        break;
    case FACE: {
        int sizes[] = {CUBE, CUBE, CUBE}, inner[] = {INNER, INNER, 3}, starts[] = {3, 3, 3};
        MPI_Type_create_subarray(3, sizes, inner, starts, MPI_ORDER_C, MPI_DOUBLE, &derived.handle);
        derived.bytes = INNER * INNER * 24;
        derived.span = (size_t)CUBE * CUBE * CUBE * 8;
        break;
    }
    case TRANSPOSE: {
        MPI_Datatype column, narrow;
        MPI_Type_vector(INNER, 1, INNER, MPI_DOUBLE, &column);
        MPI_Type_create_resized(column, 0, 8, &narrow);
        MPI_Type_contiguous(INNER, narrow, &derived.handle);
        MPI_Type_free(&column);
        MPI_Type_free(&narrow);
        derived.bytes = derived.span = INNER * INNER * 8;
        break;
    }
    case IRREGULAR:
    case REGULAR: {
        const int *places = offsets(derived.shape);
        MPI_Type_create_indexed_block(MANY, 1, places, MPI_DOUBLE, &derived.handle);
        derived.bytes = MANY * 8;
        derived.span = ((size_t)places[MANY - 1] + 1) * 8;
        break;
    }
    case STRUCT: {
        int lengths[] = {1, 1, 6};
        MPI_Aint places[] = {0, 8, 16};
        MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE, MPI_CHAR}, tight;
        MPI_Type_create_struct(3, lengths, places, types, &tight);
        MPI_Type_create_resized(tight, 0, 24, &derived.handle);
        MPI_Type_free(&tight);
        derived.count = MANY;
        derived.bytes = MANY * 18;
        derived.span = MANY * 24;
        break;
    }
    case BOXES:
        box(derived.length);
        derived.bytes = BOX * BOX * BOX * 8;
        derived.span = BOX_EDGE * BOX_EDGE * BOX_EDGE * 8;
    }
    MPI_Type_commit(&derived.handle);
}

/* Memory that begins with a page. */
static unsigned char *pages(size_t bytes)
{
    void *start = NULL;
    if (posix_memalign(&start, 4096, bytes) != 0)
        give_up("no memory for %zu bytes", bytes);
    return memset(start, 0, bytes);
}

static void pack_once(void)
{
    int position = 0;
    MPI_Pack(derived.memory, derived.count, derived.handle, derived.packed, (int)derived.bytes, &position, MPI_COMM_SELF);
}

static void unpack_once(void)
{
    int position = 0;
    MPI_Unpack(derived.packed, (int)derived.bytes, &position, derived.memory, derived.count, derived.handle, MPI_COMM_SELF);
}

static void derive_once(void)
{
    derive();
    MPI_Type_free(&derived.handle);
}

/* What packing cannot beat: loops without the library. */
static void copy_once(void)
{
    memcpy(derived.packed, derived.memory, 65536);
    __asm__ volatile("" ::"r"(derived.packed) : "memory");
}

static void lines_once(void)
{
    for (size_t line = 0; line < 2048; line++)
        memcpy(derived.packed + line * 32, derived.memory + line * 64, 32);
    __asm__ volatile("" ::"r"(derived.packed) : "memory");
}

static void face_once(void)
{
    const uint64_t *words = (const uint64_t *)derived.memory;
    uint64_t sum = 0;
    for (size_t z = 3; z < 3 + INNER; z++)
        for (size_t y = 3; y < 3 + INNER; y++)
            sum += words[(z * CUBE + y) * CUBE + 3];
    *(uint64_t *)derived.packed = sum;
    __asm__ volatile("" ::"r"(derived.packed) : "memory");
}

static void gather_once(void)
{
    const int *places = offsets(IRREGULAR);
    const double *from = (const double *)derived.memory;
    double *to = (double *)derived.packed;
    for (int i = 0; i < MANY; i++)
        to[i] = from[places[i]];
    __asm__ volatile("" ::"r"(to) : "memory");
}

static void (*repeated)(void);

static double repeats(work_t *work, long iterations)
{
    (void)work;
    double start = now_ns();
    for (long i = 0; i < iterations; i++)
        repeated();
    return now_ns() - start;
}

static double as_rate(double time)
{
    return (double)derived.bytes / time * 1e9;
}

static void limit(const char *name, void (*once)(void), work_t *work, double *values)
{
    repeated = once;
    measure(repeats, work, values);
    for (long i = 0; i < work->taken; i++)
        values[i] = as_rate(values[i]);
    report(name, (int)derived.bytes, values, work->taken);
}

typedef struct {
    const char *name;
    enum shape shape;
    int length;
} row_t;

enum { TOGETHER = 5, VALUES = 4096 };

/* Fills `values` with the rates of packing or unpacking `count` types, one after the other; gives how many there are of each. */
static long in_turns(const options_t *options, const MPI_Datatype *types, int count, int way, double values[][VALUES])
{
    work_t work = {.options = options};
    repeated = way ? unpack_once : pack_once;
    if (count == 1) {
        derived.handle = types[0];
        measure(repeats, &work, values[0]);
        for (long i = 0; i < work.taken; i++)
            values[0][i] = as_rate(values[0][i]);
        return work.taken;
    }
    options_t turns[TOGETHER];
    for (int which = 0; which < count; which++) {
        double time = 1;
        turns[which] = *options;
        turns[which].repetitions = 1;
        work.options = &turns[which];
        derived.handle = types[which];
        measure(repeats, &work, &time);
        /* The first time tells how many iterations fill the budget. */
        double fitting = (double)options->budget_us * 1e3 / time;
        if (options->iterations == 0)
            turns[which].iterations = fitting < 1 ? 1 : fitting > MOST ? MOST : (long)fitting;
    }
    for (long turn = 0; turn < options->repetitions; turn++)
        for (int which = 0; which < count; which++) {
            work.options = &turns[which];
            derived.handle = types[which];
            measure(repeats, &work, &values[which][turn]);
            values[which][turn] = as_rate(values[which][turn]);
        }
    return options->repetitions;
}

/* Packs and unpacks types that describe the same bytes, one after the other, all in the same memory; gives how much longer than the
 * fastest the slowest took to pack, in percent. */
static double rows(const options_t *options, const row_t *row, int count)
{
    static double values[2][TOGETHER][VALUES];
    MPI_Datatype types[TOGETHER];
    long taken[2];
    double fastest = 0, slowest = 0;
    work_t work = {.options = options};
    for (int which = 0; which < count; which++) {
        derived.shape = row[which].shape;
        derived.length = row[which].length;
        derive();
        types[which] = derived.handle;
    }
    derived.memory = pages(derived.span);
    derived.packed = pages(derived.bytes);
    fill(derived.memory, derived.span, 1);
    for (int way = 0; way < 2; way++) {
        taken[way] = in_turns(options, types, count, way, values[way]);
        if (options->verify) {
            unsigned char *whole = pages(derived.span);
            fill(whole, derived.span, 1);
            if (memcmp(whole, derived.memory, derived.span) != 0)
                give_up("packing %s lost data", row->name);
            free(whole);
        }
    }
    for (int which = 0; which < count; which++) {
        for (int way = 0; way < 2; way++) {
            char name[64];
            snprintf(name, sizeof name, "%s-%s", way ? "unpack" : "pack", row[which].name);
            report(name, (int)derived.bytes, values[way][which], taken[way]);
        }
        double rate = median(values[0][which], taken[0]);
        fastest = rate > fastest ? rate : fastest;
        slowest = slowest == 0 || rate < slowest ? rate : slowest;
        MPI_Type_free(&types[which]);
    }
    if (row->shape == BLOCKS && row->length == 1)
        limit("copy-limit", copy_once, &work, values[0][0]);
    if (row->shape == BLOCKS && row->length == 64)
        limit("lines-limit", lines_once, &work, values[0][0]);
    if (row->shape == FACE)
        limit("face-limit", face_once, &work, values[0][0]);
    if (row->shape == IRREGULAR)
        limit("gather-limit", gather_once, &work, values[0][0]);
    free(derived.memory);
    free(derived.packed);
    return (fastest / slowest - 1) * 100;
}

static void packing(const options_t *options)
{
    static const row_t SHAPES[] = {{"1", BLOCKS, 1},
                                   {"4", BLOCKS, 4},
                                   {"8", BLOCKS, 8},
                                   {"16", BLOCKS, 16},
                                   {"64", BLOCKS, 64},
                                   {"face", FACE, 0},
                                   {"transpose", TRANSPOSE, 0},
                                   {"irregular", IRREGULAR, 0},
                                   {"regular", REGULAR, 0},
                                   {"struct", STRUCT, 0}};
    static const row_t BOX_ROWS[TOGETHER] = {{"box-subarray", BOXES, SUBARRAY},
                                             {"box-vectors", BOXES, VECTORS},
                                             {"box-rows", BOXES, ROWS},
                                             {"box-planes", BOXES, PLANES},
                                             {"box-elements", BOXES, ELEMENTS}};
    static const struct {
        const char *name;
        enum shape shape;
    } COMMITS[] = {{"commit", FACE}, {"commit-vector", VECTOR}, {"commit-struct", STRUCT}, {"commit-indexed", IRREGULAR}};
    if (options->repetitions > VALUES)
        give_up("%d repetitions at most", VALUES);
    for (size_t row = 0; row < sizeof SHAPES / sizeof *SHAPES; row++)
        rows(options, &SHAPES[row], 1);
    double spread = rows(options, BOX_ROWS, TOGETHER);
    report("box-spread", 0, &spread, 1);
    double *values = memory((size_t)options->repetitions * sizeof *values, 0);
    work_t work = {.options = options};
    for (size_t row = 0; row < sizeof COMMITS / sizeof *COMMITS; row++) {
        derived.shape = COMMITS[row].shape;
        repeated = derive_once;
        measure(repeats, &work, values);
        report(COMMITS[row].name, 0, values, work.taken);
    }
    free(values);
}

static void vector_round_trip(void)
{
    for (int turn = 0; turn < 2; turn++)
        if (turn == rank)
            MPI_Send(derived.memory, derived.count, derived.handle, 1 - rank, TAG, MPI_COMM_WORLD);
        else
            MPI_Recv(derived.memory, derived.count, derived.handle, 1 - rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Half the time of a vector there and one back. */
static void vector(work_t *work, double *values)
{
    derived.shape = VECTOR;
    derive();
    derived.memory = pages(derived.span);
    fill(derived.memory, derived.span, (uint64_t)rank);
    if (work->options->verify) {
        vector_round_trip();
        /* Rank 1 has what rank 0 sent, which has come back to rank 0; the gaps are as they were. */
        for (size_t place = 0; place < derived.span; place++)
            if (derived.memory[place] != pattern(place % 16 < 8 ? 0 : (uint64_t)rank, place))
                give_up("wrong data at byte %zu of the vector", place);
    }
    repeated = vector_round_trip;
    measure(repeats, work, values);
    for (long i = 0; i < work->taken; i++)
        values[i] /= 2;
    MPI_Type_free(&derived.handle);
    free(derived.memory);
}
