/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a trial fits into memory: the kernel does not refuse pages, it kills the process. */
#ifndef LOCUS_FIT_H
#define LOCUS_FIT_H

#include "harness/plan/request.h"

/* Bytes of the largest trial that fits on every rank; 0: no limit. */
size_t fit_most(const struct setting *);

/*
 * Why a trial that maps so many bytes is impossible: the memory is too small, or a node that was
 * asked for has none that we may use. To be freed; NULL: it is possible.
 */
char *fit_refusal(const struct setting *, const struct trial *, size_t bytes);

#endif
