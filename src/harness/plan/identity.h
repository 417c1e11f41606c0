/* SPDX-License-Identifier: Apache-2.0 */
/* The identity of a trial: a canonical text of all that changes what is measured. */
#ifndef LOCUS_IDENTITY_H
#define LOCUS_IDENTITY_H

#include "benchmark.h"

/*
 * "numa/static kernel=sum ... threads=4 bind=close protocol=0123abcd", to be freed; NULL: no
 * memory. The profile is no part of it, nor is an output parameter.
 */
char *identity_text(const struct trial *, const char *bind);
/* Of any text, the same on every machine: FNV-1a, 64 bits (Fowler, Noll and Vo). */
uint64_t identity_hash(const char *text);

#endif
