/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conditions that others may change during a run, such as the online CPUs: read when the run
 * begins, and again after a failure, so that the message names the change as its cause.
 */
#ifndef LOCUS_CONDITIONS_H
#define LOCUS_CONDITIONS_H

/* Possible causes of a failure. */
enum conditions_of {
	CONDITIONS_CPUS = 1,   /* threads can't run on CPUs that could be used before */
	CONDITIONS_MEMORY = 2, /* memory is refused */
	CONDITIONS_PLACES = 4, /* pages lie elsewhere than asked */
	CONDITIONS_HUGE = 8,   /* pages are no huge ones */
	CONDITIONS_PACE = 16,  /* the work is slow, or unsteady */
};

enum { CONDITIONS = 15 };

struct conditions {
	const char *root; /* as in base/sysfs.h; NULL: nothing was read, and nothing is found */
	char *text[CONDITIONS]; /* by row of the table; NULL: unknown */
};
void conditions_read(const char *root, struct conditions *);
void conditions_free(struct conditions *);

/*
 * The changes since then that may be the cause: "the CPUs online changed from 0-3 to 0-1 during the
 * run". Also unchanged conditions that stand in the way. To be freed; NULL: none, or the conditions
 * are NULL.
 */
char *conditions_cause(const struct conditions *, enum conditions_of);

/* That the control group's quota is less than so many threads use; NULL: it isn't. */
char *conditions_quota(const struct conditions *, unsigned threads);

#endif
