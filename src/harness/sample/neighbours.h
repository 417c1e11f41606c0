/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Neighbours of a trial: CPUs that share resources with it. These are the CPUs of its cores; if its
 * lines do not fit into L2, the CPUs of the L3; if they do not fit into L3 either, the CPUs
 * of the memory's nodes. Work there slows the trial down, although it takes no CPU time from it.
 */
#ifndef LOCUS_NEIGHBOURS_H
#define LOCUS_NEIGHBOURS_H

#include <stdbool.h>
#include <stddef.h>

struct planned;
struct trial;

/* The level at which the trial's lines lie, and so what it shares with neighbours. */
enum neighbours_level { NEIGHBOURS_CORE, NEIGHBOURS_L3, NEIGHBOURS_MEMORY };

/*
 * The largest L3 that a CPU is assumed to have, in bytes. Few processors have more, but a guest
 * sees the whole L3 of its host, most of which other guests fill.
 */
#define NEIGHBOURS_L3_CPU ((size_t)16 << 20)

/* s per line at this moment; 0: unknown */
struct neighbours_look {
	double line;   /* time of a line at the trial's level */
	double memory; /* time of L3's lines after a flush */
};

/* What a CPU can do while neighbours rest; 0: not seen in this run yet. */
struct undisturbed {
	double line;  /* s per line of memory */
	double width; /* clock_width() of its core */
};

struct neighbours {
	int *cpu; /* CPUs that share it, except the trial's own, ascending; NULL: none is watched */
	unsigned cpus;
	enum neighbours_level level; /* beyond the core, a probe reads it after each batch */
	void *lines;		     /* the probe's lines (probe.h); NULL: none yet, or none here */
	double spent;		     /* s spent on probes */
	struct undisturbed *undisturbed; /* by CPU of the machine; NULL: not kept */
	bool apart;			 /* each thread has a core of its own, as far as is known */
};

/*
 * Neighbours are not watched for ranks, whose neighbours are other ranks, nor for threads that
 * float, whose CPUs are unknown. 0, or -1: no memory.
 */
int neighbours_open(struct neighbours *, const struct planned *);
void neighbours_close(struct neighbours *);

/* What the CPU of a worker can do undisturbed; NULL: nowhere kept. */
struct undisturbed *neighbours_undisturbed(const struct neighbours *, const struct trial *,
					   unsigned worker);

/* Worker 0 calls these before a batch, and after it. A look is 0 if nothing can be probed. */
void neighbours_ready(struct neighbours *);
struct neighbours_look neighbours_look(struct neighbours *);

#endif
