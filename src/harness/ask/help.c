/* SPDX-License-Identifier: Apache-2.0 */
/* --help of a benchmark and of the suite. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/message.h"
#include "harness/ask/options.h"
#include "harness/ask/parameters.h"

enum { VARIANT_COLUMN = 19, OPTION_COLUMN = 25 };

const char *help_argument(const struct parameter *p)
{
	static const char *const argument[] = {
		[P_COUNT] = "LIST",  [P_SIZE] = "SIZES", [P_REAL] = "NUMBERS",
		[P_CHOICE] = "LIST", [P_PATH] = "FILE",	 [P_LAYOUT] = "LAYOUTS",
		[P_NODE] = "NODES"
	};

	return argument[p->type];
}

static void put_variant(const struct variant *v, FILE *f)
{
	char head[64];

	snprintf(head, sizeof(head), "  %-16s ", v->name);
	message_row(head, v->summary, VARIANT_COLUMN, f);
}

/* An option's name and argument, and its purpose. */
static void put_option(const char *name, const char *argument, const char *text, FILE *f)
{
	char option[64], head[96];

	snprintf(option, sizeof(option), "--%s%s%s", name, argument ? "=" : "",
		 argument ? argument : "");
	snprintf(head, sizeof(head), "  %-*s ", OPTION_COLUMN - 3, option);
	message_row(head, text, OPTION_COLUMN, f);
}

/* The width of the longest word of a list, but at least the width that most lists have. */
static int width_of(const char *list)
{
	int width = 11;
	char word[64];

	while (names_next(&list, word, sizeof(word)))
		width = (int)strlen(word) > width ? (int)strlen(word) : width;
	return width;
}

void help_meanings(const struct parameter *p, int column, FILE *f)
{
	const int width = p->choices ? width_of(p->choices) : 0;
	const char *list = p->choices;
	char word[64], head[128];

	for (unsigned i = 0; p->meaning[i] && names_next(&list, word, sizeof(word)); i++) {
		snprintf(head, sizeof(head), "%*s%-*s ", column, "", width, word);
		message_row(head, p->meaning[i], column + width + 1, f);
	}
}

/* The values that the profiles use without the option; profiles without a value are left out. */
static void put_defaults(const struct parameter *p, FILE *f)
{
	char head[64], text[1024] = "";
	size_t used = 0;

	for (enum profile i = QUICK; i < PROFILES && used < sizeof(text); i++)
		if (p->value[i])
			used += (size_t)snprintf(
				text + used, sizeof(text) - used, "%s%s: %s", used ? "; " : "(",
				p->value[STANDARD] || p->value[PAPER] ? profile_names[i]
								      : "default",
				p->value[i]);
	strncat(text, ")", sizeof(text) - strlen(text) - 1);
	snprintf(head, sizeof(head), "%*s", OPTION_COLUMN, "");
	message_row(head, text, OPTION_COLUMN, f);
}

static void put_parameter(const struct parameter *p, FILE *f)
{
	char *text = p->choices ? text_of("%s: %s", p->help, p->choices) : NULL;

	put_option(p->name, help_argument(p), text ? text : p->help, f);
	free(text);
	help_meanings(p, OPTION_COLUMN, f);
	put_defaults(p, f);
}

static void put_benchmark(const struct benchmark *b, FILE *f)
{
	fprintf(f, "%s - %s\n\nVariants:\n", b->name, b->summary);
	for (unsigned i = 0; i < b->n_variants; i++)
		put_variant(&b->variants[i], f);
	fprintf(f, "\nOptions of %s (a profile without a value uses the previous profile's):\n",
		b->name);
	for (unsigned i = 0; i < b->n_parameters; i++)
		if (b->parameters[i].type != P_DERIVED)
			put_parameter(&b->parameters[i], f);
}

void help_options(const char *program, const struct benchmark *b, FILE *f)
{
	fprintf(f, "Usage: %s %s[OPTION...]\n", program, b ? "" : "[BENCHMARK...] ");
	if (b)
		put_benchmark(b, f);
	else
		message_print("Runs all benchmarks, or those that are named, and divides the time "
			      "budget evenly among them. Without names, the profile quick runs a "
			      "selection that fits into a minute.",
			      0, f);
	fprintf(f, b ? "\nOptions of every benchmark:\n" : "\nOptions:\n");
	for (const struct option_row *o = option_rows; o->name; o++)
		put_option(o->name, o->argument, o->help, f);
	fprintf(f, "  -?, --help             print this help\n"
		   "  --usage                print a short list of the options\n\n");
	message_print("Lists: 1,2,4. Ranges: 16K..256M*2 (factor), 0..64+8 (step). In a file's "
		      "name, write \\, for a comma.",
		      2, f);
	message_print("Times: 60 (seconds), 500ms, 2min, 1h30m; units are h, min or m, s, ms, us, "
		      "ns.",
		      2, f);
	fprintf(f, "\n"
		   "Exit status:\n"
		   "  0      good, also if results are noisy\n"
		   "  1      a result is wrong, misplaced or failed, or output is lost\n"
		   "  2      the command line is wrong\n"
		   "  3      impossible on this machine\n"
		   "  128+n  ended by signal n\n");
}
