/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Memory of a GPU through a driver that is loaded at run time, for tests. */
#ifndef DEVICE_H
#define DEVICE_H

#include "../c/check.h"

#include <dlfcn.h>
#include <stdint.h>
#include <unistd.h>

typedef uint64_t Device;
static int (*cu_init)(unsigned);
static int (*cu_retain)(void **, int);
static int (*cu_set_current)(void *);
static int (*cu_alloc)(Device *, size_t);
static int (*cu_free)(Device);
static int (*cu_in)(Device, const void *, size_t);
static int (*cu_out)(void *, Device, size_t);
static int (*cu_name)(char *, int, int);
/* How often functions of the double were called, or all of them together; not there with another driver. */
static size_t (*cu_calls)(const char *);
/* Whether the driver is the double, whose memory has bounds that kernels cannot leave unnoticed. */
static int is_double;
/* The context of the first GPU, which is that of the thread that loads the driver. */
static void *context;

#define DRIVER(call)                                                    \
    do {                                                                \
        int code_ = (call);                                             \
        if (code_ != 0) {                                               \
            fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, code_); \
            exit(98);                                                   \
        }                                                               \
    } while (0)

static inline void *symbol(void *library, const char *name)
{
    void *found = dlsym(library, name);
    if (found == NULL)
        exit(97);
    return found;
}

static inline void load_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(96);
    }
    *(void **)&cu_init = symbol(library, "cuInit");
    *(void **)&cu_retain = symbol(library, "cuDevicePrimaryCtxRetain");
    *(void **)&cu_set_current = symbol(library, "cuCtxSetCurrent");
    *(void **)&cu_alloc = symbol(library, "cuMemAlloc_v2");
    *(void **)&cu_free = symbol(library, "cuMemFree_v2");
    *(void **)&cu_in = symbol(library, "cuMemcpyHtoD_v2");
    *(void **)&cu_out = symbol(library, "cuMemcpyDtoH_v2");
    *(void **)&cu_name = symbol(library, "cuDeviceGetName");
    *(void **)&cu_calls = dlsym(library, "cuda_double_calls");
    char name[128];
    DRIVER(cu_init(0));
    DRIVER(cu_name(name, sizeof name, 0));
    is_double = strcmp(name, "double of a GPU") == 0;
    DRIVER(cu_retain(&context, 0));
    DRIVER(cu_set_current(context));
}

static int rank, size;

/* Starts MPI, and loads the driver before or, with the argument `late`, after that; says which. */
static inline int start(int *argc, char ***argv)
{
    int is_late = *argc > 1 && strcmp((*argv)[1], "late") == 0;
    if (!is_late)
        load_driver();
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (is_late)
        load_driver();
    return is_late;
}

/* A buffer on the device or on the host, with a copy of what it should hold. */
typedef struct {
    int is_device;
    size_t bytes;
    unsigned char *host;
    Device device;
} Buffer;

static inline Buffer make(int is_device, size_t bytes, unsigned seed)
{
    Buffer buffer = {is_device, bytes, malloc(bytes), 0};
    for (size_t i = 0; i < bytes; i++)
        buffer.host[i] = (unsigned char)(seed * 37 + i * 7 + i / 251);
    if (is_device) {
        DRIVER(cu_alloc(&buffer.device, bytes));
        DRIVER(cu_in(buffer.device, buffer.host, bytes));
    }
    return buffer;
}

/* Takes over the contents that the host's copy got. */
static inline void fill(Buffer *buffer)
{
    if (buffer->is_device)
        DRIVER(cu_in(buffer->device, buffer->host, buffer->bytes));
}

static inline void *address(const Buffer *buffer)
{
    return buffer->is_device ? (void *)(uintptr_t)buffer->device : buffer->host;
}

/* The contents as they are now. */
static inline unsigned char *contents(Buffer *buffer)
{
    if (buffer->is_device)
        DRIVER(cu_out(buffer->host, buffer->device, buffer->bytes));
    return buffer->host;
}

static inline void drop(Buffer *buffer)
{
    if (buffer->is_device)
        DRIVER(cu_free(buffer->device));
    free(buffer->host);
}

/* A call has failed with a class, and its text has these words. */
static inline void failed(int code, int expected, const char *words, int line)
{
    char text[MPI_MAX_ERROR_STRING];
    int length, class, rank;
    MPI_Error_class(code, &class);
    MPI_Error_string(code, text, &length);
    if (class != expected || !strstr(text, words)) {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        fprintf(stderr, "rank %d, line %d: class %d, expected %d and '%s' in: %s\n", rank, line, class, expected, words, text);
        MPI_Abort(MPI_COMM_WORLD, 99);
    }
}
#define FAILED(class, words, call) failed(call, class, words, __LINE__)

#endif
