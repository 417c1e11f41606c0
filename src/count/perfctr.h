/* SPDX-License-Identifier: Apache-2.0 */
/* What likwid-perfctr -m tells the program that it starts, by variables of the environment. */
#ifndef LOCUS_PERFCTR_H
#define LOCUS_PERFCTR_H

#include <hwloc.h>
#include <stdbool.h>

struct perfctr {
	/* how LIKWID reads counters: "direct", "accessdaemon", "perf_event", or its number */
	char *mode;
	char **group; /* "MEM": those that count in turn, one at least */
	unsigned groups;
	/* a group may have counters of the cores, not just of the socket */
	bool core;
	char *cpus;	   /* LIKWID_THREADS, where LIKWID counts: "0,1" */
	int *cpu;	   /* the same, each once */
	unsigned listed;   /* of these */
	hwloc_bitmap_t on; /* the same */
	char *text;	   /* where the groups' names are */
};

/* Whether likwid-perfctr -m has started us. */
bool perfctr_asked(void);
/* The first variable that is missing then; NULL: none is. */
const char *perfctr_missing(void);

/*
 * Where no variable is missing; of several groups `one` takes the first. False: ENOMEM. To be freed
 * in either case.
 */
bool perfctr_read(struct perfctr *, bool one);
void perfctr_free(struct perfctr *);

#endif
