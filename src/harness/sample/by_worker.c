/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/sample/by_worker.h"

#include <math.h>
#include <stdlib.h>

#include "harness/record/json.h"
#include "kit/agree.h"

struct by_worker {
	unsigned workers;
	struct {
		double now; /* NAN: nothing was noted in this sample */
		double sum; /* over `samples` */
		uint64_t samples;
	} of[];
};

struct by_worker *by_worker_open(unsigned workers)
{
	struct by_worker *b = calloc(1, sizeof(*b) + workers * sizeof(b->of[0]));

	if (!b)
		return NULL;
	b->workers = workers;
	for (unsigned i = 0; i < workers; i++)
		b->of[i].now = NAN;
	return b;
}

void by_worker_close(struct by_worker *b)
{
	free(b);
}

void by_worker_note(struct by_worker *b, unsigned worker, double value)
{
	if (worker < b->workers)
		b->of[worker].now = value;
}

/* Adds each worker's value to its mean, and clears it for the next sample. */
static void keep(struct by_worker *b)
{
	for (unsigned i = 0; i < b->workers; i++) {
		if (isfinite(b->of[i].now)) {
			b->of[i].sum += b->of[i].now;
			b->of[i].samples++;
		}
		b->of[i].now = NAN;
	}
}

double by_worker_end(struct by_worker *b, enum metric_kind kind, const struct ranks *ranks)
{
	double ends[] = { -INFINITY, -INFINITY }; /* the least, negated, and the most */
	double sums[] = { 0, 0 };		  /* of the values, and how many there are */

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
	return kind == M_FAIRNESS ? -ends[0] / ends[1] : ends[1] * sums[1] / sums[0];
}

static double mean_of(const struct by_worker *b, unsigned worker)
{
	return b->of[worker].samples ? b->of[worker].sum / (double)b->of[worker].samples : NAN;
}

json_t *by_worker_json(const struct by_worker *b)
{
	json_t *values = json_array();
	bool known = false;

	for (unsigned i = 0; i < b->workers; i++) {
		known |= b->of[i].samples > 0;
		json_array_append_new(values, record_number(mean_of(b, i)));
	}
	if (known)
		return values;
	json_decref(values);
	return NULL;
}
