/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 1 2 4
 * NEEDS: checked arguments
 * Calls that make, change and ask communicators, groups, topologies and attributes, with wrong arguments: the error class of the standard,
 * through the right handler, once, with a text that names call, argument, value, communicator and rank. An argument `print` shows the
 * texts. */
#include "check.h"

static MPI_Comm told;
static int handled, rank, size, prints, covered;

static void handler(MPI_Comm *comm, int *code, ...)
{
    (void)code;
    told = *comm;
    ++handled;
}

static void expect(const char *call, int line, MPI_Comm owner, int class, const char *said, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "", expected[MPI_MAX_OBJECT_NAME + 64], name[MPI_MAX_OBJECT_NAME];
    int found = -1, length, comm_rank;
    MPI_Error_class(code, &found);
    MPI_Error_string(code, text, &length);
    const char *here = strstr(text, "here: ");
    here = here ? here + 6 : text;
    if (prints && rank == 0)
        printf("%s\n", here);
    size_t name_length = strcspn(call, "(");
    int is_right = found == class && strncmp(here, call, name_length) == 0 && here[name_length] == ':' && strstr(here, said);
    is_right = is_right && handled == 1 && told == owner;
    if (owner == MPI_COMM_SELF || owner == MPI_COMM_NULL) {
        snprintf(expected, sizeof expected, "(rank %d of the job)", rank);
    } else {
        MPI_Comm_get_name(owner, name, &length);
        MPI_Comm_rank(owner, &comm_rank);
        snprintf(expected, sizeof expected, "(communicator %s, rank %d)", name, comm_rank);
    }
    is_right = is_right && strstr(here, expected);
    handled = 0;
    ++covered;
    if (!is_right) {
        fprintf(stderr, "%s:%d: rank %d: %s\n  gave class %d, '%s', expected %d, '%s', '%s'\n", __FILE__, line, rank, call, found, here, class,
                said, expected);
        if (!prints)
            MPI_Abort(MPI_COMM_WORLD, 98);
    }
}

/* A call whose error belongs to a communicator, or to none. */
#define BAD_ON(owner, class, said, call) expect(#call, __LINE__, owner, class, said, call)
#define BAD(class, said, call) BAD_ON(MPI_COMM_SELF, class, said, call)
/* A call that is given the handler `own`. */
#define BAD_GIVEN(class, said, call) BAD_ON(MPI_COMM_NULL, class, said, call)

static MPI_Comm comm, inter = MPI_COMM_NULL, dead_comm, made, garbage = (MPI_Comm)0x123456789abcUL;
static MPI_Group all, dead_group, group;
static MPI_Errhandler own;
static MPI_Info dead_info, made_info, info;
static MPI_Request request;
static int flag, number, numbers[8], more[8], zeros[8];
static void *value;
static char text[MPI_MAX_INFO_VAL + MPI_MAX_OBJECT_NAME];

static void communicators(void)
{
    /* Handles that are none. */
#define EACH_COMM(...)                                             \
    BAD(MPI_ERR_COMM, "'comm' is MPI_COMM_NULL", __VA_ARGS__);     \
    comm = dead_comm;                                              \
    BAD(MPI_ERR_COMM, "which was freed", __VA_ARGS__);             \
    comm = garbage;                                                \
    BAD(MPI_ERR_COMM, "which is no handle", __VA_ARGS__);          \
    comm = (MPI_Comm)MPI_INT;                                      \
    BAD(MPI_ERR_COMM, "'comm' is MPI_INT", __VA_ARGS__);           \
    comm = MPI_COMM_NULL
    MPI_Comm kept = comm;
    comm = MPI_COMM_NULL;
    EACH_COMM(MPI_Comm_dup(comm, &made));
    EACH_COMM(MPI_Comm_dup_with_info(comm, MPI_INFO_NULL, &made));
    EACH_COMM(MPI_Comm_idup(comm, &made, &request));
    EACH_COMM(MPI_Comm_idup_with_info(comm, MPI_INFO_NULL, &made, &request));
    EACH_COMM(MPI_Comm_split(comm, 0, 0, &made));
    EACH_COMM(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made));
    EACH_COMM(MPI_Comm_create(comm, all, &made));
    EACH_COMM(MPI_Comm_create_group(comm, all, 0, &made));
    EACH_COMM(MPI_Comm_size(comm, &number));
    EACH_COMM(MPI_Comm_rank(comm, &number));
    EACH_COMM(MPI_Comm_remote_size(comm, &number));
    EACH_COMM(MPI_Comm_remote_group(comm, &group));
    EACH_COMM(MPI_Comm_test_inter(comm, &flag));
    EACH_COMM(MPI_Comm_group(comm, &group));
    EACH_COMM(MPI_Comm_set_name(comm, "name"));
    EACH_COMM(MPI_Comm_set_info(comm, info));
    EACH_COMM(MPI_Comm_get_info(comm, &made_info));
    EACH_COMM(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    EACH_COMM(MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER));
    EACH_COMM(MPI_Comm_free(&comm));
    EACH_COMM(MPI_Comm_disconnect(&comm));
    EACH_COMM(MPI_Topo_test(comm, &flag));
    EACH_COMM(MPI_Comm_get_attr(comm, MPI_TAG_UB, &value, &flag));
    BAD(MPI_ERR_COMM, "'local_comm' is MPI_COMM_NULL", MPI_Intercomm_create(comm, 0, MPI_COMM_WORLD, 0, 0, &made));
    BAD(MPI_ERR_COMM, "'intercomm' is MPI_COMM_NULL", MPI_Intercomm_merge(comm, 0, &made));
    BAD(MPI_ERR_COMM, "'comm1' is MPI_COMM_NULL", MPI_Comm_compare(comm, MPI_COMM_WORLD, &flag));
    comm = kept;
    BAD_ON(comm, MPI_ERR_COMM, "'comm2' is MPI_COMM_NULL", MPI_Comm_compare(comm, MPI_COMM_NULL, &flag));
    BAD_ON(comm, MPI_ERR_COMM, "'comm2' is 0x123456789abc", MPI_Comm_compare(comm, garbage, &flag));
    MPI_Comm errhandler_of = dead_comm;
    MPI_Errhandler found;
    BAD(MPI_ERR_COMM, "which was freed", MPI_Comm_get_errhandler(errhandler_of, &found));
    BAD(MPI_ERR_COMM, "which was freed", MPI_Comm_get_name(dead_comm, text, &number));

    /* Other arguments. */
    BAD_ON(comm, MPI_ERR_ARG, "'color' is -5", MPI_Comm_split(comm, -5, 0, &made));
    BAD_ON(comm, MPI_ERR_ARG, "'color' is -32765", MPI_Comm_split(comm, MPI_UNDEFINED + 1, 0, &made));
    BAD_ON(comm, MPI_ERR_ARG, "'split_type' is 12345", MPI_Comm_split_type(comm, 12345, 0, MPI_INFO_NULL, &made));
    BAD_ON(comm, MPI_ERR_ARG, "'split_type' is -1", MPI_Comm_split_type(comm, -1, 0, MPI_INFO_NULL, &made));
    BAD_ON(comm, MPI_ERR_INFO, "'info' is", MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, dead_info, &made));
    BAD_ON(comm, MPI_ERR_INFO, "which was freed", MPI_Comm_dup_with_info(comm, dead_info, &made));
    BAD_ON(comm, MPI_ERR_INFO, "which was freed", MPI_Comm_idup_with_info(comm, dead_info, &made, &request));
    BAD_ON(comm, MPI_ERR_INFO, "'info' is MPI_INFO_NULL", MPI_Comm_set_info(comm, MPI_INFO_NULL));
    BAD_ON(comm, MPI_ERR_ERRHANDLER, "'errhandler' is MPI_ERRHANDLER_NULL", MPI_Comm_set_errhandler(comm, MPI_ERRHANDLER_NULL));
    BAD_ON(comm, MPI_ERR_ERRHANDLER, "'errhandler' is MPI_INT", MPI_Comm_set_errhandler(comm, (MPI_Errhandler)MPI_INT));
    BAD_ON(comm, MPI_ERR_ARG, "'comm_name' is null", MPI_Comm_set_name(comm, NULL));
    MPI_Comm world = MPI_COMM_WORLD;
    BAD_ON(MPI_COMM_WORLD, MPI_ERR_COMM, "'comm' is MPI_COMM_WORLD", MPI_Comm_free(&world));
    BAD_ON(MPI_COMM_WORLD, MPI_ERR_COMM, "'comm' is MPI_COMM_WORLD", MPI_Comm_disconnect(&world));
    CHECK(world == MPI_COMM_WORLD);
    BAD_ON(comm, MPI_ERR_COMM, "'comm' is an intracommunicator", MPI_Comm_remote_size(comm, &number));
    BAD_ON(comm, MPI_ERR_COMM, "'comm' is an intracommunicator", MPI_Comm_remote_group(comm, &group));
    BAD_ON(comm, MPI_ERR_COMM, "'intercomm' is an intracommunicator", MPI_Intercomm_merge(comm, 0, &made));

    /* Groups of communicators. */
    BAD_ON(comm, MPI_ERR_GROUP, "'group' is MPI_GROUP_NULL", MPI_Comm_create(comm, MPI_GROUP_NULL, &made));
    BAD_ON(comm, MPI_ERR_GROUP, "which was freed", MPI_Comm_create(comm, dead_group, &made));
    BAD_ON(comm, MPI_ERR_GROUP, "'group' is MPI_GROUP_NULL", MPI_Comm_create_group(comm, MPI_GROUP_NULL, 0, &made));
    BAD_ON(comm, MPI_ERR_TAG, "'tag' is -7", MPI_Comm_create_group(comm, all, -7, &made));
    BAD_ON(comm, MPI_ERR_TAG, "'tag' is", MPI_Comm_create_group(comm, all, MPI_ANY_TAG, &made));
    BAD_GIVEN(MPI_ERR_GROUP, "'group' is MPI_GROUP_NULL",
        MPI_Comm_create_from_group(MPI_GROUP_NULL, "a", MPI_INFO_NULL, own, &made));
    BAD_GIVEN(MPI_ERR_ARG, "'stringtag' is", MPI_Comm_create_from_group(all, NULL, MPI_INFO_NULL, own, &made));
    BAD_GIVEN(MPI_ERR_ARG, "'stringtag' is", MPI_Comm_create_from_group(all, text, MPI_INFO_NULL, own, &made));
    BAD_GIVEN(MPI_ERR_INFO, "'info' is", MPI_Comm_create_from_group(all, "a", dead_info, own, &made));
    BAD(MPI_ERR_ERRHANDLER, "'errhandler' is", MPI_Comm_create_from_group(all, "a", MPI_INFO_NULL, MPI_ERRHANDLER_NULL, &made));
    BAD_GIVEN(MPI_ERR_GROUP, "'local_group' is MPI_GROUP_NULL",
        MPI_Intercomm_create_from_groups(MPI_GROUP_NULL, 0, all, 0, "a", MPI_INFO_NULL, own, &made));
    BAD_GIVEN(MPI_ERR_GROUP, "'remote_group' is",
        MPI_Intercomm_create_from_groups(all, 0, dead_group, 0, "a", MPI_INFO_NULL, own, &made));
    BAD_GIVEN(MPI_ERR_RANK, "'local_leader' is",
        MPI_Intercomm_create_from_groups(all, size, all, 0, "a", MPI_INFO_NULL, own, &made));
    BAD_GIVEN(MPI_ERR_RANK, "'remote_leader' is -1",
        MPI_Intercomm_create_from_groups(all, 0, all, -1, "a", MPI_INFO_NULL, own, &made));
    BAD_GIVEN(MPI_ERR_INFO, "'info' is", MPI_Intercomm_create_from_groups(all, 0, all, 0, "a", dead_info, own, &made));
    BAD(MPI_ERR_ERRHANDLER, "'errhandler' is",
        MPI_Intercomm_create_from_groups(all, 0, all, 0, "a", MPI_INFO_NULL, MPI_ERRHANDLER_NULL, &made));
    BAD_GIVEN(MPI_ERR_GROUP, "'remote_group' is", MPI_Intercomm_create_from_groups(all, 0, all, 0, "a", MPI_INFO_NULL, own, &made));

    /* Two groups out of one. */
    BAD_ON(comm, MPI_ERR_RANK, "'local_leader' is", MPI_Intercomm_create(comm, size, MPI_COMM_WORLD, 0, 0, &made));
    BAD_ON(comm, MPI_ERR_RANK, "'local_leader' is -1", MPI_Intercomm_create(comm, -1, MPI_COMM_WORLD, 0, 0, &made));
    /* At the leader; the others learn it. */
    const char *leader = rank ? "the local leader" : "'remote_leader' is";
    BAD_ON(comm, MPI_ERR_RANK, leader, MPI_Intercomm_create(comm, 0, MPI_COMM_WORLD, size, 0, &made));
    BAD_ON(comm, MPI_ERR_RANK, leader, MPI_Intercomm_create(comm, 0, MPI_COMM_WORLD, MPI_PROC_NULL, 0, &made));
    BAD_ON(comm, MPI_ERR_TAG, rank ? "the local leader" : "'tag' is -3", MPI_Intercomm_create(comm, 0, MPI_COMM_WORLD, 0, -3, &made));
    BAD_ON(comm, MPI_ERR_COMM, rank ? "the local leader" : "'peer_comm' is MPI_COMM_NULL",
           MPI_Intercomm_create(comm, 0, MPI_COMM_NULL, 0, 0, &made));
    BAD_ON(comm, MPI_ERR_RANK, leader, MPI_Intercomm_create(comm, 0, MPI_COMM_WORLD, 0, 0, &made));

    if (size > 1) {
        MPI_Group one, others;
        numbers[0] = rank;
        MPI_Group_incl(all, 1, numbers, &one);
        MPI_Group_difference(all, one, &others);
        MPI_Comm alone;
        MPI_Comm_split(comm, rank, 0, &alone);
        MPI_Comm_set_name(alone, "alone");
        BAD_ON(alone, MPI_ERR_GROUP, "'group' is", MPI_Comm_create(alone, all, &made));
        BAD_ON(alone, MPI_ERR_GROUP, "'group' is", MPI_Comm_create_group(alone, others, 0, &made));
        CHECK(MPI_Comm_create_from_group(others, "a", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made) == MPI_SUCCESS && made == MPI_COMM_NULL);
        BAD_GIVEN(MPI_ERR_GROUP, "'local_group' is",
            MPI_Intercomm_create_from_groups(others, 0, one, 0, "a", MPI_INFO_NULL, own, &made));
        /* Everybody says something else. */
        int others_first[2] = {rank, (rank + 1) % size};
        MPI_Group pair;
        MPI_Group_incl(all, 2, others_first, &pair);
        BAD_ON(comm, MPI_ERR_GROUP, "'group' is", MPI_Comm_create(comm, pair, &made));
        MPI_Group_free(&pair);
        MPI_Comm_free(&alone);
        MPI_Group_free(&one);
        MPI_Group_free(&others);
    }
}

static void groups(void)
{
    BAD(MPI_ERR_GROUP, "'group' is MPI_GROUP_NULL", MPI_Group_size(MPI_GROUP_NULL, &number));
    BAD(MPI_ERR_GROUP, "'group' is MPI_GROUP_NULL", MPI_Group_rank(MPI_GROUP_NULL, &number));
    BAD(MPI_ERR_GROUP, "which was freed", MPI_Group_size(dead_group, &number));
    BAD(MPI_ERR_GROUP, "'group' is MPI_INT", MPI_Group_rank((MPI_Group)MPI_INT, &number));
    BAD(MPI_ERR_GROUP, "'group1' is MPI_GROUP_NULL", MPI_Group_compare(MPI_GROUP_NULL, all, &number));
    BAD(MPI_ERR_GROUP, "'group2' is MPI_GROUP_NULL", MPI_Group_compare(all, MPI_GROUP_NULL, &number));
#define EACH_PAIR(call)                                                                      \
    BAD(MPI_ERR_GROUP, "'group1' is MPI_GROUP_NULL", call(MPI_GROUP_NULL, all, &group));     \
    BAD(MPI_ERR_GROUP, "'group2' is MPI_GROUP_NULL", call(all, MPI_GROUP_NULL, &group));     \
    BAD(MPI_ERR_GROUP, "'group1' is", call(dead_group, all, &group));                        \
    BAD(MPI_ERR_GROUP, "'group2' is", call(all, dead_group, &group));                        \
    CHECK(group == MPI_GROUP_NULL)
    EACH_PAIR(MPI_Group_union);
    EACH_PAIR(MPI_Group_intersection);
    EACH_PAIR(MPI_Group_difference);

    int same[2] = {0, 0}, low[2] = {-1, 0}, high[1] = {size}, none[1] = {MPI_PROC_NULL};
    BAD(MPI_ERR_GROUP, "'group1' is", MPI_Group_translate_ranks(MPI_GROUP_NULL, 1, same, all, numbers));
    BAD(MPI_ERR_GROUP, "'group2' is", MPI_Group_translate_ranks(all, 1, same, dead_group, numbers));
    BAD(MPI_ERR_ARG, "'n' is -1", MPI_Group_translate_ranks(all, -1, same, all, numbers));
    BAD(MPI_ERR_ARG, "'ranks1' is null", MPI_Group_translate_ranks(all, 1, NULL, all, numbers));
    BAD(MPI_ERR_ARG, "'ranks2' is null", MPI_Group_translate_ranks(all, 1, same, all, NULL));
    BAD(MPI_ERR_RANK, "'ranks1' is -1 at index 0", MPI_Group_translate_ranks(all, 2, low, all, numbers));
    BAD(MPI_ERR_RANK, "'ranks1' is", MPI_Group_translate_ranks(all, 1, high, all, numbers));
    CHECK(MPI_Group_translate_ranks(all, 1, none, all, numbers) == MPI_SUCCESS && numbers[0] == MPI_PROC_NULL);
#define EACH_LIST(call)                                                                      \
    BAD(MPI_ERR_GROUP, "'group' is MPI_GROUP_NULL", call(MPI_GROUP_NULL, 1, same, &group));  \
    BAD(MPI_ERR_ARG, "'n' is -1", call(all, -1, same, &group));                              \
    BAD(MPI_ERR_ARG, "'ranks' is null", call(all, 1, NULL, &group));                         \
    BAD(MPI_ERR_RANK, "'ranks' is -1 at index 0", call(all, 1, low, &group));                \
    BAD(MPI_ERR_RANK, "'ranks' is", call(all, 1, high, &group));                             \
    BAD(MPI_ERR_RANK, "'ranks' is", call(all, 1, none, &group));                             \
    BAD(MPI_ERR_RANK, "'ranks' is 0 at index 1", call(all, 2, same, &group))
    EACH_LIST(MPI_Group_incl);
    EACH_LIST(MPI_Group_excl);

    int still[1][3] = {{0, 0, 0}}, below[1][3] = {{-1, 0, 1}}, beyond[1][3] = {{0, size, 1}}, huge[1][3] = {{0, 2147483647, 1}};
    int huger[2][3] = {{0, -2147483647, -1}, {0, 0, 1}}, twice[2][3] = {{0, 0, 1}, {0, 0, 1}}, back[1][3] = {{size - 1, size, -1}};
#define EACH_RANGE(call)                                                                     \
    BAD(MPI_ERR_GROUP, "'group' is MPI_GROUP_NULL", call(MPI_GROUP_NULL, 1, twice, &group)); \
    BAD(MPI_ERR_ARG, "'n' is -1", call(all, -1, twice, &group));                             \
    BAD(MPI_ERR_ARG, "'ranges' is null", call(all, 1, NULL, &group));                        \
    BAD(MPI_ERR_ARG, "'ranges' is (0, 0, 0) at index 0", call(all, 1, still, &group));       \
    BAD(MPI_ERR_RANK, "'ranges' is (-1, 0, 1) at index 0", call(all, 1, below, &group));     \
    BAD(MPI_ERR_RANK, "'ranges' is (0, ", call(all, 1, beyond, &group));                     \
    BAD(MPI_ERR_RANK, "'ranges' is (0, 2147483647, 1) at index 0", call(all, 1, huge, &group));     \
    BAD(MPI_ERR_RANK, "'ranges' is (0, -2147483647, -1) at index 0", call(all, 2, huger, &group));  \
    BAD(MPI_ERR_RANK, "'ranges' is (0, 0, 1) at index 1", call(all, 2, twice, &group));      \
    CHECK(call(all, 1, back, &group) == MPI_SUCCESS && MPI_Group_free(&group) == MPI_SUCCESS)
    EACH_RANGE(MPI_Group_range_incl);
    EACH_RANGE(MPI_Group_range_excl);
    group = MPI_GROUP_NULL;
    BAD(MPI_ERR_GROUP, "'group' is MPI_GROUP_NULL", MPI_Group_free(&group));
    group = dead_group;
    BAD(MPI_ERR_GROUP, "which was freed", MPI_Group_free(&group));
}

static void grids(void)
{
    int fits[2] = {size, 1}, large[2] = {size, 2}, zero[2] = {size, 0}, negative[2] = {-1, -size}, wide[2] = {65536, 65536}, ring[2] = {1, 0};
    BAD(MPI_ERR_COMM, "'comm_old' is MPI_COMM_NULL", MPI_Cart_create(MPI_COMM_NULL, 2, fits, zeros, 0, &made));
    BAD_ON(comm, MPI_ERR_ARG, "'ndims' is -1", MPI_Cart_create(comm, -1, fits, zeros, 0, &made));
    BAD_ON(comm, MPI_ERR_ARG, "'dims' is null", MPI_Cart_create(comm, 2, NULL, zeros, 0, &made));
    BAD_ON(comm, MPI_ERR_ARG, "'periods' is null", MPI_Cart_create(comm, 2, fits, NULL, 0, &made));
    BAD_ON(comm, MPI_ERR_DIMS, "'dims' is", MPI_Cart_create(comm, 2, large, zeros, 0, &made));
    BAD_ON(comm, MPI_ERR_DIMS, "'dims' is", MPI_Cart_create(comm, 2, zero, zeros, 0, &made));
    BAD_ON(comm, MPI_ERR_DIMS, "'dims' is -1 at index 0", MPI_Cart_create(comm, 2, negative, zeros, 0, &made));
    BAD_ON(comm, MPI_ERR_DIMS, "'dims' is [65536, 65536]", MPI_Cart_create(comm, 2, wide, zeros, 0, &made));
    BAD_ON(comm, MPI_ERR_DIMS, "'dims' is", MPI_Cart_map(comm, 2, large, zeros, &number));
    BAD_ON(comm, MPI_ERR_ARG, "'ndims' is -2", MPI_Cart_map(comm, -2, fits, zeros, &number));
    BAD_ON(comm, MPI_ERR_ARG, "'dims' is null", MPI_Cart_map(comm, 2, NULL, zeros, &number));
    BAD_ON(comm, MPI_ERR_ARG, "'periods' is null", MPI_Cart_map(comm, 2, fits, NULL, &number));

    BAD(MPI_ERR_ARG, "'nnodes' is 0", MPI_Dims_create(0, 2, zero));
    BAD(MPI_ERR_ARG, "'nnodes' is -4", MPI_Dims_create(-4, 2, zero));
    BAD(MPI_ERR_ARG, "'ndims' is -1", MPI_Dims_create(4, -1, zero));
    BAD(MPI_ERR_ARG, "'dims' is null", MPI_Dims_create(4, 2, NULL));
    numbers[0] = -1, numbers[1] = 0;
    BAD(MPI_ERR_DIMS, "'dims' is -1 at index 0", MPI_Dims_create(4, 2, numbers));
    numbers[0] = 3;
    BAD(MPI_ERR_DIMS, "'dims' is [3, 0]", MPI_Dims_create(4, 2, numbers));
    numbers[0] = 2, numbers[1] = 4;
    BAD(MPI_ERR_DIMS, "'dims' is [2, 4]", MPI_Dims_create(4, 2, numbers));

    /* What only a grid has. */
    BAD_ON(comm, MPI_ERR_TOPOLOGY, "Cartesian", MPI_Cartdim_get(comm, &number));
    BAD_ON(comm, MPI_ERR_TOPOLOGY, "Cartesian", MPI_Cart_get(comm, 2, numbers, more, zeros));
    BAD_ON(comm, MPI_ERR_TOPOLOGY, "Cartesian", MPI_Cart_rank(comm, zeros, &number));
    BAD_ON(comm, MPI_ERR_TOPOLOGY, "Cartesian", MPI_Cart_coords(comm, 0, 2, numbers));
    BAD_ON(comm, MPI_ERR_TOPOLOGY, "Cartesian", MPI_Cart_shift(comm, 0, 1, &number, &flag));
    BAD_ON(comm, MPI_ERR_TOPOLOGY, "Cartesian", MPI_Cart_sub(comm, ring, &made));
    MPI_Comm grid;
    MPI_Cart_create(comm, 2, fits, ring, 0, &grid);
    MPI_Comm_set_name(grid, "grid");
    BAD_ON(grid, MPI_ERR_ARG, "'maxdims' is 1", MPI_Cart_get(grid, 1, numbers, more, more));
    BAD_ON(grid, MPI_ERR_ARG, "'maxdims' is -1", MPI_Cart_get(grid, -1, numbers, more, more));
    BAD_ON(grid, MPI_ERR_ARG, "'maxdims' is 1", MPI_Cart_coords(grid, 0, 1, numbers));
    BAD_ON(grid, MPI_ERR_RANK, "'rank' is -1", MPI_Cart_coords(grid, -1, 2, numbers));
    BAD_ON(grid, MPI_ERR_RANK, "'rank' is", MPI_Cart_coords(grid, size, 2, numbers));
    BAD_ON(grid, MPI_ERR_ARG, "'coords' is null", MPI_Cart_coords(grid, 0, 2, NULL));
    BAD_ON(grid, MPI_ERR_ARG, "'dims' is null", MPI_Cart_get(grid, 2, NULL, more, more));
    BAD_ON(grid, MPI_ERR_ARG, "'coords' is null", MPI_Cart_rank(grid, NULL, &number));
    numbers[0] = 5 * size, numbers[1] = 1;
    BAD_ON(grid, MPI_ERR_ARG, "'coords' is 1 at index 1", MPI_Cart_rank(grid, numbers, &number));
    numbers[1] = -1;
    BAD_ON(grid, MPI_ERR_ARG, "'coords' is -1 at index 1", MPI_Cart_rank(grid, numbers, &number));
    BAD_ON(grid, MPI_ERR_ARG, "'direction' is 2", MPI_Cart_shift(grid, 2, 1, &number, &flag));
    BAD_ON(grid, MPI_ERR_ARG, "'direction' is -1", MPI_Cart_shift(grid, -1, 1, &number, &flag));
    BAD_ON(grid, MPI_ERR_ARG, "'remain_dims' is null", MPI_Cart_sub(grid, NULL, &made));
    BAD_ON(grid, MPI_ERR_TOPOLOGY, "graph", MPI_Graphdims_get(grid, &number, &flag));
    BAD_ON(grid, MPI_ERR_TOPOLOGY, "graph", MPI_Graph_neighbors_count(grid, 0, &number));
    BAD_ON(grid, MPI_ERR_TOPOLOGY, "distributed graph", MPI_Dist_graph_neighbors_count(grid, &number, &number, &flag));
    CHECK(MPI_Cart_shift(grid, 0, 2147483647, &number, &flag) == MPI_SUCCESS && number >= 0 && number < size);
    CHECK(MPI_Cart_shift(grid, 1, -2147483647 - 1, &number, &flag) == MPI_SUCCESS && number == MPI_PROC_NULL);
    MPI_Comm_free(&grid);
}

static void graphs(void)
{
    int index[8], edges[8], down[2] = {2, 1}, outside[8];
    for (int i = 0; i < 8; ++i)
        index[i] = i + 1, edges[i] = (i + 1) % size, outside[i] = size;
    BAD(MPI_ERR_COMM, "'comm_old' is MPI_COMM_NULL", MPI_Graph_create(MPI_COMM_NULL, size, index, edges, 0, &made));
    BAD_ON(comm, MPI_ERR_ARG, "'nnodes' is -1", MPI_Graph_create(comm, -1, index, edges, 0, &made));
    BAD_ON(comm, MPI_ERR_ARG, "'nnodes' is", MPI_Graph_create(comm, size + 1, index, edges, 0, &made));
    BAD_ON(comm, MPI_ERR_ARG, "'nnodes' is 2147483647", MPI_Graph_create(comm, 2147483647, index, edges, 0, &made));
    BAD_ON(comm, MPI_ERR_ARG, "'nnodes' is 2147483647", MPI_Graph_map(comm, 2147483647, index, edges, &number));
    BAD_ON(comm, MPI_ERR_ARG, "'indx' is null", MPI_Graph_create(comm, size, NULL, edges, 0, &made));
    BAD_ON(comm, MPI_ERR_ARG, "'edges' is null", MPI_Graph_create(comm, size, index, NULL, 0, &made));
    BAD_ON(comm, MPI_ERR_ARG, "'edges' is", MPI_Graph_create(comm, size, index, outside, 0, &made));
    if (size > 1) {
        BAD_ON(comm, MPI_ERR_ARG, "'indx' is 1 at index 1", MPI_Graph_create(comm, 2, down, edges, 0, &made));
        BAD_ON(comm, MPI_ERR_ARG, "'indx' is 1 at index 1", MPI_Graph_map(comm, 2, down, edges, &number));
        down[0] = 1, down[1] = 2147483647;
    }
    down[0] = -2;
    BAD_ON(comm, MPI_ERR_ARG, "'indx' is -2 at index 0", MPI_Graph_create(comm, 1, down, edges, 0, &made));
    BAD_ON(comm, MPI_ERR_TOPOLOGY, "graph", MPI_Graphdims_get(comm, &number, &flag));
    BAD_ON(comm, MPI_ERR_TOPOLOGY, "graph", MPI_Graph_get(comm, 8, 8, numbers, more));
    BAD_ON(comm, MPI_ERR_TOPOLOGY, "graph", MPI_Graph_neighbors_count(comm, 0, &number));
    BAD_ON(comm, MPI_ERR_TOPOLOGY, "graph", MPI_Graph_neighbors(comm, 0, 8, numbers));
    MPI_Comm graph;
    MPI_Graph_create(comm, size, index, edges, 0, &graph);
    MPI_Comm_set_name(graph, "graph");
    BAD_ON(graph, MPI_ERR_RANK, "'rank' is -1", MPI_Graph_neighbors_count(graph, -1, &number));
    BAD_ON(graph, MPI_ERR_RANK, "'rank' is", MPI_Graph_neighbors(graph, size, 8, numbers));
    BAD_ON(graph, MPI_ERR_ARG, "'maxneighbors' is -1", MPI_Graph_neighbors(graph, 0, -1, numbers));
    BAD_ON(graph, MPI_ERR_ARG, "'maxneighbors' is 0", MPI_Graph_neighbors(graph, 0, 0, numbers));
    BAD_ON(graph, MPI_ERR_ARG, "'neighbors' is null", MPI_Graph_neighbors(graph, 0, 8, NULL));
    BAD_ON(graph, MPI_ERR_ARG, "'maxindex' is -1", MPI_Graph_get(graph, -1, 8, numbers, more));
    BAD_ON(graph, MPI_ERR_ARG, "'maxedges' is 0", MPI_Graph_get(graph, 8, 0, numbers, more));
    BAD_ON(graph, MPI_ERR_ARG, "'edges' is null", MPI_Graph_get(graph, 8, 8, numbers, NULL));
    BAD_ON(graph, MPI_ERR_TOPOLOGY, "Cartesian", MPI_Cartdim_get(graph, &number));
    MPI_Comm_free(&graph);

    int next = (rank + 1) % size, before = (rank + size - 1) % size, minus[2] = {-1, -1}, heavy[2] = {1, 2}, one = 1, two = 2;
    int *weights = MPI_UNWEIGHTED;
    MPI_Info nothing = MPI_INFO_NULL;
#define ADJACENT(indegree, sources, sourceweights, outdegree, destinations, destweights, with) \
    MPI_Dist_graph_create_adjacent(comm, indegree, sources, sourceweights, outdegree, destinations, destweights, with, 0, &made)
    BAD_ON(comm, MPI_ERR_ARG, "'indegree' is -1", MPI_Dist_graph_create_adjacent(comm, -1, &before, weights, 1, &next, weights, nothing, 0, &made));
    BAD_ON(comm, MPI_ERR_ARG, "'outdegree' is -1", MPI_Dist_graph_create_adjacent(comm, 1, &before, weights, -1, &next, weights, nothing, 0, &made));
    BAD_ON(comm, MPI_ERR_ARG, "'sources' is null", MPI_Dist_graph_create_adjacent(comm, 1, NULL, weights, 1, &next, weights, nothing, 0, &made));
    BAD_ON(comm, MPI_ERR_ARG, "'destinations' is null", MPI_Dist_graph_create_adjacent(comm, 1, &before, weights, 1, NULL, weights, nothing, 0, &made));
    BAD_ON(comm, MPI_ERR_RANK, "'sources' is -1 at index 0", MPI_Dist_graph_create_adjacent(comm, 1, minus, weights, 1, &next, weights, nothing, 0, &made));
    BAD_ON(comm, MPI_ERR_RANK, "'destinations' is", MPI_Dist_graph_create_adjacent(comm, 1, &before, weights, 1, outside, weights, nothing, 0, &made));
    BAD_ON(comm, MPI_ERR_ARG, "'sourceweights' is -1 at index 0", MPI_Dist_graph_create_adjacent(comm, 1, &before, minus, 1, &next, heavy, nothing, 0, &made));
    BAD_ON(comm, MPI_ERR_ARG, "'destweights' is null", MPI_Dist_graph_create_adjacent(comm, 1, &before, heavy, 1, &next, NULL, nothing, 0, &made));
    BAD_ON(comm, MPI_ERR_ARG, "'sourceweights' is MPI_WEIGHTS_EMPTY", MPI_Dist_graph_create_adjacent(comm, 1, &before, MPI_WEIGHTS_EMPTY, 1, &next, heavy, nothing, 0, &made));
    BAD_ON(comm, MPI_ERR_ARG, "'destweights' is MPI_UNWEIGHTED", MPI_Dist_graph_create_adjacent(comm, 1, &before, heavy, 1, &next, weights, nothing, 0, &made));
    BAD_ON(comm, MPI_ERR_INFO, "'info' is", MPI_Dist_graph_create_adjacent(comm, 1, &before, weights, 1, &next, weights, dead_info, 0, &made));
    BAD(MPI_ERR_COMM, "'comm_old' is MPI_COMM_NULL", MPI_Dist_graph_create_adjacent(MPI_COMM_NULL, 1, &before, weights, 1, &next, weights, nothing, 0, &made));

    BAD(MPI_ERR_COMM, "'comm_old' is MPI_COMM_NULL", MPI_Dist_graph_create(MPI_COMM_NULL, 1, &rank, &one, &next, weights, nothing, 0, &made));
    BAD_ON(comm, MPI_ERR_ARG, "'n' is -1", MPI_Dist_graph_create(comm, -1, &rank, &one, &next, weights, nothing, 0, &made));
    BAD_ON(comm, MPI_ERR_ARG, "'sources' is null", MPI_Dist_graph_create(comm, 1, NULL, &one, &next, weights, nothing, 0, &made));
    BAD_ON(comm, MPI_ERR_ARG, "'degrees' is null", MPI_Dist_graph_create(comm, 1, &rank, NULL, &next, weights, nothing, 0, &made));
    BAD_ON(comm, MPI_ERR_ARG, "'degrees' is -1 at index 0", MPI_Dist_graph_create(comm, 1, &rank, minus, &next, weights, nothing, 0, &made));
    BAD_ON(comm, MPI_ERR_ARG, "'destinations' is null", MPI_Dist_graph_create(comm, 1, &rank, &one, NULL, weights, nothing, 0, &made));
    BAD_ON(comm, MPI_ERR_RANK, "'sources' is -1 at index 0", MPI_Dist_graph_create(comm, 1, minus, &one, &next, weights, nothing, 0, &made));
    BAD_ON(comm, MPI_ERR_RANK, "at index 1", MPI_Dist_graph_create(comm, 1, &rank, &two, (int[]){0, size}, weights, nothing, 0, &made));
    BAD_ON(comm, MPI_ERR_ARG, "'weights' is -1 at index 0", MPI_Dist_graph_create(comm, 1, &rank, &one, &next, minus, nothing, 0, &made));
    BAD_ON(comm, MPI_ERR_ARG, "'weights' is null", MPI_Dist_graph_create(comm, 1, &rank, &one, &next, NULL, nothing, 0, &made));
    BAD_ON(comm, MPI_ERR_ARG, "'weights' is MPI_WEIGHTS_EMPTY", MPI_Dist_graph_create(comm, 1, &rank, &one, &next, MPI_WEIGHTS_EMPTY, nothing, 0, &made));
    BAD_ON(comm, MPI_ERR_INFO, "'info' is", MPI_Dist_graph_create(comm, 1, &rank, &one, &next, weights, dead_info, 0, &made));

    CHECK(ADJACENT(1, &before, heavy, 1, &next, heavy, nothing) == MPI_SUCCESS);
    graph = made;
    MPI_Comm_set_name(graph, "ring");
    BAD_ON(graph, MPI_ERR_ARG, "'maxindegree' is -1", MPI_Dist_graph_neighbors(graph, -1, numbers, more, 1, numbers, more));
    BAD_ON(graph, MPI_ERR_ARG, "'maxoutdegree' is -1", MPI_Dist_graph_neighbors(graph, 1, numbers, more, -1, numbers, more));
    BAD_ON(graph, MPI_ERR_ARG, "'destinations' is null", MPI_Dist_graph_neighbors(graph, 1, numbers, more, 1, NULL, more));
    BAD_ON(graph, MPI_ERR_ARG, "'sources' is null", MPI_Dist_graph_neighbors(graph, 1, NULL, more, 1, numbers, more));
    BAD_ON(graph, MPI_ERR_ARG, "'sourceweights' is null", MPI_Dist_graph_neighbors(graph, 1, numbers, NULL, 1, numbers, more));
    BAD_ON(graph, MPI_ERR_ARG, "'destweights' is null", MPI_Dist_graph_neighbors(graph, 1, numbers, more, 1, numbers, NULL));
    BAD_ON(graph, MPI_ERR_ARG, "'destweights' is MPI_WEIGHTS_EMPTY", MPI_Dist_graph_neighbors(graph, 1, numbers, more, 1, numbers, MPI_WEIGHTS_EMPTY));
    CHECK(MPI_Dist_graph_neighbors(graph, 1, numbers, MPI_UNWEIGHTED, 0, NULL, NULL) == MPI_SUCCESS);
    BAD_ON(graph, MPI_ERR_TOPOLOGY, "graph", MPI_Graph_neighbors_count(graph, 0, &number));
    MPI_Comm_free(&graph);
    CHECK(ADJACENT(0, NULL, MPI_WEIGHTS_EMPTY, 0, NULL, MPI_WEIGHTS_EMPTY, nothing) == MPI_SUCCESS);
    MPI_Comm_free(&made);
}

/* An intercommunicator where there has to be one group, and the other way round. */
static void two_groups(void)
{
    int dims[1] = {1}, index[1] = {0}, zero[1] = {0};
    BAD_ON(inter, MPI_ERR_COMM, "'comm_old' is an intercommunicator", MPI_Cart_create(inter, 1, dims, zero, 0, &made));
    BAD_ON(inter, MPI_ERR_COMM, "'comm' is an intercommunicator", MPI_Cart_map(inter, 1, dims, zero, &number));
    BAD_ON(inter, MPI_ERR_COMM, "'comm_old' is an intercommunicator", MPI_Graph_create(inter, 1, index, zero, 0, &made));
    BAD_ON(inter, MPI_ERR_COMM, "'comm' is an intercommunicator", MPI_Graph_map(inter, 1, index, zero, &number));
    BAD_ON(inter, MPI_ERR_COMM, "'comm_old' is an intercommunicator",
           MPI_Dist_graph_create_adjacent(inter, 0, zero, MPI_UNWEIGHTED, 0, zero, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made));
    BAD_ON(inter, MPI_ERR_COMM, "'comm_old' is an intercommunicator",
           MPI_Dist_graph_create(inter, 0, zero, zero, zero, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made));
    BAD_ON(inter, MPI_ERR_COMM, "'local_comm' is an intercommunicator", MPI_Intercomm_create(inter, 0, MPI_COMM_WORLD, 0, 0, &made));
    BAD_ON(inter, MPI_ERR_COMM, "'comm' is an intercommunicator", MPI_Comm_create_group(inter, all, 0, &made));
    BAD_ON(inter, MPI_ERR_ARG, "'color' is -2", MPI_Comm_split(inter, -2, 0, &made));
    BAD_ON(inter, MPI_ERR_GROUP, "'group' is", MPI_Comm_create(inter, all, &made));
    /* It still works. */
    CHECK(MPI_Barrier(inter) == MPI_SUCCESS);
}

static int keep(MPI_Comm old, int key, void *state, void *in, void *out, int *kept)
{
    (void)old, (void)key, (void)state, (void)in, (void)out, (void)kept;
    return MPI_SUCCESS;
}

static void attributes(void)
{
    int key, type_key, freed;
    MPI_Comm_create_keyval(keep, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    freed = key;
    MPI_Comm_free_keyval(&key);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &type_key, NULL);
    const struct {
        int key;
        const char *said;
    } wrong[] = {{freed, "'comm_keyval' is"}, {MPI_KEYVAL_INVALID, "'comm_keyval' is MPI_KEYVAL_INVALID"}, {type_key, "'comm_keyval' is"},
                 {-7, "'comm_keyval' is -7"}};
    for (int i = 0; i < 4; ++i) {
        BAD_ON(comm, MPI_ERR_KEYVAL, wrong[i].said, MPI_Comm_set_attr(comm, wrong[i].key, NULL));
        BAD_ON(comm, MPI_ERR_KEYVAL, wrong[i].said, MPI_Comm_get_attr(comm, wrong[i].key, &value, &flag));
        BAD_ON(comm, MPI_ERR_KEYVAL, wrong[i].said, MPI_Comm_delete_attr(comm, wrong[i].key));
        int copy = wrong[i].key;
        BAD(MPI_ERR_KEYVAL, wrong[i].said, MPI_Comm_free_keyval(&copy));
        CHECK(copy == wrong[i].key);
    }
    /* Those of the library are read only. */
    int copy = MPI_TAG_UB;
    BAD_ON(comm, MPI_ERR_KEYVAL, "'comm_keyval' is MPI_TAG_UB", MPI_Comm_set_attr(comm, MPI_TAG_UB, &number));
    BAD_ON(comm, MPI_ERR_KEYVAL, "'comm_keyval' is MPI_TAG_UB", MPI_Comm_delete_attr(comm, MPI_TAG_UB));
    BAD(MPI_ERR_KEYVAL, "'comm_keyval' is MPI_TAG_UB", MPI_Comm_free_keyval(&copy));
    BAD(MPI_ERR_KEYVAL, "'type_keyval' is", MPI_Type_set_attr(MPI_INT, key, NULL));
    BAD(MPI_ERR_KEYVAL, "'type_keyval' is", MPI_Type_get_attr(MPI_INT, key, &value, &flag));
    BAD(MPI_ERR_KEYVAL, "'type_keyval' is", MPI_Type_delete_attr(MPI_INT, key));
    copy = key;
    BAD(MPI_ERR_KEYVAL, "'type_keyval' is", MPI_Type_free_keyval(&copy));
    BAD(MPI_ERR_TYPE, "'datatype' is MPI_DATATYPE_NULL", MPI_Type_set_attr(MPI_DATATYPE_NULL, type_key, NULL));
    MPI_Comm_free_keyval(&key);
    MPI_Type_free_keyval(&type_key);
}

static void operations_and_infos(void)
{
    MPI_Op op = MPI_SUM;
    BAD(MPI_ERR_OP, "'op' is MPI_SUM", MPI_Op_free(&op));
    op = MPI_OP_NULL;
    BAD(MPI_ERR_OP, "'op' is MPI_OP_NULL", MPI_Op_free(&op));
    BAD(MPI_ERR_OP, "'op' is MPI_OP_NULL", MPI_Op_commutative(op, &flag));
    BAD(MPI_ERR_ARG, "'user_fn' is null", MPI_Op_create(NULL, 1, &op));
    BAD(MPI_ERR_COUNT, "'count' is -1", MPI_Reduce_local(numbers, more, -1, MPI_INT, MPI_SUM));
    BAD(MPI_ERR_TYPE, "'datatype' is MPI_DATATYPE_NULL", MPI_Reduce_local(numbers, more, 1, MPI_DATATYPE_NULL, MPI_SUM));
    BAD(MPI_ERR_OP, "'op' is MPI_OP_NULL", MPI_Reduce_local(numbers, more, 1, MPI_INT, MPI_OP_NULL));
    BAD(MPI_ERR_OP, "'op' is MPI_MAXLOC on MPI_INT", MPI_Reduce_local(numbers, more, 1, MPI_INT, MPI_MAXLOC));
    BAD(MPI_ERR_OP, "'op' is MPI_REPLACE", MPI_Reduce_local(numbers, more, 1, MPI_INT, MPI_REPLACE));
    BAD(MPI_ERR_BUFFER, "'inbuf' is null", MPI_Reduce_local(NULL, more, 1, MPI_INT, MPI_SUM));
    BAD(MPI_ERR_BUFFER, "'inoutbuf' is null", MPI_Reduce_local(numbers, NULL, 1, MPI_INT, MPI_SUM));

    BAD(MPI_ERR_INFO, "'info' is MPI_INFO_NULL", MPI_Info_set(MPI_INFO_NULL, "a", "b"));
    BAD(MPI_ERR_INFO, "which was freed", MPI_Info_get_nkeys(dead_info, &number));
    BAD(MPI_ERR_INFO_KEY, "'key' is", MPI_Info_set(info, "", "b"));
    BAD(MPI_ERR_INFO_KEY, "'key' is", MPI_Info_set(info, text, "b"));
    BAD(MPI_ERR_INFO_VALUE, "'value' is", MPI_Info_set(info, "a", text));
    BAD(MPI_ERR_INFO_NOKEY, "'key' is \"missing\"", MPI_Info_delete(info, "missing"));
    BAD(MPI_ERR_ARG, "'n' is 5", MPI_Info_get_nthkey(info, 5, text));
    BAD(MPI_ERR_ARG, "'n' is -1", MPI_Info_get_nthkey(info, -1, text));
    MPI_Info gone = dead_info;
    BAD(MPI_ERR_INFO, "which was freed", MPI_Info_free(&gone));
    BAD(MPI_ERR_SESSION, "'session' is MPI_SESSION_NULL", MPI_Group_from_session_pset(MPI_SESSION_NULL, "mpi://WORLD", &group));
    /* Error classes and codes that something belongs to. */
    int class, code;
    MPI_Add_error_class(&class);
    MPI_Add_error_code(class, &code);
    MPI_Add_error_string(code, "a text");
    BAD(MPI_ERR_ARG, "of which there is code", MPI_Remove_error_class(class));
    BAD(MPI_ERR_ARG, "'a text', expected one without a text", MPI_Remove_error_code(code));
    BAD(MPI_ERR_ARG, "expected one that the program added", MPI_Remove_error_class(code));
    BAD(MPI_ERR_ARG, "expected one that the program added", MPI_Remove_error_class(MPI_ERR_OTHER));
    CHECK(MPI_Remove_error_string(code) == 0 && MPI_Remove_error_code(code) == 0 && MPI_Remove_error_class(class) == 0);
    MPI_Errhandler none = MPI_ERRHANDLER_NULL;
    BAD(MPI_ERR_ERRHANDLER, "'errhandler' is MPI_ERRHANDLER_NULL", MPI_Errhandler_free(&none));
    BAD(MPI_ERR_ARG, "'errorcode' is 123456", MPI_Error_class(123456, &number));
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    prints = argc > 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_create_errhandler(handler, &own);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, own);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, own);
    memset(text, 'x', sizeof text - 1);

    MPI_Comm_dup(MPI_COMM_SELF, &dead_comm);
    MPI_Comm gone_comm = dead_comm;
    MPI_Comm_free(&gone_comm);
    MPI_Info_create(&info);
    MPI_Info_create(&dead_info);
    MPI_Info gone_info = dead_info;
    MPI_Info_free(&gone_info);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, zeros, &dead_group);
    MPI_Group gone_group = dead_group;
    MPI_Group_free(&gone_group);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_name(comm, "comm");

    communicators();
    groups();
    grids();
    graphs();
    if (size > 1) {
        MPI_Comm half;
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
        MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 1, &inter);
        MPI_Comm_set_name(inter, "bridge");
        two_groups();
        MPI_Comm_free(&inter);
        MPI_Comm_free(&half);
    }
    attributes();
    operations_and_infos();
    CHECK(covered > 250);
    MPI_Comm_free(&comm);
    MPI_Group_free(&all);
    MPI_Info_free(&info);
    return finish(rank);
}
