/* SPDX-License-Identifier: Apache-2.0 */
/* What a profile sets; what it leaves out is as in the profile before it. */
#ifndef LOCUS_PROFILE_H
#define LOCUS_PROFILE_H

#include "benchmark.h"

extern const char *const profile_names[PROFILES];

const char *profile_value(const char *const value[PROFILES], enum profile);
struct preset profile_preset(const struct benchmark *, enum profile);

/* The default of a parameter, or P_THREADS, that a variant overrides; NULL: it does not. */
const char *profile_override(const struct variant *, unsigned parameter, enum profile);

#endif
