/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOCUS_COMMANDS_TOPOLOGY_H
#define LOCUS_COMMANDS_TOPOLOGY_H

#include <stdio.h>

#include "commands/command.h"

/* Prints packages, nodes, caches, TLBs, distances and page sizes. */
void topology_print(const struct machine *, FILE *);
/* `locus topology`. See struct command. */
int topology_command(const struct program *, int argc, char **argv);

#endif
