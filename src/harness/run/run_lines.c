/* SPDX-License-Identifier: Apache-2.0 */
/* The run's own lines of the record: header, benchmarks, end. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/sysfs.h"
#include "base/utf8.h"
#include "count/counting.h"
#include "harness/ask/parameters.h"
#include "harness/judge/summary.h"
#include "harness/record/record.h"
#include "harness/run/run.h"
#include "harness/plan/plan.h"
#include "harness/sample/evidence.h"
#include "harness/sample/reports.h"
#include "machine/provenance/provenance.h"
#include "machine/topology/topology.h"
#include "machine/watchdog.h"

/* --- the line of a benchmark --- */

static const char *const types[] = {
	[P_COUNT] = "count", [P_SIZE] = "size",	    [P_REAL] = "real", [P_CHOICE] = "choice",
	[P_PATH] = "path",   [P_LAYOUT] = "layout", [P_NODE] = "node", [P_DERIVED] = "found",
};
static const char *const kinds[] = {
	[M_VALUE] = "value",   [M_FAIRNESS] = "fairness", [M_IMBALANCE] = "imbalance",
	[M_MEDIAN] = "median", [M_MOST] = "most",	  [M_DISTRIBUTION] = "distribution",
	[M_ROW] = "row",       [M_COUNT] = "count",
};
static const char *const scores[] = {
	[SPAN] = "span", [TOGETHER] = "together", [IN_PAIRS] = "pairs"
};

/* "loop,reverse" */
static json_t *words_json(const char *words)
{
	json_t *list = json_array();

	while (words && *words) {
		const size_t length = strcspn(words, ",");

		json_array_append_new(list, json_stringn(words, length));
		words += length + (words[length] == ',');
	}
	return list;
}

static json_t *parameters_json(const struct benchmark *b)
{
	json_t *list = json_array();

	for (const struct parameter *p = b->parameters; p && p < b->parameters + b->n_parameters;
	     p++)
		json_array_append_new(list,
				      json_pack("{s:s, s:s, s:s?, s:o, s:b, s:b, s:s}", "name",
						p->name, "type", types[p->type], "unit", p->unit,
						"choices", words_json(p->choices), "curve",
						p->curve, "output", p->output, "help", p->help));
	return list;
}

static json_t *metrics_json(const struct benchmark *b)
{
	json_t *list = json_array();

	for (const struct metric *m = b->metrics; m && m < b->metrics + b->n_metrics; m++)
		json_array_append_new(list, json_pack("{s:s, s:s, s:s?, s:s, s:s}", "name", m->name,
						      "unit", m->unit, "better", metric_better(m),
						      "kind", m->amount ? "rate" : kinds[m->kind],
						      "help", m->help));
	return list;
}

static json_t *compared_json(const struct benchmark *b)
{
	json_t *list = json_array();

	for (const struct ratio *r = b->ratios; r && r < b->ratios + b->n_ratios; r++)
		json_array_append_new(list,
				      json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "name", r->name,
						"parameter", ratios_parameter(r, b), "of", r->of,
						"to", r->to, "metric",
						r->metric ? r->metric : "time", "help", r->help));
	return list;
}

static json_t *unused_json(const struct benchmark *b, const struct variant *v)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < b->n_parameters; i++)
		if (v->unused & BIT(i))
			json_array_append_new(list, json_string(b->parameters[i].name));
	return list;
}

static json_t *variants_json(const struct benchmark *b)
{
	json_t *list = json_array();

	for (const struct variant *v = b->variants; v < b->variants + b->n_variants; v++)
		json_array_append_new(list, json_pack("{s:s, s:s, s:o, s:b}", "name", v->name,
						      "summary", v->summary, "unused",
						      unused_json(b, v), "divided", v->divided));
	return list;
}

static json_t *explained_json(const struct benchmark *b)
{
	json_t *list = json_array();

	for (const struct explained *e = b->counters; e && e < b->counters + b->n_counters; e++)
		json_array_append_new(
			list, json_pack("{s:s, s:s}", "events", e->events, "what", e->what));
	return list;
}

/*
 * The divisor of counts, the events that explain results, and the events that are always counted.
 */
static json_t *counters_json(const struct benchmark *b)
{
	json_t *kernel = json_array();

	for (size_t i = 0; i < NOISE_COUNTERS; i++)
		json_array_append_new(kernel,
				      json_pack("{s:s, s:s}", "name", noise_counters[i].name,
						"unit", noise_counters[i].unit));
	return json_pack("{s:s, s:o, s:o}", "per", counting_per(b), "explaining", explained_json(b),
			 "kernel", kernel);
}

/* How the samples of a trial become one number. */
static json_t *statistic_json(const struct benchmark *b)
{
	const bool pairs = b->protocol.scored == IN_PAIRS;

	return json_pack("{s:f, s:s, s:s}", "quantile", 0.5, "of",
			 pairs ? "meetings of a pair in a batch" : "samples in a batch", "then",
			 pairs ? "mean over pairs, then median over batches, then over allocations"
			       : "median over batches, then over allocations");
}

/*
 * A benchmark's table, for programs that plot or compare results: the benchmark line of
 * doc/schema/README.md, without what record_line() adds.
 */
static json_t *benchmark_line(const struct benchmark *b)
{
	return json_pack("{s:s, s:s, s:{s:i, s:s}, s:s?, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o}",
			 "name", b->name, "summary", b->summary, "protocol", "version",
			 (int)b->protocol.version, "text", b->protocol.text, "source",
			 b->protocol.source, "unit", b->unit.name, "scored",
			 scores[b->protocol.scored], "statistic", statistic_json(b), "parameters",
			 parameters_json(b), "metrics", metrics_json(b), "ratios", compared_json(b),
			 "variants", variants_json(b), "counters", counters_json(b));
}

/* --- the header --- */

/* The command line: "locus", "numa", "--threads", "4". */
static json_t *command_json(const struct run *r)
{
	const struct options *o = r->options;
	json_t *command = json_array();

	json_array_append_new(command, json_string(r->ranks ? "locus-mpi" : "locus"));
	json_array_append_new(command, json_string(o->benchmark ? o->benchmark->name
						   : o->name	? o->name
								: "suite"));
	for (int i = 1; i < o->argc; i++)
		json_array_append_new(command, utf8_json(o->argv[i]));
	return command;
}

/* Options that override what the profile sets. */
static json_t *altered_json(const struct options *o)
{
	json_t *list = json_array();

	if (o->repeats)
		json_array_append_new(list, json_string("repeats"));
	if (o->duration > 0)
		json_array_append_new(list, json_string("duration"));
	if (o->case_budget > 0)
		json_array_append_new(list, json_string("case-budget"));
	if (o->time_budget > 0)
		json_array_append_new(list, json_string("time-budget"));
	return list;
}

static json_t *tags_json(const struct options *o)
{
	json_t *tags = json_object();

	for (unsigned i = 0; i < o->tags; i++) {
		const size_t key = strcspn(o->tag[i], "=");
		char *name = strndup(o->tag[i], key);

		if (name)
			json_object_set_new(tags, name, utf8_json(o->tag[i] + key + 1));
		free(name);
	}
	return tags;
}

static json_t *series_json(const struct options *o)
{
	char id[17];

	if (!o->series.run)
		return json_null();
	snprintf(id, sizeof(id), "%016" PRIx64, o->series.id);
	return json_pack("{s:s, s:i, s:i}", "id", id, "run", (int)o->series.run, "of",
			 (int)o->runs);
}

static json_t *budget_json(const struct run *r)
{
	const double time = r->budget.deadline, one = r->options->case_budget;

	return json_pack("{s:o, s:o}", "time", isfinite(time) ? json_real(time) : json_null(),
			 "case", one > 0 ? json_real(one) : json_null());
}

static json_t *clock_json(const struct clock_quality *q)
{
	char *source = sysfs_line(
		SYSFS_ROOT, "/sys/devices/system/clocksource/clocksource0/current_clocksource");
	json_t *clock =
		json_pack("{s:s, s:o, s:o, s:o?, s:s}", "source", "CLOCK_MONOTONIC_RAW", "overhead",
			  record_number(q->overhead), "resolution", record_number(q->resolution),
			  "kernel_source", utf8_json(source), "cycle_chain", clock_chain());

	free(source);
	return clock;
}

static json_t *binding_json(const struct setting *s, const struct options *o)
{
	const struct affinity *a = s->affinity;
	json_t *affinity = json_array(), *inherited = a->threads ? json_array() : json_null();
	const char *policy = s->machine->policy.text;
	unsigned cpu;

	hwloc_bitmap_foreach_begin(cpu, a->allowed)
		json_array_append_new(affinity, json_integer(cpu));
	hwloc_bitmap_foreach_end();
	for (unsigned i = 0; i < a->threads; i++)
		json_array_append_new(inherited, json_integer(a->cpu_of[i]));
	return json_pack("{s:s?, s:o, s:o?, s:o, s:b, s:o?, s:s*}", "bound_by", a->bound_by,
			 "affinity", affinity, "bind", utf8_json(plan_bind(o, a, 1)), "inherited",
			 inherited, "oversubscribe", o->oversubscribe, "memory_policy",
			 *policy ? utf8_json(policy) : NULL, "memory_policy_why",
			 *policy ? NULL : "/proc/self/numa_maps can't be read");
}

static json_t *mpi_json(const struct ranks *ranks)
{
	return json_pack("{s:o?, s:o?, s:o?}", "library", utf8_json(ranks->library), "transport",
			 utf8_json(ranks->transport), "transport_why",
			 utf8_json(ranks->transport_why));
}

void run_header(struct run *r)
{
	const struct options *o = r->options;
	char started[RECORD_TIME], host[UTF8_HOST];
	json_t *line;

	line = json_pack("{s:s, s:s, s:o?, s:i, s:i, s:o, s:o, s:O, s:o, s:o, s:o, s:s, s:o, s:I, "
			 "s:o, s:o, s:o, s:o, s:o, s:o, s:o*, s:o*}",
			 "schema", RECORD_SCHEMA, "started", record_time(started), "host",
			 json_string(utf8_host(host)), "rank", 0, "ranks",
			 r->ranks ? (int)r->ranks->ranks : 1, "job", provenance_job(), "tags",
			 tags_json(o), "resumes", record_runs(r->record), "series", series_json(o),
			 "program", provenance_program(), "command", command_json(r), "profile",
			 profile_names[o->profile], "altered", altered_json(o), "seed",
			 (json_int_t)o->seed, "budget", budget_json(r), "clock",
			 clock_json(&r->clock), "binding", binding_json(&r->setting, o), "counters",
			 counting_header_json(r->counting), "machine",
			 provenance_machine(r->setting.machine), "markers",
			 regions_json(&r->regions), "markers_why", utf8_json(r->regions.why_not),
			 "begin", run_moment_json(r));
	if (r->ranks)
		json_object_set_new(line, "mpi", mpi_json(r->ranks));
	if (*r->unwatched)
		json_object_set_new(line, "watchdog_why", utf8_json(r->unwatched));
	record_line(r->record, "header", line, false);
	for (unsigned i = 0; i < r->plans.plans; i++)
		record_line(r->record, "benchmark", benchmark_line(r->plans.plan[i].benchmark),
			    i + 1 == r->plans.plans);
	r->headed = true;
}

/* --- the end --- */

void run_end(struct run *r, int status)
{
	json_t *trials = json_object();

	for (enum status s = STATUS_OK; s < STATUSES; s++)
		if (r->count[s])
			json_object_set_new(trials, status_names[s],
					    json_integer((json_int_t)r->count[s]));
	record_line(r->record, "end",
		    json_pack("{s:i, s:s?, s:o, s:i, s:o}", "status", status, "signal",
			      watchdog_signal_name(r->signal), "trials", trials, "skipped",
			      (int)r->skipped, "elapsed",
			      record_number(budget_elapsed(&r->budget))),
		    true);
}
