/* SPDX-License-Identifier: MIT OR Apache-2.0
 * A Lennard-Jones liquid by molecular dynamics: each rank has the atoms of a box of space and ghosts of those near it, which come from
 * the neighbours in six directions, one axis after the other. The more ranks share the atoms, the more of the time is messages. Positions,
 * forces and energies are integers, so the atoms' paths are the same bit by bit on any number of ranks. docs/mini-apps.md describes
 * options and what to read from the times.
 *
 *     mpicc -O2 lennard_jones.c -lm -o lennard_jones
 *     mpiexec -n 2 ./lennard_jones --atoms 4000 --calls promises */
#include "shortest_path.h"
#include <math.h>

enum side { LOW, HIGH };
enum {
    EVERY = 10, /* Steps after which atoms change ranks and the lists of pairs are made again. */
    WORDS = 7,  /* Of an atom in a message: position, velocity, number. */
    PAIRS = 128 /* Listed for each atom at most, on average. */
};

/* A position of 1, the diameter of an atom, and a force or energy of 1, in integers. */
static const double unit = 68719476736.0, unit_of_force = 4294967296.0;
static const double cutoff = 2.5, skin = 0.3, density = 0.8442, temperature = 1.44, time_step = 0.001;

static int row_count = 5, atoms_of_rows[MAX_ROWS] = {4096, 2744, 1728, 1000, 512}, steps = 200, is_faulty;
static int neighbours[3][2];
static int64_t length, reach;    /* Length of the periodic box of all ranks; pairs are listed up to this distance. */
static int64_t low[3], high[3];  /* This rank's part of the box. */
static int own, all, most, room; /* Atoms of this rank; the same with ghosts; most of these; most numbers of a message. */
static int64_t (*at)[3], (*listed_at)[3], (*force)[3], *numbers;
static double (*velocity)[3];
static struct border {
    int count, *atoms;
} borders[3][2]; /* Atoms that the neighbours have as ghosts. */
static int64_t *outgoing[2], *incoming[2]; /* By the side to which they travel; the first number counts the others. */
static int *first_pair, *pairs, *next_in_cell, *cells, (*cell_of)[3];
static int64_t potential, too_far; /* Twice the energy of all pairs of this rank; atoms that moved further than lists allow. */
static MPI_Comm comms[6];          /* A receive with promises takes the next message, so each direction has a communicator. */

static double uniform(uint64_t value)
{
    value = (value + 1) * 0x9e3779b97f4a7c15u;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    return (double)((value ^ (value >> 27)) >> 11) / 4503599627370496.0 - 1;
}

/* One message to each side along an axis, and one from each. */
static void exchange(int axis)
{
    MPI_Request requests[4];
    double since = time_in_mpi_begins();
    for (int side = LOW; side <= HIGH; side++) {
        if (calls == PROMISES)
            MPIX_Irecv_all_opts(incoming[side], room, MPI_INT64_T, comms[2 * axis + side]);
        else
            MPI_Irecv(incoming[side], room, MPI_INT64_T, neighbours[axis][!side], side, MPI_COMM_WORLD, &requests[side]);
    }
    for (int side = LOW; side <= HIGH; side++) {
        int count = 1 + (int)outgoing[side][0], to = neighbours[axis][side];
        if (calls == PROMISES)
            MPIX_Isend_all_opts(outgoing[side], count, MPI_INT64_T, to, comms[2 * axis + side]);
        else
            MPI_Isend(outgoing[side], count, MPI_INT64_T, to, side, MPI_COMM_WORLD, &requests[2 + side]);
    }
    if (calls == PROMISES) {
        MPIX_Comm_waitall(comms[2 * axis + LOW]);
        MPIX_Comm_waitall(comms[2 * axis + HIGH]);
    } else
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    time_in_mpi_ends(since);
}

/* What a position becomes on the way to a side: the box is periodic. */
static int64_t shift(int axis, enum side side)
{
    return side == LOW && low[axis] == 0 ? length : side == HIGH && high[axis] == length ? -length : 0;
}

static int64_t *next_words(enum side side, int count)
{
    int64_t *words = outgoing[side] + 1 + outgoing[side][0];
    outgoing[side][0] += count;
    return words;
}

/* One more atom or ghost has come. */
static int add_atom(void)
{
    if (all == most) {
        fprintf(stderr, "rank %d: more than %d atoms and ghosts\n", rank, most);
        MPI_Abort(MPI_COMM_WORLD, 4);
    }
    return all++;
}

/* Atoms that have left this rank's box go to the neighbours. */
static void migrate(void)
{
    all = own;
    for (int axis = 0; axis < 3; axis++) {
        outgoing[LOW][0] = outgoing[HIGH][0] = 0;
        for (int i = all - 1; i >= 0; i--) {
            if (at[i][axis] >= low[axis] && at[i][axis] < high[axis])
                continue;
            enum side side = at[i][axis] < low[axis] ? LOW : HIGH;
            at[i][axis] += shift(axis, side);
            int64_t *words = next_words(side, WORDS);
            memcpy(words, at[i], sizeof *at);
            memcpy(words + 3, velocity[i], sizeof *velocity);
            words[6] = numbers[i];
            if (i == --all)
                continue;
            memcpy(at[i], at[all], sizeof *at);
            memcpy(velocity[i], velocity[all], sizeof *velocity);
            numbers[i] = numbers[all];
        }
        exchange(axis);
        for (int side = LOW; side <= HIGH; side++)
            for (int64_t word = 1; word <= incoming[side][0]; word += WORDS) {
                int i = add_atom();
                memcpy(at[i], &incoming[side][word], sizeof *at);
                memcpy(velocity[i], &incoming[side][word + 3], sizeof *velocity);
                numbers[i] = incoming[side][word + 6];
            }
    }
    own = all;
}

/* Gets the positions of all ghosts, of each axis those that came along the axes before, too. */
static void get_ghosts(int are_new)
{
    all = own;
    for (int axis = 0; axis < 3; axis++) {
        for (int side = LOW; side <= HIGH; side++) {
            struct border *border = &borders[axis][side];
            if (are_new) {
                border->count = 0;
                for (int i = 0; i < all; i++)
                    if (side == LOW ? at[i][axis] < low[axis] + reach : at[i][axis] >= high[axis] - reach)
                        border->atoms[border->count++] = i;
                if (is_faulty && rank == 0)
                    border->count /= 2;
            }
            outgoing[side][0] = 0;
            for (int i = 0; i < border->count; i++) {
                int64_t *words = next_words(side, 3);
                memcpy(words, at[border->atoms[i]], sizeof *at);
                words[axis] += shift(axis, side);
            }
        }
        exchange(axis);
        for (int side = LOW; side <= HIGH; side++)
            for (int64_t word = 1; word <= incoming[side][0]; word += 3)
                memcpy(at[add_atom()], &incoming[side][word], sizeof *at);
    }
}

/* The square of a distance, and its parts along the axes. */
static double distance_squared(const int64_t *to, const int64_t *from, double *by)
{
    for (int axis = 0; axis < 3; axis++)
        by[axis] = (double)(to[axis] - from[axis]) / unit;
    return by[0] * by[0] + by[1] * by[1] + by[2] * by[2];
}

/* Lists all pairs within reach that have an own atom; those of two own atoms once. */
static void list_pairs(void)
{
    int counts[3], count = 0;
    int64_t widths[3];
    for (int axis = 0; axis < 3; axis++) {
        int64_t width = high[axis] - low[axis] + 2 * reach;
        counts[axis] = (int)(width / reach);
        widths[axis] = width / counts[axis] + 1;
    }
    for (int cell = 0; cell < counts[0] * counts[1] * counts[2]; cell++)
        cells[cell] = -1;
    for (int i = 0; i < all; i++) {
        for (int axis = 0; axis < 3; axis++) {
            cell_of[i][axis] = (int)((at[i][axis] - low[axis] + reach) / widths[axis]);
            if (cell_of[i][axis] < 0 || cell_of[i][axis] >= counts[axis]) {
                fprintf(stderr, "rank %d: an atom moved further than to the next box\n", rank);
                MPI_Abort(MPI_COMM_WORLD, 4);
            }
        }
        int *cell = &cells[(cell_of[i][2] * counts[1] + cell_of[i][1]) * counts[0] + cell_of[i][0]];
        next_in_cell[i] = *cell;
        *cell = i;
    }
    for (int i = 0; i < own; i++) {
        const int *here = cell_of[i];
        first_pair[i] = count;
        for (int near = 0; near < 27; near++) {
            int x = here[0] + near % 3 - 1, y = here[1] + near / 3 % 3 - 1, z = here[2] + near / 9 - 1;
            double by[3];
            if (x < 0 || y < 0 || z < 0 || x >= counts[0] || y >= counts[1] || z >= counts[2])
                continue;
            for (int j = cells[(z * counts[1] + y) * counts[0] + x]; j >= 0; j = next_in_cell[j])
                if (j > i && distance_squared(at[i], at[j], by) < (cutoff + skin) * (cutoff + skin))
                    pairs[count++] = j;
        }
        if (count > PAIRS * most) {
            fprintf(stderr, "rank %d: more than %d pairs\n", rank, PAIRS * most);
            MPI_Abort(MPI_COMM_WORLD, 4);
        }
    }
    first_pair[own] = count;
    memcpy(listed_at, at, sizeof *at * (size_t)own);
}

static void compute_forces(void)
{
    const double at_cutoff = 4 * (pow(cutoff, -12) - pow(cutoff, -6));
    memset(force, 0, sizeof *force * (size_t)all);
    potential = 0;
    for (int i = 0; i < own; i++)
        for (int pair = first_pair[i]; pair < first_pair[i + 1]; pair++) {
            double by[3], squared = distance_squared(at[i], at[pairs[pair]], by);
            if (squared >= cutoff * cutoff)
                continue;
            double inverse = 1 / squared, sixth = inverse * inverse * inverse;
            double push = 24 * sixth * (2 * sixth - 1) * inverse * unit_of_force;
            int64_t energy = (int64_t)((4 * sixth * (sixth - 1) - at_cutoff) * unit_of_force);
            potential += pairs[pair] < own ? 2 * energy : energy;
            for (int axis = 0; axis < 3; axis++) {
                int64_t part = (int64_t)(push * by[axis]);
                force[i][axis] += part;
                force[pairs[pair]][axis] -= part;
            }
        }
}

static void push_atoms(void)
{
    for (int i = 0; i < own; i++)
        for (int axis = 0; axis < 3; axis++)
            velocity[i][axis] += 0.5 * time_step / unit_of_force * (double)force[i][axis];
}

static void take_step(int step)
{
    double by[3];
    push_atoms();
    for (int i = 0; i < own; i++)
        for (int axis = 0; axis < 3; axis++)
            at[i][axis] += (int64_t)(time_step * unit * velocity[i][axis]);
    if (step % EVERY == 0) {
        for (int i = 0; i < own; i++)
            too_far += distance_squared(at[i], listed_at[i], by) > skin / 2 * skin / 2;
        migrate();
        get_ghosts(1);
        list_pairs();
    } else
        get_ghosts(0);
    compute_forces();
    push_atoms();
}

/* This rank's box, and memory for what may be in it and around it. Gives 0 if it would be too small: ghosts come from next to it. */
static int divide(int atoms)
{
    double volume = 1;
    length = (int64_t)(cbrt(atoms / density) * unit);
    reach = (int64_t)((cutoff + skin) * unit);
    for (int axis = 0; axis < 3; axis++) {
        low[axis] = length / dims[axis] * coords[axis];
        high[axis] = coords[axis] + 1 < dims[axis] ? length / dims[axis] * (coords[axis] + 1) : length;
        if (length / dims[axis] < reach)
            return 0;
        volume *= (double)(high[axis] - low[axis] + 2 * reach) / unit;
    }
    most = (int)(1.5 * density * volume) + 100;
    room = 1 + WORDS * most;
    at = allocate((size_t)most, sizeof *at);
    listed_at = allocate((size_t)most, sizeof *at);
    force = allocate((size_t)most, sizeof *force);
    velocity = allocate((size_t)most, sizeof *velocity);
    numbers = allocate((size_t)most, sizeof *numbers);
    first_pair = allocate((size_t)most + 1, sizeof *first_pair);
    pairs = allocate((size_t)most * (PAIRS + 1), sizeof *pairs);
    cell_of = allocate((size_t)most, sizeof *cell_of);
    next_in_cell = allocate((size_t)most, sizeof *next_in_cell);
    cells = allocate((size_t)volume, sizeof *cells);
    for (int side = LOW; side <= HIGH; side++) {
        outgoing[side] = allocate((size_t)room, sizeof(int64_t));
        incoming[side] = allocate((size_t)room, sizeof(int64_t));
        for (int axis = 0; axis < 3; axis++)
            borders[axis][side].atoms = allocate((size_t)most, sizeof(int));
    }
    return 1;
}

/* Atoms on a lattice, with random velocities: those of two atoms cancel each other. */
static void place_atoms(int atoms)
{
    int64_t edge = (int64_t)ceil(cbrt(atoms) - 1e-9), place[3];
    own = all = 0;
    for (int64_t atom = 0; atom < atoms; atom++) {
        int64_t site = atom * (edge * edge * edge) / atoms;
        int is_here = 1;
        for (int axis = 0; axis < 3; axis++, site /= edge) {
            place[axis] = (2 * (site % edge) + 1) * (length / (2 * edge));
            is_here = is_here && place[axis] >= low[axis] && place[axis] < high[axis];
        }
        if (!is_here)
            continue;
        own = add_atom() + 1;
        numbers[own - 1] = atom;
        for (int axis = 0; axis < 3; axis++) {
            double speed = sqrt(3 * temperature) * uniform((uint64_t)(atom / 2 * 3 + axis));
            at[own - 1][axis] = place[axis];
            velocity[own - 1][axis] = atom % 2 ? -speed : atom + 1 < atoms ? speed : 0;
        }
    }
}

/* Energy of an atom, of all ranks. */
static double energy_of(int atoms)
{
    int64_t energy = potential;
    for (int i = 0; i < own; i++)
        for (int axis = 0; axis < 3; axis++)
            energy += (int64_t)(velocity[i][axis] * velocity[i][axis] * unit_of_force);
    MPI_Allreduce(MPI_IN_PLACE, &energy, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    return (double)energy / 2 / unit_of_force / atoms;
}

/* Whether atoms and energy were conserved and all forces cancel each other; and the checksum of all positions. */
static int check(int atoms, double energy, struct row *row)
{
    int64_t sums[7] = {own, 0, 0, 0, 0, too_far, 0};
    for (int i = 0; i < own; i++)
        for (int axis = 0; axis < 3; axis++)
            sums[2 + axis] += force[i][axis];
    double gained = energy_of(atoms) - energy;
    migrate();
    uint64_t checksum = 0;
    for (int i = 0; i < own; i++) {
        sums[1] += numbers[i];
        for (int axis = 0; axis < 3; axis++)
            checksum += (6 * (uint64_t)numbers[i] + 2 * (uint64_t)axis + 1) * (uint64_t)at[i][axis];
    }
    sums[6] = (int64_t)checksum;
    MPI_Allreduce(MPI_IN_PLACE, sums, 7, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    row->checksum = (uint64_t)sums[6];
    int is_right = sums[0] == atoms && sums[1] == (int64_t)atoms * (atoms - 1) / 2 && !sums[2] && !sums[3] && !sums[4] && !sums[5] &&
                   fabs(gained) < 1e-3;
    if (rank == 0 && (!is_json || !is_right))
        fprintf(is_right ? stdout : stderr,
                "exact  %lld of %d atoms, %lld moved too far, sum of forces %lld %lld %lld\nexact  energy of an atom %.9f, %.9f gained\n",
                (long long)sums[0], atoms, (long long)sums[5], (long long)sums[2], (long long)sums[3], (long long)sums[4],
                energy + gained, gained);
    return is_right;
}

/* Measures a number of atoms; gives whether all is right. */
static int measure(int atoms, struct row *row)
{
    double *times = allocate((size_t)(steps / EVERY), sizeof *times);
    place_atoms(atoms);
    get_ghosts(1);
    list_pairs();
    compute_forces();
    too_far = 0;
    double energy = energy_of(atoms), begin = MPI_Wtime();
    is_clocked = 1;
    in_mpi = 0;
    for (int step = 1; step <= steps; step += EVERY) {
        double since = MPI_Wtime();
        for (int i = 0; i < EVERY; i++)
            take_step(step + i);
        times[step / EVERY] = (MPI_Wtime() - since) / EVERY;
    }
    row->share = share_in_mpi(MPI_Wtime() - begin);
    is_clocked = 0;
    row->seconds = median_of_slowest(times, steps / EVERY);
    row->per_rank = (double)atoms / ranks;
    int is_right = check(atoms, energy, row);
    release_all();
    return is_right;
}

/* Steps, of which the neighbours' lists serve EVERY. */
static int whole_rounds(const char *name, const char *text)
{
    int found = number_of(name, text, EVERY);
    if (found % EVERY)
        refuse("%s %s: expected a multiple of %d, the steps between two lists of neighbours", name, text, EVERY);
    return found;
}

static int take_option(const char *name, const char *text)
{
    if (!strcmp(name, "--atoms"))
        row_count = numbers_of(name, text, 2, atoms_of_rows, MAX_ROWS);
    else if (!strcmp(name, "--steps"))
        steps = whole_rounds(name, text);
    else if (!strcmp(name, "--fault") && !strcmp(text, "lost-ghost"))
        is_faulty = 1;
    else
        return 0;
    return 1;
}

int main(int argc, char **argv)
{
    const MPI_Comm predefined[6] = {MPIX_COMM_1, MPIX_COMM_2, MPIX_COMM_3, MPIX_COMM_4, MPIX_COMM_5, MPIX_COMM_6};
    struct row rows[MAX_ROWS];
    int is_verified = 1;
    start_mpi(&argc, &argv);
    read_options("lennard_jones", argv, take_option);
    for (int axis = 0, stride = 1; axis < 3; stride *= dims[axis++]) {
        neighbours[axis][HIGH] = rank + ((coords[axis] + 1) % dims[axis] - coords[axis]) * stride;
        neighbours[axis][LOW] = rank + ((coords[axis] + dims[axis] - 1) % dims[axis] - coords[axis]) * stride;
    }
    for (int i = 0; i < 6 && calls == PROMISES; i++) {
        MPIX_Comm_dup_predefined(MPI_COMM_WORLD, predefined[i]);
        comms[i] = predefined[i];
    }
    if (rank == 0 && !is_json)
        printf("lennard_jones, calls %s, %d ranks as %d x %d x %d, %d steps\n", calls_names[calls], ranks, dims[0], dims[1], dims[2],
               steps);
    int count = 0;
    for (int i = 0; i < row_count; i++) {
        if (divide(atoms_of_rows[i]))
            is_verified &= measure(atoms_of_rows[i], &rows[count++]);
        else if (rank == 0)
            fprintf(stderr, "lennard_jones: %d atoms are too few for %d x %d x %d ranks: each needs a box of %.1f\n", atoms_of_rows[i],
                    dims[0], dims[1], dims[2], cutoff + skin);
    }
    if (count == 0)
        refuse("lennard_jones: no number of atoms is left");
    print_rows("lennard_jones", "atoms", "a step", rows, count, is_verified);
    for (int i = 0; i < 6 && calls == PROMISES; i++)
        MPI_Comm_free(&comms[i]);
    MPI_Finalize();
    return !is_verified;
}
