/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a program's command line: finds the command or benchmark, and runs it. */
#ifndef LOCUS_DISPATCH_H
#define LOCUS_DISPATCH_H

#include "commands/commands.h"

/* Returns the exit status. Sets program_invocation_short_name, with which messages begin. */
int program_main(const struct program *, int argc, char **argv);

#endif
