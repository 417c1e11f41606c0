/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel did to us while we measured: the evidence of noise. */
#ifndef LOCUS_USAGE_H
#define LOCUS_USAGE_H

#include <stdint.h>

/* Of the calling thread, running totals. */
struct usage {
	double wall, cpu; /* s: clock_now(), CPU time */
	/*
	 * s spent runnable, but not running; NAN where the kernel keeps no schedstat, or it can't
	 * be opened
	 */
	double delay;
	uint64_t involuntary, voluntary; /* context switches */
	uint64_t minor_faults, major_faults;
	int on_cpu; /* where it runs now */
};

void usage_read(struct usage *);
/*
 * Of the calling thread's last reading: the error for which schedstat is not open, EMFILE or ENFILE
 * until the next tries again; 0: it is.
 */
int usage_error(void);

/* Time of a set of CPUs as the host counts it, in ticks of 10 ms; host-wide in some containers. */
struct cpu_time {
	double busy, steal, idle; /* s, summed over the CPUs; busy without steal */
};

/* The n CPUs listed, from /proc/stat; -1 where it can't be read. */
int cpu_time_read(const int *cpus, unsigned n, struct cpu_time *);
/* The same from the text of that file, which is cut up; -1 unless each CPU has one line. */
int cpu_time_of(char *text, const int *cpus, unsigned n, struct cpu_time *);

#endif
