/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/sample/samples.h"

bool metric_is_time(const struct metric *m)
{
	return !strcmp(m->name, "time");
}

bool metric_is_reported(const struct metric *m)
{
	return !m->amount && !metric_is_time(m);
}

/* --- memory --- */

bool samples_open(struct samples *s, const struct benchmark *b)
{
	s->value = calloc(b->n_metrics + 1, sizeof(*s->value));
	return s->value;
}

void samples_close(struct samples *s, const struct benchmark *b)
{
	for (unsigned i = 0; s->value && i < b->n_metrics; i++)
		free(s->value[i]);
	free(s->value);
	free(s->time);
	free(s->skews);
	free(s->noisy);
	free(s->batch);
}

/* Room for n more samples. */
static bool grow(struct samples *s, const struct benchmark *b, size_t n)
{
	size_t room = s->room ? s->room : 256;
	double *time, *skews;
	unsigned char *noisy;

	if (s->n + n <= s->room)
		return true;
	while (room < s->n + n)
		room *= 2;
	if ((time = realloc(s->time, room * sizeof(*time))))
		s->time = time;
	if ((skews = realloc(s->skews, room * sizeof(*skews))))
		s->skews = skews;
	if ((noisy = realloc(s->noisy, room)))
		s->noisy = noisy;
	if (!time || !skews || !noisy)
		return false;
	for (unsigned i = 0; i < b->n_metrics; i++) {
		double *value;

		if (!metric_is_reported(&b->metrics[i]))
			continue;
		value = realloc(s->value[i], room * sizeof(*value));
		if (!value)
			return false;
		s->value[i] = value;
	}
	s->room = room;
	return true;
}

static bool room_for_batch(struct samples *s)
{
	const unsigned room = s->batch_room ? s->batch_room * 2 : 64;
	struct batch *grown;

	if (s->batches < s->batch_room)
		return true;
	grown = realloc(s->batch, room * sizeof(*grown));
	if (!grown)
		return false;
	s->batch = grown;
	s->batch_room = room;
	return true;
}

bool samples_room(struct samples *s, const struct benchmark *b, size_t n)
{
	return grow(s, b, n) && room_for_batch(s);
}

void samples_leave_out_cut(struct samples *s)
{
	if (s->batches > s->complete)
		s->n = s->batch[s->complete].first;
	s->batches = s->complete;
}

/* --- results --- */

bool samples_has_without(const struct samples *s, unsigned allocation, unsigned causes)
{
	size_t kept = 0, all = 0;

	for (unsigned i = 0; i < s->batches; i++) {
		const struct batch *b = &s->batch[i];

		for (size_t j = b->first; b->allocation == allocation && j < b->first + b->samples;
		     j++) {
			all += isfinite(s->time[j]);
			kept += isfinite(s->time[j]) && !(s->noisy[j] & causes);
		}
	}
	return !all || (kept && (double)kept >= SAMPLES_LEAST_CLEAN * (double)all);
}

/* Allocations that keep enough samples without these causes. */
static unsigned keeping(const struct samples *s, unsigned causes)
{
	unsigned n = 0;

	for (unsigned a = 0; a < s->allocations; a++)
		n += samples_has_without(s, a, causes);
	return n;
}

static bool any_crowded(const struct samples *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->noisy[i] & SAMPLE_CROWDED)
			return true;
	return false;
}

unsigned samples_aside(const struct samples *s)
{
	static const unsigned both = SAMPLE_DISTURBED | SAMPLE_CROWDED;
	const unsigned quiet = any_crowded(s) ? keeping(s, both) : 0;

	if (quiet &&
	    (quiet == s->allocations || (quiet >= LEAST_VALUES && 2 * quiet >= s->allocations)))
		return both;
	return keeping(s, SAMPLE_DISTURBED) == s->allocations ? SAMPLE_DISTURBED : 0;
}

/* The allocation of each batch; to be freed. NULL: no memory. */
static unsigned *allocations_of(const struct samples *s)
{
	unsigned *group = calloc(s->batches + 1, sizeof(*group));

	for (unsigned i = 0; group && i < s->batches; i++)
		group[i] = s->batch[i].allocation;
	return group;
}

struct estimate samples_estimate(const struct samples *s, const double *of)
{
	unsigned *group = allocations_of(s);
	const struct estimate e =
		group ? estimate_grouped(of, group, s->batches) : ESTIMATE_UNKNOWN;

	free(group);
	return e;
}

double estimates_batch(const struct samples *s, unsigned batch, const double *value,
		       unsigned causes)
{
	const struct batch *b = &s->batch[batch];

	if (!value)
		return causes & SAMPLE_CROWDED ? b->quiet : causes ? b->clean : b->estimate;
	return statistics_quantile_without(value + b->first, s->noisy + b->first, causes,
					   b->samples, 0.5);
}

/* The median of each batch, to be freed. NULL: no memory. */
static double *by_batch(const struct samples *s, const double *value, unsigned aside)
{
	double *x = calloc(s->batches + 1, sizeof(*x));

	for (unsigned i = 0; x && i < s->batches; i++)
		x[i] = estimates_batch(s, i, value, aside);
	return x;
}

/* The estimate by order statistics alone. */
static struct estimate ordered(const struct samples *s, const double *value, unsigned aside)
{
	double *x = by_batch(s, value, aside);
	const struct estimate e = x ? samples_estimate(s, x) : ESTIMATE_UNKNOWN;

	free(x);
	return e;
}

/* Only times end trials, so only a time's interval is compared with other trials'. */
static struct estimate estimate_of(const struct samples *s, const double *value, unsigned aside)
{
	return estimate_widened(ordered(s, value, aside), value ? 0 : s->typical);
}

size_t estimates_allocations(const struct samples *s, double *medians)
{
	double *x = by_batch(s, NULL, samples_aside(s));
	unsigned *group = allocations_of(s);
	const size_t n =
		x && group ? statistics_group_medians(x, group, s->batches, medians, NULL) : 0;

	free(group);
	free(x);
	return n;
}

double estimates_scatter(const struct samples *s)
{
	return estimate_scatter(ordered(s, NULL, samples_aside(s)));
}

struct estimates estimates_values(const struct samples *s, const double *value)
{
	const unsigned aside = samples_aside(s);

	return (struct estimates){ estimate_of(s, value, aside), estimate_of(s, value, 0).value };
}

struct estimates estimates_time(const struct samples *s)
{
	return estimates_values(s, NULL);
}

bool estimates_converged(const struct samples *s, double within)
{
	/* false if it is NAN */
	return estimate_reach(estimate_of(s, NULL, samples_aside(s))) <= within;
}
