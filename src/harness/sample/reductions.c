/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/record/record.h"
#include "harness/sample/reductions.h"
#include "harness/sample/workers.h"
#include "base/statistics.h"
#include "kit/agree.h"

/* --- by worker --- */

struct by_worker *by_worker_open(unsigned workers, enum metric_kind kind)
{
	struct by_worker *b = calloc(1, sizeof(*b) + workers * sizeof(b->of[0]));

	if (!b)
		return NULL;
	b->kind = kind;
	b->workers = workers;
	for (unsigned i = 0; i < workers; i++)
		b->of[i].now = NAN;
	return b;
}

void by_worker_close(struct by_worker *b)
{
	for (unsigned i = 0; b && i < b->workers; i++)
		free(b->of[i].value);
	free(b);
}

void by_worker_note(struct by_worker *b, unsigned worker, double value)
{
	if (worker < b->workers)
		b->of[worker].now = value;
}

static bool grow(double **x, size_t room)
{
	double *grown = realloc(*x, room * sizeof(*grown));

	if (grown)
		*x = grown;
	return grown;
}

/* Adds the value of this sample; drops it if there is no memory. */
static void keep_value(struct by_worker_values *w, enum metric_kind kind)
{
	const size_t room = w->samples < w->room ? w->room : 2 * w->room + 16;

	if (kind == M_MEDIAN && room > w->room && !grow(&w->value, room))
		return;
	w->room = room;
	if (kind == M_MEDIAN)
		w->value[w->samples] = w->now;
	w->most = w->samples ? fmax(w->most, w->now) : w->now;
	w->sum += w->now;
	w->samples++;
}

/* Keeps each worker's value, and clears it for the next sample. */
static void keep(struct by_worker *b)
{
	for (unsigned i = 0; i < b->workers; i++) {
		if (isfinite(b->of[i].now))
			keep_value(&b->of[i], b->kind);
		b->of[i].now = NAN;
	}
}

/* The median over this rank's workers; NAN: none has a value, or there is no memory. */
static double median_now(const struct by_worker *b)
{
	double *values = calloc(b->workers + 1, sizeof(*values)), median;

	if (!values)
		return NAN;
	for (unsigned i = 0; i < b->workers; i++)
		values[i] = b->of[i].now;
	median = statistics_quantile_known(values, b->workers, 0.5);
	free(values);
	return median;
}

double by_worker_end(struct by_worker *b, const struct ranks *ranks)
{
	double ends[] = { -INFINITY, -INFINITY }; /* the least, negated, and the most */
	double sums[] = { 0, 0 };		  /* sum of the values, and their number */
	const double median = b->kind == M_MEDIAN ? median_now(b) : NAN;

	for (unsigned i = 0; i < b->workers; i++) {
		if (!isfinite(b->of[i].now))
			continue;
		ends[0] = fmax(ends[0], -b->of[i].now);
		ends[1] = fmax(ends[1], b->of[i].now);
		sums[0] += b->of[i].now;
		sums[1]++;
	}
	agree_largest(ranks, ends, 2);
	agree_sum(ranks, sums, 2);
	keep(b);
	if (!(sums[1] > 0))
		return NAN;
	return b->kind == M_FAIRNESS	? -ends[0] / ends[1]
	       : b->kind == M_IMBALANCE ? ends[1] * sums[1] / sums[0]
	       : b->kind == M_MEDIAN	? median
					: ends[1];
}

static double of_worker(const struct by_worker *b, const struct by_worker_values *w)
{
	if (!w->samples)
		return NAN;
	return b->kind == M_MEDIAN ? statistics_quantile_known(w->value, w->samples, 0.5)
	       : b->kind == M_MOST ? w->most
				   : w->sum / (double)w->samples;
}

json_t *by_worker_json(const struct by_worker *b)
{
	json_t *values = json_array();
	bool known = false;

	for (unsigned i = 0; i < b->workers; i++) {
		known |= b->of[i].samples > 0;
		json_array_append_new(values, record_number(of_worker(b, &b->of[i])));
	}
	if (known)
		return values;
	json_decref(values);
	return NULL;
}

/* --- distribution --- */

struct distribution *distribution_open(void)
{
	return apart_alloc(sizeof(struct distribution));
}

void distribution_close(struct distribution *d)
{
	free(d);
}

void distribution_add(struct distribution *d, const struct histogram *h, double unit)
{
	histogram_merge(&d->sample, h, unit);
}

/* Only octaves that hold something on some rank are sent. */
static void sum_over(const struct ranks *ranks, struct histogram *h)
{
	int64_t used[HISTOGRAM_OCTAVES];

	if (!ranks)
		return;
	for (unsigned octave = 0; octave < HISTOGRAM_OCTAVES; octave++)
		used[octave] = (int64_t)(h->octaves[octave / 64] >> octave % 64 & 1);
	agree_total(ranks, used, HISTOGRAM_OCTAVES);
	for (unsigned octave = 0; octave < HISTOGRAM_OCTAVES; octave++) {
		if (!used[octave])
			continue;
		h->octaves[octave / 64] |= UINT64_C(1) << octave % 64;
		agree_total(ranks, (int64_t *)&h->count[(size_t)octave * HISTOGRAM_STEPS],
			    HISTOGRAM_STEPS);
	}
}

double distribution_end(struct distribution *d, const struct ranks *ranks)
{
	double median;

	sum_over(ranks, &d->sample);
	median = histogram_quantile(&d->sample, 0.5);
	histogram_merge(&d->all, &d->sample, 1);
	histogram_clear(&d->sample);
	return median;
}

static json_t *quantiles_of(const struct histogram *h)
{
	static const double shares[] = { 0.5, 0.9, 0.99, 0.999, 1 };
	json_t *object = json_object();
	char key[16];

	for (size_t i = 0; i < sizeof(shares) / sizeof(*shares); i++) {
		snprintf(key, sizeof(key), "%g", shares[i]);
		json_object_set_new(object, key, record_number(histogram_quantile(h, shares[i])));
	}
	return object;
}

/* Runs of buckets that are not empty: the number of the first, then the count of each. */
static json_t *buckets_of(const struct histogram *h)
{
	json_t *runs = json_array(), *run = NULL;

	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
		if (h->count[i] && (!i || !h->count[i - 1])) {
			run = json_pack("[i]", (int)i);
			json_array_append_new(runs, run);
		}
		if (h->count[i])
			json_array_append_new(run, json_integer((json_int_t)h->count[i]));
	}
	return runs;
}

json_t *distribution_json(const struct distribution *d)
{
	const struct histogram *h = &d->all;

	if (!histogram_total(h))
		return NULL;
	return json_pack("{s:I, s:o, s:o}", "n", (json_int_t)histogram_total(h), "quantiles",
			 quantiles_of(h), "buckets", buckets_of(h));
}

/* --- throughput --- */

struct throughput *throughput_open(const struct trial *t)
{
	const unsigned roles = roles_count(t);
	struct throughput *r = calloc(1, sizeof(*r));

	if (!r || roles < 2)
		return r;
	r->units = calloc(roles, sizeof(*r->units));
	r->rate = calloc(roles, sizeof(*r->rate));
	if (r->units && r->rate) {
		r->roles = roles;
		return r;
	}
	throughput_close(r);
	return NULL;
}

void throughput_close(struct throughput *r)
{
	if (!r)
		return;
	for (unsigned i = 0; i < r->roles; i++) {
		free(r->units[i]);
		free(r->rate[i]);
	}
	free(r->units);
	free(r->rate);
	free(r);
}

bool throughput_room(struct throughput *r, size_t samples)
{
	for (unsigned i = 0; i < r->roles; i++)
		if (!grow(&r->units[i], samples) || !grow(&r->rate[i], samples))
			return false;
	return true;
}

void throughput_keep(struct throughput *r, const struct trial *t, const struct sample *sample,
		     size_t at)
{
	int64_t units[r->roles + 1];

	for (unsigned i = 0; i <= r->roles; i++)
		units[i] = 0;
	for (unsigned i = 0; r->roles && i < t->threads; i++)
		units[roles_number(t, i)] += (int64_t)team_worker(t->team, i)->done;
	if (r->roles)
		agree_total(t->ranks, units, r->roles);
	for (unsigned i = 0; i < r->roles; i++) {
		r->units[i][at] = (double)units[i];
		r->rate[i][at] = (double)units[i] / sample->wall;
	}
}

static json_t *role_json(const struct throughput *r, const struct trial *t, const struct samples *s,
			 unsigned role)
{
	const struct estimate units = estimates_values(s, r->units[role]).kept,
			      rate = estimates_values(s, r->rate[role]).kept;
	unsigned workers = 0;

	for (unsigned i = 0; i < t->threads; i++)
		workers += roles_number(t, i) == role;
	return json_pack("{s:s, s:i, s:o, s:o, s:o}", "name", roles_name(t, role), "workers",
			 (int)workers, "units", record_number(units.value), "throughput",
			 record_number(rate.value), "ci", record_interval(rate.low, rate.high));
}

json_t *throughput_json(const struct throughput *r, const struct trial *t, const struct samples *s)
{
	json_t *list = json_array();

	for (unsigned i = 0; s->n && i < r->roles; i++)
		json_array_append_new(list, role_json(r, t, s, i));
	return list;
}
