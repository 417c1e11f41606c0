/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOCUS_VERSION_H
#define LOCUS_VERSION_H

#include "commands/command.h"

/* `locus version`. See struct command. */
int version_command(const struct program *, int argc, char **argv);

#endif
