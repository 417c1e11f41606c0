/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regions for likwid-perfctr -m. LIKWID's library is loaded at run time, and only where
 * likwid-perfctr has started us (LIKWID_MODE is set): else nothing is loaded, and nothing printed.
 * What is done in which order follows from LIKWID's source, and stands in markers.c.
 */
#ifndef LOCUS_MARKERS_H
#define LOCUS_MARKERS_H

#include <stdbool.h>
#include <stdint.h>

struct markers;
struct team;

/*
 * Loads the library and lets it open its counters. Call it while the process has no threads but
 * what MPI made: LIKWID counts the main thread and, by inheritance, threads created from now on.
 * NULL with *why NULL: nobody asked. NULL with *why: LIKWID is not to be had, and what to do about
 * it; one line, the caller's to free. The calling thread keeps its CPUs.
 */
struct markers *markers_open(char **why);
/*
 * Makes the regions known on all CPUs that LIKWID counts, each by a thread of ours there. Call it
 * once, after affinity_inherit(), with one region at least. False with *why as
 * above: then nothing but markers_close() is left to call.
 */
bool markers_register(struct markers *, const char *const *regions, unsigned n, char **why);
/* Writes LIKWID's file, where there are regions. NULL is fine. */
void markers_close(struct markers *);

/*
 * Enters or leaves a region, outside of all others, on the CPUs of all seated workers. Each time
 * that it is entered, it is the next of LIKWID's groups that counts, so that several groups share
 * the time of each region. Call them from the main thread, while the team waits.
 */
void markers_begin(struct markers *, struct team *, unsigned region);
void markers_end(struct markers *, struct team *, unsigned region);

/* The region's name as LIKWID writes it: letters, digits and "_", at most 80. */
const char *markers_name(const struct markers *, unsigned region);
unsigned markers_regions(const struct markers *);
uint64_t markers_calls(const struct markers *, unsigned region);
double markers_seconds(const struct markers *, unsigned region); /* s inside, of a worker */
/*
 * False where the region was left on this CPU, and all that LIKWID counted there in it so far is
 * zero or could not be read, though the groups have counters that belong to a core.
 */
bool markers_counted(const struct markers *, unsigned region, int cpu);

/* does LIKWID count there? On other CPUs regions are not entered. */
bool markers_cover(const struct markers *, int cpu);
const char *markers_cpus(const struct markers *);    /* the CPUs where it does: "0,1" */
const char *markers_library(const struct markers *); /* "liblikwid.so.5.2" */
/* how it reads counters: "direct", "accessdaemon", "perf_event", or its number */
const char *markers_mode(const struct markers *);
unsigned markers_groups(const struct markers *); /* those that take turns, one at least */
const char *markers_group(const struct markers *, unsigned); /* "MEM" */

#endif
