/* SPDX-License-Identifier: Apache-2.0 */
/* Where the threads of a trial sit: by its layout, by --bind, or as bound from outside. */
#ifndef LOCUS_SEAT_H
#define LOCUS_SEAT_H

#include "harness/plan/request.h"

struct seats {
	/*
	 * "inherited", "close", "spread", "float" or the list; with a layout, "layout" stands for
	 * close.
	 */
	const char *bind;
	struct place *place; /* by thread; to be freed */
	int *cpu;	     /* the CPUs they sit on, or float over, each once; to be freed */
	unsigned cpus;
	bool oversubscribed; /* more threads than CPUs */
	char *refusal;	     /* why they can't sit here; NULL: they can. To be freed */
};

/*
 * layout: threads on each node, "8+8"; NULL: the trial has none. If the machine can't seat them,
 * `refusal` says why. Returns 0, or EXIT_BAD: no memory. In both cases the members that are not
 * NULL are to be freed.
 */
int seat_threads(struct seats *, const struct request *, unsigned threads, const char *layout);

/* The value of --bind for so many threads: as given, or its default. */
const char *plan_bind(const struct options *, const struct affinity *, unsigned threads);

#endif
