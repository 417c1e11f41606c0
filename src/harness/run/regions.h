/* SPDX-License-Identifier: Apache-2.0 */
/* LIKWID's regions: one for each trial, if likwid-perfctr -m has started this process. */
#ifndef LOCUS_REGIONS_H
#define LOCUS_REGIONS_H

#include <jansson.h>

#include "harness/plan/plan.h"
#include "count/markers.h"

struct regions {
	struct markers *markers; /* NULL: none, see why_not */
	unsigned regions;
	char *why_not; /* NULL: nobody asked for them */
};

/* To be called before the first parallel region (markers.h says why). */
void regions_open(struct regions *);
/*
 * Registers a region for each trial to be measured. If that is impossible, says why on stderr, and
 * the run goes on without regions. On all ranks.
 */
void regions_register(struct regions *, struct plans *, const struct ranks *);
/* Whether a trial has one. */
bool regions_has(const struct regions *, const struct planned *);
/* After the last trial: says how many regions LIKWID did not count, and lets it write its file. */
void regions_close(struct regions *, const struct plans *, const struct ranks *);
void regions_free(struct regions *);

json_t *regions_json(const struct regions *); /* `markers` of the header */

#endif
