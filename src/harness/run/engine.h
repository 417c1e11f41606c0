/* SPDX-License-Identifier: Apache-2.0 */
/* Everything between the command line and the exit status. */
#ifndef LOCUS_ENGINE_H
#define LOCUS_ENGINE_H

#include "harness/ask/options.h"

/*
 * Plans and measures options->benchmark, or if that is NULL all benchmarks of `table`. Prints the
 * results, writes the record, and returns the exit status. With ranks, this process is one of
 * several that measure together: rank 0 prints and writes for all of them, and all return the same
 * status.
 */
int engine_run(const struct options *, const struct benchmark *const *table, const struct ranks *);

#endif
