/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regions for likwid-perfctr -m. LIKWID's library is loaded at run time, and only under
 * likwid-perfctr (LIKWID_MODE is set). markers.c explains the order of calls that LIKWID needs.
 */
#ifndef LOCUS_MARKERS_H
#define LOCUS_MARKERS_H

#include <stdbool.h>
#include <stdint.h>

struct markers;
struct team;

/*
 * Loads the library and opens its counters. To be called before any thread is created, except by
 * MPI: LIKWID counts the main thread and, by inheritance, threads created from now on. NULL with
 * *why NULL: not asked for. NULL with *why: why LIKWID can't be used, and what to do about it, in
 * one line; the caller frees it. The calling thread keeps its CPUs.
 */
struct markers *markers_open(char **why);
/*
 * Registers the regions on all CPUs that LIKWID counts, on each from a thread pinned to it. To be
 * called once, after affinity_inherit(), with at least one region. False with *why as above: then
 * only markers_close() may follow.
 */
bool markers_register(struct markers *, const char *const *regions, unsigned n, char **why);
/* Writes LIKWID's file, where there are regions. NULL is fine. */
void markers_close(struct markers *);

/*
 * Enter or leave a region on the CPUs of all seated workers; regions do not nest. Each entry
 * switches to LIKWID's next group, so that groups share a region's time evenly. To be called from
 * the main thread, while the team waits.
 */
void markers_begin(struct markers *, struct team *, unsigned region);
void markers_end(struct markers *, struct team *, unsigned region);

/* The region's name as LIKWID writes it: letters, digits and "_", at most 80. */
const char *markers_name(const struct markers *, unsigned region);
unsigned markers_regions(const struct markers *);
uint64_t markers_calls(const struct markers *, unsigned region);
double markers_seconds(const struct markers *, unsigned region); /* s inside, per worker */
/*
 * False if the region was left on this CPU at least once, the groups include core counters, and
 * yet all its counts there are zero or could not be read.
 */
bool markers_counted(const struct markers *, unsigned region, int cpu);

/* Whether LIKWID counts on this CPU; regions are not entered on others. */
bool markers_cover(const struct markers *, int cpu);
const char *markers_cpus(const struct markers *);    /* the CPUs that LIKWID counts on: "0,1" */
const char *markers_library(const struct markers *); /* "liblikwid.so.5.2" */
/* its access to the counters: "direct", "accessdaemon", "perf_event", or its number */
const char *markers_mode(const struct markers *);
unsigned markers_groups(const struct markers *);	     /* at least 1; they take turns */
const char *markers_group(const struct markers *, unsigned); /* "MEM" */

#endif
