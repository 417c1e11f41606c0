/* SPDX-License-Identifier: Apache-2.0 */
/* Lloyd's k-means on any number of ranks gives the same, bit for bit. */
#include <pthread.h>

#include "base/ranks.h"
#include "kit/shares.h"
#include "lloyd.h"

/* Ranks are threads here, each with a team of its own. */
enum { RANKS = 3 };
static struct {
	pthread_barrier_t barrier;
	const int64_t *sum[RANKS];
	const double *most[RANKS];
} meeting;
static _Thread_local unsigned rank_here;

static void sum_of_ranks(int64_t *value, size_t n)
{
	int64_t *sum = calloc(n, sizeof(*sum));

	meeting.sum[rank_here] = value;
	pthread_barrier_wait(&meeting.barrier);
	for (unsigned r = 0; r < RANKS; r++)
		for (size_t i = 0; i < n; i++)
			sum[i] += meeting.sum[r][i]; /* a sanitizer notices if n is too large */
	pthread_barrier_wait(&meeting.barrier);
	memcpy(value, sum, n * sizeof(*sum));
	free(sum);
}

static void most_of_ranks(double *value, size_t n)
{
	double *most = copy(value, n * sizeof(*value));

	meeting.most[rank_here] = value;
	pthread_barrier_wait(&meeting.barrier);
	for (unsigned r = 0; r < RANKS; r++)
		for (size_t i = 0; i < n; i++)
			most[i] = fmax(most[i], meeting.most[r][i]);
	pthread_barrier_wait(&meeting.barrier);
	memcpy(value, most, n * sizeof(*most));
	free(most);
}

struct rank {
	pthread_t thread;
	unsigned number;
	struct ranks ranks;
	struct job job;
	int status;
};

static void *be_rank(void *argument)
{
	struct rank *r = argument;

	rank_here = r->number;
	r->status = team_open(r->job.problem.threads, solve, &r->job);
	return NULL;
}

static void ranks_agree(const struct given *g, enum prune prune)
{
	const struct points *p = &g->problem.points;
	struct job alone = run(g, prune, 1, g->seed % 2 ? 0 : 6);
	struct rank rank[RANKS];

	for (unsigned r = 0; r < RANKS && alone.fits; r++) {
		struct problem *part = &rank[r].job.problem;
		const size_t first = share_begin(p->n, r, RANKS);

		rank[r] = (struct rank){ .number = r,
					 .ranks = { .rank = r,
						    .ranks = RANKS,
						    .sum = sum_of_ranks,
						    .most = most_of_ranks },
					 .job = alone };
		part->points.x = (char *)p->x + first * p->d * real_bytes(p->real);
		part->points.n = share_size(p->n, r, RANKS);
		part->threads = 1 + r;
		part->ranks = &rank[r].ranks;
		assert_int_equal(pthread_create(&rank[r].thread, NULL, be_rank, &rank[r]), 0);
	}
	for (unsigned r = 0; r < RANKS && alone.fits; r++)
		assert_int_equal(pthread_join(rank[r].thread, NULL), 0);
	for (unsigned r = 0; r < RANKS && alone.fits; r++) {
		assert_int_equal(rank[r].status, 0);
		assert_int_equal(rank[r].job.kept.iterations, alone.kept.iterations);
		assert_memory_equal(rank[r].job.kept.centre, alone.kept.centre,
				    g->problem.k * p->d * sizeof(double));
		assert_memory_equal(rank[r].job.kept.count, alone.kept.count,
				    g->problem.k * sizeof(uint64_t));
		assert_memory_equal(rank[r].job.kept.label,
				    alone.kept.label + share_begin(p->n, r, RANKS),
				    rank[r].job.problem.points.n * sizeof(uint32_t));
		drop(&rank[r].job.kept);
	}
	if (alone.fits)
		drop(&alone.kept);
}

static void test_ranks_change_nothing(void **state)
{
	(void)state;
	assert_int_equal(pthread_barrier_init(&meeting.barrier, NULL, RANKS), 0);
	for (uint64_t seed = 0; seed < cases(8); seed++) {
		struct given g = seed % 4 ? random_problem(seed) : larger_problem(seed, 0);

		ranks_agree(&g, (enum prune)(seed % 3 ? PRUNE_AUTO : seed % (PRUNE_BOXES + 1)));
		forget(&g);
	}
	pthread_barrier_destroy(&meeting.barrier);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ranks_change_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
