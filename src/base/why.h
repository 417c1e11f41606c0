/* SPDX-License-Identifier: Apache-2.0 */
/* Errors with a reason as a sentence, for functions that take a `const char **why`. */
#ifndef LOCUS_WHY_H
#define LOCUS_WHY_H

/*
 * Sets *why to the sentence, in one line, valid until the thread's next why_set(), and errno to
 * ENODEV: what was asked for is not there. Control characters, such as in a file's name, become
 * '?'.
 */
void why_set(const char **why, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* why_set() as an expression of the value -1. A macro, so that static analysis sees the failure. */
#define why_fail(why, ...) (why_set(why, __VA_ARGS__), -1)

/*
 * To be called after why_fail(): changes errno to EINVAL, for a word that is wrong on every
 * machine. Returns `failed`.
 */
int why_misunderstood(int failed);

/*
 * Prepares a text from a file to be quoted in a sentence: cuts it to 32 characters, and replaces
 * all but printable ASCII by '?'. Returns it.
 */
char *why_quotable(char *text);

#endif
