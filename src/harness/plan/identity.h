/* SPDX-License-Identifier: Apache-2.0 */
/* The identity of a trial: a canonical text of all that changes what is measured. */
#ifndef LOCUS_IDENTITY_H
#define LOCUS_IDENTITY_H

#include <jansson.h>

#include "benchmark.h"

/*
 * "numa/static kernel=sum ... threads=4 bind=close protocol=1", to be freed; NULL with why: no
 * memory, or a file that can't be read. It contains neither the profile nor output parameters. An
 * input file is represented by the hash of its contents, "points=fnv1a64:0123456789abcdef", which
 * `contents` keeps by path, so that each file is read once.
 */
char *identity_text(const struct trial *, const char *bind, json_t *contents, const char **why);

#endif
