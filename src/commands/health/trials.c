/* SPDX-License-Identifier: Apache-2.0 */
/* The trials of the file: measured by the harness, and judged by the record. */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/numbers.h"
#include "base/sysfs.h"
#include "commands/health/examiner.h"
#include "harness/record/lines.h"
#include "harness/run/run.h"
#include "machine/clock.h"

#define LOOK 1.0 /* s in which other work becomes visible */

/* ---- judging ---- */

/* A metric that is compared with its bounds. */
struct judged {
	const char *component;
	const json_t *bounds, *line;
	double value, bound;
	bool lower; /* lower is better: the bound is the highest value */
};

static double real_of(const json_t *value)
{
	return json_is_number(value) ? json_number_value(value) : NAN;
}

static double value_of(const json_t *line, const char *metric)
{
	return real_of(json_object_get(json_object_get(json_object_get(line, "metrics"), metric),
				       "value"));
}

static bool is_worse(const struct judged *j, double value)
{
	return j->lower ? value > j->bound : value < j->bound;
}

/* A bound of a metric's 95 % interval; NAN: none is known. */
static double interval_of(const json_t *line, const char *metric, size_t end)
{
	const json_t *of = json_object_get(json_object_get(line, "metrics"), metric);

	return real_of(json_array_get(json_object_get(of, "ci"), end));
}

/* The values by batch; NULL: a rate has none, since it follows from the time. */
static const json_t *column_of(const struct judged *j, const char *metric)
{
	return json_object_get(json_object_get(json_object_get(j->line, "batches"), "metrics"),
			       metric);
}

/* A rate if a unit of work took this time. */
static double rate_at(const struct judged *j, double time)
{
	return j->value * value_of(j->line, "time") / time;
}

/*
 * The end of its interval that is nearest to what is expected: of a metric with its own interval
 * or, for a rate, which has none, of the time's. The value, if no interval is known.
 */
static double best_of(const struct judged *j)
{
	const char *metric = health_string(j->bounds, "metric");
	double end = interval_of(j->line, metric, j->lower ? 0 : 1);

	if (isnan(end) && strcmp(metric, "time") && !column_of(j, metric))
		end = rate_at(j, interval_of(j->line, "time", j->lower ? 1 : 0));
	return isnan(end) ? j->value : end;
}

/*
 * The metric's value in batch i: from its column or, for a rate, which has no column, from the
 * batch's time. NAN: none.
 */
static double in_batch(const struct judged *j, size_t i)
{
	const char *metric = health_string(j->bounds, "metric");
	const json_t *own = column_of(j, metric);
	const double scale = real_of(json_object_get(j->line, "scale")),
		     time = real_of(json_array_get(column_of(j, "time"), i)) * scale;

	if (!strcmp(metric, "time"))
		return time;
	return own ? real_of(json_array_get(own, i)) : rate_at(j, time);
}

/* " (4 of 5)": in how many of its batches the metric is worse than its bound. */
static void describe_batches(const struct judged *j, char told[32])
{
	const size_t batches = json_array_size(column_of(j, "time"));
	unsigned worse = 0, all = 0;

	for (size_t i = 0; i < batches; i++) {
		const double value = in_batch(j, i);

		all += !isnan(value);
		worse += !isnan(value) && is_worse(j, value);
	}
	*told = 0;
	if (all)
		snprintf(told, 32, " (%u of %u)", worse, all);
}

/* "memory bandwidth 352.0 GB/s, at least 391 expected (4 of 5)" */
static void describe_worse(const struct judged *j, char told[HEALTH_TEXT])
{
	const char *unit = health_string(j->bounds, "unit");
	char value[48], batches[32];

	describe_batches(j, batches);
	snprintf(told, HEALTH_TEXT, "%.48s %s, at %s %.4g expected%s", j->component,
		 quantity_show(j->value, unit, value, sizeof(value)), j->lower ? "most" : "least",
		 j->bound / quantity_scale(j->value, unit), batches);
}

static bool is_one_of(const char *word, const char *const *words)
{
	while (word && *words && strcmp(word, *words))
		words++;
	return word && *words;
}

/* Says why a trial has no good result. */
static void report_no_result(struct health *h, const struct judged *j, const char *status)
{
	const char *reason =
		json_string_value(json_array_get(json_object_get(j->line, "reasons"), 0));

	if (status && !strcmp(status, "wrong"))
		health_finding(h, "%.48s: wrong: %.150s", j->component, reason ? reason : "");
	else
		health_unknown(h, "%.48s: %s: %.150s", j->component,
			       status ? status : "not measured", reason ? reason : "no reason");
}

/* If a greater share of the samples is crowded, their median is the value of a crowded core. */
#define MOSTLY 0.5

/* The share of samples with crowded cores that count for the value. */
static double crowded(const json_t *line)
{
	const json_t *of = json_object_get(json_object_get(line, "samples"), "crowded");

	return json_is_false(json_object_get(of, "aside"))
		       ? json_number_value(json_object_get(of, "share"))
		       : 0;
}

/*
 * How many times worse than its bound a measured value is, with the text of the finding; 0: it is
 * as expected, or was already reported as unknown or wrong.
 */
static double judge_one(struct health *h, const struct judged *j, char told[HEALTH_TEXT])
{
	static const char *const good[] = { "ok", "unconverged", "bimodal", NULL };
	const char *status = health_string(j->line, "status");
	const bool noisy = status && !strcmp(status, "noisy");
	const char *doubt;

	if ((!noisy && !is_one_of(status, good)) || isnan(j->value)) {
		report_no_result(h, j, status);
		return 0;
	}
	if (!is_worse(j, j->value)) {
		h->trials++;
		return 0;
	}
	describe_worse(j, told);
	doubt = noisy			    ? "noisy"
		: crowded(j->line) > MOSTLY ? "cores are shared"
		: !is_worse(j, best_of(j))  ? "its interval reaches the bound"
					    : NULL;
	if (doubt) {
		health_unknown(h, "%s: %.200s", doubt, told);
		return 0;
	}
	h->trials++;
	return j->lower ? j->value / j->bound : j->bound / j->value;
}

void trials_judge(struct health *h, const json_t *of_class, const json_t *lines)
{
	char told[HEALTH_TEXT], worst[HEALTH_TEXT];
	const json_t *asked;
	double most = 0;
	unsigned worse = 0;
	size_t i;

	json_array_foreach(json_object_get(of_class, "health"), i, asked) {
		const json_t *b = expected_bounds(of_class, health_string(asked, "trial"),
						  health_string(asked, "metric"));
		const json_t *line = json_object_get(lines, health_string(asked, "trial"));
		const bool lower = !strcmp(health_string(b, "better"), "lower");
		const struct judged j = {
			.component = health_string(asked, "component"),
			.bounds = b,
			.line = line,
			.value = value_of(line, health_string(asked, "metric")),
			.bound = real_of(json_object_get(b, lower ? "high" : "low")),
			.lower = lower,
		};
		const double by = judge_one(h, &j, told);

		worse += by > 0;
		if (by > most)
			memcpy(worst, told, sizeof(worst));
		most = fmax(most, by);
	}
	for (unsigned n = 0; n < worse; n++)
		health_finding(h, "%s", worst);
}

/* ---- measuring ---- */

/* The trials of the last run in a record, by id; none if it is no file, but a pipe or a device. */
static json_t *read_trials(const char *path)
{
	json_t *trials = json_object(), *line;
	struct lines in;
	struct stat s;

	lines_open(&in, !stat(path, &s) && S_ISREG(s.st_mode) ? fopen(path, "re") : NULL);
	while (in.file && lines_next(&in)) {
		if (strncmp(in.line, "{\"type\":\"trial\"", 15) &&
		    strncmp(in.line, "{\"type\":\"header\"", 16))
			continue;
		line = json_loads(in.line, 0, NULL);
		if (health_string(line, "id"))
			json_object_set(trials, health_string(line, "id"), line);
		else
			json_object_clear(trials);
		json_decref(line);
	}
	if (in.file)
		lines_close(&in);
	return trials;
}

enum { MOST_BENCHMARKS = 64 };

/* The ids of the class's trials; `table` gets the benchmarks that have them, ended by NULL. */
static json_t *trials_of(const struct program *p, const json_t *of_class,
			 const struct benchmark *table[MOST_BENCHMARKS])
{
	json_t *ids = json_object(), *names = json_object();
	const json_t *asked;
	unsigned n = 0;
	size_t i;

	json_array_foreach(json_object_get(of_class, "health"), i, asked) {
		const json_t *b = expected_bounds(of_class, health_string(asked, "trial"),
						  health_string(asked, "metric"));
		char name[64];
		const struct benchmark *known;

		snprintf(name, sizeof(name), "%.*s", (int)strcspn(health_string(b, "name"), "/"),
			 health_string(b, "name"));
		known = command_benchmark(p, name);
		json_object_set_new(ids, health_string(asked, "trial"), json_true());
		if (known && !json_object_get(names, name) && n + 1 < MOST_BENCHMARKS) {
			table[n++] = known;
			json_object_set_new(names, name, json_true());
		}
	}
	table[n] = NULL;
	json_decref(names);
	return ids;
}

#define RECORD_OPTION "--record"

/* The path of the record; NULL: none was asked for, or its lines could not be read back. */
static const char *record_of(struct examiner *e)
{
	const char *path = e->asked->record;
	struct stat s;

	if (!path || stat(path, &s) || S_ISREG(s.st_mode))
		return path;
	snprintf(e->health.no_record, HEALTH_TEXT, RECORD_OPTION ": %.160s: is no file", path);
	return NULL;
}

/* The lines of the trials that these options measure. */
static json_t *lines_of(struct examiner *e, const struct options *o,
			const struct benchmark *const *table)
{
	engine_run(o, table, NULL);
	*e->trial = 0;
	examiner_turns_to(e, "reading the record");
	return read_trials(o->output ? o->output : o->scratch);
}

/*
 * Measures into the record, or without one where it can't be opened: that says nothing about the
 * node.
 */
static json_t *measure(struct examiner *e, const struct benchmark *const *table, const json_t *only,
		       char said[HEALTH_TEXT])
{
	const double begin = clock_now();
	const int file = memfd_create("locus-record", MFD_CLOEXEC);
	char scratch[64], name[] = "locus health", *words[] = { name, NULL };
	struct options o = { .profile = QUICK,
			     .seed = 1,
			     .argc = 1,
			     .argv = words,
			     .quiet = true,
			     .time_budget = e->asked->time_budget,
			     .output = record_of(e),
			     .output_option = RECORD_OPTION,
			     .scratch = scratch,
			     .only = only,
			     .hand = e->trial };
	json_t *lines;

	o.append = o.output;
	snprintf(scratch, sizeof(scratch), "/proc/self/fd/%d", file);
	lines = lines_of(e, &o, table);
	examiner_said(e, said);
	if (json_object_size(lines) || !o.output)
		return lines;
	json_decref(lines);
	o.output = NULL;
	o.append = false;
	o.time_budget = fmax(1, o.time_budget - (clock_now() - begin));
	lines = lines_of(e, &o, table);
	if (json_object_size(lines))
		memcpy(e->health.no_record, said, HEALTH_TEXT);
	examiner_said(e, said);
	return lines;
}

static void measure_and_judge(struct examiner *e, const json_t *of_class)
{
	const struct benchmark *table[MOST_BENCHMARKS];
	json_t *only = trials_of(e->asked->program, of_class, table), *lines;
	char said[HEALTH_TEXT];

	foreign_read(SYSFS_ROOT, &e->load, RUSAGE_SELF);
	lines = measure(e, table, only, said);
	e->measured = json_object_size(lines) && !*e->health.no_record;
	if (!json_object_size(lines))
		health_unknown(&e->health, "no trial was measured: %s",
			       *said ? said : "the record can't be read back");
	else
		trials_judge(&e->health, of_class, lines);
	json_decref(lines);
	json_decref(only);
}

/* Waits until other work would be visible. Returns whether there is too much of it. */
static bool others_work(struct examiner *e, const struct foreign *before, const char *when)
{
	struct foreign now;
	double foreign;

	foreign_read(SYSFS_ROOT, &now, RUSAGE_SELF);
	foreign = foreign_cpus(before, &now);
	if (foreign <= e->asked->foreign)
		return false;
	snprintf(e->health.no_trials, HEALTH_TEXT, "other work takes %.1f CPUs%s", foreign, when);
	return true;
}

/* Waits for the rest of the first second. */
static void wait_since(double begin)
{
	const double left = begin + LOOK - clock_now();

	if (left > 0)
		nanosleep(&(struct timespec){ .tv_nsec = (long)(left * 1e9) - 1 }, NULL);
}

/* ---- a run that measured none ---- */

static json_t *text_or_null(const char *text)
{
	return *text ? json_string(text) : json_null();
}

static json_t *health_json(const struct health *h)
{
	const char *why = *h->no_trials ? h->no_trials
			  : h->findings ? "the facts are not as expected"
			  : h->unknowns ? h->unknown
					: "the file names none";

	return json_pack("{s:i, s:i, s:o, s:s}", "facts", (int)h->facts, "findings",
			 (int)h->findings, "finding", text_or_null(h->finding), "no_trials", why);
}

void trials_append_none(struct examiner *e)
{
	char said[HEALTH_TEXT], name[] = "health", *words[] = { name, NULL };
	const struct options o = {
		.name = name, .profile = QUICK, .seed = 1, .argc = 1, .argv = words
	};
	struct run r = { .options = &o };

	examiner_turns_to(e, "writing the record");
	budget_begin(&r.budget, NULL, 0);
	if (!record_open(&r.record, e->asked->record, RECORD_APPEND, RECORD_OPTION)) {
		if (!setting_find(&r.setting, &o, NULL)) {
			r.clock = clock_measure();
			run_header(&r);
			record_line(r.record, "health", health_json(&e->health), false);
			run_end(&r, e->health.findings ? EXIT_BAD : EXIT_GOOD);
		}
		record_close(r.record);
		setting_free(&r.setting);
	}
	examiner_said(e, said);
	memcpy(e->health.no_record, said, sizeof(said));
}

void trials_settle(struct examiner *e, const struct health *facts)
{
	struct health alone = *facts;

	if (!others_work(e, &e->load, " by now"))
		return;
	memcpy(alone.no_trials, e->health.no_trials, sizeof(alone.no_trials));
	memcpy(alone.no_record, e->health.no_record, sizeof(alone.no_record));
	e->health = alone;
}

void trials_examine(struct examiner *e, const json_t *of_class)
{
	struct health facts;

	if (!json_array_size(json_object_get(of_class, "health")))
		return;
	/* others cannot use more than all CPUs: no need to look */
	if (e->asked->foreign < (double)sysconf(_SC_NPROCESSORS_ONLN)) {
		examiner_turns_to(e, "looking for other work");
		wait_since(e->load.wall);
		if (others_work(e, &e->load, ""))
			return;
	}
	facts = e->health;
	examiner_turns_to(e, "planning the trials");
	measure_and_judge(e, of_class);
	trials_settle(e, &facts);
}
