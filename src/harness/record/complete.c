/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "harness/record/complete.h"

bool complete_is(const json_t *trial)
{
	const char *status = json_string_value(json_object_get(trial, "status"));

	return status && (!strcmp(status, "ok") || !strcmp(status, "noisy") ||
			  !strcmp(status, "unconverged") || !strcmp(status, "bimodal") ||
			  !strcmp(status, "impossible"));
}

/* Adds the names of a list's objects; skips elements without one, which locus does not write. */
static void add_names(json_t *names, const json_t *list)
{
	const json_t *one;
	size_t i;

	json_array_foreach(list, i, one) {
		const char *name = json_string_value(json_object_get(one, "name"));

		if (name)
			json_object_set_new(names, name, json_true());
	}
}

void complete_learn(json_t *always, const json_t *benchmark)
{
	add_names(always, json_object_get(json_object_get(benchmark, "counters"), "kernel"));
}

json_t *complete_counters(const json_t *trial, const json_t *always)
{
	json_t *names = json_copy((json_t *)always);
	const json_t *name;
	size_t i;

	json_array_foreach(json_object_get(trial, "kernel_unknown"), i, name)
		if (json_is_string(name))
			json_object_del(names, json_string_value(name));
	add_names(names, json_object_get(trial, "counters"));
	return names;
}
