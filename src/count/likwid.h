/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LIKWID's library, loaded at run time. Its calls are the calling thread's: of which thread, and in
 * which order, says markers.c.
 */
#ifndef LOCUS_LIKWID_H
#define LOCUS_LIKWID_H

#include <stdbool.h>

struct likwid {
	void *handle; /* of dlopen() */
	char *file;   /* "liblikwid.so.5.2" */
	void (*init)(void), (*thread_init)(void), (*next_group)(void), (*close)(void);
	void (*finalize)(void);
	int (*register_region)(const char *), (*start)(const char *), (*stop)(const char *),
		(*reset)(const char *);
	void (*get)(const char *, int *events, double *counts, double *seconds, int *calls);
};

/*
 * The file of LIKWID's library, were it asked for: "liblikwid.so.5.2". NULL with *why: there is
 * none. Both are the caller's to free.
 */
char *likwid_available(char **why);

/* False with *why, the caller's to free: it is not to be had, and what to do about it. */
bool likwid_load(struct likwid *, char **why);
/* Only where nothing of it was called: it has things to do when the program ends. */
void likwid_unload(struct likwid *);
/* What is known of it; the library stays. */
void likwid_forget(struct likwid *);

/* Let it open its counters, and know the calling thread, which keeps its CPUs. */
void likwid_init(const struct likwid *);
void likwid_init_thread(const struct likwid *);

/* Whether what a region counts is kept apart by group. */
bool likwid_keeps_groups(const struct likwid *);

/* What a region counted on the calling thread's CPU so far: the most that any event has. */
enum likwid_seen { LIKWID_NOT_ENTERED, LIKWID_UNREAD, LIKWID_ZERO, LIKWID_COUNTED };
enum likwid_seen likwid_see(const struct likwid *, const char *region);

#endif
