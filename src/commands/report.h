/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOCUS_REPORT_H
#define LOCUS_REPORT_H

#include "commands/command.h"

/*
 * `locus report`, `summary`, `levels`, `export` and `validate` (argv[0] is which): replaces this
 * process by the Python program of analysis/ (analysis.h). Returns only when it can't. See struct
 * command.
 */
int report_command(const struct program *, int argc, char **argv);

#endif
