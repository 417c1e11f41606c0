/* SPDX-License-Identifier: Apache-2.0 */
/* Evidence of noise: what the kernel did to a thread, or to CPUs, during a measurement. */
#ifndef LOCUS_USAGE_H
#define LOCUS_USAGE_H

#include <stdint.h>

/* Running totals of the calling thread. */
struct usage {
	double wall, cpu; /* s: clock_now(), CPU time */
	/* s spent runnable, but not running; NAN: schedstat is missing, or cannot be opened */
	double delay;
	uint64_t involuntary, voluntary; /* context switches */
	uint64_t minor_faults, major_faults;
	int on_cpu; /* the CPU at the time of the reading */
};

void usage_read(struct usage *);
/*
 * Why schedstat was not open in the calling thread's last reading (EMFILE, ENFILE: the next one
 * tries again); 0: it was.
 */
int usage_error(void);

/* Times of a set of CPUs by the host's /proc/stat, in steps of a tick (10 ms). */
struct cpu_time {
	double busy, steal, idle; /* s, summed over the CPUs; busy excludes steal */
};

/* CPUs whose times are summed; the caller sets the first two fields. */
struct cpu_time_set {
	const int *cpu;
	unsigned cpus;
	unsigned found; /* CPUs with a line */
	struct cpu_time sum;
};

/* Reads the times of n CPUs from /proc/stat; -1: it can't be read, or lacks one of them. */
int cpu_time_read(const int *cpus, unsigned n, struct cpu_time *);
/* Reads the times of two sets at one moment; a set may lack CPUs. -1: can't be read. */
int cpu_time_read_sets(struct cpu_time_set set[2]);
/* Reads them from the text of that file, which is modified. */
void cpu_time_of(char *text, struct cpu_time_set set[2]);

#endif
