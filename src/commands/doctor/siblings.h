/* SPDX-License-Identifier: Apache-2.0 */
/* CPUs of one core that the topology takes for two: a host may put two virtual CPUs onto one. */
#ifndef LOCUS_DOCTOR_SIBLINGS_H
#define LOCUS_DOCTOR_SIBLINGS_H

#include "commands/doctor/finding.h"

void check_siblings(const struct patient *, struct finding *);

/*
 * s that a line takes from one CPU to the other, the least of many tries in this many seconds; 0:
 * the two never met.
 */
double siblings_exchange(int cpu, int other, double seconds);

/* Below this (s) two CPUs share a core: between cores a line takes several times as long. */
#define SIBLINGS_BELOW 10e-9

struct siblings {
	int cpu[2];
	double took; /* siblings_exchange() */
};
/* What the pairs that were looked at say. */
void siblings_tell(const struct siblings *, unsigned pairs, struct finding *);

#endif
