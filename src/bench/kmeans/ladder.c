/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/kmeans/cluster.h"
#include "bench/kmeans/ladder.h"
#include "bench/kmeans/ladder_state.h"
#include "bench/kmeans/steps.h"

/* Adds up a cluster's sums and count; resets them where threads share them. */
static void gather(const struct ladder *l, uint32_t c, double *sum, uint64_t *count)
{
	const unsigned d = l->problem.points.d;
	unsigned char *cluster = l->clusters + c * l->stride, *shared;

	memset(sum, 0, d * sizeof(*sum));
	*count = 0;
	switch (l->rung) {
	case RUNG_THREE_PHASES:
		steps_add_groups(l, c, sum, count);
		return;
	case RUNG_PRIVATE_DENSE:
	case RUNG_PRIVATE_PADDED:
		for (unsigned worker = 0; worker < l->problem.threads; worker++) {
			const double *own =
				(const double *)(l->sums + worker * l->block + c * l->entry);

			for (unsigned j = 0; j < d; j++)
				sum[j] += own[j];
			*count += *(const uint64_t *)(own + d);
		}
		return;
	default:
		shared = cluster + SUM_AT(d, real_bytes(l->problem.points.real), l->apart);
		memcpy(sum, shared, d * sizeof(*sum));
		memcpy(count, shared + d * sizeof(*sum), sizeof(*count));
		memset(shared, 0, ENTRY(d));
	}
}

static void set_mean(const struct ladder *l, uint32_t c, const double *mean)
{
	for (unsigned j = 0; j < l->problem.points.d; j++)
		real_set(l->problem.points.real, l->clusters + c * l->stride, j, mean[j]);
}

static void get_mean(const struct ladder *l, uint32_t c, double *mean)
{
	const unsigned char *from = l->clusters + c * l->stride;

	for (unsigned j = 0; j < l->problem.points.d; j++)
		mean[j] = real_get(l->problem.points.real, from, j);
}

/* Moves the worker's share of the centres to the means of their points. */
static void make_means(struct ladder *l, unsigned worker, bool last)
{
	const unsigned d = l->problem.points.d, threads = l->problem.threads;
	double *sum = l->own[worker].sum;
	uint64_t count;

	for (uint32_t c = (uint32_t)share_begin(l->problem.k, worker, threads);
	     c < share_begin(l->problem.k, worker + 1, threads); c++) {
		gather(l, c, sum, &count);
		if (last)
			get_mean(l, c, l->solution.from + (size_t)c * d);
		for (unsigned j = 0; j < d && count; j++)
			sum[j] /= (double)count;
		if (count)
			set_mean(l, c, sum);
		if (!last)
			continue;
		get_mean(l, c, l->solution.centre + (size_t)c * d);
		l->solution.count[c] = count;
	}
}

/* Resets the worker's labels, and its share of the centres to the start. */
static void begin(struct ladder *l, unsigned worker)
{
	const unsigned threads = l->problem.threads, d = l->problem.points.d;
	double *sum = l->own[worker].sum;

	for (size_t i = begin_of(l, worker); i < end_of(l, worker); i++)
		l->solution.label[i] = UINT32_MAX;
	for (uint32_t c = (uint32_t)share_begin(l->problem.k, worker, threads);
	     c < share_begin(l->problem.k, worker + 1, threads); c++) {
		for (unsigned j = 0; j < d; j++)
			sum[j] = real_get(l->problem.points.real, l->problem.start,
					  (size_t)c * d + j);
		set_mean(l, c, sum);
	}
}

static uint64_t changed(const struct ladder *l)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < l->problem.threads; i++)
		sum += l->own[i].changed;
	return sum;
}

void ladder_work(struct ladder *l, struct worker *self)
{
	const struct steps *steps = steps_of(&l->problem, l->rung);
	struct own *own = &l->own[self->index];
	uint64_t iteration = 0;
	bool last;

	begin(l, self->index);
	team_barrier(l->problem.team);
	do {
		own->changed = steps->assign(l, self->index);
		team_barrier(l->problem.team);
		if (steps->add) {
			steps->add(l, self->index);
			team_barrier(l->problem.team);
		}
		iteration++;
		last = is_last(&l->problem, iteration, changed(l));
		make_means(l, self->index, last);
		team_barrier(l->problem.team);
	} while (!last);
	if (self->index == 0) {
		l->solution.iterations = iteration;
		l->solution.distances = iteration * l->problem.points.n * l->problem.k;
	}
	self->done = iteration;
}

const struct solution *ladder_solution(const struct ladder *l)
{
	return &l->solution;
}

size_t ladder_bytes(enum rung rung, const struct problem *p)
{
	return ladder_state_bytes(rung, p);
}

struct ladder *ladder_open(const struct problem *problem, enum rung rung, struct arena *arena)
{
	struct ladder *l = calloc(1, sizeof(*l));

	if (!l || !ladder_state_open(l, problem, rung, arena))
		return l;
	ladder_close(l);
	errno = ENOMEM;
	return NULL;
}

void ladder_enter(struct ladder *l, struct worker *self)
{
	ladder_state_enter(l, self->index);
}

void ladder_close(struct ladder *l)
{
	if (!l)
		return;
	ladder_state_close(l);
	free(l);
}
