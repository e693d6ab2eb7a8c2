/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Random datatypes in all calls between two ranks: bytes, gaps, statuses and order, as the type map has them.
 *
 *     datatypes SEED COUNT
 *
 * Where the bytes of a type are is asked of the library's own MPI_Pack. What MPICH 5.0.2 does wrong by itself is left out there:
 * the status of MPI_Isendrecv, MPI_Isendrecv_replace of data with gaps, and messages that end inside a basic element of the receiver's type.
 */
#include "../types/made.h"

#define MOST_BYTES 8192
#define MOST_SPAN (1 << 18)
#define MOST_TURNS 4

static int rank, wrong, is_other;
static const char *doing;
static int doing_form;

#define CHECK(condition)                                                                                                           \
    do {                                                                                                                           \
        if (!(condition)) {                                                                                                        \
            printf("rank %d line %d form %d: %s: %s\n", rank, __LINE__, doing_form, doing, #condition);                                              \
            ++wrong;                                                                                                               \
        }                                                                                                                          \
    } while (0)

/* Elements in memory. `base` is where element 0 is, `map` where each packed byte is in the memory. */
struct data {
    struct made *made;
    int count, bytes;
    MPI_Aint span, low;
    int *map;
    unsigned char *memory[MOST_TURNS];
};

static void *base(const struct data *data, int turn)
{
    return data->memory[turn] - data->low;
}

static unsigned char byte(int turn, int index)
{
    return (unsigned char)((index + 1) * 2654435761u >> (8 + turn));
}

/* What is sent in a turn. */
static void fill(struct data *data, int turn)
{
    for (int i = 0; i < data->bytes; ++i)
        data->memory[turn][data->map[i]] = byte(turn, i);
}

static void clear(struct data *data, int turn)
{
    memset(data->memory[turn], 0x5a, (size_t)data->span + 1);
}

/* The first `bytes` bytes have arrived, and nothing else was written. */
static void arrived(struct data *data, int turn, int bytes)
{
    unsigned char *expected = malloc((size_t)data->span + 1);
    memset(expected, 0x5a, (size_t)data->span + 1);
    for (int i = 0; i < bytes; ++i)
        expected[data->map[i]] = byte(turn, i);
    CHECK(memcmp(expected, data->memory[turn], (size_t)data->span + 1) == 0);
    free(expected);
}

static void counted(const struct data *data, MPI_Status *status, int count)
{
    int found = -1;
    MPI_Get_count(status, data->made->type, &found);
    CHECK(found == count && status->MPI_SOURCE == 0 && status->MPI_TAG == 7);
}

/* Whether the type may be received into, and is of a useful size. */
static int prepare(struct data *data, unsigned long long seed, int index)
{
    MPI_Aint lb, extent, true_lb, true_extent;
    data->made = made_of(seed, index);
    data->count = between(1, 4);
    MPI_Type_commit(&data->made->type);
    MPI_Type_size(data->made->type, &data->bytes);
    data->bytes *= data->count;
    MPI_Type_get_extent(data->made->type, &lb, &extent);
    MPI_Type_get_true_extent(data->made->type, &true_lb, &true_extent);
    MPI_Aint far = extent * (data->count - 1);
    data->span = true_extent + (far < 0 ? -far : far), data->low = true_lb + (far < 0 ? far : 0);
    if (data->bytes == 0 || data->bytes > MOST_BYTES || data->span > MOST_SPAN)
        return 0;
    data->map = calloc((size_t)data->bytes, sizeof *data->map);
    unsigned char *packed = malloc((size_t)data->bytes), *seen = calloc((size_t)data->span, 1);
    for (int turn = 0; turn < MOST_TURNS; ++turn)
        data->memory[turn] = malloc((size_t)data->span + 1);
    for (int shift = 0; shift < 24; shift += 8) {
        int position = 0;
        for (MPI_Aint i = 0; i < data->span; ++i)
            data->memory[0][i] = (unsigned char)(i >> shift);
        PMPI_Pack(base(data, 0), data->count, data->made->type, packed, data->bytes, &position, MPI_COMM_WORLD);
        for (int i = 0; i < data->bytes; ++i)
            data->map[i] |= packed[i] << shift;
    }
    int apart = 1;
    for (int i = 0; i < data->bytes; ++i)
        apart &= seen[data->map[i]]++ == 0;
    for (int turn = 0; turn < MOST_TURNS; ++turn)
        clear(data, turn);
    free(packed);
    free(seen);
    return apart;
}

static void done(struct data *data)
{
    if (data->map)
        for (int turn = 0; turn < MOST_TURNS; ++turn)
            free(data->memory[turn]);
    free(data->map);
    release(data->made);
    free(data->made);
}

#define ELEMENTS(turn) base(data, turn), data->count, data->made->type
#define TO 1, 7, MPI_COMM_WORLD
#define FROM 0, 7, MPI_COMM_WORLD

static void blocking(struct data *data, int which)
{
    MPI_Status status;
    if (rank == 0) {
        fill(data, 0);
        if (which == 0)
            MPI_Send(ELEMENTS(0), TO);
        else if (which == 1)
            MPI_Ssend(ELEMENTS(0), TO);
        else if (which == 2)
            MPI_Bsend(ELEMENTS(0), TO);
        else
            MPI_Send_c(ELEMENTS(0), TO);
        return;
    }
    if (which == 3)
        MPI_Recv_c(ELEMENTS(0), FROM, &status);
    else
        MPI_Recv(ELEMENTS(0), MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    counted(data, &status, data->count);
    arrived(data, 0, data->bytes);
}

static void probed(struct data *data, int which)
{
    MPI_Status status;
    MPI_Message message;
    if (rank == 0) {
        fill(data, 0);
        MPI_Send(ELEMENTS(0), TO);
        return;
    }
    MPI_Probe(FROM, &status);
    counted(data, &status, data->count);
    MPI_Mprobe(FROM, &message, &status);
    counted(data, &status, data->count);
    if (which) {
        MPI_Request request;
        MPI_Imrecv(ELEMENTS(0), &message, &request);
        MPI_Wait(&request, &status);
    } else {
        MPI_Mrecv(ELEMENTS(0), &message, &status);
    }
    counted(data, &status, data->count);
    arrived(data, 0, data->bytes);
}

/* Several messages, completed by one call or another. */
static void several(struct data *data, int which)
{
    MPI_Request requests[MOST_TURNS + 1];
    MPI_Status statuses[MOST_TURNS + 1];
    int turns = MOST_TURNS, left = turns, flag = 0, number, indices[MOST_TURNS + 1];
    requests[turns] = MPI_REQUEST_NULL;
    for (int turn = 0; turn < turns; ++turn)
        if (rank == 0) {
            fill(data, turn);
            if (which % 2)
                MPI_Isend(ELEMENTS(turn), TO, &requests[turn]);
            else
                MPI_Issend(ELEMENTS(turn), TO, &requests[turn]);
        } else {
            MPI_Irecv(ELEMENTS(turn), FROM, &requests[turn]);
        }
    switch (which) {
    case 0:
        MPI_Waitall(turns + 1, requests, statuses);
        break;
    case 1:
        MPI_Waitall(turns + 1, requests, MPI_STATUSES_IGNORE);
        break;
    case 2:
        while (!flag)
            MPI_Testall(turns + 1, requests, &flag, MPI_STATUSES_IGNORE);
        break;
    case 3:
        for (; left > 0; --left)
            MPI_Waitany(turns + 1, requests, &number, MPI_STATUS_IGNORE);
        break;
    case 4:
        for (; left > 0; left -= flag)
            MPI_Testany(turns, requests, &number, &flag, &statuses[0]);
        break;
    case 5:
        for (; left > 0; left -= number)
            MPI_Waitsome(turns, requests, &number, indices, MPI_STATUSES_IGNORE);
        break;
    case 6:
        for (; left > 0; left -= number)
            MPI_Testsome(turns, requests, &number, indices, statuses);
        break;
    case 7:
        for (int turn = 0; turn < turns; ++turn)
            for (flag = 0; !flag;)
                MPI_Test(&requests[turn], &flag, MPI_STATUS_IGNORE);
        break;
    case 8:
        while (!flag)
            MPI_Request_get_status_all(turns, requests, &flag, MPI_STATUSES_IGNORE);
        break;
    default:
        for (int turn = 0; turn < turns; ++turn)
            for (flag = 0; !flag;)
                MPI_Request_get_status(requests[turn], &flag, MPI_STATUS_IGNORE);
    }
    if (which == 0 && rank == 1)
        for (int turn = 0; turn < turns; ++turn)
            counted(data, &statuses[turn], data->count);
    for (int turn = 0; rank == 1 && turn < turns; ++turn)
        arrived(data, turn, data->bytes);
    if (which >= 8) {
        /* What the program has written since it saw the end stays. */
        for (int turn = 0; rank == 1 && turn < turns; ++turn)
            clear(data, turn);
        MPI_Waitall(turns, requests, statuses);
        for (int turn = 0; rank == 1 && turn < turns; ++turn) {
            counted(data, &statuses[turn], data->count);
            arrived(data, turn, 0);
        }
    }
    for (int turn = 0; turn <= turns; ++turn)
        CHECK(requests[turn] == MPI_REQUEST_NULL);
}

static void exchanged(struct data *data, int which)
{
    MPI_Status status;
    MPI_Request request;
    int other = 1 - rank;
    fill(data, rank);
    if (which == 0) {
        MPI_Sendrecv(ELEMENTS(rank), other, 7, ELEMENTS(other), other, 7, MPI_COMM_WORLD, &status);
    } else if (which == 1) {
        MPI_Isendrecv(ELEMENTS(rank), other, 7, ELEMENTS(other), other, 7, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, &status);
    } else {
        /* In one buffer; what the other rank sends takes the place of our own data. */
        if (which == 2) {
            MPI_Sendrecv_replace(ELEMENTS(rank), other, 7, other, 7, MPI_COMM_WORLD, &status);
        } else {
            MPI_Isendrecv_replace(ELEMENTS(rank), other, 7, other, 7, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, &status);
        }
        memcpy(data->memory[other], data->memory[rank], (size_t)data->span);
    }
    int found = -1;
    MPI_Get_count(&status, data->made->type, &found);
    CHECK((which == 1 && is_other) || (found == data->count && status.MPI_SOURCE == other));
    arrived(data, other, data->bytes);
}

static void persistent(struct data *data)
{
    MPI_Request requests[2];
    for (int i = 0; i < 2; ++i)
        rank == 0 ? MPI_Send_init(ELEMENTS(i), TO, &requests[i]) : MPI_Recv_init(ELEMENTS(i), FROM, &requests[i]);
    for (int time = 0; time < 3; ++time) {
        for (int i = 0; i < 2; ++i)
            rank == 0 ? fill(data, i) : clear(data, i);
        if (time == 1) {
            MPI_Start(&requests[0]);
            MPI_Start(&requests[1]);
        } else {
            MPI_Startall(2, requests);
        }
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; rank == 1 && i < 2; ++i)
            arrived(data, i, data->bytes);
        /* A wait for what is not active changes nothing. */
        clear(data, 0);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        arrived(data, 0, 0);
    }
    for (int i = 0; i < 2; ++i)
        MPI_Request_free(&requests[i]);
}

/* A message that ends somewhere in the data. */
static void shorter(struct data *data)
{
    int bytes = between(0, data->bytes), found = -1;
    if (is_other)
        bytes -= bytes % (data->bytes / data->count);
    if (rank == 0) {
        unsigned char *packed = malloc((size_t)bytes + 1);
        for (int i = 0; i < bytes; ++i)
            packed[i] = byte(0, i);
        MPI_Send(packed, bytes, MPI_PACKED, TO);
        free(packed);
        return;
    }
    MPI_Status status;
    MPI_Request request;
    MPI_Irecv(ELEMENTS(0), FROM, &request);
    MPI_Wait(&request, &status);
    MPI_Get_count(&status, MPI_PACKED, &found);
    CHECK(found == bytes);
    arrived(data, 0, bytes);
}

/* Requests and types that are freed before their operations end. */
static void freed(struct data *data)
{
    MPI_Request request[2];
    MPI_Datatype copy;
    MPI_Type_dup(data->made->type, &copy);
    if (rank == 0) {
        for (int turn = 0; turn < 2; ++turn) {
            fill(data, turn);
            MPI_Issend(base(data, turn), data->count, copy, TO, &request[turn]);
            if (turn == 0)
                MPI_Request_free(&request[0]);
        }
        MPI_Type_free(&copy);
        CHECK(request[0] == MPI_REQUEST_NULL);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Wait(&request[1], MPI_STATUS_IGNORE);
        return;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int turn = 0; turn < 2; ++turn)
        MPI_Irecv(base(data, turn), data->count, copy, FROM, &request[turn]);
    MPI_Type_free(&copy);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    for (int turn = 0; turn < 2; ++turn)
        arrived(data, turn, data->bytes);
}

static void cancelled(struct data *data)
{
    if (rank == 0)
        return;
    MPI_Request request;
    MPI_Status status;
    int flag = 0;
    MPI_Irecv(ELEMENTS(0), 0, 99, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag);
    arrived(data, 0, 0);
}

/* A message of a predefined type does not pass one of a derived type, and both kinds match each other. */
static void mixed(struct data *data)
{
    unsigned char *packed = malloc((size_t)data->bytes);
    MPI_Request requests[3];
    if (rank == 0) {
        int position = 0;
        for (int turn = 0; turn < 3; ++turn)
            fill(data, turn);
        PMPI_Pack(ELEMENTS(1), packed, data->bytes, &position, MPI_COMM_WORLD);
        MPI_Isend(ELEMENTS(0), TO, &requests[0]);
        MPI_Isend(packed, data->bytes, MPI_PACKED, TO, &requests[1]);
        MPI_Isend(ELEMENTS(2), TO, &requests[2]);
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    } else {
        MPI_Recv(packed, data->bytes, MPI_PACKED, FROM, MPI_STATUS_IGNORE);
        for (int i = 0; i < data->bytes; ++i)
            CHECK(packed[i] == byte(0, i));
        for (int turn = 1; turn < 3; ++turn) {
            MPI_Recv(ELEMENTS(turn), FROM, MPI_STATUS_IGNORE);
            arrived(data, turn, data->bytes);
        }
    }
    free(packed);
}

static void packed(struct data *data)
{
    int size = data->bytes + 20, position = 3, expected = 3;
    unsigned char *here = calloc((size_t)size, 1), *there = calloc((size_t)size, 1);
    fill(data, 0);
    MPI_Pack(ELEMENTS(0), here, size, &position, MPI_COMM_WORLD);
    PMPI_Pack(ELEMENTS(0), there, size, &expected, MPI_COMM_WORLD);
    CHECK(position == expected && memcmp(here, there, (size_t)size) == 0);
    position = 3;
    clear(data, 0);
    MPI_Unpack(here, size, &position, ELEMENTS(0), MPI_COMM_WORLD);
    CHECK(position == expected);
    arrived(data, 0, data->bytes);
    free(here);
    free(there);
}

static void form(struct data *data, int which)
{
    if (which < 4)
        blocking(data, which);
    else if (which < 6)
        probed(data, which - 4);
    else if (which < 16)
        several(data, which - 6);
    else if (which == 19 && is_other)
        exchanged(data, 2);
    else if (which < 20)
        exchanged(data, which - 16);
    else if (which < 21)
        persistent(data);
    else if (which < 23)
        shorter(data);
    else if (which < 24)
        freed(data);
    else if (which < 25)
        cancelled(data);
    else if (which < 27)
        mixed(data);
    else
        packed(data);
}

#define FORMS 28

/* So many handles, one after the other: the library uses them again, and no type is taken for the one before. */
static void handles(int count)
{
    double from[40], to[40];
    doing = "handles";
    for (int i = 0; i < 40; ++i)
        from[i] = i;
    for (int i = 0; i < count; ++i) {
        int stride = 2 + i % 7, position = 0;
        double back[5];
        MPI_Datatype type;
        MPI_Type_vector(5, 1, stride, MPI_DOUBLE, &type);
        MPI_Type_commit(&type);
        MPI_Pack(from, 1, type, to, sizeof to, &position, MPI_COMM_WORLD);
        memcpy(back, to, sizeof back);
        CHECK(position == sizeof back && back[4] == 4.0 * stride);
        MPI_Type_free(&type);
    }
}

/* Messages that leave the sender's memory late, in several pieces, with the requests of two of them freed early. */
static void large(void)
{
    enum { BLOCKS = 1 << 16, TURNS = 4 };
    static double to[TURNS][2 * BLOCKS];
    MPI_Request requests[TURNS];
    MPI_Datatype type;
    doing = "large";
    MPI_Type_vector(BLOCKS, 1, 2, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    for (int turn = 0; turn < TURNS; ++turn) {
        if (rank == 0) {
            for (int i = 0; i < 2 * BLOCKS; ++i)
                to[turn][i] = turn * 1e6 + i;
            MPI_Isend(to[turn], 1, type, TO, &requests[turn]);
            if (turn % 2 == 0)
                MPI_Request_free(&requests[turn]);
        }
    }
    if (rank == 1) {
        MPI_Barrier(MPI_COMM_WORLD);
        for (int turn = 0; turn < TURNS; ++turn)
            MPI_Irecv(to[turn], 1, type, FROM, &requests[turn]);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Type_free(&type);
    MPI_Waitall(TURNS, requests, MPI_STATUSES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int turn = 0; rank == 1 && turn < TURNS; ++turn)
        for (int i = 0; i < 2 * BLOCKS; ++i)
            if (to[turn][i] != (i % 2 ? 0 : turn * 1e6 + i)) {
                CHECK(!"wrong data");
                break;
            }
}

int main(int argc, char **argv)
{
    static char attached[1 << 18];
    unsigned long long seed = argc > 2 ? strtoull(argv[1], 0, 10) : 1;
    int count = argc > 2 ? atoi(argv[2]) : 1000, made = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(version, &length);
    is_other = !strstr(version, "Rankpoint");
    MPI_Buffer_attach(attached, sizeof attached);
    for (int index = 0; index < count; ++index) {
        struct data data = {0};
        if (prepare(&data, seed, index)) {
            doing = data.made->text;
            doing_form = made++ % FORMS;
            form(&data, doing_form);
        }
        done(&data);
    }
    handles(count);
    large();
    void *buffer;
    int size;
    MPI_Buffer_detach(&buffer, &size);
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (wrong == 0 && made >= count / 2)
        printf("PASS\n");
    MPI_Finalize();
    return wrong != 0;
}
