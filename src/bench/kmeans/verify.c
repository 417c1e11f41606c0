/* SPDX-License-Identifier: Apache-2.0 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/kmeans/verify.h"
#include "kit/agree.h"
#include "kit/shares.h"

/*
 * The most differences of coordinates to compute; if there are more, only every n-th point is
 * checked.
 */
#define MOST_DIFFERENCES (UINT64_C(1) << 25)

/* What a worker finds in its share. */
struct finding {
	_Alignas(APART) size_t point; /* the wrong one, if `wrong` */
	/* a nearer centre; the label itself where that is out of range */
	uint32_t other;
	bool wrong;
	double inertia;
	double *most; /* 2 d: the largest of x and of -x, by dimension */
	int64_t *sum; /* k rows of d, and k counts */
};

struct verification {
	const struct problem *problem;
	const struct solution *solution;
	unsigned d;
	uint32_t k;
	double *middle, *scale; /* d; scale 0: the dimension can't be summed */
	/* a power of two: differences times it have squares within the range of any type */
	double unit;
	double bound; /* tolerance of squared distances, in that unit */
	size_t every; /* one point in so many is checked */
	struct finding *finding;
};

static double value_at(const struct points *p, size_t i)
{
	return real_get(p->real, p->x, i);
}

static double squared_distance(const struct verification *k, size_t point, const double *centre)
{
	double sum = 0;

	for (unsigned j = 0; j < k->d; j++) {
		const double delta =
			(value_at(&k->problem->points, point * k->d + j) - centre[j]) * k->unit;

		sum += delta * delta;
	}
	return sum;
}

static size_t begin_of(const struct verification *k, unsigned worker)
{
	return share_begin(k->problem->points.n, worker, k->problem->threads);
}

static void find_box(void *verification, struct worker *self)
{
	const struct verification *k = verification;
	double *most = k->finding[self->index].most;

	for (unsigned j = 0; j < 2 * k->d; j++)
		most[j] = -INFINITY;
	for (size_t i = begin_of(k, self->index); i < begin_of(k, self->index + 1); i++)
		for (unsigned j = 0; j < k->d; j++) {
			const double x = value_at(&k->problem->points, i * k->d + j);

			most[j] = fmax(most[j], x);
			most[k->d + j] = fmax(most[k->d + j], -x);
		}
}

static bool verify_label(const struct verification *k, size_t i, struct finding *f)
{
	const uint32_t label = k->solution->label[i];
	const double own = squared_distance(k, i, k->solution->from + (size_t)label * k->d);

	for (uint32_t c = 0; c < k->k; c++)
		if (!(own <=
		      squared_distance(k, i, k->solution->from + (size_t)c * k->d) + k->bound)) {
			f->other = c;
			return false;
		}
	return true;
}

static void verify_share(void *verification, struct worker *self)
{
	const struct verification *k = verification;
	const struct points *p = &k->problem->points;
	struct finding *f = &k->finding[self->index];

	memset(f->sum, 0, k->k * ((size_t)k->d + 1) * sizeof(*f->sum));
	for (f->point = begin_of(k, self->index); f->point < begin_of(k, self->index + 1);
	     f->point++) {
		const size_t i = f->point;

		f->other = k->solution->label[i];
		f->wrong = f->other >= k->k || (i % k->every == 0 && !verify_label(k, i, f));
		if (f->wrong)
			return;
		for (unsigned j = 0; j < k->d; j++)
			f->sum[(size_t)f->other * k->d + j] +=
				llrint((value_at(p, i * k->d + j) - k->middle[j]) * k->scale[j]);
		f->sum[(size_t)k->k * k->d + f->other]++;
	}
}

static void sum_inertia(void *verification, struct worker *self)
{
	const struct verification *k = verification;
	double sum = 0;

	for (size_t i = begin_of(k, self->index); i < begin_of(k, self->index + 1); i++)
		sum += squared_distance(k, i,
					k->solution->centre + (size_t)k->solution->label[i] * k->d);
	k->finding[self->index].inertia = sum;
}

static void verify_close(struct verification *k)
{
	for (unsigned i = 0; k->finding && i < k->problem->threads; i++) {
		free(k->finding[i].most);
		free(k->finding[i].sum);
	}
	free(k->finding);
	free(k->middle);
	free(k->scale);
}

static int verify_open(struct verification *k, const struct problem *p, const struct solution *s,
		       bool whole)
{
	const unsigned d = p->points.d;

	*k = (struct verification){ .problem = p, .solution = s, .d = d, .k = p->k, .unit = 1 };
	k->finding = aligned_alloc(APART, p->threads * sizeof(*k->finding));
	if (!k->finding)
		return -1;
	memset(k->finding, 0, p->threads * sizeof(*k->finding));
	if (!whole)
		return 0;
	k->middle = calloc(d, sizeof(double));
	k->scale = calloc(d, sizeof(double));
	for (unsigned i = 0; i < p->threads; i++) {
		k->finding[i].most = calloc(2 * (size_t)d, sizeof(double));
		k->finding[i].sum = calloc(p->k * ((size_t)d + 1), sizeof(int64_t));
		if (!k->finding[i].most || !k->finding[i].sum)
			return -1;
	}
	return k->middle && k->scale ? 0 : -1;
}

size_t solution_verify_bytes(const struct problem *p)
{
	return p->threads * (p->k * ((size_t)p->points.d + 1) * sizeof(int64_t) +
			     (size_t)2 * p->points.d * sizeof(double));
}

/* The power of two that scales a length to about 1. */
static double unit_of(double length)
{
	int exponent;

	if (!(length > 0) || !isfinite(length))
		return 1;
	frexp(length, &exponent);
	return ldexp(1, -exponent < DBL_MAX_EXP ? -exponent : DBL_MAX_EXP - 1);
}

/* Finds the box of all points, and from it the tolerances. */
static void measure_box(struct verification *k)
{
	const struct problem *p = k->problem;
	const double unit = p->points.real == REAL_FLOAT ? FLT_EPSILON / 2 : DBL_EPSILON / 2;
	double *most = k->finding[0].most, diagonal = 0, widest = 0, off = 0;
	uint64_t differences = (uint64_t)p->points.n * k->k * k->d;

	team_run(p->team, find_box, k);
	for (unsigned i = 1; i < p->threads; i++)
		for (unsigned j = 0; j < 2 * k->d; j++)
			most[j] = fmax(most[j], k->finding[i].most[j]);
	if (p->ranks)
		p->ranks->most(most, 2 * (size_t)k->d);
	for (unsigned j = 0; j < k->d; j++)
		widest = fmax(widest, most[j] + most[k->d + j]);
	k->unit = unit_of(widest);
	for (unsigned j = 0; j < k->d; j++) {
		const double half = (most[j] + most[k->d + j]) / 2;
		/* `from` is rounded to double */
		const double rounding =
			half > 0 ? (DBL_EPSILON * fmax(fabs(most[j]), fabs(most[k->d + j])) +
				    DBL_TRUE_MIN) *
					   k->unit
				 : 0;
		double high = most[j], low = -most[k->d + j];

		k->middle[j] = most[j] / 2 - most[k->d + j] / 2;
		k->scale[j] = half > 0 ? 0x1p62 / (double)p->all / half : 0;
		if (!isfinite(k->scale[j]))
			k->scale[j] = 0;
		for (uint32_t c = 0; c < k->k; c++) {
			high = fmax(high, k->solution->from[(size_t)c * k->d + j]);
			low = fmin(low, k->solution->from[(size_t)c * k->d + j]);
		}
		off += rounding * rounding;
		diagonal += ((high - low) * k->unit) * ((high - low) * k->unit);
	}
	k->bound = 8 * (k->d + 5.0) * unit * diagonal + 4 * sqrt(off * diagonal) + 2 * off;
	k->every = (size_t)(differences / MOST_DIFFERENCES + (differences % MOST_DIFFERENCES > 0));
}

/* The tolerance of a mean of `count` points, in dimension j. */
static double tolerance(const struct verification *k, unsigned j, uint64_t count)
{
	const double *most = k->finding[0].most;
	const double unit =
		k->problem->points.real == REAL_FLOAT ? FLT_EPSILON / 2 : DBL_EPSILON / 2;
	const double largest = fmax(fabs(most[j]), fabs(most[k->d + j])),
		     width = most[j] + most[k->d + j];

	return (4 * unit + (double)count * 0x1p-52) * largest +
	       (k->scale[j] > 0 ? (double)k->problem->all * 0x1p-60 : 1) * width;
}

static const char *verify_centre(const struct verification *k, uint32_t c, char *sentence,
				 size_t size)
{
	const struct solution *s = k->solution;
	const int64_t *sum = k->finding[0].sum;
	const uint64_t count = (uint64_t)sum[(size_t)k->k * k->d + c];

	if (count != s->count[c]) {
		snprintf(sentence, size,
			 "cluster %u is said to have %llu points, but %llu have its label", c,
			 (unsigned long long)s->count[c], (unsigned long long)count);
		return sentence;
	}
	for (unsigned j = 0; j < k->d; j++) {
		const size_t at = (size_t)c * k->d + j;
		const double off = count ? tolerance(k, j, count) : 0;
		double mean = count ? k->middle[j] : s->from[at];

		if (count && k->scale[j] > 0)
			mean += (double)sum[at] / (double)count / k->scale[j];
		if (!(fabs(s->centre[at] - mean) <= off)) {
			snprintf(sentence, size,
				 "in dimension %u, centre %u of %llu points is %.17g, but their "
				 "mean is %.17g, more than %.3g away",
				 j, c, (unsigned long long)count, s->centre[at], mean, off);
			return sentence;
		}
		if (!k->problem->iterations && s->iterations < MOST_ITERATIONS &&
		    !(fabs(s->centre[at] - s->from[at]) <= 2 * off)) {
			snprintf(sentence, size,
				 "it ended while centre %u still moved: from %.17g to %.17g in "
				 "dimension %u",
				 c, s->from[at], s->centre[at], j);
			return sentence;
		}
	}
	return NULL;
}

static const char *verify_all(struct verification *k, char *sentence, size_t size)
{
	const struct problem *p = k->problem;
	const size_t sums = k->k * ((size_t)k->d + 1);
	const char *wrong = NULL;

	measure_box(k);
	team_run(p->team, verify_share, k);
	for (unsigned i = 0; i < p->threads; i++) {
		const struct finding *f = &k->finding[i];

		if (f->wrong && !wrong) {
			const uint32_t label = k->solution->label[f->point];

			if (label >= p->k)
				snprintf(sentence, size,
					 "point %zu has label %u, which is none of the centres",
					 f->point, label);
			else
				snprintf(sentence, size,
					 "point %zu has label %u, but centre %u is nearer",
					 f->point, label, f->other);
			wrong = sentence;
		}
		for (size_t j = 0; i && j < sums; j++)
			k->finding[0].sum[j] += f->sum[j];
	}
	if (p->ranks)
		p->ranks->sum(k->finding[0].sum, sums);
	for (uint32_t c = 0; c < k->k && !wrong; c++)
		wrong = verify_centre(k, c, sentence, size);
	if (!wrong && p->iterations && k->solution->iterations != p->iterations)
		wrong = "it did not do as many iterations as --iterations asks for";
	return wrong;
}

const char *solution_verify(const struct problem *p, const struct solution *s)
{
	static _Thread_local char sentence[300];
	const char *wrong = "not enough memory to check the solution";
	struct verification verification;

	if (!agree_any(p->ranks, verify_open(&verification, p, s, true)))
		wrong = verify_all(&verification, sentence, sizeof(sentence));
	verify_close(&verification);
	return wrong;
}

/* The sum of x >= 0 over all ranks; exact to 2^-40 of the largest. */
static double sum_over(const struct ranks *ranks, double x)
{
	double most = x;
	int64_t parts;

	ranks->most(&most, 1);
	parts = most > 0 && isfinite(most) ? llrint(x / most * 0x1p40) : 0;
	ranks->sum(&parts, 1);
	return (double)parts * 0x1p-40 * most;
}

double solution_inertia(const struct problem *p, const struct solution *s)
{
	struct verification verification;
	double sum = 0;

	if (agree_any(p->ranks, verify_open(&verification, p, s, false))) {
		verify_close(&verification);
		return NAN;
	}
	team_run(p->team, sum_inertia, &verification);
	for (unsigned i = 0; i < p->threads; i++)
		sum += verification.finding[i].inertia;
	verify_close(&verification);
	return p->ranks ? sum_over(p->ranks, sum) : sum;
}
