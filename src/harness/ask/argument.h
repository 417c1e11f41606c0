/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The argument of one option, read or refused: 0, or EINVAL after a message in the name of the
 * program ("locus numa").
 */
#ifndef LOCUS_ARGUMENT_H
#define LOCUS_ARGUMENT_H

#include <stdint.h>

/* One of n names, which `expected` lists for people: its number. */
int argument_name(const char *program, const char *option, const char *text,
		  const char *const *names, unsigned n, const char *expected, unsigned *number);
/* s, more than zero */
int argument_seconds(const char *program, const char *option, const char *text, double *s);
int argument_count(const char *program, const char *option, const char *text, uint64_t least,
		   uint64_t most, uint64_t *n);
/* Only the form of the list: whether an event exists, the machine is asked later. */
int argument_events(const char *program, const char *list);
/* KEY=VALUE, with a key that none of the n tags so far has; at most so many. */
int argument_tag(const char *program, const char *text, const char *const *tags, unsigned n,
		 unsigned most);

/* Ends argp_parse(), and not the program: the caller may have something to clean up. */
int argument_refuse(const char *program, const char *option, const char *why);

#endif
