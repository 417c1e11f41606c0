/* SPDX-License-Identifier: Apache-2.0 */
/* How many parameters and variants a benchmark has, and which of them go together. */
#ifndef LOCUS_PARAMETERS_H
#define LOCUS_PARAMETERS_H

#include "benchmark.h"

enum { MOST_PARAMETERS = 32 };

unsigned parameter_count(const struct benchmark *);
unsigned variant_count(const struct benchmark *);
/* Whether the variant uses this parameter, and users can set it. */
bool parameter_applies(const struct benchmark *, const struct variant *, unsigned parameter);

#endif
