/* SPDX-License-Identifier: Apache-2.0 */
/* `locus suite` and `locus BENCHMARK`: the commands that measure. */
#ifndef LOCUS_SUITE_H
#define LOCUS_SUITE_H

#include "commands/command.h"

/* See struct command. */
int suite_command(const struct program *, int argc, char **argv);
/* The same with one benchmark. */
int benchmark_command(const struct program *, const struct benchmark *, int argc, char **argv);

#endif
