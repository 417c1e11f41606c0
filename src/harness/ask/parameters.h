/* SPDX-License-Identifier: Apache-2.0 */
/* Which parameters a variant uses. */
#ifndef LOCUS_PARAMETERS_H
#define LOCUS_PARAMETERS_H

#include "benchmark.h"

enum { MOST_PARAMETERS = 32 };

/* Whether the variant uses this parameter, and users can set it. */
bool parameter_applies(const struct benchmark *, const struct variant *, unsigned parameter);

#endif
