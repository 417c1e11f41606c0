/* SPDX-License-Identifier: Apache-2.0 */
/* All providers, in the order in which they are asked for a name, with their libraries. */
#ifndef LOCUS_PROVIDERS_H
#define LOCUS_PROVIDERS_H

#include "count/provider.h"

/*
 * perf's software events come before PAPI, which counts in user space only, where for instance
 * perf::CONTEXT-SWITCHES reads 0.
 */
enum { PROVIDER_KERNEL, PROVIDER_SOFTWARE, PROVIDER_PAPI, PROVIDER_HARDWARE, PROVIDERS };
extern const struct provider *const provider_table[PROVIDERS];

/* The state of all providers for one list of events; initialised as { .multiplex = ... }. */
struct providers {
	bool multiplex;
	struct {
		bool asked; /* open() was called */
		void *library;
		struct reason why; /* why open() failed */
	} of[PROVIDERS];
};

/* Whether the provider is usable; loads its library on the first call. */
bool providers_reach(struct providers *, unsigned provider);
void providers_close(struct providers *);

/* Calls each(argument, name) for all names of the providers that are loaded. */
void providers_names(const struct providers *, void (*each)(void *, const char *), void *argument);

#endif
