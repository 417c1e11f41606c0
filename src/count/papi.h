/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events counted by PAPI's low-level calls, in user space (PAPI's default). Each thread has an
 * event set for each PAPI component that it counts with.
 */
#ifndef LOCUS_PAPI_H
#define LOCUS_PAPI_H

#include "count/provider.h"

extern const struct provider papi_provider;

#endif
