/* SPDX-License-Identifier: MIT OR Apache-2.0
 * A part of peer.c: how long one cache line takes between ranks 0 and 1, without the library. Twin of src/distance.rs. */
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LINE_BATCH = 50, LINE_BATCHES = 15, LINE_LONGEST_NS = 3000000, LINE_PATIENCE_NS = 60000000, LOOK = -1, LINE_WORDS = 16 };

static struct {
    /* Word 0 is written by rank 0 only, word LINE_WORDS by rank 1 only, first with 1 when it has the page. */
    _Atomic uint64_t *page;
    uint64_t number;
    double limit;
    double *met;
    long met_count, met_room;
} line;

static void line_open(const char *path, double limit)
{
    void *page = MAP_FAILED;
    int file = rank < 2 ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (file >= 0) {
        if (lseek(file, 0, SEEK_END) >= 2 * LINE_WORDS * (long)sizeof(uint64_t))
            page = mmap(NULL, 2 * LINE_WORDS * sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        close(file);
    }
    if (page != MAP_FAILED)
        line.page = page;
    line.limit = limit;
    if (line.page && rank == 1)
        atomic_store_explicit(line.page + LINE_WORDS, 1, memory_order_release);
    MPI_Barrier(MPI_COMM_WORLD);
    if (line.page && atomic_load_explicit(line.page + LINE_WORDS, memory_order_acquire) != 1)
        line.page = NULL;
}

static void line_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#endif
}

static void line_answer(void)
{
    uint64_t number;
    do {
        while ((number = atomic_load_explicit(line.page, memory_order_acquire)) == line.number)
            line_relax();
        line.number = number;
        atomic_store_explicit(line.page + LINE_WORDS, number, memory_order_release);
    } while (!(number & 1));
}

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double median(double *values, long count)
{
    if (count == 0)
        return 0;
    qsort(values, (size_t)count, sizeof *values, ascending);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static double line_look(void)
{
    int64_t order = LOOK;
    MPI_Bcast(&order, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
    double times[LINE_BATCHES], begin = now_ns();
    long count = 0;
    for (int is_last = 0; !is_last;) {
        double start = now_ns();
        is_last = count + 1 == LINE_BATCHES || start - begin > LINE_LONGEST_NS;
        for (int turn = 1; turn <= LINE_BATCH; turn++) {
            line.number = (line.number | 1) + 1 + (is_last && turn == LINE_BATCH);
            atomic_store_explicit(line.page, line.number, memory_order_release);
            while (atomic_load_explicit(line.page + LINE_WORDS, memory_order_acquire) != line.number)
                line_relax();
        }
        times[count++] = (now_ns() - start) / LINE_BATCH / 2;
    }
    return median(times, count);
}

static void line_remember(double distance)
{
    if (line.met_count == line.met_room) {
        line.met_room = 2 * line.met_room + 64;
        line.met = realloc(line.met, (size_t)line.met_room * sizeof *line.met);
        if (!line.met)
            give_up("no memory for %ld distances", line.met_room);
    }
    line.met[line.met_count++] = distance;
}

static void line_look_before(void)
{
    if (!line.page)
        return;
    double begin = now_ns(), distance = line_look();
    while (distance > line.limit && now_ns() - begin < LINE_PATIENCE_NS)
        distance = line_look();
    line_remember(distance);
}

static void line_look_after(void)
{
    if (line.page)
        line_remember(line_look());
}

/* Prints what each of the values has met since the last report, in each of the runs that they come of. */
static void line_report(long values)
{
    long run = 2 * values;
    if (run > 0 && line.met_count > 0 && line.met_count % run == 0) {
        printf(",\"distances\":[");
        for (long value = 0; value < values; value++) {
            for (long place = 2 * value; place < line.met_count; place += run)
                printf("%s%.1f,%.1f", place >= run ? "," : value ? ",[" : "[", line.met[place], line.met[place + 1]);
            printf("]");
        }
        printf("]");
    }
    line.met_count = 0;
}
