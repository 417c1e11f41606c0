/* SPDX-License-Identifier: Apache-2.0 */
/* All that count, in the order in which they are asked for a name, with their libraries. */
#ifndef LOCUS_PROVIDERS_H
#define LOCUS_PROVIDERS_H

#include "count/provider.h"

/*
 * PAPI counts in user space, where the kernel's events do not happen: perf::CONTEXT-SWITCHES would
 * read 0. So perf's software comes first.
 */
enum { PROVIDER_KERNEL, PROVIDER_SOFTWARE, PROVIDER_PAPI, PROVIDER_HARDWARE, PROVIDERS };
extern const struct provider *const provider_table[PROVIDERS];

/* Of one list of events; begins as { .multiplex = ... }. */
struct providers {
	bool multiplex;
	struct {
		bool asked;
		void *library;
		struct reason why; /* asked, and there is no library */
	} of[PROVIDERS];
};

/* Whether it can be asked; loads its library the first time. */
bool providers_reach(struct providers *, unsigned provider);
void providers_close(struct providers *);

/* Calls each(argument, name) for all names that those know whose library is loaded. */
void providers_names(const struct providers *, void (*each)(void *, const char *), void *argument);

#endif
