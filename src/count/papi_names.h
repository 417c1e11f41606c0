/* SPDX-License-Identifier: Apache-2.0 */
/* The events of PAPI by name, in which units they are, and to which package they belong. */
#ifndef LOCUS_PAPI_NAMES_H
#define LOCUS_PAPI_NAMES_H

#include "count/papi_library.h"
#include "count/provider.h"

#ifdef HAVE_PAPI

/* As provider.h says of find() and names(); the library is a struct papi. */
bool papi_find(void *library, struct wanted *, struct reason *);
void papi_names(void *library, void (*each)(void *, const char *), void *argument);

#endif

/*
 * Loads PAPI: its version, and how many of its presets can be counted here. 0: why none; the
 * version is "" where there is no library.
 */
unsigned papi_presets(char version[32], struct reason *);

#endif
