/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/ask/options.h"
#include "harness/ask/parameters.h"
#include "base/message.h"
#include "base/text.h"

struct check {
	const struct benchmark *b;
	char *fault; /* the first fault; NULL: none yet */
};

/* Notes a fault unless `good`, or unless another fault was found before. Returns `good`. */
__attribute__((format(printf, 3, 4))) static bool expect(struct check *c, bool good,
							 const char *format, ...)
{
	va_list list;
	char text[512];

	if (good || c->fault)
		return good;
	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	if (asprintf(&c->fault, "benchmark %s: %s", c->b->name && *c->b->name ? c->b->name : "?",
		     text) < 0)
		c->fault = NULL;
	return false;
}

static bool is_text(const char *text)
{
	return text && *text;
}

static bool is_listed(const char *list, const char *name)
{
	char word[64];

	while (list && names_next(&list, word, sizeof(word)))
		if (!strcmp(word, name))
			return true;
	return false;
}

static const struct variant *variant_named(const struct benchmark *b, const char *name)
{
	for (unsigned i = 0; name && i < b->n_variants; i++)
		if (is_text(b->variants[i].name) && !strcmp(b->variants[i].name, name))
			return &b->variants[i];
	return NULL;
}

static const struct metric *metric_named(const struct benchmark *b, const char *name)
{
	for (unsigned i = 0; i < b->n_metrics; i++)
		if (is_text(b->metrics[i].name) && !strcmp(b->metrics[i].name, name))
			return &b->metrics[i];
	return NULL;
}

static bool is_parameter(const struct benchmark *b, unsigned parameter)
{
	return parameter == P_VARIANT || parameter == P_THREADS || parameter < b->n_parameters;
}

/* --- the benchmark itself --- */

static void check_itself(struct check *c)
{
	const struct benchmark *b = c->b;

	expect(c, is_text(b->name), ".name is missing");
	expect(c, is_text(b->summary), ".summary is missing: what `locus list` says of it");
	expect(c, b->protocol.version, ".protocol.version is 0; the first is 1");
	expect(c, is_text(b->protocol.text), ".protocol.text is missing: how a number comes about");
	expect(c, is_text(b->unit.name), ".unit.name is missing: what a worker counts in `done`");
	expect(c, !b->unit.part == !b->unit.parts,
	       ".unit has only one of part and parts: give both or none");
	expect(c, b->needs, ".needs is missing: it says how many bytes a trial maps");
	expect(c, b->preset[QUICK].sample > 0,
	       ".preset[QUICK].sample is 0: the target length of a sample in seconds, as 1e-3");
}

static void check_words(struct check *c, const char *list, const char *where)
{
	char word[64];

	while (list && names_next(&list, word, sizeof(word)))
		expect(c, variant_named(c->b, word), "%s names the variant '%s', which is no row",
		       where, word);
}

static void check_presets(struct check *c)
{
	for (unsigned i = 0; i < PROFILES; i++)
		check_words(c, c->b->preset[i].variants, ".preset[].variants");
}

/* --- its tables --- */

/* A table that is given without ROWS() has no length: it would silently be ignored. */
static void check_counted(struct check *c, const void *rows, unsigned n, const char *of,
			  const char *member)
{
	expect(c, !rows == !n, "%s.%s has %u rows: give it as ROWS(%s, ...)", of, member, n,
	       member);
}

static void check_all_counted(struct check *c)
{
	const struct benchmark *b = c->b;

	check_counted(c, b->parameters, b->n_parameters, "", "parameters");
	check_counted(c, b->metrics, b->n_metrics, "", "metrics");
	check_counted(c, b->ratios, b->n_ratios, "", "ratios");
	check_counted(c, b->counters, b->n_counters, "", "counters");
	check_counted(c, b->variants, b->n_variants, "", "variants");
	check_counted(c, b->roles, b->n_roles, "", "roles");
}

/* Each choice has a meaning, or none has. */
static void check_meanings(struct check *c, const struct parameter *p)
{
	const char *list = p->choices;
	char word[64];
	unsigned choices = 0, meanings = 0;

	while (list && names_next(&list, word, sizeof(word)))
		choices++;
	for (unsigned i = 0; i < MOST_MEANINGS; i++)
		meanings += is_text(p->meaning[i]);
	expect(c, !meanings || (meanings == choices && is_text(p->meaning[choices - 1])),
	       "parameter %s: .meaning has %u rows for its %u choices", p->name, meanings, choices);
}

static void check_choices(struct check *c, const struct parameter *p, const char *list)
{
	char word[64];

	while (list && names_next(&list, word, sizeof(word)))
		expect(c, is_listed(p->choices, word),
		       "parameter %s: its value '%s' is none of its choices, %s", p->name, word,
		       p->choices);
}

static void check_parameter(struct check *c, unsigned row)
{
	const struct parameter *p = &c->b->parameters[row];

	if (!expect(c, is_text(p->name) && is_text(p->help),
		    "parameters, row %u: name or help is missing; is it an unused value of the "
		    "enum?",
		    row))
		return;
	for (unsigned i = 0; i < row; i++)
		expect(c, strcmp(c->b->parameters[i].name, p->name),
		       "parameters, rows %u and %u: both are named %s", i, row, p->name);
	if (p->type == P_DERIVED)
		return;
	expect(c, p->value[QUICK], "parameter %s: .value has none for the profile quick", p->name);
	if (p->type != P_CHOICE)
		return;
	if (!expect(c, is_text(p->choices), "parameter %s: a P_CHOICE has .choices", p->name))
		return;
	check_meanings(c, p);
	for (unsigned i = 0; i < PROFILES; i++)
		check_choices(c, p, p->value[i]);
}

static void check_metric(struct check *c, unsigned row)
{
	const struct metric *m = &c->b->metrics[row];

	if (!expect(c, is_text(m->name) && is_text(m->unit) && is_text(m->help),
		    "metrics, row %u: name, unit or help is missing; is it an unused value of the "
		    "enum?",
		    row))
		return;
	expect(c, metric_named(c->b, m->name) == m, "metrics, row %u: another is named %s, too",
	       row, m->name);
	expect(c, !m->amount || m->kind == M_VALUE,
	       "metric %s has both amount() and .kind: give amount() for an amount over time, "
	       ".kind for collect()",
	       m->name);
}

/* Whether the parameter that a ratio compares has this value. */
static bool is_value(const struct benchmark *b, unsigned parameter, const char *word)
{
	if (parameter == P_THREADS)
		return true;
	if (parameter == P_VARIANT)
		return variant_named(b, word);
	return word && is_listed(b->parameters[parameter].choices, word);
}

static void check_ratio(struct check *c, unsigned row)
{
	const struct benchmark *b = c->b;
	const struct ratio *r = &b->ratios[row];
	const unsigned p = r->parameter;

	if (!expect(c, is_text(r->name) && is_text(r->help),
		    "ratios, row %u: name or help is missing", row) ||
	    !expect(c,
		    is_parameter(b, p) &&
			    (p >= b->n_parameters || b->parameters[p].type == P_CHOICE),
		    "ratios, row %u (%s): .parameter must be a P_CHOICE, P_VARIANT or P_THREADS",
		    row, r->name))
		return;
	expect(c, is_value(b, p, r->of), "ratios, row %u (%s): .of is '%s', which is no value", row,
	       r->name, r->of ? r->of : "");
	expect(c, is_value(b, p, r->to), "ratios, row %u (%s): .to is '%s', which is no value", row,
	       r->name, r->to ? r->to : "");
	expect(c, !r->metric || metric_named(b, r->metric),
	       "ratios, row %u (%s): no metric is named %s", row, r->name,
	       r->metric ? r->metric : "");
}

static void check_counter(struct check *c, unsigned row)
{
	const struct explained *e = &c->b->counters[row];

	expect(c, is_text(e->events) && is_text(e->what),
	       "counters, row %u: the event or its explanation is missing", row);
}

static void check_ops(struct check *c, const struct ops *ops, const char *of)
{
	expect(c, ops->prepare && ops->work && ops->release,
	       "%s: .%s is missing; prepare, work and release are needed", of,
	       !ops->prepare ? "prepare"
	       : !ops->work  ? "work"
			     : "release");
}

static void check_roles(struct check *c, const struct role *roles, unsigned n, const char *of)
{
	expect(c, n, "%s: it has no role: who works, and what ends it", of);
	for (unsigned i = 0; i < n; i++) {
		expect(c, is_text(roles[i].name), "%s: roles, row %u: it has no name", of, i);
		expect(c, roles[i].workers || i + 1 == n,
		       "%s: roles, row %u takes all workers that are left, but is not the last", of,
		       i);
	}
}

static void check_defaults(struct check *c, const struct variant *v)
{
	for (unsigned i = 0; i < v->n_defaults; i++)
		expect(c,
		       is_parameter(c->b, v->defaults[i].parameter) && v->defaults[i].value[QUICK],
		       "variant %s: defaults, row %u: the parameter or its value in quick is "
		       "missing",
		       v->name, i);
}

static void check_variant(struct check *c, unsigned row)
{
	const struct variant *v = &c->b->variants[row];
	char of[64];

	if (!expect(c, is_text(v->name) && is_text(v->summary),
		    "variants, row %u: name or summary is missing", row))
		return;
	snprintf(of, sizeof(of), "variant %s", v->name);
	expect(c, variant_named(c->b, v->name) == v, "variants, row %u: another is named %s, too",
	       row, v->name);
	expect(c, !(v->unused >> c->b->n_parameters), "%s: .unused has a bit beyond the parameters",
	       of);
	check_counted(c, v->defaults, v->n_defaults, of, "defaults");
	check_counted(c, v->roles, v->n_roles, of, "roles");
	check_defaults(c, v);
	check_ops(c, v->ops ? v->ops : &c->b->ops, of);
	if (v->roles)
		check_roles(c, v->roles, v->n_roles, of);
	else
		check_roles(c, c->b->roles, c->b->n_roles, of);
}

char *contract_fault(const struct benchmark *b)
{
	static void (*const check[])(struct check *, unsigned row) = {
		check_parameter, check_metric, check_variant, check_ratio, check_counter,
	};
	const unsigned rows[] = { b->n_parameters, b->n_metrics, b->n_variants, b->n_ratios,
				  b->n_counters };
	struct check c = { .b = b };

	check_itself(&c);
	check_all_counted(&c);
	expect(&c, b->n_parameters <= MOST_PARAMETERS, "%u parameters, at most %d", b->n_parameters,
	       MOST_PARAMETERS);
	expect(&c, b->n_variants, "it has no variant: give ROWS(variants, ...) at least one row");
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		for (unsigned row = 0; row < rows[i] && !c.fault; row++)
			check[i](&c, row);
	expect(&c, metric_named(b, "time"), "metrics: the row TIME_METRIC() is missing");
	if (!c.fault)
		check_presets(&c);
	return c.fault;
}

bool contract_check(const struct benchmark *const *benchmarks)
{
	for (; *benchmarks; benchmarks++) {
		char *fault = contract_fault(*benchmarks);

		if (fault)
			message_own("%s", fault);
		free(fault);
		if (fault)
			return false;
	}
	return true;
}
