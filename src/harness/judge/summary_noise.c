/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "harness/record/json.h"
#include "harness/judge/summary_beside.h"
#include "harness/judge/summary_noise.h"

/* s: the unit of times in /proc/stat. */
#define TICK 0.01

size_t noise_samples(const struct series *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->samples; i++)
		n += s->noisy[i];
	return n;
}

json_t *noise_json(const struct series *s)
{
	const struct noise *n = &s->noise;

	if (!s->samples)
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o*}", "samples",
			 record_number((double)noise_samples(s) / (double)s->samples), "off_cpu",
			 record_number(n->off_cpu), "run_delay", record_number(n->delay), "foreign",
			 record_number(n->foreign < 0 ? 0 : n->foreign), "wall",
			 record_number(n->wall), "beside", beside_json(s));
}

/* Allocations in which noise has left too few samples. */
static unsigned allocations_lost(const struct series *s)
{
	unsigned n = 0;

	for (unsigned a = 0; a < s->allocations; a++)
		n += !series_has_clean(s, a);
	return n;
}

/* With the noisy samples set aside, noise is a note unless it took many of them. */
void noise_judge(const struct series *s, struct estimates time, struct verdict *v)
{
	const struct noise *n = &s->noise;
	const double share = (double)noise_samples(s) / (double)s->samples;
	const unsigned lost = allocations_lost(s);
	double steal = n->steal > 2 * TICK ? n->steal : 0; /* NAN, unknown, counts as 0 */
	char seen[160], migrations[48] = "", stolen[48] = "";

	if (n->migrations)
		snprintf(migrations, sizeof(migrations), ", %" PRIu64 " migrations", n->migrations);
	if (steal > 0)
		snprintf(stolen, sizeof(stolen), ", %.2g s stolen", steal);
	snprintf(seen, sizeof(seen),
		 "%.0f %% of samples disturbed: %" PRIu64 " preemptions%s, %.2g s off CPU%s",
		 100 * share, n->involuntary, migrations, n->off_cpu, stolen);
	if (lost)
		verdict_add(v, STATUS_NOISY, "%s; too many to set aside in %u of %u allocations",
			    seen, lost, s->allocations);
	else if (steal > NOISE_MOST_STOLEN * n->wall)
		verdict_add(v, STATUS_NOISY, "%s", seen);
	else if (share > NOISE_MOST_SAMPLES)
		verdict_add(v, STATUS_OK, "%s; set aside, they shift the result by %.1f %%", seen,
			    100 * fabs(time.all / time.kept.value - 1));
	beside_judge(s, v);
}
