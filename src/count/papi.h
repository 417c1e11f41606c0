/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events counted by PAPI's low-level calls: in user space, its default. On each thread a set of
 * events for each of PAPI's components is made, started, read, stopped and destroyed.
 */
#ifndef LOCUS_PAPI_H
#define LOCUS_PAPI_H

#include "count/provider.h"

extern const struct provider papi_provider;

#endif
