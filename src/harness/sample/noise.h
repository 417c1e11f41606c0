/* SPDX-License-Identifier: Apache-2.0 */
/* Evidence of what disturbed samples: the kernel's own counts, read before and after each. */
#ifndef LOCUS_NOISE_H
#define LOCUS_NOISE_H

#include <stdbool.h>
#include <stdint.h>

#include "machine/threads/team.h"
#include "machine/usage.h"

struct ranks;

/* Sums over timed samples and workers. */
struct noise {
	double wall, off_cpu, delay, steal, foreign; /* s; NAN: unknown */
	/*
	 * s: CPU time on the CPUs beside (beside.h), of others and of this process; while they were
	 * watched. NAN: unknown
	 */
	double beside, watched;
	uint64_t involuntary, voluntary, minor_faults, major_faults, migrations;
};

/* The events that the kernel always counts, by their names and units in the record. */
enum { NOISE_COUNTERS = 6 };
extern const struct noise_counter {
	const char *name, *unit;
	double (*total)(const struct noise *); /* NAN: unknown */
} noise_counters[NOISE_COUNTERS];

/* The CPU of a worker that is free to move: switches and migrations do not disturb it. */
#define ANY_CPU (-1)
/* Adds the evidence of a worker on this CPU in a sample; true if the sample was disturbed. */
bool noise_witness(struct noise *, const struct attendance *, int cpu);

/*
 * Time that others had during a batch: on our CPUs the host (`steal`) and processes
 * (`foreign`); on the CPUs beside.
 */
struct neighbours {
	struct cpu_time_set of[2]; /* our CPUs; those beside */
	double own, at;		   /* s: CPU time of this process; when it was read */
	bool known;
};
void neighbours_begin(struct neighbours *, struct cpu_time_set ours, struct cpu_time_set beside);
/* True if those beside rested. */
bool neighbours_end(const struct neighbours *, struct noise *);
/* They had no CPU time (s), in a wall time that is long enough to tell. */
bool neighbours_rested(double cpu, double wall);

/* Sums over all ranks; a sum of which one rank does not know its part is unknown. */
void noise_sum(const struct ranks *, struct noise *);

#endif
