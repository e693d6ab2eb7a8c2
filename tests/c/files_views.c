/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 3
 * Views and memory of random nested datatypes: what is written and read is what the type maps say, byte by byte. Views whose bytes are not in
 * order are refused. A failure prints the seed, which is the first argument. */
#include "check.h"

#define REGION 20000
#define STEPS 150

static int rank, size;
static unsigned long long state;

static int below(int limit)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (int)((state >> 33) % (unsigned)limit);
}

/* A random type over bytes; `in_order` asks for displacements that grow. */
static MPI_Datatype random_type(int depth, int in_order)
{
    static const int sizes[] = {1, 2, 3, 4, 8};
    MPI_Datatype old, made, part;
    MPI_Aint lb, extent, places[4];
    int lengths[4], at = 0, counts[4];
    if (depth == 0) {
        MPI_Type_contiguous(sizes[below(5)], MPI_CHAR, &made);
        return made;
    }
    old = random_type(depth - 1, in_order);
    MPI_Type_get_extent(old, &lb, &extent);
    switch (below(8)) {
    case 0:
        MPI_Type_contiguous(1 + below(3), old, &made);
        break;
    case 1: {
        int length = 1 + below(2);
        MPI_Type_vector(1 + below(4), length, length + below(3), old, &made);
        break;
    }
    case 2:
        MPI_Type_create_hvector(1 + below(4), 1, extent + below(9), old, &made);
        break;
    case 3:
        for (int i = 0; i < 3; ++i) {
            lengths[i] = below(3);
            counts[i] = at += below(3);
            at += lengths[i];
        }
        MPI_Type_indexed(3, lengths, counts, old, &made);
        break;
    case 4: {
        MPI_Aint where = 0;
        for (int i = 0; i < 3; ++i) {
            lengths[i] = below(3);
            places[i] = where += below(7);
            where += lengths[i] * extent;
        }
        MPI_Type_create_hindexed(3, lengths, places, old, &made);
        break;
    }
    case 5: {
        MPI_Datatype types[2] = {old, MPI_CHAR};
        lengths[0] = 1 + below(2);
        lengths[1] = below(4);
        places[0] = 0;
        places[1] = lengths[0] * extent + below(5);
        if (!in_order && below(2)) {
            places[0] = 10;
            places[1] = 0;
        }
        MPI_Type_create_struct(2, lengths, places, types, &made);
        break;
    }
    case 6: {
        int whole[2] = {1 + below(3), 2 + below(3)}, mine[2] = {1, 1}, start[2];
        for (int i = 0; i < 2; ++i) {
            mine[i] = 1 + below(whole[i]);
            start[i] = below(whole[i] - mine[i] + 1);
        }
        MPI_Type_create_subarray(2, whole, mine, start, below(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN, old, &made);
        break;
    }
    default:
        MPI_Type_create_resized(old, 0, extent + below(6), &made);
        break;
    }
    part = old;
    MPI_Type_free(&part);
    return made;
}

/* The offsets of the packed bytes of one element, by unpacking their numbers. */
static int offsets_of(MPI_Datatype type, int *offsets, MPI_Aint *extent)
{
    static unsigned char low[REGION], high[REGION], area[2][2 * REGION];
    MPI_Aint lb, true_lb, true_extent;
    int bytes, at = 0;
    MPI_Type_size(type, &bytes);
    MPI_Type_get_extent(type, &lb, extent);
    MPI_Type_get_true_extent(type, &true_lb, &true_extent);
    if (bytes == 0 || bytes > 3000 || true_lb < 0 || true_lb + true_extent > REGION / 4 || *extent > REGION / 4)
        return 0;
    for (int i = 0; i < bytes; ++i) {
        low[i] = (unsigned char)(i & 255);
        high[i] = (unsigned char)(1 + (i >> 8));
    }
    memset(area, 0, sizeof area);
    /* Types that overlap are refused here. */
    if (MPI_Unpack(low, bytes, &at, area[0], 1, type, MPI_COMM_SELF) != MPI_SUCCESS)
        return 0;
    at = 0;
    CHECK(MPI_Unpack(high, bytes, &at, area[1], 1, type, MPI_COMM_SELF) == MPI_SUCCESS);
    for (int i = 0; i < 2 * REGION; ++i)
        if (area[1][i])
            offsets[area[0][i] + 256 * (area[1][i] - 1)] = i;
    return bytes;
}

static void step(MPI_File file, char *content)
{
    static int view[3000], memory[3000];
    static char buffer[16 * REGION], expected[16 * REGION];
    MPI_Aint view_extent, memory_extent;
    MPI_Status status;
    MPI_Datatype etype, filetype, element;
    int unit = 1 + below(3), repeats = 1 + below(3);
    MPI_Type_contiguous(unit, MPI_CHAR, &etype);
    MPI_Type_commit(&etype);
    /* The filetype consists of etypes as far as sizes go. */
    MPI_Datatype base = random_type(below(4), below(3) > 0);
    MPI_Type_contiguous(unit, base, &filetype);
    MPI_Type_free(&base);
    MPI_Type_commit(&filetype);
    element = random_type(below(4), 0);
    MPI_Type_commit(&element);
    int visible = offsets_of(filetype, view, &view_extent), packed = offsets_of(element, memory, &memory_extent);
    int first = REGION, end = 0;
    for (int i = 0; i < packed; ++i) {
        first = memory[i] < first ? memory[i] : first;
        end = memory[i] >= end ? memory[i] + 1 : end;
    }
    /* Elements that overlap each other are no memory to read into. */
    if (end - first > memory_extent)
        packed = 0;
    int in_order = 1;
    for (int i = 1; i < visible; ++i)
        in_order &= view[i] > view[i - 1];
    /* Whether tiles stay behind each other. */
    int apart = visible && view[visible - 1] - view[0] < view_extent;
    int use = visible && packed && apart;
    int all = 0, ordered = 0, mine = !use || in_order;
    MPI_Allreduce(&mine, &ordered, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Offset disp = (MPI_Offset)rank * REGION + below(50);
    if (!use) {
        MPI_Type_free(&filetype);
        MPI_Type_dup(etype, &filetype);
        visible = unit;
        view_extent = unit;
        for (int i = 0; i < unit; ++i)
            view[i] = i;
    }
    int sizes[2] = {unit, -unit}, limits[2];
    MPI_Allreduce(sizes, limits, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    int same = limits[0] == -limits[1];
    int code = MPI_File_set_view(file, disp, etype, filetype, "native", MPI_INFO_NULL);
    CHECK((code == MPI_SUCCESS) == (ordered && same));
    if (code == MPI_SUCCESS) {
        int offset = below(4), count = 0;
        if (packed)
            /* Whole etypes that stay in the rank's region. */
            for (int tries = 1; tries <= repeats; ++tries) {
                long bytes = (long)tries * unit * packed, last = offset * unit + bytes;
                if ((last / visible + 1) * view_extent + 50 < REGION && tries * unit * memory_extent < 8 * REGION)
                    count = tries * unit;
            }
        int bytes = count * packed, how = below(4), reads = below(2);
        MPI_Bcast(&how, 1, MPI_INT, 0, MPI_COMM_WORLD);
        MPI_Bcast(&reads, 1, MPI_INT, 0, MPI_COMM_WORLD);
        for (int i = 0; i < (int)sizeof buffer; ++i)
            expected[i] = buffer[i] = (char)below(256);
        for (int i = 0; i < bytes; ++i) {
            int position = offset * unit + i;
            long in_file = disp + (long)(position / visible) * view_extent + view[position % visible];
            long in_memory = (long)(i / packed) * memory_extent + memory[i % packed];
            if (reads)
                expected[in_memory] = content[in_file];
            else
                content[in_file] = buffer[in_memory];
        }
        MPI_Request request;
        void *data = buffer;
        if (!count)
            MPI_Type_free(&element), MPI_Type_dup(MPI_CHAR, &element);
        if (how == 0)
            code = reads ? MPI_File_read_at(file, offset, data, count, element, &status) : MPI_File_write_at(file, offset, data, count, element, &status);
        else if (how == 1)
            code = reads ? MPI_File_read_at_all(file, offset, data, count, element, &status) : MPI_File_write_at_all(file, offset, data, count, element, &status);
        else {
            if (how == 2)
                code = reads ? MPI_File_iread_at(file, offset, data, count, element, &request) : MPI_File_iwrite_at(file, offset, data, count, element, &request);
            else
                code = reads ? MPI_File_iread_at_all(file, offset, data, count, element, &request) : MPI_File_iwrite_at_all(file, offset, data, count, element, &request);
            CHECK(code == MPI_SUCCESS);
            /* The types are needed no more. */
            MPI_Type_free(&element);
            MPI_Type_dup(MPI_CHAR, &element);
            code = MPI_Wait(&request, &status);
        }
        CHECK(code == MPI_SUCCESS);
        MPI_Get_count(&status, MPI_CHAR, &all);
        CHECK(all == bytes);
        CHECK(!reads || !memcmp(buffer, expected, sizeof buffer));
    }
    MPI_Type_free(&etype);
    MPI_Type_free(&filetype);
    MPI_Type_free(&element);
}

static void run(const char *protocol, const char *sieve)
{
    static char back[REGION];
    MPI_File file;
    MPI_Info info;
    int at = rank * REGION;
    char *content = calloc((size_t)size + 1, REGION);
    MPI_Info_create(&info);
    MPI_Info_set(info, "rankpoint_file_protocol", protocol);
    MPI_Info_set(info, "romio_ds_write", sieve);
    MPI_Info_set(info, "ind_wr_buffer_size", "300");
    MPI_Info_set(info, "ind_rd_buffer_size", "300");
    MPI_Info_set(info, "cb_buffer_size", "1000");
    MPI_Info_set(info, "cb_block_size", "100");
    int mode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
    CHECK(MPI_File_open(MPI_COMM_WORLD, "files-views-test", mode, info, &file) == MPI_SUCCESS);
    MPI_Info_free(&info);
    /* A run that has failed may have left bytes. */
    CHECK(MPI_File_set_size(file, 0) == MPI_SUCCESS);
    CHECK(MPI_File_set_size(file, (MPI_Offset)size * REGION) == MPI_SUCCESS);
    for (int number = 0; number < STEPS; ++number)
        step(file, content);
    CHECK(MPI_File_set_view(file, 0, MPI_CHAR, MPI_CHAR, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_read_at(file, at, back, REGION, MPI_CHAR, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(!memcmp(back, content + at, REGION));
    free(content);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    unsigned long long seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    state = seed * 1000003 + (unsigned long long)rank * 7919 + 17;
    if (rank == 0)
        fprintf(stderr, "seed %llu\n", seed);
    run("direct", "disable");
    run("direct", "enable");
    run("two-phase", "enable");
    run("auto", "disable");
    return finish(rank);
}
