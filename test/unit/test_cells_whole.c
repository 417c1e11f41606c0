/* SPDX-License-Identifier: Apache-2.0 */
/*
 * k-means pruned by cells gives the same result as brute force, bit for bit, on easy, hard and
 * degenerate data; and it does prune.
 */
#include "cells.h"

/* ---- one clustering ---- */

struct run {
	struct problem problem;
	enum prune prune;
	uint32_t *label;
	double *centre;
	uint64_t *count;
	uint64_t iterations, distances;
};

static void *map(void *blocks, const char *name, size_t bytes, bool huge)
{
	void ***next = blocks, *block = aligned_alloc(4096, round_up(bytes, 4096));

	(void)name, (void)huge;
	assert_non_null(block);
	return *(*next)++ = block;
}

static void claim(void *blocks, void *part, size_t bytes, unsigned worker, bool alone)
{
	(void)blocks, (void)part, (void)bytes, (void)worker, (void)alone;
}

static void enter(void *l, struct worker *w)
{
	lloyd_enter(l, w);
}

static void work(void *l, struct worker *w)
{
	lloyd_work(l, w);
}

static int cluster(struct team *team, void *argument)
{
	struct run *r = argument;
	struct problem *p = &r->problem;
	struct place place[8] = { { 0 } };
	const struct solution *s;
	void *block[4], **next = block;
	struct lloyd *l;
	unsigned culprit;
	int cpu = sched_getcpu();

	for (unsigned i = 0; i < p->threads; i++)
		place[i].cpu = cpu;
	assert_int_equal(team_seat(team, place, p->threads, &culprit), 0);
	p->team = team;
	l = lloyd_open(p, r->prune, &(struct lloyd_memory){ &next, map, claim });
	assert_non_null(l);
	assert_string_equal(choice_make(p, r->prune).method[0]->name,
			    r->prune == PRUNE_NONE ? "brute" : "cells");
	team_run(team, enter, l);
	for (int turn = 0; turn < 2; turn++) /* the second does not depend on the first */
		team_run(team, work, l);
	s = lloyd_solution(l);
	memcpy(r->label, s->label, p->points.n * sizeof(*r->label));
	memcpy(r->centre, s->centre, (size_t)p->k * p->points.d * sizeof(*r->centre));
	memcpy(r->count, s->count, p->k * sizeof(*r->count));
	r->iterations = s->iterations;
	r->distances = s->distances;
	lloyd_close(l);
	while (next > block)
		free(*--next);
	return 0;
}

static void run(struct run *r, struct problem p, enum prune prune)
{
	*r = (struct run){ .problem = p, .prune = prune };
	r->label = malloc(p.points.n * sizeof(*r->label));
	r->centre = malloc((size_t)p.k * p.points.d * sizeof(*r->centre));
	r->count = malloc(p.k * sizeof(*r->count));
	assert_true(r->label && r->centre && r->count);
	assert_int_equal(team_open(p.threads, cluster, r), 0);
}

static void drop(struct run *r)
{
	free(r->label);
	free(r->centre);
	free(r->count);
}

static void same(const struct run *ours, const struct run *brute, const char *kind)
{
	const struct problem *p = &ours->problem;

	if (ours->iterations != brute->iterations ||
	    memcmp(ours->label, brute->label, p->points.n * sizeof(*ours->label)) != 0 ||
	    memcmp(ours->centre, brute->centre,
		   (size_t)p->k * p->points.d * sizeof(*ours->centre)) != 0 ||
	    memcmp(ours->count, brute->count, p->k * sizeof(*ours->count)) != 0)
		fail_msg("%s: n %zu, d %u, k %u, %s, %u threads: not what brute force finds", kind,
			 p->points.n, p->points.d, p->k,
			 p->points.real == REAL_FLOAT ? "float" : "double", p->threads);
}

/* ---- tests ---- */

/* The whole clustering, on any number of threads. */
static void is_brute_force(void **argument)
{
	const unsigned kind = *(const unsigned *)*argument;

	for (unsigned n = 0; n < cases(3); n++)
		for (int real = REAL_DOUBLE; real <= REAL_FLOAT; real++) {
			struct problem p = make(kind, real, 1500, 1 + (kind + n) % 3, 20);
			struct run brute, ours;

			p.iterations = 25;
			run(&brute, p, PRUNE_NONE);
			for (p.threads = 1 + (n + (unsigned)real) % 2; p.threads <= 4;
			     p.threads += 2) {
				run(&ours, p, p.threads == 2 ? PRUNE_AUTO : PRUNE_CELLS);
				same(&ours, &brute, kinds[kind].name);
				drop(&ours);
			}
			drop(&brute);
			unmake(&p);
		}
}

static void few_distances_on_any_number_of_threads(void **argument)
{
	static const double most[] = { 0.03, 0.07, 0.3 };
	enum { MANY = 8 };

	(void)argument;
	if (cases(2) < 2) {
		print_message("it is the same anywhere, and takes long here\n");
		skip();
	}
	for (unsigned real = REAL_DOUBLE; real <= REAL_FLOAT; real++)
		for (unsigned d = 1; d <= 3; d++) {
			struct problem p = make(0, real, 50000, d, 80);
			struct run ours, many;

			p.iterations = 40;
			run(&ours, p, PRUNE_CELLS);
			if ((double)ours.distances > most[d - 1] * 50000. * 80 * 40)
				fail_msg("%u dimensions: %.3f of all distances", d,
					 (double)ours.distances / (50000. * 80 * 40));
			p.threads = MANY;
			run(&many, p, PRUNE_CELLS);
			if ((double)many.distances > 1.05 * (double)ours.distances)
				fail_msg("%u dimensions: %.3f times as many distances on %d "
					 "threads",
					 d, (double)many.distances / (double)ours.distances, MANY);
			drop(&many);
			drop(&ours);
			unmake(&p);
		}
}

/* More dimensions than cells support. */
static void refuses(void **argument)
{
	struct problem p = make(0, REAL_DOUBLE, 10, 9, 2);

	(void)argument;
	assert_null(choice_make(&p, PRUNE_CELLS).method[0]);
	unmake(&p);
}

/* PRUNE_AUTO chooses cells if they save more time than sorting takes. */
static void chosen_where_it_pays(void **argument)
{
	static const struct {
		size_t n;
		unsigned k;
		uint64_t iterations;
		bool pays;
		unsigned d;
	} cases[] = { { 20000, 81, 108, true, 2 },  { 20000, 81, 0, true, 2 },
		      { 16384, 4096, 10, true, 2 }, { 16384, 4096, 10, false, 3 },
		      { 20000, 2, 1, false, 2 },    { 500, 81, 108, false, 2 } };

	(void)argument;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct problem p = make(0, REAL_DOUBLE, cases[i].n, cases[i].d, cases[i].k);

		p.iterations = cases[i].iterations;
		assert_int_equal(choice_make(&p, PRUNE_AUTO).method[0] == &method_cells,
				 cases[i].pays);
		unmake(&p);
	}
}

/*
 * If one point is far from all others, cells compute nearly all distances: PRUNE_AUTO continues
 * with another method, which skips no distance, and the result is the same.
 */
static void hands_over_where_it_does_not_pay(void **argument)
{
	unsigned kind = 0;

	(void)argument;
	while (strcmp(kinds[kind].name, "outlier"))
		kind++;
	for (unsigned real = REAL_DOUBLE; real < cases(2); real++) {
		struct problem p = make(kind, real, 4000, 2, 40);
		struct run cells_only, brute, by_itself;

		p.iterations = 15;
		run(&cells_only, p, PRUNE_CELLS);
		run(&brute, p, PRUNE_NONE);
		run(&by_itself, p, PRUNE_AUTO);
		same(&by_itself, &brute, kinds[kind].name);
		assert_true(by_itself.distances > cells_only.distances);
		drop(&cells_only);
		drop(&brute);
		drop(&by_itself);
		unmake(&p);
	}
}

int main(void)
{
	static unsigned number[LENGTH(kinds)];
	static char name[LENGTH(kinds)][64];
	struct CMUnitTest tests[LENGTH(kinds) + 4];
	size_t n = 0;

	for (unsigned i = 0; i < LENGTH(kinds); i++) {
		number[i] = i;
		snprintf(name[n], sizeof(name[n]), "%s: the same as brute force", kinds[i].name);
		tests[n] = (struct CMUnitTest){ name[n], is_brute_force, NULL, NULL, &number[i] };
		n++;
	}
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(hands_over_where_it_does_not_pay);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(few_distances_on_any_number_of_threads);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(refuses);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(chosen_where_it_pays);
	return _cmocka_run_group_tests("cells", tests, n, NULL, NULL);
}
