/* SPDX-License-Identifier: Apache-2.0 */
/* The list of values that people write for a parameter. */
#ifndef LOCUS_VALUES_H
#define LOCUS_VALUES_H

#include "benchmark.h"

struct values {
	unsigned n;
	union value *value; /* text values are owned by this structure */
};

/*
 * Reads a list, a range or words (benchmark.h says which) for a parameter; "auto" and "all" ask the
 * machine. P_LAYOUT and P_PATH values stay the words that were given: what a layout is depends on
 * the number of threads. Returns 0; or EXIT_COMMAND_LINE (not understood) or EXIT_IMPOSSIBLE (this
 * machine lacks it), with a sentence in `why` that names neither option nor program.
 */
int values_parse(const struct parameter *, const char *text, const struct machine *, enum profile,
		 struct values *, char *why, size_t size);
void values_free(const struct parameter *, struct values *);

#endif
