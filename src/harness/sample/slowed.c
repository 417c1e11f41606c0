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

/* The fastest probe of memory, of all batches or of those whose neighbours rested; 0: none. */
static double fastest(const struct series *s, bool rested)
{
	double least = 0;

	for (unsigned i = 0; i < s->batches && s->beside.level == BESIDE_MEMORY; i++) {
		const double line = s->batch[i].look.line;

		if (line > 0 && (!rested || s->batch[i].rested) && (!(least > 0) || line < least))
			least = line;
	}
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
	const double *kept = s->beside.level == BESIDE_MEMORY ? quiet_of(s) : NULL,
		     quiet = kept ? *kept : 0, least = fastest(s, false);

	if (quiet > 0)
		return least > 0 ? fmin(quiet, least) : quiet;
	return least > 0 && (!(busy >= SLOWED_BUSY) || fastest(s, true) > 0) ? least : NAN;
}

static bool slow(const struct beside *b, struct beside_look look, double best)
{
	return b->level == BESIDE_L3 ? look.line > SLOWED_GONE * look.memory
				     : look.line > SLOWED_SLOW * best;
}

/* The medians of what the batches saw. */
static void sum_up(const struct series *s, struct slowed *seen, double *lines, double *memory)
{
	for (unsigned i = 0; i < s->batches; i++) {
		const struct beside_look look = s->batch[i].look;

		if (!(look.line > 0))
			continue;
		seen->slow += slow(&s->beside, look, seen->best);
		lines[seen->looks] = look.line;
		memory[seen->looks++] = look.memory;
	}
	if (!seen->looks)
		return;
	seen->line = statistics_quantile_known(lines, NULL, seen->looks, 0.5);
	if (s->beside.level == BESIDE_L3)
		seen->memory = statistics_quantile_known(memory, NULL, seen->looks, 0.5);
}

struct slowed slowed_seen(const struct series *s)
{
	struct slowed seen = { .busy = busy_beside(s), .line = NAN, .memory = NAN };
	double *lines = calloc(s->batches + 1, sizeof(*lines)),
	       *memory = calloc(s->batches + 1, sizeof(*memory));

	seen.best = best_of(s, seen.busy);
	if (lines && memory)
		sum_up(s, &seen, lines, memory);
	free(lines);
	free(memory);
	return seen;
}

void slowed_learn(const struct series *s)
{
	const double least = fastest(s, !(busy_beside(s) < SLOWED_QUIET));
	double *kept = quiet_of(s);

	if (kept && least > 0 && (!(*kept > 0) || least < *kept))
		*kept = least;
}
