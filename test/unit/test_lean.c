/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "harness/record/lean.h"

static void expect(json_t *(*of)(const json_t *), const char *line, const char *left)
{
	json_t *given = json_loads(line, 0, NULL), *found = of(given);
	char *text = json_dumps(found, JSON_COMPACT | JSON_REAL_PRECISION(12));

	assert_non_null(given);
	assert_string_equal(text, left);
	free(text);
	json_decref(found);
	json_decref(given);
}

static void what_says_nothing_is_left_out(void **state)
{
	(void)state;
	expect(lean, "{\"a\":null,\"b\":[],\"c\":{\"d\":{}},\"e\":0,\"f\":\"\"}",
	       "{\"e\":0,\"f\":\"\"}");
	expect(lean, "{\"a\":[1,null,{\"b\":null}]}", "{\"a\":[1,null,{}]}");
}

static void measured_numbers_have_seven_digits(void **state)
{
	(void)state;
	expect(lean, "{\"a\":[1.23456789e-9,-1.23456789,0.1]}",
	       "{\"a\":[1.234568e-9,-1.234568,0.1]}");
	expect(lean, "{\"a\":64.0,\"b\":1.23456789e12}", "{\"a\":64,\"b\":1.234568e12}");
}

static void estimates_and_quantiles_have_five_digits(void **state)
{
	(void)state;
	expect(lean,
	       "{\"a\":1.23456789,\"batches\":{\"metrics\":{\"b\":[1.23456789e-9,null,12345678.5]}}"
	       "}",
	       "{\"a\":1.234568,\"batches\":{\"metrics\":{\"b\":[1.2346e-9,null,12346000.0]}}}");
	expect(lean, "{\"sketch\":{\"quantiles\":[1.23456789],\"n\":1.23456789}}",
	       "{\"sketch\":{\"quantiles\":[1.2346],\"n\":1.234568}}");
	expect(lean_trial, "{\"samples\":{\"mean\":1.23456789},\"noise\":{\"wall\":1.23456789}}",
	       "{\"samples\":{\"mean\":1.2346},\"noise\":{\"wall\":1.23}}");
	expect(lean_trial, "{\"skew\":1.23456789,\"elapsed\":1.23456789}",
	       "{\"skew\":1.235,\"elapsed\":1.235}");
}

static void the_results_of_a_trial_keep_theirs(void **state)
{
	(void)state;
	expect(lean_trial,
	       "{\"cycle\":1.23456789,\"metrics\":[{\"name\":\"a\",\"value\":1.23456789}]}",
	       "{\"cycle\":1.234568,\"metrics\":{\"a\":{\"value\":1.23456789}}}");
	expect(lean_trial,
	       "{\"roles\":[{\"workers\":1},{\"workers\":1,\"throughput\":1.23456789}]}",
	       "{\"roles\":[{\"workers\":1},{\"workers\":1,\"throughput\":1.234568}]}");
}

static void a_ratio_is_one_of_times_unless_it_says_otherwise(void **state)
{
	(void)state;
	expect(lean_trial, "{\"ratios\":[{\"metric\":\"time\"},{\"metric\":\"cost\"}]}",
	       "{\"ratios\":[{},{\"metric\":\"cost\"}]}");
}

static void what_follows_from_the_rest_is_left_out(void **state)
{
	(void)state;
	expect(lean_trial, "{\"identity\":\"a/b points=12\",\"cycles\":1.5,\"cycle\":2}",
	       "{\"cycle\":2}");
	expect(lean_trial, "{\"identity\":\"a/b points=fnv1a64:cbf29ce484222325\"}",
	       "{\"identity\":\"a/b points=fnv1a64:cbf29ce484222325\"}");
	expect(lean_trial,
	       "{\"placement\":{\"before\":{\"pages\":0,\"misplaced\":0,\"unmapped\":2}}}",
	       "{\"placement\":{\"before\":{\"pages\":0,\"unmapped\":2}}}");
	expect(lean_trial, "{\"batches\":{\"metrics\":{\"time\":1,\"a\":2,\"b\":[1,2]}}}",
	       "{\"batches\":{\"metrics\":{\"time\":1,\"b\":[1,2]}}}");
}

static void roles_are_told_where_there_are_several(void **state)
{
	(void)state;
	expect(lean_trial, "{\"roles\":[{\"workers\":2},{\"workers\":0}]}", "{}");
	expect(lean_trial, "{\"roles\":[{\"workers\":2},{\"workers\":1}]}",
	       "{\"roles\":[{\"workers\":2},{\"workers\":1}]}");
}

static void counts_and_what_was_asked_for_keep_all(void **state)
{
	(void)state;
	expect(lean, "{\"n\":1234567890123,\"parameters\":{\"a\":1.23456789}}",
	       "{\"n\":1234567890123,\"parameters\":{\"a\":1.23456789}}");
}

static void a_trial_has_only_metrics_with_a_value_by_name(void **state)
{
	(void)state;
	expect(lean_trial,
	       "{\"metrics\":[{\"name\":\"a\",\"unit\":\"s\",\"value\":null},"
	       "{\"name\":\"b\",\"unit\":\"s\",\"better\":\"lower\",\"value\":2.0}]}",
	       "{\"metrics\":{\"b\":{\"value\":2}}}");
	expect(lean_trial, "{\"metrics\":[{\"name\":\"a\",\"value\":null}]}", "{}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_says_nothing_is_left_out),
		cmocka_unit_test(measured_numbers_have_seven_digits),
		cmocka_unit_test(estimates_and_quantiles_have_five_digits),
		cmocka_unit_test(the_results_of_a_trial_keep_theirs),
		cmocka_unit_test(a_ratio_is_one_of_times_unless_it_says_otherwise),
		cmocka_unit_test(what_follows_from_the_rest_is_left_out),
		cmocka_unit_test(roles_are_told_where_there_are_several),
		cmocka_unit_test(counts_and_what_was_asked_for_keep_all),
		cmocka_unit_test(a_trial_has_only_metrics_with_a_value_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
