/* SPDX-License-Identifier: Apache-2.0 */
/* Whether an answer is right. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/apart.h"
#include "bench/kmeans/kmeans.h"
#include "kit/agree.h"
#include "kit/shares.h"

/*
 * The most differences of coordinates to compute; if there are more, only every n-th point is
 * checked.
 */
#define MOST_DIFFERENCES (UINT64_C(1) << 25)

#define NO_MEMORY "not enough memory to check the solution"

/* One worker's findings in its share. */
struct finding {
	_Alignas(APART) size_t point; /* the point whose label is wrong, if `wrong` */
	/* a nearer centre; the label itself if it is out of range */
	uint32_t other;
	bool wrong;
	long double inertia;
	double *side;	  /* 2 d values: the largest of x and of -x, by dimension */
	double *most;	  /* k rows of d: the largest |x| of a cluster's points */
	long double *sum; /* k rows of d */
	int64_t *count;	  /* k */
};

struct verification {
	const struct problem *problem;
	const struct solution *solution;
	unsigned d;
	uint32_t k;
	double roundoff; /* of the points' type */
	double *width;	 /* d values: over all points, without far outliers */
	size_t every;	 /* one point in so many is checked */
	struct finding *finding;
};

static double value_at(const struct points *p, size_t i)
{
	return real_get(p->real, p->x, i);
}

/*
 * The range of long double may be that of double (IBM's): there, squares of differences fit only if
 * differences are scaled, and sums of large values. Powers of two scale exactly; where the range is
 * larger, they change nothing.
 */
static double scale_for(const struct verification *k, size_t point, const double *centre)
{
	double most = 0;

	for (unsigned j = 0; j < k->d; j++)
		most = fmax(most,
			    fabs(value_at(&k->problem->points, point * k->d + j) - centre[j]));
	return most > 0x1p400 ? 0x1p-600 : most < 0x1p-400 ? 0x1p600 : 1;
}

static double scale_of_sum(double most)
{
	return most > 0x1p900 ? 0x1p-64 : 1;
}

/* Of coordinates times `scale`. It may be infinite if it exceeds the centre's that chose it. */
static long double squared_distance(const struct verification *k, size_t point,
				    const double *centre, double scale)
{
	/* large differences may exceed a double themselves; values with small ones may be large */
	const long double before = fmin(scale, 1), after = fmax(scale, 1);
	long double sum = 0;

	for (unsigned j = 0; j < k->d; j++) {
		const double x = value_at(&k->problem->points, point * k->d + j);
		const long double delta = (x * before - centre[j] * before) * after;

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
	double *side = k->finding[self->index].side;

	for (unsigned j = 0; j < 2 * k->d; j++)
		side[j] = -INFINITY;
	for (size_t i = begin_of(k, self->index); i < begin_of(k, self->index + 1); i++)
		for (unsigned j = 0; j < k->d; j++) {
			const double x = value_at(&k->problem->points, i * k->d + j);

			side[j] = fmax(side[j], x);
			side[k->d + j] = fmax(side[k->d + j], -x);
		}
}

/* No centre may be nearer by more than what either distance loses by rounding. */
static bool verify_label(const struct verification *k, size_t i, struct finding *f)
{
	const uint32_t label = k->solution->label[i];
	const double *centre = k->solution->from + (size_t)label * k->d;
	const double scale = scale_for(k, i, centre);
	const long double own = squared_distance(k, i, centre, scale);

	for (uint32_t c = 0; c < k->k; c++) {
		const long double other =
			squared_distance(k, i, k->solution->from + (size_t)c * k->d, scale);

		if (own - other <= (k->d + 4) * k->roundoff * (own + other))
			continue;
		f->other = c;
		return false;
	}
	return true;
}

/* The largest |x| scales the sum. */
static void set_most(struct finding *f, size_t at, double most)
{
	if (!(most > f->most[at]))
		return;
	f->sum[at] *= scale_of_sum(most) / scale_of_sum(f->most[at]);
	f->most[at] = most;
}

static void add_point(const struct verification *k, size_t i, struct finding *f)
{
	const uint32_t label = k->solution->label[i];

	f->count[label]++;
	for (unsigned j = 0; j < k->d; j++) {
		const double x = value_at(&k->problem->points, i * k->d + j);
		const size_t at = (size_t)label * k->d + j;

		set_most(f, at, fabs(x));
		f->sum[at] += (long double)x * scale_of_sum(f->most[at]);
	}
}

static void verify_share(void *verification, struct worker *self)
{
	const struct verification *k = verification;
	struct finding *f = &k->finding[self->index];

	for (f->point = begin_of(k, self->index); f->point < begin_of(k, self->index + 1);
	     f->point++) {
		const size_t i = f->point;

		f->other = k->solution->label[i];
		f->wrong = f->other >= k->k || (i % k->every == 0 && !verify_label(k, i, f));
		if (f->wrong)
			return;
		add_point(k, i, f);
	}
}

static void sum_inertia(void *verification, struct worker *self)
{
	const struct verification *k = verification;
	long double sum = 0;

	for (size_t i = begin_of(k, self->index); i < begin_of(k, self->index + 1); i++)
		sum += squared_distance(
			k, i, k->solution->centre + (size_t)k->solution->label[i] * k->d, 1);
	k->finding[self->index].inertia = sum;
}

static void verify_close(struct verification *k)
{
	for (unsigned i = 0; k->finding && i < k->problem->threads; i++) {
		free(k->finding[i].side);
		free(k->finding[i].most);
		free(k->finding[i].sum);
		free(k->finding[i].count);
	}
	free(k->finding);
	free(k->width);
}

static int finding_open(struct finding *f, unsigned d, uint32_t k)
{
	f->side = calloc(2 * (size_t)d, sizeof(*f->side));
	f->most = calloc((size_t)k * d, sizeof(*f->most));
	f->sum = calloc((size_t)k * d, sizeof(*f->sum));
	f->count = calloc(k, sizeof(*f->count));
	return f->side && f->most && f->sum && f->count ? 0 : -1;
}

static int verify_open(struct verification *k, const struct problem *p, const struct solution *s,
		       bool whole)
{
	const unsigned d = p->points.d;

	*k = (struct verification){ .problem = p, .solution = s, .d = d, .k = p->k };
	k->roundoff = (p->points.real == REAL_FLOAT ? FLT_EPSILON : DBL_EPSILON) / 2;
	k->finding = aligned_alloc(APART, p->threads * sizeof(*k->finding));
	if (!k->finding)
		return -1;
	memset(k->finding, 0, p->threads * sizeof(*k->finding));
	if (!whole)
		return 0;
	for (unsigned i = 0; i < p->threads; i++)
		if (finding_open(&k->finding[i], d, p->k))
			return -1;
	k->width = calloc(d, sizeof(*k->width));
	return k->width ? 0 : -1;
}

size_t solution_verify_bytes(const struct problem *p)
{
	const size_t each = sizeof(long double) + sizeof(double);

	return p->threads * (p->k * ((size_t)p->points.d * each + sizeof(int64_t)) +
			     (size_t)2 * p->points.d * sizeof(double));
}

/* Finds the width of the points, and how many of them are checked. */
static void measure_box(struct verification *k)
{
	const struct problem *p = k->problem;
	double *side = k->finding[0].side;
	uint64_t differences = (uint64_t)p->points.n * k->k * k->d;

	team_run(p->team, find_box, k);
	for (unsigned i = 1; i < p->threads; i++)
		for (unsigned j = 0; j < 2 * k->d; j++)
			side[j] = fmax(side[j], k->finding[i].side[j]);
	if (p->ranks)
		p->ranks->most(side, 2 * (size_t)k->d);
	kmeans_spread(p, k->width);
	for (unsigned j = 0; j < k->d; j++)
		k->width[j] = fmin(k->width[j], side[j] + side[k->d + j]);
	k->every = (size_t)(differences / MOST_DIFFERENCES + (differences % MOST_DIFFERENCES > 0));
}

/* Adds the sums of all workers to the first worker's. */
static void join_workers(const struct verification *k)
{
	struct finding *all = k->finding;

	for (unsigned i = 1; i < k->problem->threads; i++)
		for (size_t at = 0; at < (size_t)k->k * k->d; at++) {
			set_most(all, at, all[i].most[at]);
			set_most(&all[i], at, all->most[at]);
			all->sum[at] += all[i].sum[at];
		}
	for (unsigned i = 1; i < k->problem->threads; i++)
		for (uint32_t c = 0; c < k->k; c++)
			all->count[c] += all[i].count[c];
}

/* An upper bound for the sum of a cluster's values in a dimension, scaled like it. */
static long double largest_sum(const struct finding *all, size_t at, unsigned d)
{
	const int64_t count = all->count[at / d];

	return (long double)all->most[at] * scale_of_sum(all->most[at]) * (long double)count;
}

/* Adds the sums of all ranks as integers, exact to 2^-61 of their largest possible value. */
static int join_ranks(const struct verification *k)
{
	const struct ranks *ranks = k->problem->ranks;
	const size_t sums = (size_t)k->k * k->d;
	struct finding *all = k->finding;
	int64_t *part;
	double *most;

	if (!ranks)
		return 0;
	part = calloc(sums, sizeof(*part));
	most = calloc(sums, sizeof(*most));
	if (agree_any(ranks, !part || !most) || !part || !most) {
		free(part);
		free(most);
		return -1;
	}
	ranks->sum(all->count, k->k);
	memcpy(most, all->most, sums * sizeof(*most));
	ranks->most(most, sums);
	for (size_t at = 0; at < sums; at++) {
		set_most(all, at, most[at]);
		if (most[at] > 0)
			part[at] = llrintl(all->sum[at] / largest_sum(all, at, k->d) * 0x1p61L);
	}
	ranks->sum(part, sums);
	for (size_t at = 0; at < sums; at++)
		all->sum[at] = (long double)part[at] * 0x1p-61L * largest_sum(all, at, k->d);
	free(part);
	free(most);
	return 0;
}

/*
 * The tolerance of the mean of cluster c in dimension j: rounding to the type, additions in any
 * order, and sums of integers with 2^51 steps for half the width, whatever the type.
 */
static double tolerance(const struct verification *k, uint32_t c, unsigned j)
{
	const struct finding *all = k->finding;
	const double least =
		k->problem->points.real == REAL_FLOAT ? (double)FLT_TRUE_MIN : DBL_TRUE_MIN;

	return (4 * k->roundoff + (double)all->count[c] * 0x1p-52) *
		       all->most[(size_t)c * k->d + j] +
	       (k->roundoff + 0x1p-52 + (double)k->problem->all * 0x1p-60) * k->width[j] +
	       2 * least;
}

static double mean_of(const struct finding *all, size_t at, uint64_t count)
{
	return (double)(all->sum[at] / (long double)count / scale_of_sum(all->most[at]));
}

static const char *verify_centre(const struct verification *k, uint32_t c, char *sentence,
				 size_t size)
{
	const struct solution *s = k->solution;
	const uint64_t count = (uint64_t)k->finding[0].count[c];

	if (count != s->count[c]) {
		snprintf(sentence, size,
			 "cluster %u has a count of %llu points, but %llu points have its label", c,
			 (unsigned long long)s->count[c], (unsigned long long)count);
		return sentence;
	}
	for (unsigned j = 0; j < k->d; j++) {
		const size_t at = (size_t)c * k->d + j;
		const double off = count ? tolerance(k, c, j) : 0;
		const double mean = count ? mean_of(k->finding, at, count) : s->from[at];

		if (!(fabs(s->centre[at] - mean) <= off)) {
			snprintf(sentence, size,
				 "in dimension %u, centre %u of %llu points is %.17g, but their "
				 "mean is %.17g, more than %.3g away",
				 j, c, (unsigned long long)count, s->centre[at], mean, off);
			return sentence;
		}
		if (!k->problem->iterations && s->iterations < KMEANS_MOST_ITERATIONS &&
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

/* The first label that is wrong. */
static const char *wrong_label(const struct verification *k, char *sentence, size_t size)
{
	for (unsigned i = 0; i < k->problem->threads; i++) {
		const struct finding *f = &k->finding[i];
		const uint32_t label = f->wrong ? k->solution->label[f->point] : 0;

		if (!f->wrong)
			continue;
		if (label >= k->k)
			snprintf(sentence, size,
				 "point %zu has label %u, which is none of the centres", f->point,
				 label);
		else
			snprintf(sentence, size, "point %zu has label %u, but centre %u is nearer",
				 f->point, label, f->other);
		return sentence;
	}
	return NULL;
}

static const char *verify_all(struct verification *k, char *sentence, size_t size)
{
	const struct problem *p = k->problem;
	const char *wrong;

	measure_box(k);
	team_run(p->team, verify_share, k);
	wrong = wrong_label(k, sentence, size);
	join_workers(k);
	if (join_ranks(k))
		return NO_MEMORY;
	for (uint32_t c = 0; c < k->k && !wrong; c++)
		wrong = verify_centre(k, c, sentence, size);
	if (!wrong && p->iterations && k->solution->iterations != p->iterations)
		wrong = "it did not do as many iterations as --iterations asks for";
	return wrong;
}

const char *solution_verify(const struct problem *p, const struct solution *s)
{
	static _Thread_local char sentence[300];
	const char *wrong = NO_MEMORY;
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
	long double sum = 0;

	if (agree_any(p->ranks, verify_open(&verification, p, s, false))) {
		verify_close(&verification);
		return NAN;
	}
	team_run(p->team, sum_inertia, &verification);
	for (unsigned i = 0; i < p->threads; i++)
		sum += verification.finding[i].inertia;
	verify_close(&verification);
	return p->ranks ? sum_over(p->ranks, (double)sum) : (double)sum;
}
