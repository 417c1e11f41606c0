/* SPDX-License-Identifier: Apache-2.0 */
/* The summary of pairs of workers, on synthetic machines with made-up times. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cases.h"
#include "harness/judge/summary.h"
#include "harness/plan/plan.h"
#include "machine/topology/topology.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(*(array)))

#define MACHINE "package:2 numa:2 l3:2 core:4 pu:2"

/* A trial on a synthetic machine, its pairs, and their summary. */
struct fixture {
	struct machine *machine;
	struct place place[64];
	struct trial trial;
	struct pairs *pairs;
	json_t *json;
};

/* A worker on each step-th CPU. */
static void begin(struct fixture *f, const char *machine, unsigned step)
{
	const char *error;

	memset(f, 0, sizeof(*f));
	f->machine = machine_open(machine, &error);
	assert_non_null(f->machine);
	f->trial = (struct trial){ .machine = f->machine,
				   .place = f->place,
				   .threads = f->machine->cpus / step };
	for (unsigned i = 0; i < f->trial.threads; i++)
		f->place[i] = (struct place){ f->machine->cpu[i * step].number,
					      f->machine->cpu[i * step].node };
	f->trial.seed = 1;
	f->pairs = pairs_open(&f->trial);
	assert_non_null(f->pairs);
}

static void end(struct fixture *f)
{
	json_decref(f->json);
	pairs_close(f->pairs);
	machine_close(f->machine);
}

/* A pair's usual time in s: 10 ns more per level of distance. */
static double usual(const struct fixture *f, unsigned a, unsigned b)
{
	return 1e-8 * (1 + (double)machine_level(f->machine, f->place[a].cpu, f->place[b].cpu));
}

/* Adds each pair's usual time once, times `factor` if `slow` (unless NULL) is one of the two. */
static void meet(struct fixture *f, const struct place *slow, double factor)
{
	for (unsigned a = 0; a < f->trial.threads; a++)
		for (unsigned b = a + 1; b < f->trial.threads; b++) {
			const bool of_slow = slow && (f->place[a].cpu == slow->cpu ||
						      f->place[b].cpu == slow->cpu);

			pairs_add(f->pairs, a, b, usual(f, a, b) * (of_slow ? factor : 1), false);
		}
}

/* The summary alone; other tests check its notes with a whole trial. */
static json_t *said_of(struct fixture *f)
{
	struct verdict v = { STATUS_OK, json_array(), json_array() };
	json_t *json = summary_pairs(f->pairs, &f->trial, &v);

	json_decref(v.reasons);
	json_decref(v.notes);
	return json;
}

static void say(struct fixture *f)
{
	f->json = said_of(f);
	assert_true(json_is_object(f->json));
}

static const char *text(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static double real(const json_t *object, const char *key)
{
	const json_t *number = json_object_get(object, key);

	assert_true(json_is_number(number));
	return json_number_value(number);
}

static double cell(const struct fixture *f, const char *column, size_t i)
{
	return json_number_value(
		json_array_get(json_object_get(json_object_get(f->json, "cells"), column), i));
}

static void nothing_is_said_before_anything_was_added(void **unused)
{
	struct fixture f;

	(void)unused;
	begin(&f, MACHINE, 1);
	assert_true(json_is_null(said_of(&f)));
	end(&f);
}

static void every_cell_has_its_cpus_and_its_level(void **unused)
{
	struct fixture f;
	const json_t *cells;
	size_t i = 0;

	(void)unused;
	begin(&f, MACHINE, 1);
	meet(&f, NULL, 1);
	say(&f);
	assert_int_equal(json_integer_value(json_object_get(f.json, "rounds")), 63);
	cells = json_object_get(f.json, "cells");
	for (unsigned a = 0; a < 64; a++)
		for (unsigned b = a + 1; b < 64; b++, i++) {
			assert_int_equal(cell(&f, "a", i), f.place[a].cpu);
			assert_int_equal(cell(&f, "b", i), f.place[b].cpu);
			assert_int_equal(cell(&f, "n", i), 1);
			assert_string_equal(json_string_value(json_array_get(
						    json_object_get(cells, "level"), i)),
					    machine_level_names[machine_level(
						    f.machine, f.place[a].cpu, f.place[b].cpu)]);
			assert_true(cell(&f, "0.5", i) == usual(&f, a, b));
		}
	assert_int_equal(json_array_size(json_object_get(cells, "a")), i);
	assert_int_equal(i, 64 * 63 / 2);
	end(&f);
}

/*
 * Each of 64 workers has 1 sibling, 6 more partners under its L3, 8 under the other L3 of its
 * node, 16 on the other node of its package, and 32 in the other package.
 */
static void levels_count_their_pairs(void **unused)
{
	static const struct {
		enum level level;
		int partners;
	} expected[] = { { LEVEL_CORE, 1 },
			 { LEVEL_L3, 6 },
			 { LEVEL_NODE, 8 },
			 { LEVEL_PACKAGE, 16 },
			 { LEVEL_MACHINE, 32 } };
	struct fixture f;
	const json_t *levels;

	(void)unused;
	begin(&f, MACHINE, 1);
	meet(&f, NULL, 1);
	say(&f);
	levels = json_object_get(f.json, "levels");
	assert_int_equal(json_array_size(levels), COUNT_OF(expected));
	for (size_t i = 0; i < COUNT_OF(expected); i++) {
		const json_t *level = json_array_get(levels, i);

		assert_string_equal(text(level, "level"), machine_level_names[expected[i].level]);
		assert_int_equal((unsigned)real(level, "pairs"), 64 * expected[i].partners / 2);
		assert_true(real(level, "0") == 1e-8 * (1 + (double)expected[i].level) &&
			    real(level, "0.99") == real(level, "0"));
	}
	assert_int_equal(json_array_size(json_object_get(f.json, "outstanding")), 0);
	end(&f);
}

/*
 * One pair with 101 values, unordered. It is the only pair of its level: each quantile of the level
 * over medians equals the pair's median, and the level's meetings are the pair's.
 */
static void quantiles_are_those_of_what_was_added(void **unused)
{
	static const char *const column[] = { "0", "0.25", "0.5", "0.75", "0.99" };
	static const double value[] = { 0, 25, 50, 75, 99 };
	struct fixture f;

	(void)unused;
	begin(&f, "core:2 pu:1", 1);
	for (unsigned i = 0; i <= 100; i++)
		pairs_add(f.pairs, 0, 1, 1e-9 * (i * 37 % 101), false);
	pairs_add(f.pairs, 0, 1, NAN, false);
	say(&f);
	assert_true(cell(&f, "n", 0) == 101);
	for (size_t i = 0; i < COUNT_OF(column); i++) {
		const json_t *level = json_array_get(json_object_get(f.json, "levels"), 0),
			     *meetings = json_object_get(level, "meetings");

		assert_true(fabs(cell(&f, column[i], 0) - 1e-9 * value[i]) < 1e-15);
		assert_true(fabs(real(level, column[i]) - 50e-9) < 1e-15);
		assert_true(fabs(real(meetings, column[i]) - 1e-9 * value[i]) < 1e-15);
		assert_true(real(meetings, "n") == 101);
	}
	end(&f);
}

/*
 * The quantiles of a level are over the medians of its pairs: a pair that was measured more often
 * has no more weight.
 */
static void each_pair_counts_once_in_its_level(void **unused)
{
	struct fixture f;

	(void)unused;
	begin(&f, "l3:1 core:3 pu:1", 1);
	for (unsigned i = 0; i < 99; i++)
		pairs_add(f.pairs, 0, 1, 9e-8, false);
	pairs_add(f.pairs, 0, 2, 1e-8, false);
	pairs_add(f.pairs, 1, 2, 2e-8, false);
	say(&f);
	assert_true(real(json_array_get(json_object_get(f.json, "levels"), 0), "0.5") == 2e-8);
	end(&f);
}

/*
 * Two pairs of siblings, and a pair that shares only the L3: each level pools the meetings of its
 * own pairs, and every meeting has the same weight.
 */
static void meetings_of_a_level_are_pooled(void **unused)
{
	static const double median[] = { 2e-8, 9e-8 }, of_all[] = { 1e-8, 9e-8 };
	struct fixture f;

	(void)unused;
	begin(&f, "l3:1 core:2 pu:2", 1);
	pairs_add(f.pairs, 0, 1, 5e-8, false);
	for (unsigned i = 0; i < 3; i++) {
		pairs_add(f.pairs, 0, 1, 1e-8, false);
		pairs_add(f.pairs, 2, 3, 3e-8, false);
		pairs_add(f.pairs, 0, 2, 9e-8, false);
	}
	say(&f);
	for (size_t i = 0; i < COUNT_OF(median); i++) {
		const json_t *level = json_array_get(json_object_get(f.json, "levels"), i),
			     *meetings = json_object_get(level, "meetings");

		assert_true(real(meetings, "n") == (i ? 3 : 7));
		assert_true(real(meetings, "0") == of_all[i] &&
			    real(meetings, "0.5") == (i ? 9e-8 : 3e-8));
		assert_true(fabs(real(level, "0.5") - median[i]) < 1e-15);
	}
	end(&f);
}

static void pairs_that_did_not_meet_have_no_numbers(void **unused)
{
	struct fixture f;

	(void)unused;
	begin(&f, "l3:1 core:3 pu:1", 1);
	pairs_add(f.pairs, 0, 2, 1e-8, false);
	say(&f);
	assert_true(cell(&f, "n", 0) == 0 && cell(&f, "n", 1) == 1 && cell(&f, "n", 2) == 0);
	assert_true(json_is_null(
		json_array_get(json_object_get(json_object_get(f.json, "cells"), "0.5"), 0)));
	assert_true(cell(&f, "0.5", 1) == 1e-8);
	assert_true(real(json_array_get(json_object_get(f.json, "levels"), 0), "pairs") == 1);
	end(&f);
}

/*
 * One worker per core, one of which is slow, or fast, with every partner: it is reported at each
 * level, and its partners are not.
 */
static void who_stands_out_is_named_alone(void **unused)
{
	static const double factors[] = { 1.5, 0.5 };

	(void)unused;
	for (size_t i = 0; i < COUNT_OF(factors); i++) {
		struct fixture f;
		const json_t *list;
		unsigned levels = 0;

		begin(&f, MACHINE, 2);
		meet(&f, &f.place[21], factors[i]);
		say(&f);
		list = json_object_get(f.json, "outstanding");
		for (size_t j = 0; j < json_array_size(list); j++) {
			const json_t *one = json_array_get(list, j);

			assert_true(real(one, "cpu") == f.place[21].cpu);
			assert_true(fabs(real(one, "median") / real(one, "of") - factors[i]) <
				    1e-9);
			levels++;
		}
		assert_int_equal(levels, json_array_size(json_object_get(f.json, "levels")));
		end(&f);
	}
}

/* No outlier: a worker that deviates by only 4 %, nor workers whose times spread evenly. */
static void what_is_little_or_usual_does_not_stand_out(void **unused)
{
	struct fixture f;

	(void)unused;
	begin(&f, MACHINE, 2);
	meet(&f, &f.place[21], 1.04);
	say(&f);
	assert_int_equal(json_array_size(json_object_get(f.json, "outstanding")), 0);
	end(&f);
	begin(&f, "l3:1 core:16 pu:1", 1);
	for (unsigned a = 0; a < 16; a++)
		for (unsigned b = a + 1; b < 16; b++)
			/* workers differ from each other by equal steps */
			pairs_add(f.pairs, a, b, 1e-8 * (10 + a + b), false);
	say(&f);
	assert_int_equal(json_array_size(json_object_get(f.json, "outstanding")), 0);
	end(&f);
}

/* Four workers are too few to identify an outlier. */
static void few_workers_have_no_usual(void **unused)
{
	struct fixture f;

	(void)unused;
	begin(&f, "l3:1 core:4 pu:1", 1);
	meet(&f, &f.place[2], 3);
	say(&f);
	assert_int_equal(json_array_size(json_object_get(f.json, "outstanding")), 0);
	end(&f);
}

/* Counts by level the pairs that are measured alone, and all pairs. */
static void count_levels(const struct fixture *f, unsigned alone[LEVELS], unsigned all[LEVELS])
{
	for (unsigned i = 0, round, table, a, b; i < f->pairs->alone; i++) {
		round = f->pairs->alone_round[i], table = f->pairs->alone_slot[i];
		assert_true(tournament_pair(f->trial.threads, round, table, &a, &b));
		alone[machine_level(f->machine, f->place[a].cpu, f->place[b].cpu)]++;
	}
	for (unsigned i = 0; i < f->trial.threads; i++)
		for (unsigned j = i + 1; j < f->trial.threads; j++)
			all[machine_level(f->machine, f->place[i].cpu, f->place[j].cpu)]++;
}

/*
 * Two pairs of each level (or its only one) are measured alone, even if the number of workers is
 * odd and one sits out each round.
 */
static void each_level_has_pairs_alone(void **unused)
{
	(void)unused;
	for (unsigned left_out = 0; left_out < 4; left_out++)
		for (uint64_t seed = 1; seed <= cases(10); seed++) {
			unsigned alone[LEVELS] = { 0 }, all[LEVELS] = { 0 };
			struct fixture f;

			begin(&f, MACHINE, 1);
			f.trial.threads -= left_out;
			f.trial.seed = seed;
			pairs_close(f.pairs);
			f.pairs = pairs_open(&f.trial);
			count_levels(&f, alone, all);
			for (enum level l = LEVEL_CPU; l < LEVELS; l++)
				assert_int_equal(alone[l], all[l] < 2 ? all[l] : 2);
			end(&f);
		}
}

/* Lines lie on one node: all its workers may be faster, and none of them is an outlier for that. */
static void a_node_does_not_stand_out(void **unused)
{
	struct fixture f;

	(void)unused;
	begin(&f, MACHINE, 2);
	for (unsigned a = 0; a < f.trial.threads; a++)
		for (unsigned b = a + 1; b < f.trial.threads; b++)
			pairs_add(f.pairs, a, b, usual(&f, a, b) * (f.place[a].node == 0 ? 0.8 : 1),
				  false);
	say(&f);
	assert_int_equal(json_array_size(json_object_get(f.json, "outstanding")), 0);
	end(&f);
}

/*
 * A batch's estimate is the mean over pairs of each pair's median in the batch, so it does not
 * depend on the mix of near and far pairs in a round.
 */
static void a_batch_is_the_mean_of_its_pairs(void **unused)
{
	struct fixture f;

	(void)unused;
	begin(&f, "l3:1 core:3 pu:1", 1);
	for (unsigned batch = 1; batch <= 2; batch++) {
		for (unsigned i = 0; i < 5; i++) {
			pairs_add(f.pairs, 0, 1, i == 4 ? 1 : 1e-8 * batch, false);
			pairs_add(f.pairs, 0, 2, 2e-8 * batch, false);
			pairs_add(f.pairs, 1, 2, 6e-8 * batch, false);
		}
		assert_true(fabs(pairs_batch(f.pairs) - 3e-8 * batch) < 1e-15);
	}
	assert_true(isnan(pairs_batch(f.pairs)));
	end(&f);
}

static void crowding_is_the_ratio_of_the_same_pairs(void **unused)
{
	struct fixture f;
	const json_t *crowding;

	(void)unused;
	begin(&f, MACHINE, 1);
	meet(&f, NULL, 1);
	for (unsigned i = 0, round, table, a, b; i < f.pairs->alone; i++) {
		round = f.pairs->alone_round[i], table = f.pairs->alone_slot[i];
		assert_true(tournament_pair(f.trial.threads, round, table, &a, &b));
		for (unsigned times = 0; times < 3; times++)
			pairs_add(f.pairs, a, b, usual(&f, a, b) / (i == 0 ? 4 : 2), true);
	}
	say(&f);
	crowding = json_object_get(f.json, "crowding");
	assert_true(real(crowding, "pairs") == f.pairs->alone);
	assert_true(fabs(real(crowding, "median") - 2) < 1e-9);
	assert_true(fabs(real(crowding, "most") - 4) < 1e-9);
	/* measurements of a pair alone are not in the cells */
	for (size_t i = 0; i < 64 * 63 / 2; i++)
		assert_true(cell(&f, "n", i) == 1);
	end(&f);
}

static void no_crowding_where_nobody_was_alone(void **unused)
{
	struct fixture f;

	(void)unused;
	begin(&f, MACHINE, 1);
	meet(&f, NULL, 1);
	say(&f);
	assert_true(json_is_null(json_object_get(f.json, "crowding")));
	end(&f);
}

/* Two threads on one CPU (oversubscribed) have a level of their own. */
static void two_on_one_cpu(void **unused)
{
	struct fixture f;

	(void)unused;
	begin(&f, "core:2 pu:1", 1);
	f.place[1] = f.place[0];
	pairs_close(f.pairs);
	f.pairs = pairs_open(&f.trial);
	pairs_add(f.pairs, 0, 1, 1e-6, false);
	say(&f);
	assert_string_equal(text(json_array_get(json_object_get(f.json, "levels"), 0), "level"),
			    machine_level_names[LEVEL_CPU]);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_said_before_anything_was_added),
		cmocka_unit_test(every_cell_has_its_cpus_and_its_level),
		cmocka_unit_test(levels_count_their_pairs),
		cmocka_unit_test(quantiles_are_those_of_what_was_added),
		cmocka_unit_test(each_pair_counts_once_in_its_level),
		cmocka_unit_test(meetings_of_a_level_are_pooled),
		cmocka_unit_test(pairs_that_did_not_meet_have_no_numbers),
		cmocka_unit_test(who_stands_out_is_named_alone),
		cmocka_unit_test(what_is_little_or_usual_does_not_stand_out),
		cmocka_unit_test(few_workers_have_no_usual),
		cmocka_unit_test(each_level_has_pairs_alone),
		cmocka_unit_test(a_node_does_not_stand_out),
		cmocka_unit_test(a_batch_is_the_mean_of_its_pairs),
		cmocka_unit_test(crowding_is_the_ratio_of_the_same_pairs),
		cmocka_unit_test(no_crowding_where_nobody_was_alone),
		cmocka_unit_test(two_on_one_cpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
