/* SPDX-License-Identifier: Apache-2.0 */
/* Everything between the command line and the exit status. */
#ifndef LOCUS_ENGINE_H
#define LOCUS_ENGINE_H

#include "harness/ask/options.h"

/*
 * Plans and measures a benchmark, or with options->benchmark NULL every row of the table that is
 * not internal. Prints the table, writes the record; returns the exit status. With ranks it is one
 * of so many processes that measure together: rank 0 prints and writes for all of them, and they
 * end with the same status.
 */
int engine_run(const struct options *, const struct benchmark *const *table, const struct ranks *);

#endif
