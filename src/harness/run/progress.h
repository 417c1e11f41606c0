/* SPDX-License-Identifier: Apache-2.0 */
/* The line on stderr that says how far a run is, and how long it will go on. */
#ifndef LOCUS_PROGRESS_H
#define LOCUS_PROGRESS_H

#include <stdbool.h>

struct progress {
	bool wanted, shown;
	double last; /* clock_now() of the last line */
};

/* Nothing is shown if stderr is not a terminal, or is one that can't erase a line. */
void progress_begin(struct progress *, bool quiet);
/* A line that is written over, at most ten times a second. `left`: s that the rest may take. */
void progress_show(struct progress *, const char *what, unsigned done, unsigned all, double left);
/* Removes the line, so that something else can be printed. */
void progress_clear(struct progress *);

#endif
