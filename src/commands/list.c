/* SPDX-License-Identifier: Apache-2.0 */
#include <err.h>
#include <errno.h>
#include <string.h>

#include "base/names.h"
#include "commands/complete.h"
#include "commands/list.h"
#include "count/counting.h"
#include "harness/ask/options.h"
#include "harness/ask/profile.h"

enum { MOST_NAMES = 64 };

void list_benchmarks(const struct benchmark *const *table, FILE *f)
{
	for (; *table; table++)
		if (!(*table)->internal)
			fprintf(f, "%-13s %s\n", (*table)->name, (*table)->summary);
}

static void list_parameter(const struct parameter *p, FILE *f)
{
	fprintf(f, "  --%-14s %s", p->name, p->help);
	if (p->choices)
		fprintf(f, ": %s", p->choices);
	fprintf(f, "\n  %16s ", "");
	for (enum profile i = QUICK; i < PROFILES; i++)
		if (p->value[i])
			fprintf(f, "%s %s: %s", i ? ";" : "", profile_names[i], p->value[i]);
	fprintf(f, "\n");
}

/* A common option for which the benchmark has its own defaults, as a parameter; else unnamed. */
static struct parameter own_variants(const struct benchmark *b)
{
	struct parameter p = { .name = b->preset[QUICK].variants ? "variant" : NULL,
			       .help = "those to run" };

	for (enum profile i = QUICK; i < PROFILES; i++)
		p.value[i] = b->preset[i].variants;
	return p;
}

static struct parameter own_threads(const struct benchmark *b)
{
	struct parameter p = { .name = b->preset[QUICK].threads ? "threads" : NULL,
			       .help = "numbers of threads" };

	for (enum profile i = QUICK; i < PROFILES; i++)
		p.value[i] = b->preset[i].threads;
	return p;
}

static void list_variant(const struct variant *v, FILE *f)
{
	const char *lack = v->available ? v->available() : NULL;

	fprintf(f, "  %-16s %s%s%s%s\n", v->name, v->summary,
		v->divided ? "; can be divided over ranks" : "", lack ? "; impossible here: " : "",
		lack ? lack : "");
}

static void list_benchmark(const struct benchmark *b, FILE *f)
{
	const struct parameter own[] = { own_variants(b), own_threads(b) };

	fprintf(f, "%s: %s\n", b->name, b->summary);
	fprintf(f, "protocol: %s\n", b->protocol);
	if (b->source)
		fprintf(f, "source: %s\n", b->source);
	fprintf(f, "\nvariants\n");
	for (const struct variant *v = b->variants; v->name; v++)
		list_variant(v, f);
	fprintf(f, "\nparameters (a profile without a value takes the one before it)\n");
	for (const struct parameter *p = b->parameters; p && p->name; p++)
		if (p->type != P_FOUND)
			list_parameter(p, f);
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		if (own[i].name)
			list_parameter(&own[i], f);
	fprintf(f, "\nmetrics\n");
	for (const struct metric *m = b->metrics; m && m->name; m++)
		fprintf(f, "  %-16s %s (%s)\n", m->name, m->help, m->unit);
	for (const struct ratio *r = b->ratios; r && r->name; r++)
		fprintf(f, "  %-16s %s (%s, %s/%s)\n", r->name, r->help,
			r->metric ? r->metric : "time", r->of, r->to);
	if (b->counters)
		fprintf(f,
			"\ncounters (--counters default; for each %s; of several, the first that "
			"can be counted here)\n",
			counting_per(b));
	for (const struct explained *e = b->counters; e && e->events; e++)
		fprintf(f, "  %s\n  %16s %s\n", e->events, "", e->what);
}

static void list_names(const struct benchmark *const *table, const struct benchmark *b, FILE *f)
{
	for (; !b && *table; table++)
		if (!(*table)->internal)
			fprintf(f, "%s\n", (*table)->name);
	for (const struct parameter *p = b ? b->parameters : NULL; p && p->name; p++)
		if (p->type != P_FOUND)
			fprintf(f, "--%s\n", p->name);
	for (const struct option_row *o = option_rows; b && o->name; o++)
		fprintf(f, "--%s\n", o->name);
}

/* Escapes text for troff: hyphens that can be copied, no command at the start, breaks after "|". */
static void put_man(const char *text, FILE *f)
{
	if (*text == '.' || *text == '\'')
		fputs("\\&", f);
	for (; *text; text++)
		fputs(*text == '-'    ? "\\-"
		      : *text == '\\' ? "\\e"
		      : *text == '|'  ? "|\\:"
				      : (char[]){ *text, 0 },
		      f);
}

static void put_tagged(const char *before, const char *name, const char *argument, const char *text,
		       FILE *f)
{
	fprintf(f, ".TP\n\\fB");
	put_man(before, f);
	put_man(name, f);
	fprintf(f, "\\fR");
	if (argument)
		fprintf(f, " \\fI%s\\fR", argument);
	fprintf(f, "\n");
	put_man(text, f);
	fprintf(f, "\n");
}

static void put_parameter(const struct parameter *p, FILE *f)
{
	put_tagged("--", p->name, NULL, p->help, f);
	if (p->choices) {
		fprintf(f, ": ");
		put_man(p->choices, f);
		fprintf(f, "\n");
	}
	for (enum profile i = QUICK; i < PROFILES; i++) {
		if (!p->value[i])
			continue;
		fprintf(f, ".br\n%s: ", profile_names[i]);
		put_man(p->value[i], f);
		fprintf(f, "\n");
	}
}

static void put_variant(const struct variant *v, FILE *f)
{
	put_tagged("", v->name, NULL, v->summary, f);
	if (v->divided)
		fprintf(f, "; can be divided over ranks, by locus\\-mpi\n");
}

static void put_benchmark(const struct benchmark *b, FILE *f)
{
	const struct parameter own[] = { own_variants(b), own_threads(b) };

	fprintf(f, ".SS %s\n", b->name);
	put_man(b->summary, f);
	fprintf(f, ".\nProtocol: ");
	put_man(b->protocol, f);
	fprintf(f, ".\n.PP\nVariants:\n");
	for (const struct variant *v = b->variants; v->name; v++)
		put_variant(v, f);
	fprintf(f, ".PP\nParameters, with their values by profile (one without takes the one "
		   "before it):\n");
	for (const struct parameter *p = b->parameters; p && p->name; p++)
		if (p->type != P_FOUND)
			put_parameter(p, f);
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		if (own[i].name)
			put_parameter(&own[i], f);
	fprintf(f, ".PP\nMetrics:\n");
	for (const struct metric *m = b->metrics; m && m->name; m++)
		put_tagged("", m->name, m->unit, m->help, f);
	for (const struct ratio *r = b->ratios; r && r->name; r++) {
		char times[128];

		snprintf(times, sizeof(times), "%s%s%s/%s", r->metric ? r->metric : "",
			 r->metric ? ", " : "", r->of, r->to);
		put_tagged("", r->name, times, r->help, f);
	}
	if (b->counters)
		fprintf(f, ".PP\nCounters by default, for each %s:\n", counting_per(b));
	for (const struct explained *e = b->counters; e && e->events; e++)
		put_tagged("", e->events, NULL, e->what, f);
}

static void list_man(const struct benchmark *const *table, FILE *f)
{
	fprintf(f, ".SH OPTIONS OF EVERY BENCHMARK\n");
	for (const struct option_row *o = option_rows; o->name; o++)
		put_tagged("--", o->name, o->argument, o->help, f);
	fprintf(f, ".SH BENCHMARKS\n");
	for (; *table; table++)
		if (!(*table)->internal)
			put_benchmark(*table, f);
}

/* By name, internal ones too; NULL after a message. */
static const struct benchmark *find_benchmark(const struct benchmark *const *table,
					      const char *name)
{
	const char *names[MOST_NAMES];
	size_t n = 0;
	int near;

	for (size_t i = 0; table[i] && n < MOST_NAMES; i++) {
		if (strcmp(table[i]->name, name) == 0)
			return table[i];
		if (!table[i]->internal)
			names[n++] = table[i]->name;
	}
	near = names_nearest(name, names, n);
	if (near >= 0)
		warnx("there is no benchmark '%s'; did you mean '%s'?", name, names[near]);
	else
		warnx("there is no benchmark '%s'; `%s list` shows them", name,
		      program_invocation_short_name);
	return NULL;
}

int list_command(const struct program *p, int argc, char **argv)
{
	const bool names = argc > 1 && strcmp(argv[1], "--names") == 0,
		   man = argc > 1 && strcmp(argv[1], "--man") == 0;
	const char *name = argc > 1 + names ? argv[1 + names] : NULL;
	const struct benchmark *b = NULL;

	if (argc > 1 && strcmp(argv[1], "--complete") == 0) {
		complete(p, (unsigned)argc - 2, argv + 2, stdout);
		return 0;
	}
	if (refuse_arguments(argc, argv, 1 + names))
		return EXIT_COMMAND_LINE;
	if (man) {
		list_man(p->benchmarks, stdout);
		return 0;
	}
	if (name && !(b = find_benchmark(p->benchmarks, name)))
		return EXIT_COMMAND_LINE;
	for (const struct command *c = p->commands; names && !b && c->name; c++)
		printf("%s\n", c->name);
	if (names)
		list_names(p->benchmarks, b, stdout);
	else if (b)
		list_benchmark(b, stdout);
	else
		list_benchmarks(p->benchmarks, stdout);
	return 0;
}
