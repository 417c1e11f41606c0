/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `locus doctor`: what on this machine disturbs measuring, why that matters, and the
 * command that mends it. It looks and tries, needs no root, changes nothing, and takes about a
 * second.
 *
 *	[ok]  as it should be, or for information
 *	[!!]  a problem: it spoils measurements
 *	[--]  missing: something can't be measured here, or not verified
 *	[??]  unknown
 */
#ifndef LOCUS_DOCTOR_H
#define LOCUS_DOCTOR_H

#include <stdio.h>

#include "commands/command.h"

/*
 * An exit status: 0, or 1 where something spoils measurements (a [!!]) or the stream can't be
 * written.
 */
int doctor(const struct machine *, FILE *);
/* The same for a copy of /proc and /sys (sysfs.h); checks that try something are unknown there. */
int doctor_at(const char *root, const struct machine *, FILE *);
/* One of its checks, printed: what it found (enum finding_state); -1: there are fewer. */
int doctor_row(unsigned row, const char *root, const struct machine *, FILE *);
/* See struct command. */
int doctor_command(const struct program *, int argc, char **argv);

#endif
