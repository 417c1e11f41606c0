/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <unistd.h>

#include "harness/run/progress.h"
#include "machine/clock.h"

void progress_begin(struct progress *p, bool quiet)
{
	*p = (struct progress){ .wanted = !quiet, .terminal = isatty(STDERR_FILENO) };
}

void progress_show(struct progress *p, const char *what, unsigned done, unsigned all,
		   double elapsed, double budget)
{
	double now = clock_now();

	if (!p->wanted || !p->terminal || (p->shown && now - p->last < 0.1))
		return;
	fprintf(stderr, "\r\033[K%u of %u  %s  %.0f s", done, all, what, elapsed);
	if (budget > 0)
		fprintf(stderr, " of %.0f s", budget);
	p->shown = true;
	p->last = now;
}

void progress_clear(struct progress *p)
{
	if (p->shown)
		fprintf(stderr, "\r\033[K");
	p->shown = false;
}
