/* SPDX-License-Identifier: Apache-2.0 */
/* `locus list`: the benchmarks and their tables, for people, completion and the man page. */
#ifndef LOCUS_LIST_H
#define LOCUS_LIST_H

#include <stdio.h>

#include "commands/command.h"

/* A line for every benchmark. */
void list_benchmarks(const struct benchmark *const *table, FILE *);
/* See struct command. */
int list_command(const struct program *, int argc, char **argv);

#endif
