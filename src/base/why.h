/* SPDX-License-Identifier: Apache-2.0 */
/* Errors with a reason in words, for functions that have a `const char **why`. */
#ifndef LOCUS_WHY_H
#define LOCUS_WHY_H

/*
 * *why becomes the sentence, valid until the thread's next explain(); errno becomes ENODEV: what
 * was asked for is not to be had on this machine.
 */
void explain(const char **why, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same, and -1. A macro, so that static analysis sees that the caller fails. */
#define say(why, ...) (explain(why, __VA_ARGS__), -1)

/* say() of a word that means nothing on any machine: errno becomes EINVAL. Returns `failed`. */
int misunderstood(int failed);

#endif
