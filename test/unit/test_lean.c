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

static void the_benchmark_s_line_says_what_a_ratio_compares(void **state)
{
	(void)state;
	expect(lean_trial,
	       "{\"ratios\":[{\"ratio\":2,\"name\":\"slowdown\",\"metric\":\"time\","
	       "\"of\":\"dense\",\"to\":\"padded\",\"parameter\":\"layout\",\"value\":1.5}]}",
	       "{\"ratios\":[{\"ratio\":2,\"value\":1.5}]}");
	expect(lean_trial,
	       "{\"ratios\":[{\"ratio\":0,\"of\":\"1\",\"to\":\"8\",\"parameter\":\"threads\"}]}",
	       "{\"ratios\":[{\"ratio\":0,\"to\":\"8\"}]}");
}

static void what_follows_from_the_rest_is_left_out(void **state)
{
	(void)state;
	expect(lean_trial, "{\"identity\":\"a/b points=12\",\"cycles\":1.5,\"cycle\":2}",
	       "{\"cycle\":2}");
	expect(lean_trial, "{\"identity\":\"a/b points=fnv1a64:cbf29ce484222325\"}",
	       "{\"identity\":\"a/b points=fnv1a64:cbf29ce484222325\"}");
	expect(lean_trial,
	       "{\"placement\":{\"how\":\"verified\",\"pages\":0,\"misplaced\":0,\"unmapped\":2}}",
	       "{\"placement\":{\"pages\":0,\"unmapped\":2}}");
	expect(lean_trial,
	       "{\"placement\":{\"how\":\"counted\","
	       "\"after\":{\"how\":\"verified\",\"misplaced\":0}}}",
	       "{\"placement\":{\"how\":\"counted\",\"after\":{}}}");
	expect(lean_trial, "{\"batches\":{\"metrics\":{\"a\":2,\"b\":[1,2]}}}",
	       "{\"batches\":{\"metrics\":{\"b\":[1,2]}}}");
}

static void lists_of_times_are_multiples_of_a_scale(void **state)
{
	(void)state;
	expect(lean_trial,
	       "{\"samples\":{\"mean\":1.5e-9,\"quantiles\":[1.00004e-9,null,1.23456e-8]},"
	       "\"batches\":{\"metrics\":{\"time\":[2.34567e-9,null],\"a\":[1.5,2.5]}}}",
	       "{\"samples\":{\"mean\":1.5e-9,\"quantiles\":[10000,null,123460]},"
	       "\"batches\":{\"metrics\":{\"time\":[23457,null],\"a\":[1.5,2.5]}},"
	       "\"scale\":1e-13}");
	expect(lean_trial,
	       "{\"samples\":{\"quantiles\":[2e-9],\"modes\":[{\"time\":2.5e-9,\"share\":0.5}]}}",
	       "{\"samples\":{\"quantiles\":[20000],\"modes\":[{\"time\":25000,\"share\":0.5}]},"
	       "\"scale\":1e-13}");
	expect(lean_trial, "{\"samples\":{\"quantiles\":[12.5,250000.0]}}",
	       "{\"samples\":{\"quantiles\":[12500,250000000]},\"scale\":0.001}");
	expect(lean_trial, "{\"batches\":{\"metrics\":{\"time\":[0.00125]}}}",
	       "{\"batches\":{\"metrics\":{\"time\":[12500]}},\"scale\":1e-7}");
}

static void the_interval_of_a_rate_or_a_constant_is_left_out(void **state)
{
	(void)state;
	expect(lean_trial,
	       "{\"metrics\":[{\"name\":\"a\",\"rate\":true,\"value\":2,\"ci\":[1,3],"
	       "\"with_noise\":4}]}",
	       "{\"metrics\":{\"a\":{\"value\":2}}}");
	expect(lean_trial,
	       "{\"metrics\":[{\"name\":\"a\",\"value\":2,\"ci\":[2,2]},"
	       "{\"name\":\"b\",\"value\":2,\"range\":{\"of\":3,\"low\":2,\"high\":2}}]}",
	       "{\"metrics\":{\"a\":{\"value\":2},\"b\":{\"value\":2}}}");
	expect(lean_trial,
	       "{\"metrics\":[{\"name\":\"a\",\"value\":2,\"ci\":[2,3]}],"
	       "\"batches\":{\"metrics\":{\"a\":[2,3]}}}",
	       "{\"metrics\":{\"a\":{\"value\":2,\"ci\":[2,3]}},"
	       "\"batches\":{\"metrics\":{\"a\":[2,3]}}}");
	/* most batches have it, but not all */
	expect(lean_trial,
	       "{\"metrics\":[{\"name\":\"a\",\"value\":2,\"ci\":[2,2]}],"
	       "\"batches\":{\"metrics\":{\"a\":[2,2,3]}}}",
	       "{\"metrics\":{\"a\":{\"value\":2,\"ci\":[2,2]}},"
	       "\"batches\":{\"metrics\":{\"a\":[2,2,3]}}}");
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
	       "{\"name\":\"b\",\"unit\":\"s\",\"better\":\"lower\",\"rate\":false,"
	       "\"value\":2.0}]}",
	       "{\"metrics\":{\"b\":{\"value\":2}}}");
	expect(lean_trial, "{\"metrics\":[{\"name\":\"a\",\"value\":null}]}", "{}");
}

/* ---- parts ---- */

static void expect_parts(const char *line, const char *left, const char *parts)
{
	json_t *trial = json_loads(line, 0, NULL), *lines = lean_parts(trial);
	char *own = json_dumps(trial, JSON_COMPACT), *taken = json_dumps(lines, JSON_COMPACT);

	assert_string_equal(own, left);
	assert_string_equal(taken, parts);
	free(own);
	free(taken);
	json_decref(lines);
	json_decref(trial);
}

static void most_trials_have_no_parts(void **state)
{
	static const char line[] = "{\"run\":\"1\",\"id\":\"2\",\"metrics\":{\"time\":{}}}";

	(void)state;
	expect_parts(line, line, "[]");
	expect_parts("{\"pairs\":{\"rounds\":1}}", "{\"pairs\":{\"rounds\":1}}", "[]");
}

static void cells_and_distributions_are_taken(void **state)
{
	(void)state;
	expect_parts("{\"run\":\"1\",\"id\":\"2\",\"pairs\":{\"rounds\":1,\"cells\":{\"a\":[0]}}}",
		     "{\"run\":\"1\",\"id\":\"2\",\"pairs\":{\"rounds\":1}}",
		     "[{\"type\":\"matrix\",\"run\":\"1\",\"trial\":\"2\",\"a\":[0]}]");
	expect_parts(
		"{\"run\":\"1\",\"id\":\"2\",\"metrics\":{\"time\":{},"
		"\"wait\":{\"distribution\":{\"n\":3}}}}",
		"{\"run\":\"1\",\"id\":\"2\",\"metrics\":{\"time\":{},\"wait\":{}}}",
		"[{\"type\":\"distribution\",\"run\":\"1\",\"trial\":\"2\",\"metric\":\"wait\","
		"\"n\":3}]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_says_nothing_is_left_out),
		cmocka_unit_test(measured_numbers_have_seven_digits),
		cmocka_unit_test(estimates_and_quantiles_have_five_digits),
		cmocka_unit_test(the_results_of_a_trial_keep_theirs),
		cmocka_unit_test(the_benchmark_s_line_says_what_a_ratio_compares),
		cmocka_unit_test(what_follows_from_the_rest_is_left_out),
		cmocka_unit_test(lists_of_times_are_multiples_of_a_scale),
		cmocka_unit_test(the_interval_of_a_rate_or_a_constant_is_left_out),
		cmocka_unit_test(roles_are_told_where_there_are_several),
		cmocka_unit_test(counts_and_what_was_asked_for_keep_all),
		cmocka_unit_test(a_trial_has_only_metrics_with_a_value_by_name),
		cmocka_unit_test(most_trials_have_no_parts),
		cmocka_unit_test(cells_and_distributions_are_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
