/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `locus doctor`: what on this machine disturbs measuring, why that matters, and the command that
 * mends it. It looks and tries, needs no root, changes nothing, and takes about a second.
 *
 *	[ok]  as it should be, or for information
 *	[!!]  a problem: it spoils measurements
 *	[--]  missing: something can't be measured here, or not verified
 *	[??]  unknown
 */
#ifndef LOCUS_DOCTOR_H
#define LOCUS_DOCTOR_H

#include <stdbool.h>
#include <stdio.h>

struct machine;

/* The data that checks examine. */
struct patient {
	const char *root; /* where /proc and /sys are read (sysfs.h) */
	const struct machine *machine;
};

enum finding_state {
	FINDING_GOOD,	 /* as it should be, or for information */
	FINDING_WRONG,	 /* spoils measurements */
	FINDING_MISSING, /* something can't be measured here, or not verified */
	FINDING_UNKNOWN, /* could not be determined */
	FINDING_STATES
};

/* The result of a check. */
struct finding {
	enum finding_state state;
	char found[256];
	char remedy[512]; /* a command that depends on the finding; "": the check's own */
};

void finding_set(struct finding *, enum finding_state, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The first appends to the finding's text, the second to its remedy. */
void finding_add(struct finding *, const char *format, ...) __attribute__((format(printf, 2, 3)));
void finding_mend(struct finding *, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Examines this machine. Returns an exit status: 0, or 1 if something spoils measurements (a [!!])
 * or the stream cannot be written.
 */
int doctor(const struct machine *, FILE *);
/* Examines a copy of /proc and /sys (sysfs.h); checks that try something are unknown there. */
int doctor_at(const char *root, const struct machine *, FILE *);
/* Prints one of the checks. Returns what it found (enum finding_state); -1: there are fewer. */
int doctor_row(unsigned row, const char *root, const struct machine *, FILE *);

/* ---- the checks ---- */

/* Causes of varying times: the CPUs' frequency, the clock, a host that shares its CPUs. */
void check_governor(const struct patient *, struct finding *);
void check_turbo(const struct patient *, struct finding *);
void check_clock_source(const struct patient *, struct finding *);
void check_virtual(const struct patient *, struct finding *);

/* The CPUs that this process may use, and what else runs on them. */
void check_load(const struct patient *, struct finding *);
void check_cpus(const struct patient *, struct finding *);
void check_quota(const struct patient *, struct finding *);
void check_smt(const struct patient *, struct finding *);
void check_isolated(const struct patient *, struct finding *);
void check_mitigations(const struct patient *, struct finding *);

/*
 * CPUs of one core that the topology shows as two cores: a host may put two virtual CPUs onto one.
 */
void check_siblings(const struct patient *, struct finding *);
/*
 * Measures how long a line takes between the two CPUs: s, the least of many tries in this many
 * seconds; 0: the two never met.
 */
double siblings_exchange(int cpu, int other, double seconds);

/* Below this (s) two CPUs share a core: between cores a line takes several times as long. */
#define SIBLINGS_BELOW 10e-9

struct siblings {
	int cpu[2];
	double took; /* siblings_exchange() */
};
/* Reports the pairs that were measured. */
void siblings_report(const struct siblings *, unsigned pairs, struct finding *);

/*
 * Other hardware threads that work on this core, such as another guest's: looks at the core's width
 * (clock_width()) for 0.1 s.
 */
void check_crowd(const struct patient *, struct finding *);
/* Reports the widths that were seen; below this share of crowded looks the core is not shared. */
#define CROWD_SHARE 0.1
void crowd_report(const double *width, unsigned looks, struct finding *);

/* The memory that this process may use: nodes, amount, page migration, page sizes. */
void check_nodes(const struct patient *, struct finding *);
void check_policy(const struct patient *, struct finding *);
void check_memory(const struct patient *, struct finding *);
void check_memory_limit(const struct patient *, struct finding *);
void check_balancing(const struct patient *, struct finding *);
void check_swap(const struct patient *, struct finding *);
void check_move_pages(const struct patient *, struct finding *);
void check_memlock(const struct patient *, struct finding *);
void check_thp(const struct patient *, struct finding *);
void check_huge_pages(const struct patient *, struct finding *);

/* Counters: which events can be counted. */
void check_schedstat(const struct patient *, struct finding *);
void check_paranoid(const struct patient *, struct finding *);
void check_watchdog(const struct patient *, struct finding *);
void check_pmu(const struct patient *, struct finding *);
void check_software(const struct patient *, struct finding *);
void check_papi(const struct patient *, struct finding *);
void check_likwid(const struct patient *, struct finding *);
/* Facts on LIKWID that need no look at its files. */
struct likwid_found {
	const char *library; /* the library's file, or NULL */
	const char *why;     /* why there is no library */
	/*
	 * It counts by registers of the processor, through /dev/cpu, as on x86; otherwise by
	 * perf_event_open.
	 */
	bool registers;
};
/* The result of check_likwid(), for any processor; looks for files under root. */
void judge_likwid(const struct likwid_found *, const char *root, struct finding *);

/* Whether there is a Python that locus report can run with. */
void check_python(const struct patient *, struct finding *);

#endif
