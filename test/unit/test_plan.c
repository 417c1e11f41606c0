/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans: the trials that lists of values multiply to, their identities and groups, which are left
 * out and which are impossible, on synthetic machines.
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

#include "benchmarks.h"
#include "harness/plan/plan.h"
#include "base/sysfs.h"
#include "machine/topology/topology.h"
#include "changed.h"
#include "tree.h"

enum { SIZE_OF, KIND, WHERE, FROM, TO };
static const struct parameter parameters[] = {
	[SIZE_OF] = { "size", "B", "bytes", P_SIZE, .value = { "1K,2K" } },
	[KIND] = { "kind", NULL, "which", P_CHOICE, .choices = "plain,fancy",
		   .value = { "plain", "plain,fancy" } },
	[WHERE] = { "layout", NULL, "threads", P_LAYOUT, .value = { "packed,split" } },
	[FROM] = { "from", NULL, "node", P_LAYOUT, .value = { "each" } },
	[TO] = { "to", NULL, "node", P_NODE, .value = { "all" } },
};

/* Bytes so large that page tables and samples beside them hardly count. */
static struct needs needs(const struct trial *t)
{
	const bool right = t->value[KIND].choice == 0 || t->value[SIZE_OF].count == 1024;

	return (struct needs){ .pointless = right ? NULL : "fancy is for one kibibyte",
			       .bytes = t->value[SIZE_OF].count << 15 };
}

static const struct variant variants[] = {
	{ .name = "one", .unused = BIT(FROM) | BIT(TO) },
	{ .name = "two", .unused = BIT(FROM) | BIT(TO) },
	{ .name = "matrix", .unused = BIT(WHERE) },
};

/* The same parameters in a benchmark with a ratio, and with a variant that sets its threads. */
static const struct ratio of_kinds[] = { { "slowdown", "", KIND, "fancy", "plain", NULL } };
static const struct override all_threads[] = { { P_THREADS, { "all" } } };
static const struct variant compared[] = {
	{ .name = "one", .unused = BIT(WHERE) | BIT(FROM) | BIT(TO) },
	{ .name = "two", .unused = BIT(WHERE) | BIT(FROM) | BIT(TO) },
	{ .name = "wide",
	  .unused = BIT(WHERE) | BIT(FROM) | BIT(TO) | BIT(KIND),
	  ROWS(defaults, all_threads) },
};
static const struct benchmark with_ratios = { .name = "sample",
					      .protocol = { 1, "none" },
					      .unit = { "turn" },
					      ROWS(parameters, parameters),
					      ROWS(variants, compared),
					      ROWS(ratios, of_kinds),
					      .preset = { [QUICK] = { .threads = "1,auto" } } };

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

static const struct benchmark benchmark = { .name = "sample",
					    .protocol = { 1, "none" },
					    .unit = { "turn" },
					    ROWS(parameters, parameters),
					    ROWS(variants, variants),
					    .needs = needs };

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
	f->setting = (struct setting){ .machine = f->machine,
				       .memory = { .available = NO_LIMIT, .what = "nothing" } };
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

/* Of a machine with slow cores first. `note`: NULL if there is none. */
static void expect_kinds(const char *bind, const char *threads, bool allowed, int cpu,
			 const char *kinds, const char *note)
{
	struct fixture f;
	const struct planned *p;

	begin(&f, "core:1 pu:1", QUICK);
	machine_close(f.machine);
	f.machine = open_changed("core:8 pu:1", slow_first);
	f.setting.machine = f.machine;
	f.options.benchmark = &with_ratios;
	f.options.bind = bind;
	f.options.threads = threads;
	assert_int_equal(plan_make(&f.plan, &with_ratios, &f.options, &f.setting), 0);
	p = &f.plan.trial[0];
	assert_true(allowed == !p->refusal);
	if (allowed) {
		assert_int_equal(p->trial.place[0].cpu, cpu);
		assert_string_equal(p->kinds, kinds);
		assert_int_equal(json_array_size(p->notes), note != NULL);
	}
	if (note)
		assert_string_equal(json_string_value(json_array_get(p->notes, 0)), note);
	end(&f);
}

static void test_slow_cores_are_noted(void **state)
{
	(void)state;
	expect_kinds(NULL, "1", true, 4, "1 IntelCore 3900 MHz", NULL);
	expect_kinds("spread", "4", true, 4, "4 IntelCore 3900 MHz", NULL);
	expect_kinds(NULL, "5", true, 4, "4 IntelCore 3900 MHz + 1 IntelAtom 2800 MHz",
		     "its threads are on cores of these kinds: 4 IntelCore 3900 MHz + 1 IntelAtom "
		     "2800 MHz");
	expect_kinds("2", "1", true, 2, "1 IntelAtom 2800 MHz",
		     "its threads are on cores of these kinds: 1 IntelAtom 2800 MHz");
	expect_kinds("float", "1", true, 4, "4 IntelCore 3900 MHz + 4 IntelAtom 2800 MHz",
		     "its threads float over cores of these kinds: 4 IntelCore 3900 MHz + 4 "
		     "IntelAtom 2800 MHz");
	expect_kinds(NULL, "9", false, 0, NULL, NULL);
}

static void test_machines_of_one_kind_have_none(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, "core:2 pu:1", QUICK);
	make(&f);
	assert_null(f.plan.trial[0].kinds);
	assert_int_equal(json_array_size(f.plan.trial[0].notes), 0);
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

/* "all" leaves out a node without memory; a node given by number is refused with the reason. */
static void test_nodes_without_memory(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, "node:2 core:4 pu:1", QUICK);
	f.machine->node[1].memory = 0;
	make(&f);
	assert_int_equal(with(&f.plan, " to=0 "), 2 * 2);
	assert_int_equal(with(&f.plan, " to=1 "), 0);
	plan_free(&f.plan);
	f.options.parameter[TO] = "1";
	f.options.variant = "matrix";
	make(&f);
	assert_int_equal(f.plan.trials, 2 * 2);
	for (unsigned i = 0; i < f.plan.trials; i++) {
		const char *refusal = f.plan.trial[i].refusal;

		assert_non_null(refusal);
		assert_non_null(strstr(
			refusal, "--to 1: its data can't lie on node 1, which has no memory;"));
	}
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

/* As ranks do after they agreed: a refusal, or the least room, of one rank holds for all. */
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
	f.setting.room = 1; /* one at a time */
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

static void test_beyond_memory_is_impossible(void **state)
{
	struct fixture f;

	(void)state;
	/* A trial that needs all memory does not fit: page tables and samples need some, too. */
	for (uint64_t available = 1024ull << 15; available <= 1536ull << 15;
	     available += 512ull << 15) {
		begin(&f, "node:2 core:4 pu:1", QUICK);
		f.setting.memory.available = available;
		make(&f);
		for (unsigned i = 0; i < f.plan.trials; i++) {
			const struct planned *p = &f.plan.trial[i];

			assert_int_equal(p->refusal != NULL, p->needs.bytes >= available);
			if (p->refusal)
				assert_non_null(strstr(p->refusal, "nothing"));
		}
		end(&f);
	}
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
		assert_int_equal(f.plan.trial[i].refusal != NULL,
				 strstr(f.plan.trial[i].identity, "layout=8+0") != NULL);
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
	/* the second core before the first one's sibling */
	assert_int_equal(f.plan.trial[0].trial.place[1].cpu, 2);
	assert_int_equal(f.plan.trial[0].trial.place[2].cpu, 1);
	assert_int_equal(f.plan.trial[0].trial.place[3].cpu, 4);
	assert_int_equal(f.plan.trial[0].trial.place[3].node, 1);
	end(&f);
}

static void make_with_ratios(struct fixture *f)
{
	f->options.benchmark = &with_ratios;
	assert_int_equal(plan_make(&f->plan, &with_ratios, &f->options, &f->setting), 0);
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

/* Those that evict each other's data only where a ratio compares them. */
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

/* The identity is what records are joined on: neither it nor its hash may change. */
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

/* The duration of core-to-core's rounds is known before the run: the dry run tells it. */
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

/* Threads bound from outside keep their CPUs; if two share one, the trial is oversubscribed. */
static void test_threads_bound_from_outside(void **state)
{
	int cpus[] = { 3, 1, 1 };
	const struct affinity outside = { .cpus = 2, .threads = 3, .cpu_of = cpus };
	struct fixture f;

	(void)state;
	begin(&f, "node:2 core:2 pu:1", QUICK);
	f.setting.affinity = &outside;
	f.options.threads = "2,3,4";
	f.options.parameter[SIZE_OF] = "1K";
	f.options.variant = "one";
	make_with_ratios(&f);
	assert_int_equal(f.plan.trials, 3);
	assert_string_equal(f.plan.trial[0].bind, "inherited");
	assert_int_equal(f.plan.trial[0].trial.place[0].cpu, 3);
	assert_int_equal(f.plan.trial[0].trial.place[0].node, 1);
	assert_int_equal(f.plan.trial[0].trial.place[1].cpu, 1);
	assert_int_equal(f.plan.trial[0].trial.place[1].node, 0);
	assert_null(f.plan.trial[0].refusal);
	assert_true(f.plan.trial[1].trial.oversubscribed);
	assert_non_null(strstr(f.plan.trial[1].refusal,
			       "3 threads were bound to 2 CPUs from outside; ask for fewer"));
	assert_string_equal(f.plan.trial[2].bind, "close"); /* more threads than were bound */
	assert_null(f.plan.trial[2].refusal);
	end(&f);
}

/* Ranks that share CPUs need --oversubscribe, and each of their trials is marked. */
static void test_ranks_on_the_same_cpus(void **state)
{
	char crowd[] = "two ranks share CPU 0";
	struct fixture f;

	(void)state;
	for (unsigned allowed = 0; allowed < 2; allowed++) {
		begin(&f, "node:1 core:4 pu:1", QUICK);
		f.setting.crowd = crowd;
		f.options.oversubscribe = allowed;
		make(&f);
		for (unsigned i = 0; i < f.plan.trials; i++) {
			const struct planned *p = &f.plan.trial[i];

			assert_true(p->trial.oversubscribed);
			if (allowed)
				assert_null(p->refusal);
			else
				assert_string_equal(p->refusal, crowd);
		}
		end(&f);
	}
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

/* Kernels with 64 KiB pages have huge pages of 512 MiB: even a small buffer takes a whole one. */
static void test_huge_pages_are_taken_whole(void **state)
{
	const size_t huge = (size_t)512 << 20;
	const struct benchmark *one[] = { &latency_benchmark, &numa_benchmark };
	struct fixture f;

	(void)state;
	for (unsigned b = 0; b < 2; b++) {
		unsigned found = 0;

		begin(&f, "node:1(memory=64GB) core:2 pu:1", STANDARD);
		f.machine->huge_page = huge;
		f.options.benchmark = one[b];
		assert_int_equal(plan_make(&f.plan, one[b], &f.options, &f.setting), 0);
		for (unsigned i = 0; i < f.plan.trials; i++) {
			if (!strstr(f.plan.trial[i].identity, "pages=thp"))
				continue;
			assert_true(f.plan.trial[i].needs.bytes >= huge);
			assert_int_equal(f.plan.trial[i].needs.bytes % huge, 0);
			found++;
		}
		assert_true(found > 0);
		end(&f);
	}
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
		cmocka_unit_test(test_slow_cores_are_noted),
		cmocka_unit_test(test_machines_of_one_kind_have_none),
		cmocka_unit_test(test_huge_pages_are_taken_whole),
		cmocka_unit_test(test_what_makes_no_sense_is_left_out),
		cmocka_unit_test(test_layouts_that_are_one),
		cmocka_unit_test(test_nodes_without_memory),
		cmocka_unit_test(test_groups_differ_in_variant_and_place_alone),
		cmocka_unit_test(test_groups_fit_into_memory),
		cmocka_unit_test(test_groups_are_made_anew),
		cmocka_unit_test(test_beyond_memory_is_impossible),
		cmocka_unit_test(test_more_threads_than_a_node_has),
		cmocka_unit_test(test_identity_does_not_know_the_profile_nor_the_rest_of_the_plan),
		cmocka_unit_test(test_siblings_and_far_nodes_in_places),
		cmocka_unit_test(test_what_a_ratio_compares_is_one_group),
		cmocka_unit_test(test_what_fills_caches_is_sampled_in_turn_for_a_ratio_alone),
		cmocka_unit_test(test_a_variant_has_its_own_threads),
		cmocka_unit_test(test_a_large_machine),
		cmocka_unit_test(test_what_a_dry_run_says),
		cmocka_unit_test(test_a_dry_run_knows_a_tournament),
		cmocka_unit_test(test_threads_bound_from_outside),
		cmocka_unit_test(test_ranks_on_the_same_cpus),
		cmocka_unit_test(test_room_is_what_the_fullest_node_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
