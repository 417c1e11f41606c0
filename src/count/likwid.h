/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LIKWID's library, loaded at run time. Its calls act on the calling thread; markers.c says which
 * thread calls what, and in which order.
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
 * The file that likwid_load() would load: "liblikwid.so.5.2". NULL with *why: none. The caller
 * frees both.
 */
char *likwid_available(char **why);

/* False with *why, what to do about it included; the caller frees it. */
bool likwid_load(struct likwid *, char **why);
/* Allowed only before any call into the library: LIKWID cleans up when the program exits. */
void likwid_unload(struct likwid *);
/* Frees the fields; the library stays loaded. */
void likwid_forget(struct likwid *);

/* Open the counters; register the calling thread. Both restore the thread's CPUs afterwards. */
void likwid_init(const struct likwid *);
void likwid_init_thread(const struct likwid *);

/* Whether counts of a region are kept separately by group. */
bool likwid_keeps_groups(const struct likwid *);

/* The best state of any event of a region on the calling thread's CPU so far. */
enum likwid_seen { LIKWID_NOT_ENTERED, LIKWID_UNREAD, LIKWID_ZERO, LIKWID_COUNTED };
enum likwid_seen likwid_see(const struct likwid *, const char *region);

#endif
