/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a trial fits into memory: short of it, the kernel kills instead of refusing. */
#ifndef LOCUS_FIT_H
#define LOCUS_FIT_H

#include "harness/plan/request.h"

/* Bytes of the largest trial that is refused on no rank; 0: no limit. */
size_t fit_most(const struct setting *);

/*
 * Why a trial that maps so many bytes is impossible: the memory is too small, or the node it was
 * asked to lie on has none for us. To be freed; NULL: it is possible.
 */
char *fit_refusal(const struct setting *, const struct trial *, size_t bytes);

#endif
