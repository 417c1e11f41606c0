/* SPDX-License-Identifier: Apache-2.0 */
/* LIKWID: what likwid-perfctr passes to us, its library, and threads that call it. */
#ifndef LOCUS_LIKWID_H
#define LOCUS_LIKWID_H

#include <hwloc.h>
#include <stdbool.h>

/* Environment variables that likwid-perfctr -m passes to the program that it starts. */
struct perfctr {
	/* how LIKWID reads counters: "direct", "accessdaemon", "perf_event", or its number */
	char *mode;
	char **group; /* "MEM"; at least one; several take turns */
	unsigned groups;
	/* some group may count each core, not only the socket */
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
 * Reads the variables, none of which may be missing; `one`: only the first group. False: ENOMEM. To
 * be freed in either case.
 */
bool perfctr_read(struct perfctr *, bool one);
void perfctr_free(struct perfctr *);

/*
 * LIKWID's library, loaded at run time. Its calls act on the calling thread; markers.c says which
 * thread calls what, and in which order.
 */
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

/* The best state so far of any event of a region on the calling thread's CPU. */
enum likwid_seen { LIKWID_NOT_ENTERED, LIKWID_UNREAD, LIKWID_ZERO, LIKWID_COUNTED };

enum likwid_seen likwid_see(const struct likwid *, const char *region);

/*
 * A pool of threads, one pinned to each of some CPUs, asleep between tasks: for libraries that keep
 * state by thread or CPU, so that the same thread must make all calls for a CPU.
 */
struct cputhreads;

/*
 * Creates the threads, each pinned to its CPU. NULL with errno set; where one could not be pinned,
 * *culprit is its CPU, else -1.
 *
 * To be called after affinity_inherit(), whose header says why.
 */
struct cputhreads *cputhreads_open(const int *cpu, unsigned n, int *culprit);

/* NULL is fine. */
void cputhreads_close(struct cputhreads *);

/*
 * Runs task(argument, i) concurrently in each thread i with wanted[i] (NULL: in all), and returns
 * when all are done.
 */
void cputhreads_run(struct cputhreads *, const bool *wanted,
		    void (*task)(void *argument, unsigned thread), void *argument);

#endif
