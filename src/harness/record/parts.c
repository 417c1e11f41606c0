/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/record/parts.h"

/* Moves an object out of another, into a line of this type. */
static void take(json_t *lines, const char *type, const json_t *trial, json_t *from,
		 const char *key, const char *metric)
{
	json_t *part = json_object_get(from, key), *line;

	if (!part)
		return;
	line = json_pack("{s:s, s:O, s:O, s:s*}", "type", type, "run",
			 json_object_get(trial, "run"), "trial", json_object_get(trial, "id"),
			 "metric", metric);
	json_object_update(line, part);
	json_array_append_new(lines, line);
	json_object_del(from, key);
}

json_t *parts_take(json_t *trial)
{
	json_t *lines = json_array(), *metric;
	const char *name;

	take(lines, "matrix", trial, json_object_get(trial, "pairs"), "cells", NULL);
	json_object_foreach(json_object_get(trial, "metrics"), name, metric)
		take(lines, "distribution", trial, metric, "distribution", name);
	return lines;
}
