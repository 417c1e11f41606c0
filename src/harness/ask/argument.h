/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Read the argument of one option. Return 0, or EINVAL after a message that begins with the name of
 * the program ("locus numa").
 */
#ifndef LOCUS_ARGUMENT_H
#define LOCUS_ARGUMENT_H

#include <stdint.h>

/* Finds one of n names, and its number; `expected` lists them for the message. */
int argument_name(const char *program, const char *option, const char *text,
		  const char *const *names, unsigned n, const char *expected, unsigned *number);
/* s, more than zero */
int argument_seconds(const char *program, const char *option, const char *text, double *s);
int argument_count(const char *program, const char *option, const char *text, uint64_t least,
		   uint64_t most, uint64_t *n);
/* Checks only the form of the list; whether the events exist is found out later. */
int argument_events(const char *program, const char *list);
/* Checks KEY=VALUE: none of the n tags so far has this key, and n is less than `most`. */
int argument_tag(const char *program, const char *text, const char *const *tags, unsigned n,
		 unsigned most);

/* Says why, and returns EINVAL, which ends argp_parse() but not the program: callers clean up. */
int argument_refuse(const char *program, const char *option, const char *why);

#endif
