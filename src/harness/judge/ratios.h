/* SPDX-License-Identifier: Apache-2.0 */
/* How a trial compares with the others of its group, which were sampled in turn. */
#ifndef LOCUS_RATIOS_H
#define LOCUS_RATIOS_H

#include <jansson.h>

#include "harness/judge/verdict.h"
#include "harness/sample/series.h"

/* What differs between the two trials: a parameter, "variant" or "threads". */
const char *ratios_parameter(const struct ratio *, const struct benchmark *);
/*
 * `ratios` of the trial line: those of the series to the others of its group. Where two found
 * different answers there is none, and a note says so.
 */
json_t *ratios_json(const struct series *, const struct series *group, unsigned n,
		    struct verdict *);

#endif
