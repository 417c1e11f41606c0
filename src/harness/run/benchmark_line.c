/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/arithmetic.h"
#include "count/counting.h"
#include "harness/ask/parameters.h"
#include "harness/judge/summary.h"
#include "harness/run/benchmark_line.h"
#include "harness/sample/reports.h"
#include "harness/sample/evidence.h"

static const char *const types[] = {
	[P_COUNT] = "count", [P_SIZE] = "size",	    [P_REAL] = "real", [P_CHOICE] = "choice",
	[P_PATH] = "path",   [P_LAYOUT] = "layout", [P_NODE] = "node", [P_FOUND] = "found",
};
static const char *const kinds[] = {
	[M_VALUE] = "value",
	[M_FAIRNESS] = "fairness",
	[M_IMBALANCE] = "imbalance",
	[M_DISTRIBUTION] = "distribution",
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
						      "kind",
						      m->amount ? "rate" : kinds[m->kind],
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

/* What counts are divided by, events that explain results, and events that are always counted. */
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

json_t *benchmark_line(const struct benchmark *b)
{
	return json_pack("{s:s, s:s, s:{s:i, s:s}, s:s?, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o}",
			 "name", b->name, "summary", b->summary, "protocol", "version",
			 (int)b->protocol.version, "text", b->protocol.text, "source",
			 b->protocol.source, "unit", b->unit.name, "scored",
			 scores[b->protocol.scored], "statistic", statistic_json(b), "parameters",
			 parameters_json(b), "metrics", metrics_json(b), "ratios", compared_json(b),
			 "variants", variants_json(b), "counters", counters_json(b));
}
