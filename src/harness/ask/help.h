/* SPDX-License-Identifier: Apache-2.0 */
/* What --help says of a benchmark and of its parameters. Texts are to be freed; NULL: no memory. */
#ifndef LOCUS_HELP_H
#define LOCUS_HELP_H

#include "benchmark.h"

/* "words per ...: sum,triad (quick: sum; standard: sum,triad)" */
char *help_parameter(const struct parameter *);
/* The placeholder of its value: "SIZES". A constant. */
const char *help_argument(const struct parameter *);
/* argp's doc: text above the options, a vertical tab, text below them. NULL: the suite. */
char *help_text(const struct benchmark *);

#endif
