/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 2 4
 * ENV: RANKPOINT_PROGRESS_THREAD=1
 * The random programs, with a thread in each process that makes progress, too. */
#include "random_collectives.c"
