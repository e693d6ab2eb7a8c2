/* SPDX-License-Identifier: MIT OR Apache-2.0
 * RANKS: 2 3 5
 * ENV: RANKPOINT_CHECK=collectives,types
 * The random programs, whose ranks compare what they do. */
#include "random_collectives.c"
