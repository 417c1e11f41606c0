/* SPDX-License-Identifier: Apache-2.0 */
/* `locus help`: the commands and the benchmarks. */
#ifndef LOCUS_COMMANDS_HELP_H
#define LOCUS_COMMANDS_HELP_H

#include <stdio.h>

#include "commands/command.h"

void help_print(const struct program *, FILE *);
/* See struct command. */
int help_command(const struct program *, int argc, char **argv);

#endif
