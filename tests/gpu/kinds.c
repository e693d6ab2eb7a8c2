/* SPDX-License-Identifier: MIT OR Apache-2.0
 * The info key mpi_memory_alloc_kinds. The arguments are the answer to what the launcher asks for, and `gpu` or `none`: whether memory of a GPU is
 * served. */
#include "device.h"

#include <mpi_rankpoint.h>

static const char *key = "mpi_memory_alloc_kinds";

static void answers(MPI_Info info, const char *expected, int line)
{
    char value[MPI_MAX_INFO_VAL];
    int flag, length = sizeof value;
    MPI_Info_get_string(info, key, &length, value, &flag);
    if (!flag || strcmp(value, expected) != 0) {
        fprintf(stderr, "line %d: expected '%s', found '%s'\n", line, expected, flag ? value : "nothing");
        MPI_Abort(MPI_COMM_WORLD, 99);
    }
    MPI_Info_free(&info);
}

/* A session's answer to a request; without one the launcher's counts. */
static void session_answers(const char *request, const char *expected, int line)
{
    MPI_Session session;
    MPI_Info info = MPI_INFO_NULL, used;
    if (request != NULL) {
        MPI_Info_create(&info);
        MPI_Info_set(info, key, request);
    }
    MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Session_get_info(session, &used);
    answers(used, expected, line);
    MPI_Session_finalize(&session);
    if (request != NULL)
        MPI_Info_free(&info);
}
#define SESSION(request, expected) session_answers(request, expected, __LINE__)

static void objects_answer(const char *expected)
{
    MPI_Info used;
    MPI_Comm copy;
    MPI_Win win;
    MPI_File file;
    char name[64];
    void *memory;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_get_info(copy, &used);
    answers(used, expected, __LINE__);
    MPI_Comm_free(&copy);
    MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_get_info(win, &used);
    answers(used, expected, __LINE__);
    MPI_Win_free(&win);
    snprintf(name, sizeof name, "kinds.%ld", (long)getpid());
    MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
    MPI_File_get_info(file, &used);
    answers(used, expected, __LINE__);
    MPI_File_close(&file);
}

int main(int argc, char **argv)
{
    const char *launched = argv[1];
    int has_gpu = argc > 2 && strcmp(argv[2], "gpu") == 0;
    int is_supported = -1;
    CHECK(MPIX_Query_cuda_support() == 0);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    CHECK(MPIX_Query_cuda_support() == has_gpu);
    MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &is_supported);
    CHECK(is_supported == has_gpu);
    MPIX_GPU_query_support(MPIX_GPU_SUPPORT_ZE, &is_supported);
    CHECK(is_supported == 0);
    objects_answer(launched);
    SESSION(NULL, launched);
    /* MPI_Info_set takes no empty value. */
    SESSION(" ", "");
    SESSION("system", "system,mpi");
    SESSION("rocm:device, cuda: ,mpi:alloc_mem:none,,mpi:win_allocate", "mpi:win_allocate,system");
    if (has_gpu) {
        /* The driver is opened for this, and has to show that it works. */
        SESSION("system,cuda:device,cuda:managed:host", "system,cuda:device,cuda:managed:host,mpi");
        load_driver();
        CHECK(!is_double || cu_calls("cuLaunchKernel") == 1);
        SESSION("cuda", "cuda,mpi,system");
        CHECK(!is_double || cu_calls("cuLaunchKernel") == 1);
    } else
        SESSION("cuda:device,level_zero", "mpi,system");
    return finish(rank);
}
