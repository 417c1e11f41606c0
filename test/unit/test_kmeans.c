/* SPDX-License-Identifier: Apache-2.0 */
/*
 * K-means: all variants against a plain sequential one, on random problems of error-prone kinds;
 * wrong answers are found; and where the data of a cluster lie.
 */
#include "kmeans.h"

static void make_means(const struct problem *p, struct answer *a)
{
	const unsigned d = p->points.d;
	double sum[p->k * d];

	memset(sum, 0, sizeof(sum));
	memset(a->count, 0, p->k * sizeof(*a->count));
	for (size_t i = 0; i < p->points.n; i++) {
		a->count[a->label[i]]++;
		for (unsigned j = 0; j < d; j++)
			sum[a->label[i] * d + j] +=
				real_get(p->points.real, p->points.x, i * d + j);
	}
	for (unsigned c = 0; c < p->k; c++)
		for (unsigned j = 0; j < d && a->count[c]; j++) {
			const double mean = sum[c * d + j] / (double)a->count[c];

			a->mean[c * d + j] = p->points.real == REAL_FLOAT ? (float)mean : mean;
		}
}

static void cluster_plainly(const struct problem *p, struct answer *a)
{
	*a = (struct answer){ .label = calloc(p->points.n, sizeof(uint32_t)),
			      .mean = calloc(p->k * p->points.d, sizeof(double)),
			      .count = calloc(p->k, sizeof(uint64_t)) };
	assert_non_null(a->label);
	assert_non_null(a->mean);
	assert_non_null(a->count);
	for (size_t i = 0; i < p->points.n; i++)
		a->label[i] = UINT32_MAX;
	for (unsigned i = 0; i < p->k * p->points.d; i++)
		a->mean[i] = real_get(p->points.real, p->start, i);
	for (bool last = false; !last;) {
		bool changed = false;

		for (size_t i = 0; i < p->points.n; i++) {
			const uint32_t c = nearest(p, i, a->mean);

			changed |= c != a->label[i];
			a->label[i] = c;
		}
		make_means(p, a);
		a->iterations++;
		last = p->iterations ? a->iterations == p->iterations : !changed;
	}
}

static void answer_free(struct answer *a)
{
	free(a->label);
	free(a->mean);
	free(a->count);
}

/* ---- all variants against the plain one ---- */

static void agrees(const struct problem *p, const struct solution *s, void *answer)
{
	const struct answer *a = answer;

	is_right(p, s, NULL);
	assert_int_equal(s->iterations, a->iterations);
	assert_memory_equal(s->label, a->label, p->points.n * sizeof(uint32_t));
	assert_memory_equal(s->count, a->count, p->k * sizeof(uint64_t));
	for (unsigned i = 0; i < p->k * p->points.d; i++)
		assert_true(fabs(s->centre[i] - a->mean[i]) <=
			    (p->points.real == REAL_FLOAT ? 1e-6 : 1e-12) * (1 + fabs(a->mean[i])));
}

/*
 * Where ties are possible, or likely because numbers are short, `best` may take another path; but
 * each of its steps must be right.
 */
static void try_case(struct fixture *f, struct problem *p, bool exact)
{
	struct answer plain;

	cluster_plainly(p, &plain);
	for (unsigned variant = 0; variant < VARIANTS; variant++) {
		const unsigned threads = 1 + below(MOST_THREADS);
		const bool alike = variant != BEST || (!exact && p->points.real == REAL_DOUBLE);

		solve(f, p, threads, variant, alike ? agrees : is_right, &plain);
	}
	answer_free(&plain);
}

static void try_random_case(struct fixture *f, unsigned i)
{
	const enum kind kind = (enum kind)(i % LENGTH(kinds));
	const unsigned n = 1 + below(MOST_POINTS), d = below(3) ? 1 + below(9) : 2,
		       most = n < 24 ? n : 24;
	const unsigned k = i % 9 == 0 ? 1 : i % 9 == 1 ? most : 1 + below(most);
	const enum real real = below(4) ? REAL_DOUBLE : REAL_FLOAT;
	struct problem p;

	snprintf(at_hand, sizeof(at_hand), "%u: %s, %u x %u, k=%u, %s", i, kinds[kind], n, d, k,
		 real == REAL_FLOAT ? "float" : "double");
	invent(&p, kind, real, n, d, k);
	p.iterations = below(3) ? 0 : 1 + below(5);
	try_case(f, &p, is_exact(kind));
	forget(&p);
}

static int all_agree(struct team *team, void *argument)
{
	struct fixture *f = argument;

	f->team = team;
	seed = 20171;
	for (unsigned i = 0; i < cases(CASES); i++)
		try_random_case(f, i);
	return 0;
}

/* As many clusters as points, all distinct: no centre moves. */
static int every_point_is_a_cluster(struct team *team, void *argument)
{
	struct fixture *f = argument;
	struct problem p;

	f->team = team;
	invent(&p, UNIFORMLY, REAL_DOUBLE, 50, 3, 50);
	try_case(f, &p, false);
	forget(&p);
	return 0;
}

/* ---- where things lie ---- */

static void clusters_share_no_line(void **state)
{
	static const size_t values[] = { sizeof(double), sizeof(float) };

	(void)state;
	for (size_t i = 0; i < LENGTH(values); i++)
		for (unsigned d = 1; d < 40; d++) {
			const size_t real = values[i];

			assert_int_equal(STRIDE(d, real, false) % LINE, 0);
			assert_true(SUM_AT(d, real, false) >= d * real &&
				    SUM_AT(d, real, false) % sizeof(double) == 0);
			assert_true(LOCK_AT(d, real, false) + sizeof(struct spin_lock) <=
				    STRIDE(d, real, false));
			assert_true(STRIDE(d, real, false) - LOCK_AT(d, real, false) -
					    sizeof(struct spin_lock) <
				    LINE);
			assert_int_equal(SUM_AT(d, real, true) % PADDED, 0);
			assert_int_equal(STRIDE(d, real, true) % PADDED, 0);
			assert_true(SUM_AT(d, real, true) >= d * real);
		}
}

WITH_TEAM(all_agree)
WITH_TEAM(every_point_is_a_cluster)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clusters_share_no_line),
		cmocka_unit_test_teardown(test_all_agree, say_which),
		cmocka_unit_test(test_every_point_is_a_cluster),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
