/* SPDX-License-Identifier: Apache-2.0 */
/* --help of a benchmark and of the suite. */
#ifndef LOCUS_HELP_H
#define LOCUS_HELP_H

#include <stdio.h>

#include "benchmark.h"

/*
 * An option; a row without a name ends a table. argument: NULL if there is none. values: words that
 * the argument may be, beside those that a benchmark defines: "close,spread"; ":files": names of
 * files; NULL: none.
 */
struct option_row {
	const char *name, *argument, *help;
	int key;
	const char *values;
};

/* The placeholder of an option's value: "SIZES". A constant. */
const char *help_argument(const struct parameter *);
/* A line for each choice whose meaning the table has, from that column on. */
void help_meanings(const struct parameter *, int column, FILE *);
/*
 * Prints --help, with the options of every benchmark. The program is "locus numa"; without a
 * benchmark it is the suite.
 */
void help_options(const char *program, const struct benchmark *, const struct option_row *common,
		  FILE *);

#endif
