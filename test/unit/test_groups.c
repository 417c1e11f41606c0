/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of trials that are sampled in turn: which trials are compared, limited by memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/sysfs.h"
#include "planned.h"

static struct needs need_caches(const struct trial *t)
{
	return (struct needs){ .bytes = t->value[SIZE_OF].count, .alone = true };
}
static const struct benchmark fills_caches = { .name = "sample",
					       .protocol = { 1, "none" },
					       .unit = { "turn" },
					       ROWS(parameters, parameters),
					       ROWS(variants, compared),
					       ROWS(ratios, of_kinds),
					       .needs = need_caches };

static void test_groups_differ_in_variant_and_place_alone(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, "node:2 core:4 pu:1", QUICK);
	make(&f);
	assert_int_equal(f.plan.groups, 2);
	for (unsigned i = 1; i < f.plan.trials; i++) {
		const struct planned *a = &f.plan.trial[i - 1], *b = &f.plan.trial[i];

		assert_true(b->group >= a->group);
		assert_int_equal(a->group == b->group,
				 a->trial.value[SIZE_OF].count == b->trial.value[SIZE_OF].count);
	}
	end(&f);
}

static void test_groups_fit_into_memory(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, "node:2 core:4 pu:1", QUICK);
	/* a group may take four fifths: four trials of 32 MiB, or two of 64 MiB */
	f.setting.memory.available = 6000ull << 15;
	make(&f);
	for (unsigned g = 0; g < f.plan.groups; g++) {
		size_t bytes = 0;

		for (unsigned i = 0; i < f.plan.trials; i++)
			bytes += f.plan.trial[i].group == g ? f.plan.trial[i].needs.bytes : 0;
		assert_in_range(bytes, 1024ull << 15, 4800ull << 15);
	}
	end(&f);
}

/*
 * Ranks regroup after they agreed: one rank's refusal, or the least room of any rank, holds for
 * all.
 */
static void test_groups_are_made_anew(void **state)
{
	struct fixture f;
	unsigned trials, groups;
	char first[17];

	(void)state;
	begin(&f, "node:2 core:4 pu:1", QUICK);
	make(&f);
	trials = f.plan.trials;
	groups = f.plan.groups;
	memcpy(first, f.plan.trial[1].id, sizeof(first));
	f.setting.room = 1; /* one trial at a time */
	plan_group(&f.plan, &f.setting);
	assert_int_equal(f.plan.groups, trials);
	for (unsigned i = 0; i < trials; i++)
		f.plan.trial[i].refusal = strdup("another rank can't");
	plan_group(&f.plan, &f.setting);
	assert_int_equal(f.plan.groups, groups);
	assert_int_equal(f.plan.trials, trials);
	assert_string_equal(f.plan.trial[1].id, first);
	end(&f);
}

/* Trials that a ratio compares share a group; trials that differ in size or threads do not. */
static void test_what_a_ratio_compares_is_one_group(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, "node:1 core:4 pu:2", STANDARD);
	f.options.variant = "one,two";
	make_with_ratios(&f);
	assert_int_equal(f.plan.trials, 2 * 2 * 2 * 2); /* variants, sizes, kinds, threads */
	assert_int_equal(f.plan.groups, 2 * 2);
	for (unsigned i = 0; i < f.plan.trials; i++)
		for (unsigned j = 0; j < i; j++) {
			const struct planned *a = &f.plan.trial[i], *b = &f.plan.trial[j];
			const bool alike =
				a->trial.threads == b->trial.threads &&
				a->trial.value[SIZE_OF].count == b->trial.value[SIZE_OF].count;

			assert_int_equal(a->group == b->group, alike);
		}
	end(&f);
}

/* Trials that evict each other's data share a group only if a ratio compares them. */
static void test_what_fills_caches_is_sampled_in_turn_for_a_ratio_alone(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, "node:1 core:4 pu:2", STANDARD);
	f.options.variant = "one,two";
	f.options.benchmark = &fills_caches;
	assert_int_equal(plan_make(&f.plan, &fills_caches, &f.options, &f.setting), 0);
	assert_int_equal(f.plan.trials, 2 * 2 * 2); /* variants, sizes, kinds */
	assert_int_equal(f.plan.groups, 2 * 2);
	for (unsigned i = 0; i < f.plan.trials; i++)
		for (unsigned j = 0; j < i; j++) {
			const struct planned *a = &f.plan.trial[i], *b = &f.plan.trial[j];
			const bool alike =
				a->trial.variant == b->trial.variant &&
				a->trial.value[SIZE_OF].count == b->trial.value[SIZE_OF].count;

			assert_int_equal(a->group == b->group, alike);
		}
	end(&f);
}

/* On the running machine, available memory bounds a group; on a synthetic one, total memory. */
static void test_room_is_what_the_fullest_node_has(void **state)
{
	struct node_memory now;
	struct fixture f;

	(void)state;
	begin(&f, "node:2(memory=1024GB) core:1 pu:1", QUICK);
	assert_float_equal(plan_room(&f.setting), 0.8 * 1024e9, 1e6);
	f.setting.host_ranks = 4; /* ranks share the memory of a host */
	assert_float_equal(plan_room(&f.setting), 0.2 * 1024e9, 1e6);
	f.setting.host_ranks = 1;
	f.machine->running = true;
	if (node_memory_read(SYSFS_ROOT, 0, &now))
		skip();
	assert_in_range((uint64_t)plan_room(&f.setting), 1, now.total * 8 / 10);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_groups_differ_in_variant_and_place_alone),
		cmocka_unit_test(test_groups_fit_into_memory),
		cmocka_unit_test(test_groups_are_made_anew),
		cmocka_unit_test(test_what_a_ratio_compares_is_one_group),
		cmocka_unit_test(test_what_fills_caches_is_sampled_in_turn_for_a_ratio_alone),
		cmocka_unit_test(test_room_is_what_the_fullest_node_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
