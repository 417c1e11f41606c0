/* SPDX-License-Identifier: Apache-2.0 */
/* PAPI's events by name, with their units and packages. */
#ifndef LOCUS_PAPI_NAMES_H
#define LOCUS_PAPI_NAMES_H

#include "count/papi_library.h"
#include "count/provider.h"

#ifdef HAVE_PAPI

/* find() and names() of provider.h; the library is a struct papi. */
bool papi_find(void *library, struct wanted *, struct reason *);
void papi_names(void *library, void (*each)(void *, const char *), void *argument);

#endif

/*
 * Loads PAPI, for its version and the number of presets that can be counted here. 0 with a reason;
 * the version is "" without a library.
 */
unsigned papi_presets(char version[32], struct reason *);

#endif
