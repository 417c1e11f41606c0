/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The argument of one option, read or refused: 0, or EINVAL after a message in the name of the
 * program ("locus numa").
 */
#ifndef LOCUS_ARGUMENT_H
#define LOCUS_ARGUMENT_H

#include <stdint.h>

#include "benchmark.h"
#include "harness/ask/options.h"

int argument_profile(const char *program, const char *text, enum profile *);
int argument_format(const char *program, const char *text, enum format *);
/* s, more than zero */
int argument_seconds(const char *program, const char *option, const char *text, double *s);
int argument_count(const char *program, const char *option, const char *text, uint64_t least,
		   uint64_t most, uint64_t *n);
/* Only the form of the list: whether an event exists, the machine is asked later. */
int argument_events(const char *program, const char *list);

/* Says why and returns EINVAL, which ends argp_parse() and not the program: the caller cleans up. */
int argument_refuse(const char *program, const char *option, const char *why);

#endif
