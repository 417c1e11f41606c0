/* SPDX-License-Identifier: Apache-2.0 */
/* Whether likwid-perfctr can count regions here. */
#ifndef LOCUS_DOCTOR_LIKWID_H
#define LOCUS_DOCTOR_LIKWID_H

#include <stdbool.h>

#include "commands/doctor/finding.h"

void check_likwid(const struct patient *, struct finding *);

/* What is known of LIKWID before its files are looked at. */
struct likwid_found {
	const char *library; /* its file; NULL: there is none */
	const char *why;     /* there is none */
	/*
	 * It counts by registers of the processor, through /dev/cpu, as on x86; else by
	 * perf_event_open.
	 */
	bool registers;
};
/* What check_likwid() finds, for any processor; files are looked for under root. */
void judge_likwid(const struct likwid_found *, const char *root, struct finding *);

#endif
