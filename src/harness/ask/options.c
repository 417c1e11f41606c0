/* SPDX-License-Identifier: Apache-2.0 */
/* The options of every benchmark: one table, and the functions that read their arguments. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "harness/ask/options.h"
#include "harness/ask/parameters.h"
#include "base/arithmetic.h"
#include "base/message.h"
#include "base/numbers.h"

/* Prints why. EINVAL ends argp_parse(), but not the program: callers clean up. */
static __attribute__((format(printf, 3, 4))) int refuse(const char *program, const char *option,
							const char *format, ...)
{
	va_list list;
	char why[512];

	va_start(list, format);
	vsnprintf(why, sizeof(why), format, list);
	va_end(list);
	message("%s: --%s: %s", program, option, why);
	return EINVAL;
}

/* ---- arguments of any option ---- */

static void *member_of(struct options *o, const struct option_row *row)
{
	return (char *)o + row->field;
}

static int take_text(const struct option_row *row, const char *program, const char *text,
		     struct options *o)
{
	(void)program;
	*(const char **)member_of(o, row) = text;
	return 0;
}

static int take_flag(const struct option_row *row, const char *program, const char *text,
		     struct options *o)
{
	(void)program;
	(void)text;
	*(bool *)member_of(o, row) = true;
	return 0;
}

static int take_seconds(const struct option_row *row, const char *program, const char *text,
			struct options *o)
{
	double *s = member_of(o, row);
	char why[256];

	if (quantity_seconds(text, s, why, sizeof(why)))
		return refuse(program, row->name, "%s", why);
	return *s > 0 ? 0 : refuse(program, row->name, "must be more than zero");
}

static int take_moment(const struct option_row *row, const char *program, const char *text,
		       struct options *o)
{
	char why[256];

	if (quantity_moment(text, member_of(o, row), why, sizeof(why)))
		return refuse(program, row->name, "%s", why);
	return 0;
}

static int read_count(const struct option_row *row, const char *program, const char *text,
		      uint64_t least, uint64_t *n)
{
	char why[256];

	if (quantity_count(text, n, why, sizeof(why)))
		return refuse(program, row->name, "%s", why);
	if (*n >= least && *n <= row->most)
		return 0;
	return refuse(program, row->name, "%s is not between %llu and %llu", text,
		      (unsigned long long)least, (unsigned long long)row->most);
}

/* A number from 1 on. */
static int take_count(const struct option_row *row, const char *program, const char *text,
		      struct options *o)
{
	uint64_t n = 0;
	const int failed = read_count(row, program, text, 1, &n);

	*(unsigned *)member_of(o, row) = (unsigned)n;
	return failed;
}

/* Refuses a word that is not among the row's values. */
static int refuse_word(const struct option_row *row, const char *program, const char *text)
{
	enum { MOST_WORDS = 8 };
	const char *list = row->values, *names[MOST_WORDS];
	char word[MOST_WORDS][16], expected[128] = "", near[64] = "";
	size_t n = 0, used = 0;
	int nearest;

	while (n < MOST_WORDS && names_next(&list, word[n], sizeof(*word))) {
		used += (size_t)snprintf(expected + used, sizeof(expected) - used, "%s%s",
					 !n	? ""
					 : list ? ", "
						: " or ",
					 word[n]);
		names[n] = word[n];
		n++;
	}
	nearest = names_nearest(text, names, n);
	if (nearest >= 0)
		snprintf(near, sizeof(near), "; did you mean '%s'?", names[nearest]);
	return refuse(program, row->name, "there is no '%s'; expected %s%s", text, expected, near);
}

/* One of the row's values. The member is an enum in their order. */
static int take_word(const struct option_row *row, const char *program, const char *text,
		     struct options *o)
{
	const char *list = row->values;
	char word[16];

	for (unsigned i = 0; names_next(&list, word, sizeof(word)); i++)
		if (!strcmp(word, text)) {
			*(unsigned *)member_of(o, row) = i;
			return 0;
		}
	return refuse_word(row, program, text);
}

/* ---- arguments of one option ---- */

static int take_seed(const struct option_row *row, const char *program, const char *text,
		     struct options *o)
{
	return read_count(row, program, text, 0, &o->seed);
}

/* Names are separated by ","; alternatives, of which the first one that works is taken, by "|". */
static bool has_empty_name(const char *list)
{
	size_t length;

	do {
		length = strcspn(list, ",|");
		list += length;
	} while (length && *list++);
	return !length;
}

/* Checks only the form of the list; counting_open() finds out whether the events exist. */
static int take_counters(const struct option_row *row, const char *program, const char *list,
			 struct options *o)
{
	char word[256], other[256];
	const char *rest = list;

	o->counters = list;
	if (has_empty_name(list))
		return refuse(program, row->name, "there is an empty name in the list");
	for (const char *c = list; *c; c++)
		/* a control character would break lines that show the name */
		if (iscntrl((unsigned char)*c))
			return refuse(program, row->name,
				      "there is a control character in the list: a line break?");
	while (names_next(&rest, word, sizeof(word))) {
		const char *others = rest;

		while (names_next(&others, other, sizeof(other)))
			if (!strcmp(word, other))
				return refuse(program, row->name, "%s is given twice", word);
	}
	return 0;
}

/* A key has the form of names in the record: [A-Za-z0-9][A-Za-z0-9_.-]* */
static bool is_key(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (!isascii(text[i]) ||
		    (!isalnum((unsigned char)text[i]) && (i == 0 || !strchr("_.-", text[i]))))
			return false;
	return length > 0;
}

/* KEY=VALUE: no other tag has this key. */
static int take_tag(const struct option_row *row, const char *program, const char *text,
		    struct options *o)
{
	const size_t length = strcspn(text, "=");

	if (!text[length] || !is_key(text, length))
		return refuse(program, row->name,
			      "'%.60s' is not KEY=VALUE, such as campaign=may; a key has letters, "
			      "digits, and _.- between them",
			      text);
	for (unsigned i = 0; i < o->tags; i++)
		if (!strncmp(o->tag[i], text, length + 1))
			return refuse(program, row->name, "%.*s is given twice",
				      (int)smaller(length, 60), text);
	if (o->tags == OPTIONS_TAGS)
		return refuse(program, row->name, "there are more than %d", OPTIONS_TAGS);
	o->tag[o->tags++] = text;
	return 0;
}

/* ---- the table ---- */

#define MEMBER(name)	  offsetof(struct options, name)
#define TEXT(name)	  take_text, MEMBER(name)
#define FLAG(name)	  take_flag, MEMBER(name)
#define SECONDS(name)	  take_seconds, MEMBER(name)
#define COUNT(name, most) take_count, MEMBER(name), most

const struct option_row option_rows[] = {
	{ "variant", "LIST", "run only these variants", TEXT(variant) },
	{ "threads", "LIST",
	  "numbers of threads (default: see `locus list BENCHMARK`, else one per core; a layout "
	  "sets its own)",
	  TEXT(threads) },
	{ "bind", "WHERE",
	  "how threads are placed: close, spread, float (free to move), or only on the CPUs of a "
	  "list such as 0,2-5; with a layout, within each node (default: the binding that the "
	  "process inherits, else close)",
	  TEXT(bind), .values = "close,spread,float" },
	{ "oversubscribe", NULL, "allow more threads than CPUs; the record says so",
	  FLAG(oversubscribe) },
	{ "profile", "NAME",
	  "quick (a minute), standard (many minutes), or paper: the published setting (default: "
	  "quick)",
	  take_word, MEMBER(profile), .values = "quick,standard,paper" },
	{ "output", "FILE",
	  "write the record (JSON Lines) to FILE, which must not exist; -: the record to standard "
	  "output, the table to standard error",
	  TEXT(output), .values = ":files" },
	{ "resume", NULL, "continue the record in --output: complete trials are not run again",
	  FLAG(resume) },
	{ "append", NULL, "add this run to --output, as a repeat", FLAG(append) },
	{ "repeats", "N",
	  "samples of each trial, whatever their spread (default: until the interval is within 1 "
	  "%, or the budget is spent)",
	  COUNT(repeats, 1000000) },
	{ "runs", "N",
	  "run the command N times, each time in a new process, and report how far the runs differ "
	  "(default: 1)",
	  COUNT(runs, 1000) },
	{ "duration", "TIME", "target length of a sample", SECONDS(duration) },
	{ "time-budget", "TIME",
	  "time limit of the whole command, all --runs together, such as 60s",
	  SECONDS(time_budget) },
	{ "case-budget", "TIME", "time limit of one trial", SECONDS(case_budget) },
	{ "begin-at", "TIME",
	  "prepare, then wait until this moment: 2026-11-28T20:15:00Z (UTC), or @SECONDS since "
	  "1970; a moment in the past: begin at once",
	  take_moment, MEMBER(begin_at) },
	{ "seed", "N", "seed of all random numbers (default: 1)", take_seed,
	  .most = UINT64_C(1) << 53 },
	{ "tag", "KEY=VALUE",
	  "label the run in the record's header, for example campaign=may; may be repeated",
	  take_tag },
	{ "counters", "LIST",
	  "also count these events: PAPI names, perf::NAME, kernel counters (faults, "
	  "context-switches, migrations, ...), or default: the events that `locus list BENCHMARK` "
	  "shows",
	  take_counters, .values = "default" },
	{ "counters-optional", NULL, "measure even if no event can be counted",
	  FLAG(counters_optional) },
	{ "multiplex", NULL,
	  "if there are more events than hardware counters, let them take turns within each sample "
	  "and extrapolate (default: they take turns from batch to batch, and each is counted for "
	  "whole samples)",
	  FLAG(multiplex) },
	{ "dry-run", NULL,
	  "print how many trials there are, in which groups, their memory, and the expected time; "
	  "run nothing",
	  FLAG(dry_run) },
	{ "topology", "WHAT",
	  "with --dry-run: a machine such as \"node:2 core:64 pu:2\", or an hwloc XML file",
	  TEXT(topology), .values = ":files" },
	{ "format", "NAME", "output format: table, csv, md (Markdown) or json (default: table)",
	  take_word, MEMBER(format), .values = "table,csv,md,json" },
	{ "verbose", NULL,
	  "show all tables of a suite, not only its card; with --dry-run: each trial, its id, and "
	  "its CPUs",
	  FLAG(verbose) },
	{ "quiet", NULL, "print only errors and warnings", FLAG(quiet) },
	{ 0 }
};
_Static_assert(LENGTH(option_rows) <= OPTIONS_ROWS, "more options than OPTIONS_ROWS");

bool options_select(const struct options *o)
{
	bool selected = o->variant || o->threads || o->bind || o->profile == PAPER;

	for (unsigned i = 0; i < MOST_PARAMETERS; i++)
		selected |= o->parameter[i] != NULL;
	return selected;
}

int options_agree(const struct options *o, const char *program)
{
	if ((o->resume || o->append) && !o->output)
		return refuse(program, o->resume ? "resume" : "append", "needs --output FILE");
	if (o->resume && o->append)
		return refuse(program, "resume", "give either --resume or --append");
	if ((o->resume || o->append) && !strcmp(o->output, "-"))
		return refuse(program, o->resume ? "resume" : "append",
			      "needs a file, and --output - is standard output");
	if ((o->counters_optional || o->multiplex) && !o->counters)
		return refuse(program, o->multiplex ? "multiplex" : "counters-optional",
			      "needs --counters LIST");
	if (o->topology && !o->dry_run)
		return refuse(
			program, "topology",
			"nothing can be run on a machine that is only described; add --dry-run");
	return 0;
}
