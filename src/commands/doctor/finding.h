/* SPDX-License-Identifier: Apache-2.0 */
/* What a check of the doctor looks at, and what it finds. */
#ifndef LOCUS_DOCTOR_FINDING_H
#define LOCUS_DOCTOR_FINDING_H

struct machine;

struct patient {
	const char *root; /* of /proc and /sys (sysfs.h) */
	const struct machine *machine;
};

enum finding_state {
	FINDING_GOOD,	 /* as it should be, or for information */
	FINDING_WRONG,	 /* spoils measurements */
	FINDING_MISSING, /* something can't be measured here, or not verified */
	FINDING_UNKNOWN, /* could not be found out */
	FINDING_STATES
};

struct finding {
	enum finding_state state;
	char found[256];
	char remedy[512]; /* a command that depends on what was found; "": the check's own */
};

void finding_set(struct finding *, enum finding_state, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Append to what was found, and to its remedy. */
void finding_add(struct finding *, const char *format, ...) __attribute__((format(printf, 2, 3)));
void finding_mend(struct finding *, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
