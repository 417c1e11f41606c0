/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Health is examined by a child, the examiner, so that it ends in time whatever the child waits for,
 * a broken disk or a broken core. It tells the parent in shared memory how far it is.
 */
#ifndef LOCUS_HEALTH_EXAMINER_H
#define LOCUS_HEALTH_EXAMINER_H

#include "commands/health/finding.h"

/* s from the start: then the parent no longer waits. */
#define EXAMINER_LAST 24.5

/* The command line. */
struct asked {
	const struct program *program;
	const char *expect;
};

/* Shared between parent and examiner. */
struct examiner {
	const struct asked *asked;
	struct health health;
	double began;		/* clock_now() */
	bool done;		/* the examination has come to its end */
	char does[HEALTH_TEXT]; /* "reading facts of the machine"; "": it measures `trial` */
	char trial[HEALTH_TEXT];
};

/* Notes what the examiner does from now on. */
void examiner_turns_to(struct examiner *, const char *does);

/*
 * Runs the function in an examiner, which fills in `health`. What the examiner did not bring to an end
 * is told there, too. Returns the signal that ended this program, after a message; 0: none did.
 */
int examiner_run(void (*examine)(struct examiner *), const struct asked *, struct health *);

#endif
