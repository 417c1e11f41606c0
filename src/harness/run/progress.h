/* SPDX-License-Identifier: Apache-2.0 */
/* The line on stderr that says how far a run is. */
#ifndef LOCUS_PROGRESS_H
#define LOCUS_PROGRESS_H

#include <stdbool.h>

struct progress {
	bool wanted, terminal, shown;
	double last; /* clock_now() of the last line */
};

void progress_begin(struct progress *, bool quiet);
/* On a terminal a line that is written over, at most ten times a second; elsewhere nothing. */
void progress_show(struct progress *, const char *what, unsigned done, unsigned all, double elapsed,
		   double budget);
/* Removes the line, so that something else can be printed. */
void progress_clear(struct progress *);

#endif
