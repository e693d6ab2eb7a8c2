/* SPDX-License-Identifier: MIT OR Apache-2.0
 * MPI_Init leaves the actions of signals as they were: SIGUSR1 and SIGSEGV have handlers of the program's, the others their defaults. With
 * an argument, rank 1 then ends by SIGSEGV or SIGABRT. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void handler(int signal)
{
    (void)signal;
}

static int differs(const struct sigaction *one, const struct sigaction *other)
{
    /* The C library sets this flag by itself: SA_RESTORER. */
    const int own = 0x04000000;
    return one->sa_handler != other->sa_handler || (one->sa_flags | own) != (other->sa_flags | own);
}

int main(int argc, char **argv)
{
    static struct sigaction before[NSIG], after;
    int rank, wrong = 0, all = 0;
    signal(SIGUSR1, handler);
    signal(SIGSEGV, handler);
    for (int number = 1; number < NSIG; ++number)
        sigaction(number, NULL, &before[number]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int number = 1; number < NSIG; ++number) {
        after = before[number];
        sigaction(number, NULL, &after);
        if (differs(&before[number], &after)) {
            printf("rank %d: the action of signal %d has changed\n", rank, number);
            wrong = 1;
        }
    }
    fflush(stdout);
    MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0 && !all)
        puts("all is right");
    fflush(stdout);
    signal(SIGSEGV, SIG_DFL);
    if (argc > 1 && rank == 1) {
        if (strcmp(argv[1], "abort") == 0)
            abort();
        *(volatile int *)0 = 1;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
