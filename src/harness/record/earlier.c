/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what earlier runs left in a file, line by line. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/record/earlier.h"
#include "harness/record/lines.h"

bool earlier_open(struct earlier *e)
{
	utf8_host(e->host);
	e->runs = json_array();
	e->complete = json_object();
	e->always = json_object();
	return e->runs && e->complete && e->always;
}

void earlier_close(struct earlier *e)
{
	json_decref(e->runs);
	json_decref(e->machine);
	json_decref(e->complete);
	json_decref(e->always);
}

void earlier_forget(struct earlier *e)
{
	json_array_clear(e->runs);
	json_object_clear(e->complete);
}

/* Whether both say what it is, and say something else. */
static bool differs(const json_t *one, const json_t *other, const char *key)
{
	const char *a = json_string_value(json_object_get(one, key)),
		   *b = json_string_value(json_object_get(other, key));

	return a && b && strcmp(a, b);
}

void earlier_compare(struct earlier *e, const json_t *machine)
{
	if (!differs(e->machine, machine, "class") && !differs(e->machine, machine, "id"))
		return;
	e->ours = false;
	json_object_clear(e->complete);
}

/* ---- one line ---- */

/* Whether a trial line is complete, so that the trial need not be measured again. */
static bool is_complete(const json_t *trial)
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

/* Adds the names of the events that the kernel always counts, from a benchmark line. */
static void learn_always(json_t *always, const json_t *benchmark)
{
	add_names(always, json_object_get(json_object_get(benchmark, "counters"), "kernel"));
}

/* Names of all events that were counted in a trial: {name: true}. */
static json_t *counters_of(const json_t *trial, const json_t *always)
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

/* The length of RECORD_SCHEMA up to the dot before the minor version. */
enum { MAJOR = sizeof(RECORD_SCHEMA) - sizeof("0") };

/* Notes the contents of an existing line. Returns NULL, or its fault. */
static const char *take_note(struct earlier *e, json_t *line, bool first)
{
	json_t *const run = json_object_get(line, "run");
	const char *type = json_string_value(json_object_get(line, "type"));
	const char *schema = json_string_value(json_object_get(line, "schema"));
	const char *id = json_string_value(json_object_get(line, "id")),
		   *host = json_string_value(json_object_get(line, "host"));

	if (!type || (first && strcmp(type, "header")))
		return "this is no record of locus";
	if (strcmp(type, "header") == 0) {
		if (!json_is_string(run))
			return "this header has no run id, so locus did not write it; give another "
			       "file";
		if (!schema || strncmp(schema, RECORD_SCHEMA, MAJOR))
			return "this record has another schema than " RECORD_SCHEMA
			       ", which this locus writes; give another file";
		if (json_array_size(json_object_get(line, "resumes")) == 0)
			earlier_forget(e);
		json_array_append(e->runs, run);
		e->ours = host && strcmp(host, e->host) == 0;
		json_decref(e->machine);
		e->machine = json_incref(json_object_get(line, "machine"));
	}
	if (strcmp(type, "benchmark") == 0)
		learn_always(e->always, line);
	if (strcmp(type, "trial") == 0 && e->ours && id && is_complete(line))
		json_object_set_new(e->complete, id, counters_of(line, e->always));
	return NULL;
}

/* ---- all lines ---- */

#define START "{\"type\":\"" /* of each line */

/*
 * Zeros mark data that a disk lost. The run then wrote no more, so the rest may be cut off, too.
 * But if a header or an end line follows, the disk lost the data later: the file is refused.
 */
static const char *look_behind_zeros(struct lines *in)
{
	const unsigned n = in->n;

	while (lines_next(in)) {
		if (strncmp(in->line, "{\"type\":\"header\"", 16) &&
		    strncmp(in->line, "{\"type\":\"end\"", 13))
			continue;
		in->n = n;
		return "zeros, followed by a whole run: the disk has lost data";
	}
	return NULL;
}

/* Whether another line begins in this one: no line of locus has such an object but in a list. */
static bool has_several(const char *line, size_t length)
{
	const char *at = line + 1, *const end = line + length;

	while (at < end && (at = memmem(at, (size_t)(end - at), START, sizeof(START) - 1))) {
		if (!strchr(",:[", at[-1]))
			return true;
		at++;
	}
	return false;
}

/* Checks an incomplete last line: it may be cut off only if it begins like a line of locus. */
static const char *look_at_rest(const struct lines *in)
{
	size_t text;

	if (!in->length)
		return NULL;
	text = strnlen(in->line, in->kept); /* the rest is zeros */
	if (!text && in->n > 1)
		return NULL;
	if (!text || strncmp(in->line, START, text < sizeof(START) - 1 ? text : sizeof(START) - 1))
		return "this is no record of locus";
	return has_several(in->line, text) ? "several lines of a record without line feeds (LF)"
					   : NULL;
}

static const char *fault_of(const json_error_t *error)
{
	return json_error_code(error) == json_error_numeric_overflow
		       ? "this line has a number beyond 64 bits"
		       : "this line is not JSON";
}

/* Notes the contents of a line. Returns NULL, or its fault. */
static const char *read_line(struct earlier *e, struct lines *in)
{
	const size_t mark = utf8_mark(in->line, in->kept);
	json_error_t error;
	json_t *object = json_loadb(in->line + mark, in->kept - mark, 0, &error);
	const char *wrong = object ? take_note(e, object, in->n == 1) : fault_of(&error);

	if (!object && json_error_code(&error) == json_error_out_of_memory)
		in->error = ENOMEM;
	json_decref(object);
	return wrong;
}

/* Notes the contents of all complete lines; `end` is after them. */
static const char *read_lines(struct earlier *e, struct lines *in, off_t *end)
{
	const char *wrong = NULL;

	while (!wrong && lines_next(in)) {
		if (in->n > 1 && in->zeros)
			return look_behind_zeros(in);
		wrong = lines_too_long(in) ? LINES_TOO_LONG : read_line(e, in);
		*end += in->length;
	}
	return wrong ? wrong : look_at_rest(in);
}

int earlier_read(struct earlier *e, int file, off_t *end, char wrong[EARLIER_WRONG])
{
	FILE *copy = fdopen(dup(file), "r");
	struct lines in;
	const char *what;

	*wrong = '\0';
	if (!copy)
		return errno;
	lines_open(&in, copy);
	what = read_lines(e, &in, end);
	lines_close(&in);
	/* after an error more lines may follow, which must not be cut off */
	if (!in.error && what)
		snprintf(wrong, EARLIER_WRONG, "line %u: %s", in.n, what);
	return in.error;
}
