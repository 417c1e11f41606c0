/* SPDX-License-Identifier: Apache-2.0 */
/* What a program does with its command line: finds the command or benchmark meant, and runs it. */
#ifndef LOCUS_DISPATCH_H
#define LOCUS_DISPATCH_H

#include "commands/commands.h"

/* Returns the exit status. Sets program_invocation_short_name, with which messages begin. */
int program_main(const struct program *, int argc, char **argv);

#endif
