/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regions for likwid-perfctr -m. Its library is loaded at run time, and only where likwid-perfctr wraps us (LIKWID_MODE is set): else nothing is
 * loaded, and nothing printed. What is done in which order follows from LIKWID's source (5.2), and stands beside it in markers.c.
 */
#ifndef LOCUS_MARKERS_H
#define LOCUS_MARKERS_H

#include <stdbool.h>
#include <stdint.h>

#include "machine/team.h"

struct markers;

/* Whether likwid-perfctr -m has started us. */
bool markers_asked(void);
/* The file of LIKWID's library, were it asked for: "liblikwid.so.5.2". NULL with *why: there is none. Both are the caller's to free. */
char *markers_available(char **why);

/*
 * Makes the regions known on all CPUs that LIKWID counts, by all threads of the team, before the first is entered. NULL with *why NULL: nobody asked for
 * them. NULL with *why: they cannot be had, and what to do about it; one line, the caller's to free. Threads are where they were afterwards.
 * Of no regions, nothing is begun, and nothing written.
 */
struct markers *markers_open(struct team *, const char *const *regions, unsigned n, char **why);
/* Writes LIKWID's file. NULL is fine. */
void markers_close(struct markers *);

/*
 * All seated workers enter or leave a region, outside of all others. Each time that it is entered, it is the next of LIKWID's groups that
 * counts, so that several groups share the time of each region.
 */
void markers_begin(struct markers *, struct team *, unsigned region);
void markers_end(struct markers *, struct team *, unsigned region);

/* The region's name as LIKWID writes it: letters, digits and "_", at most 80. */
const char *markers_name(const struct markers *, unsigned region);
unsigned markers_regions(const struct markers *);
uint64_t markers_calls(const struct markers *, unsigned region);
double markers_seconds(const struct markers *, unsigned region); /* s inside, of a worker */

bool markers_cover(const struct markers *, int cpu); /* does LIKWID count there? On other CPUs regions are not entered. */
const char *markers_cpus(const struct markers *);    /* the CPUs where it does: "0,1" */
const char *markers_library(const struct markers *); /* "liblikwid.so.5.2" */
const char *markers_mode(const struct markers *);    /* how it reads counters: "direct", "accessdaemon", "perf_event", or its number */
unsigned markers_groups(const struct markers *);     /* those that take turns, one at least */
const char *markers_group(const struct markers *, unsigned); /* "MEM" */

#endif
