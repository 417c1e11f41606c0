/* SPDX-License-Identifier: Apache-2.0 */
/* The product of the lists: identities, groups, what is left out and what is impossible, on machines that are only described. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "harness/plan.h"
#include "machine/topology.h"

enum { SIZE_OF, KIND, WHERE, FROM, TO };
static const struct parameter parameters[] = {
	[SIZE_OF] = { "size", "B", "bytes", SIZE, .value = { "1K,2K" } },
	[KIND] = { "kind", NULL, "which", CHOICE, "plain,fancy", { "plain", "plain,fancy" }, NULL },
	[WHERE] = { "layout", NULL, "threads", LAYOUT, .value = { "packed,split" } },
	[FROM] = { "from", NULL, "node", LAYOUT, .value = { "each" } },
	[TO] = { "to", NULL, "node", NODE, .value = { "all" } },
	{ 0 }
};

static size_t footprint(const struct trial *t)
{
	return t->value[SIZE_OF].count;
}

static bool applies(const struct trial *t, const char **why_not)
{
	*why_not = "fancy is for one kibibyte";
	return t->value[KIND].choice == 0 || t->value[SIZE_OF].count == 1024;
}

static const struct variant variants[] = {
	{ .name = "one", .lacks = LACKS(FROM) | LACKS(TO) },
	{ .name = "two", .lacks = LACKS(FROM) | LACKS(TO) },
	{ .name = "matrix", .lacks = LACKS(WHERE) },
	{ 0 }
};
static const struct benchmark benchmark = { .name = "sample", .protocol = "none", .unit = "turn", .parameters = parameters, .variants = variants,
					    .applies = applies, .footprint = footprint };

struct fixture {
	struct machine *machine;
	struct setting setting;
	struct options options;
	struct plan plan;
};

static void begin(struct fixture *f, const char *topology, enum profile profile)
{
	const char *error;

	memset(f, 0, sizeof(*f));
	f->machine = machine_open(topology, &error);
	assert_non_null(f->machine);
	f->setting = (struct setting){ .machine = f->machine, .memory = { .available = NO_LIMIT, .what = "nothing" } };
	f->options = (struct options){ .benchmark = &benchmark, .profile = profile, .seed = 1 };
}

static void end(struct fixture *f)
{
	plan_free(&f->plan);
	machine_close(f->machine);
}

static void make(struct fixture *f)
{
	assert_int_equal(plan_make(&f->plan, &benchmark, &f->options, &f->setting), 0);
}

static unsigned with(const struct plan *p, const char *text)
{
	unsigned n = 0;

	for (unsigned i = 0; i < p->trials; i++)
		n += strstr(p->trial[i].identity, text) != NULL;
	return n;
}

static void test_product(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, "node:2 core:4 pu:2", QUICK);
	make(&f);
	/* 2 sizes x 2 layouts x 2 variants, and 2 sizes x 2 from x 2 to */
	assert_int_equal(f.plan.trials, 16);
	assert_int_equal(with(&f.plan, "sample/one "), 4);
	assert_int_equal(with(&f.plan, "layout=4+0 "), 4);
	assert_int_equal(with(&f.plan, "layout=2+2 "), 4);
	assert_int_equal(with(&f.plan, "from=0+4 to=1 threads=4"), 2);
	assert_int_equal(f.plan.threads, 4);
	for (unsigned i = 0; i < f.plan.trials; i++)
		for (unsigned j = 0; j < i; j++)
			assert_string_not_equal(f.plan.trial[i].id, f.plan.trial[j].id);
	end(&f);
}

static void test_what_makes_no_sense_is_left_out(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, "node:2 core:4 pu:1", STANDARD);
	make(&f);
	assert_int_equal(f.plan.trials, 24);
	assert_int_equal(f.plan.refused, 8);
	assert_string_equal(f.plan.why_refused, "fancy is for one kibibyte");
	assert_int_equal(with(&f.plan, "size=2048 kind=fancy"), 0);
	end(&f);
}

static void test_layouts_that_are_one(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, "node:1 core:4 pu:1", QUICK);
	make(&f);
	assert_int_equal(f.plan.trials, 2 * 2 + 2);
	end(&f);
}

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
		assert_int_equal(a->group == b->group, a->trial.value[SIZE_OF].count == b->trial.value[SIZE_OF].count);
	}
	end(&f);
}

static void test_groups_fit_into_memory(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, "node:2 core:4 pu:1", QUICK);
	f.setting.memory.available = 6000; /* four fifths of it: four of 1 KiB, or two of 2 KiB */
	make(&f);
	for (unsigned g = 0; g < f.plan.groups; g++) {
		size_t bytes = 0;

		for (unsigned i = 0; i < f.plan.trials; i++)
			bytes += f.plan.trial[i].group == g ? f.plan.trial[i].footprint : 0;
		assert_in_range(bytes, 1024, 4800);
	}
	end(&f);
}

static void test_beyond_memory_is_impossible(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, "node:2 core:4 pu:1", QUICK);
	f.setting.memory.available = 1500;
	make(&f);
	for (unsigned i = 0; i < f.plan.trials; i++) {
		const struct planned *p = &f.plan.trial[i];

		assert_int_equal(p->refusal != NULL, p->footprint > 1500);
		if (p->refusal)
			assert_non_null(strstr(p->refusal, "nothing"));
	}
	end(&f);
}

static void test_more_threads_than_a_node_has(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, "node:2 core:4 pu:1", QUICK);
	f.options.threads = "8";
	f.options.variant = "one";
	make(&f);
	assert_int_equal(f.plan.trials, 4); /* 8+0 has no room, 4+4 has */
	for (unsigned i = 0; i < f.plan.trials; i++)
		assert_int_equal(f.plan.trial[i].refusal != NULL, strstr(f.plan.trial[i].identity, "layout=8+0") != NULL);
	end(&f);
	begin(&f, "node:2 core:4 pu:1", QUICK);
	f.options.threads = "8";
	f.options.variant = "one";
	f.options.oversubscribe = true;
	make(&f);
	for (unsigned i = 0; i < f.plan.trials; i++)
		assert_null(f.plan.trial[i].refusal);
	end(&f);
}

static void test_identity_does_not_know_the_profile_nor_the_rest_of_the_plan(void **state)
{
	struct fixture f, g;

	(void)state;
	begin(&f, "node:2 core:4 pu:1", STANDARD);
	begin(&g, "node:2 core:4 pu:1", QUICK);
	g.options.variant = "two";
	g.options.parameter[SIZE_OF] = "1024";
	g.options.parameter[WHERE] = "2+2";
	make(&f);
	make(&g);
	assert_int_equal(g.plan.trials, 1);
	assert_int_equal(with(&f.plan, g.plan.trial[0].identity), 1);
	end(&f);
	end(&g);
}

static void test_siblings_and_far_nodes_in_places(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, "node:2 core:2 pu:2", QUICK);
	f.options.variant = "one";
	f.options.parameter[WHERE] = "3+1";
	make(&f);
	assert_int_equal(f.plan.trials, 2);
	assert_int_equal(f.plan.trial[0].trial.place[0].cpu, 0);
	assert_int_equal(f.plan.trial[0].trial.place[1].cpu, 2); /* the second core before the first one's sibling */
	assert_int_equal(f.plan.trial[0].trial.place[2].cpu, 1);
	assert_int_equal(f.plan.trial[0].trial.place[3].cpu, 4);
	assert_int_equal(f.plan.trial[0].trial.place[3].node, 1);
	end(&f);
}

static void test_a_large_machine(void **state)
{
	struct fixture f;
	FILE *nowhere = fopen("/dev/null", "w");

	(void)state;
	begin(&f, "node:8 core:16 pu:2", STANDARD);
	f.options.parameter[SIZE_OF] = "1K..64K*2";
	make(&f);
	assert_int_equal(with(&f.plan, "sample/matrix"), 7 * 64 + 64);
	plan_print(&f.plan, &f.setting, 1, nowhere);
	fclose(nowhere);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_product),
		cmocka_unit_test(test_what_makes_no_sense_is_left_out),
		cmocka_unit_test(test_layouts_that_are_one),
		cmocka_unit_test(test_groups_differ_in_variant_and_place_alone),
		cmocka_unit_test(test_groups_fit_into_memory),
		cmocka_unit_test(test_beyond_memory_is_impossible),
		cmocka_unit_test(test_more_threads_than_a_node_has),
		cmocka_unit_test(test_identity_does_not_know_the_profile_nor_the_rest_of_the_plan),
		cmocka_unit_test(test_siblings_and_far_nodes_in_places),
		cmocka_unit_test(test_a_large_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
