/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "harness/record/parts.h"

static void expect(const char *line, const char *left, const char *parts)
{
	json_t *trial = json_loads(line, 0, NULL), *lines = parts_take(trial);
	char *own = json_dumps(trial, JSON_COMPACT), *taken = json_dumps(lines, JSON_COMPACT);

	assert_string_equal(own, left);
	assert_string_equal(taken, parts);
	free(own);
	free(taken);
	json_decref(lines);
	json_decref(trial);
}

static void most_trials_have_none(void **state)
{
	static const char line[] = "{\"run\":\"1\",\"id\":\"2\",\"metrics\":{\"time\":{}}}";

	(void)state;
	expect(line, line, "[]");
	expect("{\"pairs\":{\"rounds\":1}}", "{\"pairs\":{\"rounds\":1}}", "[]");
}

static void cells_and_distributions_are_taken(void **state)
{
	(void)state;
	expect("{\"run\":\"1\",\"id\":\"2\",\"pairs\":{\"rounds\":1,\"cells\":{\"a\":[0]}}}",
	       "{\"run\":\"1\",\"id\":\"2\",\"pairs\":{\"rounds\":1}}",
	       "[{\"type\":\"matrix\",\"run\":\"1\",\"trial\":\"2\",\"a\":[0]}]");
	expect("{\"run\":\"1\",\"id\":\"2\",\"metrics\":{\"time\":{},"
	       "\"wait\":{\"distribution\":{\"n\":3}}}}",
	       "{\"run\":\"1\",\"id\":\"2\",\"metrics\":{\"time\":{},\"wait\":{}}}",
	       "[{\"type\":\"distribution\",\"run\":\"1\",\"trial\":\"2\",\"metric\":\"wait\","
	       "\"n\":3}]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(most_trials_have_none),
		cmocka_unit_test(cells_and_distributions_are_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
