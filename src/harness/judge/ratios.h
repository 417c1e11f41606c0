/* SPDX-License-Identifier: Apache-2.0 */
/* How a trial compares with those that it was sampled in turn with. */
#ifndef LOCUS_RATIOS_H
#define LOCUS_RATIOS_H

#include <jansson.h>

#include "harness/sample/series.h"

/* `ratios` of the trial line: those of the series to the others of its group. */
json_t *ratios_json(const struct series *, const struct series *group, unsigned n);

#endif
