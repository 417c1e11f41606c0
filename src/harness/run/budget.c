/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "harness/run/budget.h"
#include "kit/agree.h"
#include "machine/clock.h"

void budget_begin(struct budget *b, const struct ranks *ranks, double time)
{
	*b = (struct budget){ .ranks = ranks,
			      .began = clock_now(),
			      .deadline = time > 0 ? time : INFINITY };
}

double budget_elapsed(const struct budget *b)
{
	return clock_now() - b->began;
}

double budget_now(const struct budget *b)
{
	return agree_most(b->ranks, budget_elapsed(b));
}

double budget_limit(const struct budget *b)
{
	return b->measured ? b->until : fmax(b->until, b->last);
}

bool budget_fits(const struct budget *b, double duration)
{
	return budget_now(b) + duration <= b->last;
}

/* Bytes: the time to touch less memory than this says nothing about larger groups. */
#define TOUCHED (16 << 20)

bool budget_affords(const struct budget *b, double bytes)
{
	return b->largest <= 0 || bytes <= b->largest ||
	       budget_now(b) + b->took * bytes / b->largest <= b->until;
}

void budget_prepared(struct budget *b, double bytes, double took)
{
	if (bytes < TOUCHED || bytes < b->largest)
		return;
	b->largest = bytes;
	b->took = took;
}

/* bytes/s: clearing pages and laying a random chain through them, on one core */
#define PREPARED 0.5e9

double budget_preparing(const struct planned *p, unsigned n)
{
	double bytes = 0;

	for (unsigned i = 0; i < n; i++)
		if (resume_wants(&p[i]) && !p[i].refusal && p[i].needs.bytes >= TOUCHED)
			bytes += (double)p[i].needs.bytes;
	return bytes / PREPARED;
}

void budget_divide(struct budget *b, unsigned left, double preparing, double others)
{
	const double now = budget_now(b), time = b->deadline - now, all = preparing + others,
		     part = all > time / 2 ? time / 2 / all : 1;

	b->largest = b->took = 0;
	b->until = left ? now + part * preparing + (time - part * all) / (left + 1) : b->deadline;
}

/* bytes: beyond this a trial's weight grows in proportion to its memory */
#define LARGE (128 << 20)

static double weight_of(double bytes)
{
	return 1 + log2(1 + fmin(bytes, LARGE) / TOUCHED) * fmax(1, bytes / LARGE);
}

double budget_weigh(const struct planned *p, unsigned n)
{
	double weight = 0;

	for (unsigned i = 0; i < n; i++)
		if (resume_wants(&p[i]) && !p[i].refusal)
			weight += weight_of((double)p[i].needs.bytes);
	return weight;
}

double budget_share(const struct budget *b, double one, double weight, double left, unsigned n)
{
	const double share =
		isfinite(b->until) ? (b->until - budget_now(b)) * weight / fmax(1, left) : INFINITY;

	return one > 0 ? fmin(share, one * n) : share;
}
