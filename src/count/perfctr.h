/* SPDX-License-Identifier: Apache-2.0 */
/* What likwid-perfctr -m passes to the program that it starts, in environment variables. */
#ifndef LOCUS_PERFCTR_H
#define LOCUS_PERFCTR_H

#include <hwloc.h>
#include <stdbool.h>

struct perfctr {
	/* how LIKWID reads counters: "direct", "accessdaemon", "perf_event", or its number */
	char *mode;
	char **group; /* "MEM"; at least one; several take turns */
	unsigned groups;
	/* some group may have core counters, not only those of the socket */
	bool core;
	char *cpus;	   /* LIKWID_THREADS, the CPUs it counts on: "0,1" */
	int *cpu;	   /* the same, without duplicates */
	unsigned listed;   /* length of cpu */
	hwloc_bitmap_t on; /* the same as a set */
	char *text;	   /* storage of the groups' names */
};

/* Whether likwid-perfctr -m has started us. */
bool perfctr_asked(void);
/* The first variable of likwid-perfctr that is missing; NULL: none. */
const char *perfctr_missing(void);

/*
 * Reads the variables, of which none may be missing; `one`: only the first group. False: ENOMEM. To
 * be freed in either case.
 */
bool perfctr_read(struct perfctr *, bool one);
void perfctr_free(struct perfctr *);

#endif
