/* SPDX-License-Identifier: Apache-2.0 */
/* The identity of a trial: a canonical text of all that changes what is measured. */
#ifndef LOCUS_IDENTITY_H
#define LOCUS_IDENTITY_H

#include <jansson.h>

#include "benchmark.h"

/*
 * "numa/static kernel=sum ... threads=4 bind=close protocol=0123abcd", to be freed; NULL with why:
 * no memory, or a file that can't be read. The profile is no part of it, nor is an output
 * parameter. Of an input it has the hash of its contents, "points=fnv1a64:0123456789abcdef", which
 * `contents` keeps by path: each is read once.
 */
char *identity_text(const struct trial *, const char *bind, json_t *contents, const char **why);

#endif
