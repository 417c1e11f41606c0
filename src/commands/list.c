/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `locus list`: the benchmarks and their tables, for people, completion and the man page; and
 * `locus help` and `locus version`.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/message.h"
#include "base/text.h"
#include "commands/commands.h"
#include "count/counting.h"
#include "harness/ask/options.h"
#include "harness/ask/parameters.h"

enum { COLUMN = 19 };

static void list_name(const char *name, const char *summary, FILE *f)
{
	char head[32];

	snprintf(head, sizeof(head), "%-13s ", name);
	message_row(head, summary, 14, f);
}

void list_benchmarks(const struct benchmark *const *table, FILE *f)
{
	for (; *table; table++)
		list_name((*table)->name, (*table)->summary, f);
}

/* Prints a name and its explanation, wrapped. Frees the text (NULL: no memory). */
static void put_row(const char *name, char *text, FILE *f)
{
	char head[64];

	snprintf(head, sizeof(head), "  %-16s ", name);
	message_row(head, text ? text : "", COLUMN + 2, f);
	free(text);
}

static void list_parameter(const struct parameter *p, FILE *f)
{
	char option[32], values[1024] = "";
	size_t used = 0;

	snprintf(option, sizeof(option), "--%s", p->name);
	put_row(option,
		text_of("%s%s%s", p->help, p->choices ? ": " : "", p->choices ? p->choices : ""),
		f);
	help_meanings(p, COLUMN + 1, f);
	for (enum profile i = QUICK; i < PROFILES && used < sizeof(values); i++)
		if (p->value[i])
			used += (size_t)snprintf(values + used, sizeof(values) - used, "%s%s: %s",
						 used ? "; " : "", profile_names[i], p->value[i]);
	put_row("", text_of(" %s", values), f);
}

/* A common option as a parameter, if the benchmark has its own defaults; else without a name. */
static struct parameter own_variants(const struct benchmark *b)
{
	struct parameter p = { .name = b->preset[QUICK].variants ? "variant" : NULL,
			       .help = "variants that are run" };

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

	put_row(v->name,
		text_of("%s%s%s%s", v->summary, v->divided ? "; can be divided over ranks" : "",
			lack ? "; impossible here: " : "", lack ? lack : ""),
		f);
}

static void list_benchmark(const struct benchmark *b, FILE *f)
{
	const struct parameter own[] = { own_variants(b), own_threads(b) };

	fprintf(f, "%s - %s\n", b->name, b->summary);
	message_row("protocol: ", b->protocol.text, 2, f);
	if (b->protocol.source)
		fprintf(f, "source: %s\n", b->protocol.source);
	fprintf(f, "\nvariants\n");
	for (const struct variant *v = b->variants; v < b->variants + b->n_variants; v++)
		list_variant(v, f);
	fprintf(f, "\nparameters (a profile without a value uses the previous profile's)\n");
	for (const struct parameter *p = b->parameters; p && p < b->parameters + b->n_parameters;
	     p++)
		if (p->type != P_DERIVED)
			list_parameter(p, f);
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		if (own[i].name)
			list_parameter(&own[i], f);
	fprintf(f, "\nmetrics\n");
	for (const struct metric *m = b->metrics; m && m < b->metrics + b->n_metrics; m++)
		put_row(m->name, text_of("%s (%s)", m->help, m->unit), f);
	for (const struct ratio *r = b->ratios; r && r < b->ratios + b->n_ratios; r++)
		put_row(r->name,
			text_of("%s (%s, %s/%s)", r->help, r->metric ? r->metric : "time", r->of,
				r->to),
			f);
	if (b->counters)
		fprintf(f,
			"\ncounters (--counters default; for each %s; the first alternative "
			"that can be counted)\n",
			counting_per(b));
	for (const struct explained *e = b->counters; e && e < b->counters + b->n_counters; e++) {
		message_row("  ", e->events, COLUMN + 2, f);
		put_row("", text_of("%s", e->what), f);
	}
}

static void list_names(const struct benchmark *const *table, const struct benchmark *b, FILE *f)
{
	for (; !b && *table; table++)
		fprintf(f, "%s\n", (*table)->name);
	for (const struct parameter *p = b ? b->parameters : NULL;
	     p && p < b->parameters + b->n_parameters; p++)
		if (p->type != P_DERIVED)
			fprintf(f, "--%s\n", p->name);
	for (const struct option_row *o = option_rows; b && o->name; o++)
		fprintf(f, "--%s\n", o->name);
}

/* Escapes text for troff: hyphens that can be copied, no command at the start, and lists without
 * spaces that may be broken. */
static void put_man(const char *text, FILE *f)
{
	if (*text == '.' || *text == '\'')
		fputs("\\&", f);
	for (; *text; text++)
		fputs(*text == '-'    ? "\\-"
		      : *text == '\\' ? "\\e"
		      : *text == '|'  ? "|\\:"
		      : *text == ','  ? ",\\:"
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
	const char *list = p->choices;
	char name[64];

	put_tagged("--", p->name, NULL, p->help, f);
	if (p->choices) {
		fprintf(f, ": ");
		put_man(p->choices, f);
		fprintf(f, "\n");
	}
	for (unsigned i = 0; p->meaning[i] && names_next(&list, name, sizeof(name)); i++) {
		fprintf(f, ".br\n%s: ", name);
		put_man(p->meaning[i], f);
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
	put_man(b->protocol.text, f);
	fprintf(f, ".\n.PP\nVariants:\n");
	for (const struct variant *v = b->variants; v < b->variants + b->n_variants; v++)
		put_variant(v, f);
	fprintf(f, ".PP\nParameters, with their values by profile (a profile without a value uses "
		   "the previous profile's):\n");
	for (const struct parameter *p = b->parameters; p && p < b->parameters + b->n_parameters;
	     p++)
		if (p->type != P_DERIVED)
			put_parameter(p, f);
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		if (own[i].name)
			put_parameter(&own[i], f);
	fprintf(f, ".PP\nMetrics:\n");
	for (const struct metric *m = b->metrics; m && m < b->metrics + b->n_metrics; m++)
		put_tagged("", m->name, m->unit, m->help, f);
	for (const struct ratio *r = b->ratios; r && r < b->ratios + b->n_ratios; r++) {
		char times[128];

		snprintf(times, sizeof(times), "%s%s%s/%s", r->metric ? r->metric : "",
			 r->metric ? ", " : "", r->of, r->to);
		put_tagged("", r->name, times, r->help, f);
	}
	if (b->counters)
		fprintf(f, ".PP\nCounters by default, for each %s:\n", counting_per(b));
	for (const struct explained *e = b->counters; e && e < b->counters + b->n_counters; e++)
		put_tagged("", e->events, NULL, e->what, f);
}

static void list_man(const struct program *p, FILE *f)
{
	fprintf(f, ".SH OPTIONS OF EVERY BENCHMARK\n");
	for (const struct option_row *o = option_rows; o->name; o++)
		put_tagged("--", o->name, o->argument, o->help, f);
	fprintf(f, ".SH BENCHMARKS\n");
	for (const struct benchmark *const *b = p->benchmarks; *b; b++)
		put_benchmark(*b, f);
	for (const struct benchmark *const *b = p->of_ranks; b && *b; b++)
		put_benchmark(*b, f);
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
		list_man(p, stdout);
		return 0;
	}
	if (name && !(b = command_named(p, name)))
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

/* ---- `locus help` and `locus version` ---- */

void help_print(const struct program *p, FILE *f)
{
	fprintf(f,
		"%s %s.\n\n"
		"usage: %s BENCHMARK [OPTION...]     (%s BENCHMARK --help)\n"
		"       %s COMMAND [ARGUMENT...]     (%s help COMMAND)\n",
		p->name, p->summary, p->name, p->name, p->name, p->name);
	for (const struct command *c = p->commands; c->name; c++) {
		if (c->begins)
			fprintf(f, "\ncommands that %s:\n", c->begins);
		list_name(c->name, c->summary, f);
	}
	fprintf(f, "\nbenchmarks:\n");
	list_benchmarks(p->benchmarks, f);
}

int help_command(const struct program *p, int argc, char **argv)
{
	if (refuse_arguments(argc, argv, 1))
		return EXIT_COMMAND_LINE;
	help_print(p, stdout);
	return 0;
}

int version_command(const struct program *p, int argc, char **argv)
{
	if (refuse_arguments(argc, argv, 0))
		return EXIT_COMMAND_LINE;
	printf("%s %s\n", p->name, PACKAGE_VERSION);
	return 0;
}
