/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Evidence beside the samples: disturbances, by the kernel's counts before and after each sample;
 * the places of pages; work on neighbouring CPUs; and failures.
 */
#ifndef LOCUS_EVIDENCE_H
#define LOCUS_EVIDENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/sample/neighbours.h"
#include "machine/memory/placement.h"
#include "machine/threads/team.h"
#include "machine/usage.h"

struct ranks;

/* Sums over timed samples and workers. */
struct noise {
	double wall, off_cpu, delay, steal, foreign; /* s; NAN: unknown */
	/*
	 * s: CPU time of others and of this process on the neighbours' CPUs (neighbours.h); time in
	 * which these were watched. NAN: unknown
	 */
	double beside, watched;
	uint64_t involuntary, voluntary, minor_faults, major_faults, migrations;
	/*
	 * Samples of workers whose cores were watched; in which they were crowded; and the sum of
	 * their widths in these, relative to the widest.
	 */
	uint64_t seats, crowded;
	double narrow;
};

/* The places of pages in the allocation with the most misplaced pages. */
struct placements {
	struct placement now; /* the current allocation's, before its samples; pages 0: none */
	struct placement before, after; /* the samples of that allocation */
	bool known;			/* before and after are known */
};

struct evidence {
	struct noise noise;
	struct neighbours neighbours;
	struct placements placements;
	char *failure, *impossible, *wrong; /* what went wrong; NULL */
	char *moved; /* why pages were misplaced; NULL: unknown, or none was misplaced */
};

/* Sums noise and placements over all ranks. */
void evidence_gather(struct evidence *, const struct ranks *);
void evidence_close(struct evidence *);

/* --- noise --- */

/* The events that the kernel always counts, by their names and units in the record. */
enum { NOISE_COUNTERS = 6 };
extern const struct noise_counter {
	const char *name, *unit;
	double (*total)(const struct noise *); /* NAN: unknown */
} noise_counters[NOISE_COUNTERS];

/* The CPU of a worker that may move: switches and migrations do not disturb it. */
#define ANY_CPU (-1)
/*
 * Adds the evidence of a worker on this CPU in a sample, and returns its causes (SAMPLE_...).
 * *widest: the largest width of the CPU's core in this run (clock_width()), which is kept up to
 * date; NULL: the core is not watched. A core is crowded if it had less than NOISE_CROWDED of it
 * before the sample or after it.
 */
#define NOISE_CROWDED 0.87
unsigned noise_witness(struct noise *, const struct attendance *, int cpu, double *widest);

/*
 * Reads the CPU time that others use during a batch: on the trial's CPUs, the host (`steal`) and
 * other processes (`foreign`); on the neighbours' CPUs, any process.
 */
struct others {
	struct cpu_time_set of[2]; /* the trial's CPUs; its neighbours */
	double own, at;		   /* s: CPU time of this process; when it was read */
	bool known;
};
void others_begin(struct others *, struct cpu_time_set ours, struct cpu_time_set beside);
/* True if the neighbours rested. */
bool others_end(const struct others *, struct noise *);
/* Whether no CPU time (s) was used, and the wall time was long enough to tell. */
bool others_rested(double cpu, double wall);

/* --- placements --- */

/*
 * Read back the pages of an allocation, before its samples and after. Meanwhile the main thread is
 * away from the books, and the watchdog may read `before` and `after`: only placements_keep()
 * changes them.
 */
void placements_begin(struct placements *, const struct arena *);
/* False: there is nothing to compare. */
bool placements_end(const struct placements *, const struct arena *, struct placement *after);
/* Takes over the results; `after` is NULL if there is nothing to compare. */
void placements_keep(struct placements *, struct placement *after);

/*
 * Whether more than this share of the pages is misplaced: under memory pressure the kernel may
 * place a page or two elsewhere.
 */
#define PLACEMENTS_MOST_ASTRAY 0.001
bool placement_is_astray(const struct placement *);
bool placements_astray(const struct placements *); /* misplaced before the samples, or after */

#endif
