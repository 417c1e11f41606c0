/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "harness/record/json.h"
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
	return json_pack("{s:o, s:o, s:o, s:o, s:o}", "samples",
			 record_number((double)noise_samples(s) / (double)s->samples), "off_cpu",
			 record_number(n->off_cpu), "run_delay", record_number(n->delay), "foreign",
			 record_number(n->foreign < 0 ? 0 : n->foreign), "wall",
			 record_number(n->wall));
}

void noise_judge(const struct series *s, struct estimates time, struct verdict *v)
{
	const struct noise *n = &s->noise;
	double share = (double)noise_samples(s) / (double)s->samples,
	       moved = fabs(time.all.value - time.clean) / time.all.value;
	char shift[64] = ""; /* empty if all are noisy: there is nothing to compare with */
	double steal = n->steal > 2 * TICK ? n->steal : 0; /* NAN, unknown, counts as 0 */
	double off = fmax(n->voluntary ? 0 : n->off_cpu, isfinite(n->delay) ? n->delay : 0);
	double lost = (s->planned->trial.floating ? steal : fmax(steal, off)) / n->wall;

	if (share <= NOISE_MOST_SAMPLES && moved <= SERIES_CONVERGED_WITHIN &&
	    lost <= NOISE_MOST_LOST)
		return;
	if (isfinite(moved))
		snprintf(shift, sizeof(shift), "; result shifted by %.1f %%", 100 * moved);
	verdict_add(v, STATUS_NOISY,
		    "%.0f %% of samples disturbed: %" PRIu64 " preemptions, %" PRIu64
		    " migrations, %.2g s off CPU, %.2g s stolen%s",
		    100 * share, n->involuntary, n->migrations, n->off_cpu, steal, shift);
}
