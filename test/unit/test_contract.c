/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The check of a benchmark's table: a good table is broken in each way that a newcomer might break
 * it, and each fault gives a sentence that names the row and what is expected.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "benchmarks.h"
#include "harness/ask/options.h"

enum { KIND, COUNT, PARAMETERS };
enum { TIME, COST, METRICS };
enum { ROWS_OF_EACH = 2 };

/* A benchmark with writable tables. */
struct tables {
	struct benchmark b;
	struct parameter parameter[PARAMETERS];
	struct metric metric[METRICS];
	struct ratio ratio[ROWS_OF_EACH];
	struct explained counter[1];
	struct variant variant[ROWS_OF_EACH];
	struct override override[1];
	struct role role[ROWS_OF_EACH];
};

static void *prepare(const struct trial *t)
{
	(void)t;
	return NULL;
}

static void work(void *state, struct worker *self)
{
	(void)state;
	(void)self;
}

static struct needs needs(const struct trial *t)
{
	(void)t;
	return (struct needs){ 0 };
}

static double amount(const struct trial *t)
{
	(void)t;
	return 1;
}

static void good(struct tables *t)
{
	*t = (struct tables){
		.parameter = {
			[KIND] = { "kind", NULL, "which", P_CHOICE, "plain,fancy",
				   { "plain", "plain,fancy" } },
			[COUNT] = { "count", NULL, "how many", P_COUNT, .value = { "1" } },
		},
		.metric = { [TIME] = TIME_METRIC("turn"), [COST] = { "cost", "1", "its cost" } },
		.ratio = { { "gain", "of being plain", KIND, "fancy", "plain", "cost" },
			   { "gain", "of being new", P_VARIANT, "old", "new", NULL } },
		.counter = { { "PAPI_TOT_INS", "what it does" } },
		.variant = { { "old", "as ever" }, { "new", "better" } },
		.override = { { COUNT, { "2" } } },
		.role = { { "leader", one_worker, BY_COUNT }, { "other", NULL, BY_DEADLINE } },
	};
	t->variant[1].defaults = t->override;
	t->variant[1].n_defaults = 1;
	t->b = (struct benchmark){
		.name = "made-up",
		.summary = "is made up",
		.protocol = { 1, "does nothing" },
		.unit = { "turn" },
		ROWS(parameters, t->parameter),
		ROWS(metrics, t->metric),
		ROWS(ratios, t->ratio),
		ROWS(counters, t->counter),
		ROWS(variants, t->variant),
		ROWS(roles, t->role),
		.ops = { .prepare = prepare, .work = work, .release = free },
		.preset = { [QUICK] = { .variants = "old,new", .sample = 1e-3 } },
		.needs = needs,
	};
}

/* One edit of the tables `t`, and the expected message. */
#define FAULT(NAME, EDIT, SAID)                    \
	static const char *NAME(struct tables *t)  \
	{                                          \
		EDIT;                              \
		return "benchmark made-up: " SAID; \
	}
FAULT(no_summary, t->b.summary = NULL, ".summary is missing: what `locus list` says of it")
FAULT(no_version, t->b.protocol.version = 0, ".protocol.version is 0; the first is 1")
FAULT(no_text, t->b.protocol.text = "", ".protocol.text is missing: how a number comes about")
FAULT(no_unit, t->b.unit.name = NULL, ".unit.name is missing: what a worker counts in `done`")
FAULT(half_a_part, t->b.unit.part = "line",
      ".unit has only one of part and parts: give both or none")
FAULT(no_needs, t->b.needs = NULL, ".needs is missing: it says how many bytes a trial maps")
FAULT(no_preset, t->b.preset[QUICK].sample = 0,
      ".preset[QUICK].sample is 0: the target length of a sample in seconds, as 1e-3")
FAULT(unknown_in_preset, t->b.preset[PAPER].variants = "old,newer",
      ".preset[].variants names the variant 'newer', which is no row")
FAULT(uncounted, t->b.n_ratios = 0, ".ratios has 0 rows: give it as ROWS(ratios, ...)")
FAULT(a_hole, t->parameter[COUNT].name = NULL,
      "parameters, row 1: name or help is missing; is it an unused value of the enum?")
FAULT(two_of_a_name, t->parameter[COUNT].name = "kind",
      "parameters, rows 0 and 1: both are named kind")
FAULT(no_default, t->parameter[COUNT].value[QUICK] = NULL,
      "parameter count: .value has none for the profile quick")
FAULT(no_choices, t->parameter[KIND].choices = NULL, "parameter kind: a P_CHOICE has .choices")
FAULT(no_choice, t->parameter[KIND].value[STANDARD] = "plain,fanciest",
      "parameter kind: its value 'fanciest' is none of its choices, plain,fancy")
FAULT(half_explained, t->parameter[KIND].meaning[0] = "plain",
      "parameter kind: .meaning has 1 rows for its 2 choices")
FAULT(a_metric_without_unit, t->metric[COST].unit = NULL,
      "metrics, row 1: name, unit or help is missing; is it an unused value of the enum?")
FAULT(two_metrics_of_a_name, t->metric[COST].name = "time",
      "metrics, row 1: another is named time, too")
FAULT(no_time, t->metric[TIME].name = "duration", "metrics: the row TIME_METRIC() is missing")
FAULT(amount_and_kind, (t->metric[COST].amount = amount, t->metric[COST].kind = M_FAIRNESS),
      "metric cost has both amount() and .kind: give amount() for an amount over time, .kind for "
      "collect()")
FAULT(ratio_of_a_count, t->ratio[0].parameter = COUNT,
      "ratios, row 0 (gain): .parameter must be a P_CHOICE, P_VARIANT or P_THREADS")
FAULT(ratio_of_no_value, t->ratio[0].of = "fanciest",
      "ratios, row 0 (gain): .of is 'fanciest', which is no value")
FAULT(ratio_to_no_variant, t->ratio[1].to = "newer",
      "ratios, row 1 (gain): .to is 'newer', which is no value")
FAULT(ratio_of_no_metric, t->ratio[0].metric = "price",
      "ratios, row 0 (gain): no metric is named price")
FAULT(ratio_without_help, t->ratio[1].help = "", "ratios, row 1: name or help is missing")
FAULT(unexplained, t->counter[0].what = NULL,
      "counters, row 0: the event or its explanation is missing")
FAULT(no_variant, (t->b.variants = NULL, t->b.n_variants = 0),
      "it has no variant: give ROWS(variants, ...) at least one row")
FAULT(variant_without_summary, t->variant[0].summary = NULL,
      "variants, row 0: name or summary is missing")
FAULT(two_variants_of_a_name, t->variant[1].name = "old",
      "variants, row 1: another is named old, too")
FAULT(unused_beyond, t->variant[0].unused = BIT(PARAMETERS),
      "variant old: .unused has a bit beyond the parameters")
FAULT(default_of_nothing, t->override[0].parameter = PARAMETERS,
      "variant new: defaults, row 0: the parameter or its value in quick is missing")
FAULT(no_release, t->b.ops.release = NULL,
      "variant old: .release is missing; prepare, work and release are needed")
FAULT(no_work, t->b.ops.work = NULL,
      "variant old: .work is missing; prepare, work and release are needed")
FAULT(no_role, (t->b.roles = NULL, t->b.n_roles = 0),
      "variant old: it has no role: who works, and what ends it")
FAULT(the_rest_first, t->role[0].workers = NULL,
      "variant old: roles, row 0 takes all workers that are left, but is not the last")

static const char *(*const faults[])(struct tables *) = {
	no_summary,
	no_version,
	no_text,
	no_unit,
	half_a_part,
	no_needs,
	no_preset,
	unknown_in_preset,
	uncounted,
	a_hole,
	two_of_a_name,
	no_default,
	no_choices,
	no_choice,
	half_explained,
	a_metric_without_unit,
	two_metrics_of_a_name,
	no_time,
	amount_and_kind,
	ratio_of_a_count,
	ratio_of_no_value,
	ratio_to_no_variant,
	ratio_of_no_metric,
	ratio_without_help,
	unexplained,
	no_variant,
	variant_without_summary,
	two_variants_of_a_name,
	unused_beyond,
	default_of_nothing,
	no_release,
	no_work,
	no_role,
	the_rest_first,
};

static void test_each_fault_is_told(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
		struct tables t;
		const char *said;
		char *fault;

		good(&t);
		said = faults[i](&t);
		fault = contract_fault(&t.b);
		assert_non_null(fault);
		assert_string_equal(fault, said);
		free(fault);
	}
}

static void test_a_good_table(void **state)
{
	struct tables t;

	(void)state;
	good(&t);
	assert_null(contract_fault(&t.b));
	assert_true(contract_check(benchmarks));
	assert_true(contract_check(benchmarks_for_tests));
}

/* The program names the faulty table, and does not start. */
static void test_a_program_with_a_fault(void **state)
{
	const struct benchmark *list[] = { NULL, NULL };
	struct tables t;

	(void)state;
	good(&t);
	list[0] = &t.b;
	assert_true(contract_check(list));
	t.b.summary = NULL;
	assert_false(contract_check(list));
}

static void test_a_table_without_a_name(void **state)
{
	struct tables t;
	char *fault;

	(void)state;
	good(&t);
	t.b.name = NULL;
	fault = contract_fault(&t.b);
	assert_string_equal(fault, "benchmark ?: .name is missing");
	free(fault);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_fault_is_told),
		cmocka_unit_test(test_a_good_table),
		cmocka_unit_test(test_a_program_with_a_fault),
		cmocka_unit_test(test_a_table_without_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
