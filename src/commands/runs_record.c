/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what the runs of a series left in a record. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/runs.h"
#include "harness/record/lines.h"

static bool begins(const char *line, const char *type)
{
	static const char start[] = "{\"type\":\"";
	const size_t n = sizeof(start) - 1;

	return !strncmp(line, start, n) && !strncmp(line + n, type, strlen(type)) &&
	       line[n + strlen(type)] == '"';
}

/* The next line other than samples (most lines are samples), or NULL. */
static json_t *next(struct lines *in)
{
	while (lines_next(in)) {
		json_t *line = begins(in->line, "header") || begins(in->line, "benchmark") ||
					       begins(in->line, "trial") || begins(in->line, "end")
				       ? json_loads(in->line, 0, NULL)
				       : NULL;

		if (line)
			return line;
	}
	return NULL;
}

static bool is(const json_t *line, const char *type)
{
	const char *own = json_string_value(json_object_get(line, "type"));

	return own && !strcmp(own, type);
}

/* The number of the run in a header, with its series; 0: it belongs to no series. */
static unsigned run_of(const json_t *header, uint64_t *series)
{
	const json_t *of = json_object_get(header, "series");
	const char *id = json_string_value(json_object_get(of, "id"));

	*series = id ? strtoull(id, NULL, 16) : 0;
	return id ? (unsigned)json_integer_value(json_object_get(of, "run")) : 0;
}

static bool open_path(struct lines *in, const char *path)
{
	lines_open(in, fopen(path, "r"));
	return in->file;
}

void runs_read_last(const char *path, struct runs_last *last)
{
	struct lines in;
	json_t *line;

	*last = (struct runs_last){ 0 };
	if (!open_path(&in, path))
		return;
	for (; (line = next(&in)); json_decref(line)) {
		if (is(line, "header")) {
			last->run = run_of(line, &last->series);
			last->complete = false;
		} else if (is(line, "end")) {
			last->complete =
				!json_object_get(json_object_get(line, "trials"), "interrupted");
		}
	}
	lines_close(&in);
}

static void add_benchmark(json_t *found, json_t *line)
{
	const char *name = json_string_value(json_object_get(line, "name"));
	const json_t *one;
	size_t i;

	json_array_foreach(found, i, one)
		if (name && !strcmp(json_string_value(json_object_get(one, "name")), name))
			return;
	if (name && json_object_get(line, "metrics"))
		json_array_append_new(
			found, json_pack("{s:s, s:O, s:{}}", "name", name, "line", line, "trials"));
}

static bool is_interrupted(const json_t *line)
{
	const char *status = json_string_value(json_object_get(line, "status"));

	return status && !strcmp(status, "interrupted");
}

static void add_trial(json_t *found, json_t *line, unsigned run)
{
	const char *name = json_string_value(json_object_get(line, "benchmark")),
		   *id = json_string_value(json_object_get(line, "id"));
	json_t *one, *trials = NULL, *lines;
	char key[16];
	size_t i;

	json_array_foreach(found, i, one)
		if (name && !strcmp(json_string_value(json_object_get(one, "name")), name))
			trials = json_object_get(one, "trials");
	if (!trials || !id)
		return;
	if (!json_object_get(trials, id))
		json_object_set_new(trials, id, json_object());
	lines = json_object_get(trials, id);
	snprintf(key, sizeof(key), "%u", run);
	/* results of one part stay even if a later part was interrupted */
	if (!json_object_get(lines, key) || !is_interrupted(line))
		json_object_set(lines, key, line);
}

json_t *runs_read(const char *path, uint64_t series)
{
	json_t *found = json_array(), *line;
	struct lines in;
	unsigned run = 0;

	if (!open_path(&in, path)) {
		json_decref(found);
		return NULL;
	}
	for (; (line = next(&in)); json_decref(line)) {
		uint64_t of;

		if (is(line, "header")) {
			run = run_of(line, &of);
			run = of == series ? run : 0;
		} else if (run && is(line, "benchmark")) {
			add_benchmark(found, line);
		} else if (run && is(line, "trial")) {
			add_trial(found, line, run);
		}
	}
	lines_close(&in);
	return found;
}
