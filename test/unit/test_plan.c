/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans: the trials from the product of all lists, their identities, which are left out, and what a
 * dry run prints of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "planned.h"
#include "tree.h"

static struct needs meet(const struct trial *t)
{
	(void)t;
	return (struct needs){ .bytes = 4096, .meetings = 8 };
}

static const struct variant one_variant[] = { { .name = "pairs" } };
static const struct benchmark in_pairs = { .name = "sample",
					   .protocol = { 1, "none" },
					   .unit = { "turn" },
					   ROWS(variants, one_variant),
					   .protocol.scored = IN_PAIRS,
					   .preset = { [QUICK] = { .sample = 1e-3 } },
					   .needs = meet };

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

static void test_a_variant_has_its_own_threads(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, "node:1 core:4 pu:2", QUICK);
	f.options.parameter[SIZE_OF] = "1024";
	make_with_ratios(&f);
	assert_int_equal(with(&f.plan, "sample/one "), 2);
	/* auto: one a core */
	assert_int_equal(with(&f.plan, "sample/one size=1024 kind=plain threads=4"), 1);
	assert_int_equal(with(&f.plan, "sample/wide "), 1);
	/* all: one a CPU */
	assert_int_equal(with(&f.plan, "sample/wide size=1024 threads=8"), 1);
	end(&f);
	begin(&f, "node:1 core:4 pu:2", QUICK); /* --threads overrides it */
	f.options.parameter[SIZE_OF] = "1024";
	f.options.threads = "all,3";
	make_with_ratios(&f);
	assert_int_equal(with(&f.plan, " threads=8 "), 3);
	assert_int_equal(with(&f.plan, " threads=3 "), 3);
	assert_int_equal(f.plan.trials, 6);
	assert_int_equal(f.plan.threads, 8);
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

/* Records are joined by the identity: neither it nor its hash may change. */
static void test_what_a_dry_run_says(void **state)
{
	struct fixture f;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	begin(&f, "node:2 core:4 pu:2", STANDARD);
	f.options.variant = "one";
	f.options.parameter[WHERE] = "packed,6+3,16+0";
	f.options.parameter[SIZE_OF] = "1K,2K";
	f.options.parameter[KIND] = "fancy";
	make(&f);
	plan_print(&f.plan, &f.setting, 12.4, out);
	fclose(out);
	assert_string_equal(
		text,
		"sample on node:2 core:4 pu:2: 4 trials in 4 groups; trials of a group are sampled "
		"in turn\n"
		"group 1\n"
		"  67f3465b7ba1481d  sample/one size=1024 kind=fancy layout=4+0 threads=4 "
		"bind=layout protocol=1\n"
		"    4 threads on CPUs 0-6:2 (node 0); 32 MiB\n"
		"group 2\n"
		"  dd34b45fe169b565  sample/one size=1024 kind=fancy layout=6+3 threads=9 "
		"bind=layout protocol=1\n"
		"    9 threads on CPUs 0-6:2 1 3 (node 0) 8-12:2 (node 1); 32 MiB\n"
		"group 3\n"
		"  bcffbb04827453f5  sample/one size=1024 kind=fancy layout=16+0 threads=16 "
		"bind=layout protocol=1\n"
		"    impossible: layout 16+0 asks for 16 threads on node 0, which has 8 CPUs; "
		"expected fewer (more threads than CPUs: --oversubscribe)\n"
		"group 4\n"
		"  6cf89e2316d30226  sample/one size=2048 kind=fancy layout=16+0 threads=16 "
		"bind=layout protocol=1\n"
		"    impossible: layout 16+0 asks for 16 threads on node 0, which has 8 CPUs; "
		"expected fewer (more threads than CPUs: --oversubscribe)\n"
		"2 combinations left out: fancy is for one kibibyte\n"
		"memory held at once: 32 MiB; earlier allocations hold up to 205 MiB more; "
		"estimated time: 12 s\n");
	free(text);
	end(&f);
}

/* The duration of core-to-core's rounds is known before the run: the dry run shows it. */
static void test_a_dry_run_knows_a_tournament(void **state)
{
	struct fixture f;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	begin(&f, "node:1 core:5 pu:1", QUICK);
	f.options.benchmark = &in_pairs;
	assert_int_equal(plan_make(&f.plan, &in_pairs, &f.options, &f.setting), 0);
	plan_print(&f.plan, &f.setting, 1, out);
	fclose(out);
	/* 5 rounds, 8 times each, of 1 ms + 20 us + 5 x 2 us */
	assert_non_null(strstr(text,
			       "\n    5 threads on CPUs 0-4 (node 0); 4 KiB\n"
			       "    5 rounds of 2 disjoint pairs, 8 times each: about 0.041 s "
			       "a batch\n"));
	assert_float_equal(plan_tournament(&f.plan.trial[0]), 40 * 1.03e-3, 1e-9);
	free(text);
	end(&f);
}

static bool not_a_word(const union value *value)
{
	return strcmp(value->text, "word") != 0;
}

/*
 * The identity has a hash of a file's contents instead of its path. Each file is read once; one
 * that can't be read ends the plan.
 */
static void test_the_contents_of_files_are_in_the_identity(void **state)
{
	static const struct parameter files[] = {
		{ "file", NULL, "to read", P_PATH, .value = { "word" }, .input = not_a_word },
	};
	static const struct benchmark reads = { .name = "sample",
						.protocol = { 1, "none" },
						.unit = { "turn" },
						ROWS(parameters, files),
						ROWS(variants, one_variant),
						.preset = { [QUICK] = { .threads = "1,2" } } };
	struct fixture f;

	(void)state;
	put_file("/one", "abc");
	put_file("/same", "abc");
	put_file("/other", "abd");
	assert_int_equal(chdir(root), 0);
	begin(&f, "core:2 pu:1", QUICK);
	f.options.parameter[0] = "word,one,./same,other";
	assert_int_equal(plan_make(&f.plan, &reads, &f.options, &f.setting), 0);
	assert_int_equal(f.plan.trials, 6);
	assert_int_equal(with(&f.plan, " file=word "), 2);
	assert_int_equal(with(&f.plan, " file=fnv1a64:e71fa2190541574b "), 2);
	assert_int_equal(with(&f.plan, " file=fnv1a64:"), 4);
	plan_free(&f.plan);
	f.options.parameter[0] = "one,none";
	assert_int_equal(plan_make(&f.plan, &reads, &f.options, &f.setting), EXIT_COMMAND_LINE);
	f.options.parameter[0] = ".";
	assert_int_equal(plan_make(&f.plan, &reads, &f.options, &f.setting), EXIT_COMMAND_LINE);
	assert_int_equal(chdir("/"), 0);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_the_contents_of_files_are_in_the_identity,
						tree_make, tree_remove),
		cmocka_unit_test(test_product),
		cmocka_unit_test(test_what_makes_no_sense_is_left_out),
		cmocka_unit_test(test_layouts_that_are_one),
		cmocka_unit_test(test_identity_does_not_know_the_profile_nor_the_rest_of_the_plan),
		cmocka_unit_test(test_a_variant_has_its_own_threads),
		cmocka_unit_test(test_a_large_machine),
		cmocka_unit_test(test_what_a_dry_run_says),
		cmocka_unit_test(test_a_dry_run_knows_a_tournament),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
