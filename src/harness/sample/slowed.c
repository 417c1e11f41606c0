/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "base/statistics.h"
#include "harness/sample/slowed.h"
#include "machine/topology/topology.h"

/* Where the run keeps what worker 0's CPU saw; NULL: nowhere. */
static double *quiet_of(const struct series *s)
{
	const struct trial *t = &s->planned->trial;
	const struct cpu *cpu =
		s->beside.quiet && t->place ? machine_cpu(t->machine, t->place[0].cpu) : NULL;

	return cpu ? s->beside.quiet + (cpu - t->machine->cpu) : NULL;
}

/* The fastest of the series' probes; 0: it has none. */
static double fastest(const struct series *s)
{
	double least = 0;

	for (unsigned i = 0; i < s->batches; i++)
		if (s->batch[i].line > 0 && (!(least > 0) || s->batch[i].line < least))
			least = s->batch[i].line;
	return least;
}

/* Of the process's own threads, those that work elsewhere are no neighbours: they show as < 0. */
static double busy_beside(const struct series *s)
{
	const struct noise *n = &s->noise;
	const double busy = n->beside + (n->foreign < 0 ? n->foreign : 0);

	if (!s->beside.cpu)
		return 0;
	return busy < 0 ? 0 : busy / n->watched;
}

/* Memory without neighbours is as fast as the run has seen it, or as now, if they are no cause. */
static double best_of(const struct series *s, double busy)
{
	const double *kept = s->beside.memory ? quiet_of(s) : NULL, quiet = kept ? *kept : 0,
		     least = fastest(s);

	if (quiet > 0)
		return least > 0 ? fmin(quiet, least) : quiet;
	return least > 0 && !(busy >= SLOWED_BUSY) ? least : NAN;
}

struct slowed slowed_seen(const struct series *s)
{
	struct slowed seen = { .busy = busy_beside(s), .line = NAN };
	double *lines = calloc(s->batches + 1, sizeof(*lines));

	seen.best = best_of(s, seen.busy);
	for (unsigned i = 0; lines && i < s->batches; i++)
		if (s->batch[i].line > 0) {
			seen.slow += s->batch[i].line > SLOWED_SLOW * seen.best;
			lines[seen.looks++] = s->batch[i].line;
		}
	if (seen.looks)
		seen.line = statistics_quantile_known(lines, NULL, seen.looks, 0.5);
	free(lines);
	return seen;
}

void slowed_learn(const struct series *s)
{
	const double least = fastest(s);
	double *kept = quiet_of(s);

	if (kept && least > 0 && busy_beside(s) < SLOWED_QUIET && (!(*kept > 0) || least < *kept))
		*kept = least;
}
