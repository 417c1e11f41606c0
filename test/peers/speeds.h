/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is measured of executors by themselves: CPU time of an empty message on one thread, CPU time
 * of threads that have nothing to do, and how late the first message is handled after that, beside
 * a bare wake-up by futex.
 */
#ifndef LOCUS_SPEEDS_H
#define LOCUS_SPEEDS_H

#include <stdbool.h>

/* Prints them; returns whether all reach their goals. */
bool speeds_reached(void);

#endif
