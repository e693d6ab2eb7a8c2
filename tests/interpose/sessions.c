/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Messages and collectives of strided data in sessions: two of them at a time, as many times as the argument says, after both have ended,
 * and one that MPI_Init and MPI_Finalize fall into.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCKS = 2000, SESSIONS = 2 };

static int wrong;

#define CHECK(condition)                                                                                              \
    do {                                                                                                              \
        if (!(condition)) {                                                                                           \
            printf("line %d: %s\n", __LINE__, #condition);                                                            \
            ++wrong;                                                                                                  \
        }                                                                                                             \
    } while (0)

struct part {
    MPI_Session session;
    MPI_Comm comm;
    MPI_Datatype type;
};

static void begin(struct part *part, const char *tag)
{
    MPI_Group group;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &part->session);
    MPI_Group_from_session_pset(part->session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &part->comm);
    MPI_Group_free(&group);
    MPI_Type_vector(BLOCKS, 1, 2, MPI_DOUBLE, &part->type);
    MPI_Type_commit(&part->type);
}

static void end(struct part *part)
{
    MPI_Type_free(&part->type);
    MPI_Comm_free(&part->comm);
    MPI_Session_finalize(&part->session);
}

/* Around a ring, then to all. */
static void exchange(const struct part *part)
{
    static double from[2 * BLOCKS], to[2 * BLOCKS];
    MPI_Request requests[2];
    int rank, ranks;
    MPI_Comm_rank(part->comm, &rank);
    MPI_Comm_size(part->comm, &ranks);
    for (int i = 0; i < 2 * BLOCKS; ++i)
        from[i] = rank + i, to[i] = -1;
    MPI_Irecv(to, 1, part->type, (rank + ranks - 1) % ranks, 0, part->comm, &requests[0]);
    MPI_Isend(from, 1, part->type, (rank + 1) % ranks, 0, part->comm, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 2 * BLOCKS - 1; ++i)
        CHECK(to[i] == (i % 2 ? -1 : (rank + ranks - 1) % ranks + i));
    MPI_Bcast(from, 1, part->type, 0, part->comm);
    for (int i = 0; i < 2 * BLOCKS - 1; ++i)
        CHECK(from[i] == (i % 2 ? rank : 0) + i);
}

int main(int argc, char **argv)
{
    struct part parts[SESSIONS];
    int times = argc > 1 ? atoi(argv[1]) : 1;
    for (int time = 0; time < times; ++time) {
        begin(&parts[0], "first");
        exchange(&parts[0]);
        begin(&parts[1], "second");
        exchange(&parts[1]);
        exchange(&parts[0]);
        end(&parts[0]);
        exchange(&parts[1]);
        end(&parts[1]);
    }
    begin(&parts[0], "around");
    MPI_Init(NULL, NULL);
    MPI_Type_dup(parts[0].type, &parts[1].type);
    parts[1].comm = MPI_COMM_WORLD;
    exchange(&parts[1]);
    MPI_Type_free(&parts[1].type);
    MPI_Finalize();
    exchange(&parts[0]);
    end(&parts[0]);
    if (wrong == 0)
        printf("PASS\n");
    return wrong != 0;
}
