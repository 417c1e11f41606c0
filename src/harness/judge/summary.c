/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/sample/counts.h"
#include "harness/judge/judge.h"
#include "harness/ask/options.h"
#include "harness/judge/ratios.h"
#include "harness/record/json.h"
#include "harness/judge/summary.h"
#include "harness/judge/summary_batches.h"
#include "harness/judge/summary_counters.h"
#include "harness/judge/summary_noise.h"
#include "harness/judge/summary_pairs.h"
#include "harness/judge/summary_placement.h"
#include "harness/judge/summary_samples.h"
#include "harness/sample/throughput.h"
#include "harness/ask/value.h"
#include "base/utf8.h"

static const char *const stopped_names[] = { [STOPPED_CONVERGED] = "converged",
					     [STOPPED_BUDGET] = "budget",
					     [STOPPED_REPEATS] = "repeats",
					     [STOPPED_SIGNAL] = "signal" };

static json_t *parameters_json(const struct trial *t)
{
	json_t *object = json_object();
	char text[VALUE_ROOM];

	for (unsigned i = 0; i < t->benchmark->n_parameters; i++) {
		const struct parameter *p = &t->benchmark->parameters[i];
		json_t *value;

		if (!parameter_applies(t->benchmark, t->variant, i) || p->output)
			continue;
		if (p->type == P_REAL)
			value = json_real(t->value[i].real);
		else if (p->type == P_COUNT || p->type == P_SIZE || p->type == P_NODE)
			value = json_integer((json_int_t)t->value[i].count);
		else
			value = json_string(value_print(p, t->value[i], text, sizeof(text)));
		json_object_set_new(object, p->name, value);
	}
	return object;
}

static json_t *cpus_json(const struct planned *p)
{
	json_t *list = json_array();

	for (unsigned i = 0; p->trial.place && !p->refusal && i < p->trial.threads; i++)
		json_array_append_new(list, json_integer(p->trial.place[i].cpu));
	return list;
}

/* What was measured, and where. */
static json_t *trial_json(const struct planned *p)
{
	const struct benchmark *b = p->trial.benchmark;

	return json_pack("{s:s, s:s, s:s, s:s, s:o, s:i, s:o?, s:o, s:o*, s:o?}", "id", p->id,
			 "identity", p->identity, "benchmark", b->name, "variant",
			 p->trial.variant->name, "parameters", parameters_json(&p->trial),
			 "threads", (int)p->trial.threads, "bind", utf8_json(p->bind), "cpus",
			 cpus_json(p), "kinds", utf8_json(p->kinds), "oversubscribed",
			 p->trial.oversubscribed ? json_true() : NULL);
}

static json_t *stopped_json(const struct series *s)
{
	const char *name = s->samples ? stopped_names[s->stopped] : NULL;

	return name ? json_string(name) : json_null();
}

json_t *summary(const struct series *s, const struct series *group, unsigned n, double at,
		enum status *status)
{
	const struct planned *p = s->planned;
	const struct estimates time = estimates_time(s);
	const double cycle = samples_cycle(s, time.kept.value);
	struct verdict v = { STATUS_OK, json_array(), json_array() };
	json_t *line = trial_json(p), *samples = samples_json(s, &v), *pairs, *counters, *ratios,
	       *counting = counts_cost_json(s);
	const char *why;

	judge(s, time, &v);
	pairs = summary_pairs(s->pairs, &p->trial, &v);
	ratios = ratios_json(s, group, n, &v);
	region_note(s, &v);
	why = json_array_size(v.reasons) ? json_string_value(json_array_get(v.reasons, 0))
					 : "not measured";
	counters = counts_json(s, s->samples ? NULL : why);
	counters_note(s, counters, counting, &v);
	json_object_update_new(line,
			       json_pack("{s:s, s:o, s:o, s:o, s:o, s:o}", "status",
					 status_names[v.status], "reasons", v.reasons, "notes",
					 v.notes, "metrics", estimates_json(s, time, why),
					 "samples", samples, "batches", batches_json(s)));
	json_object_set_new(line, "roles", throughput_json(s));
	json_object_update_new(
		line,
		json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:o, "
			  "s:o, s:o, s:o, s:o}",
			  "ratios", ratios, "pairs", pairs, "counters", counters, "kernel",
			  counts_kernel_json(s), "kernel_unknown", counts_kernel_unknown_json(s),
			  "counting", counting, "placement", placement_json(s), "noise",
			  noise_json(s), "cycle", record_number(cycle), "cycles",
			  record_number(time.kept.value / cycle), "skew",
			  record_number(samples_skew(s)), "group", (int)p->group, "stopped",
			  stopped_json(s), "at", record_number(at), "measured",
			  s->to > 0 ? record_interval(s->from, s->to) : json_null(), "elapsed",
			  record_number(s->elapsed), "region", region_json(s)));
	*status = v.status;
	return line;
}
