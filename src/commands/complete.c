/* SPDX-License-Identifier: Apache-2.0 */
/* Completion for shells: the words that the last word of a command line may become. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arithmetic.h"
#include "base/text.h"
#include "commands/commands.h"
#include "harness/ask/options.h"
#include "harness/ask/parameters.h"

#define FILES ":files"

enum { LONGEST_WORD = 256 };

/* The typed text, and the prefix to complete: "pa" of "--variant=cycle,pa". */
struct cursor {
	const char *typed, *begun;
	FILE *f;
};

static void offer(const struct cursor *c, const char *word, const char *what)
{
	if (strncmp(word, c->begun, strlen(c->begun)))
		return;
	fprintf(c->f, "%.*s%s", (int)(c->begun - c->typed), c->typed, word);
	if (what && *what)
		fprintf(c->f, "\t%s", what);
	fputc('\n', c->f);
}

/*
 * Offers the word if it begins with the typed text. `what` explains it; NULL or empty: no
 * explanation.
 */
static void complete_word(const char *typed, const char *word, const char *what, FILE *f)
{
	offer(&(struct cursor){ typed, typed, f }, word, what);
}

static void complete_benchmark(const char *typed, const struct benchmark *const *table, FILE *f)
{
	for (; *table; table++)
		complete_word(typed, (*table)->name, (*table)->summary, f);
}

/* ---- values ---- */

/* The cursor at the last word of a list, where `begun` is the whole list. */
static struct cursor in_list(struct cursor c)
{
	const char *comma = strrchr(c.begun, ',');

	if (comma)
		c.begun = comma + 1;
	return c;
}

/* Whether `list`, up to `end` or its own end, holds the word. */
static bool holds(const char *list, const char *end, const char *word)
{
	const size_t length = strlen(word);

	for (const char *at = list; at < end; at += strcspn(at, ",") + 1)
		if (strcspn(at, ",") == length && !strncmp(at, word, length))
			return true;
	return false;
}

/* Offers a word for the list that is typed, unless the list has it already. */
static void offer_more(const struct cursor *whole, const char *word, const char *what)
{
	const struct cursor c = in_list(*whole);

	if (!holds(whole->begun, c.begun, word))
		offer(&c, word, what);
}

static void offer_words(const struct cursor *c, const char *list)
{
	char word[LONGEST_WORD];

	while (names_next(&list, word, sizeof(word)))
		offer_more(c, word, NULL);
}

static bool earlier(const char *const value[PROFILES], enum profile before, const char *word)
{
	for (enum profile i = QUICK; i < before; i++)
		if (value[i] && holds(value[i], value[i] + strlen(value[i]), word))
			return true;
	return false;
}

/* Offers the words of all profiles' lists, each with the name of the first profile that has it. */
static void offer_defaults(const struct cursor *c, const char *const value[PROFILES])
{
	char word[LONGEST_WORD];

	for (enum profile i = QUICK; i < PROFILES; i++)
		for (const char *list = value[i]; list && names_next(&list, word, sizeof(word));)
			if (!earlier(value, i, word))
				offer_more(c, word, profile_names[i]);
}

static void offer_values(const struct cursor *c, const struct parameter *p)
{
	const char *const words[] = { p->automatic ? "auto" : NULL, p->all ? "all" : NULL };

	if (p->type == P_PATH) {
		fprintf(c->f, FILES "\n");
	} else if (p->choices) {
		offer_words(c, p->choices);
	} else {
		offer_defaults(c, p->value);
		for (size_t i = 0; i < LENGTH(words); i++)
			if (words[i])
				offer_more(c, words[i], NULL);
	}
}

static void offer_threads(const struct cursor *c, const struct benchmark *b)
{
	const char *value[PROFILES];

	for (enum profile i = QUICK; i < PROFILES; i++)
		value[i] = b->preset[i].threads;
	offer_defaults(c, value);
}

static void offer_events(const struct cursor *c, const struct benchmark *b)
{
	for (const struct explained *e = b->counters; e && e < b->counters + b->n_counters; e++) {
		char event[LONGEST_WORD];

		/* the first of alternatives, separated by | */
		snprintf(event, sizeof(event), "%.*s", (int)strcspn(e->events, "|"), e->events);
		offer_more(c, event, e->what);
	}
}

static void offer_values_of_row(const struct cursor *c, const struct option_row *o,
				const struct benchmark *b)
{
	if (o->values && !strcmp(o->values, FILES))
		fprintf(c->f, FILES "\n");
	else if (o->values)
		offer_words(c, o->values);
	if (b && !strcmp(o->name, "variant"))
		for (const struct variant *v = b->variants; v < b->variants + b->n_variants; v++)
			offer_more(c, v->name, v->summary);
	if (b && !strcmp(o->name, "threads"))
		offer_threads(c, b);
	if (b && !strcmp(o->name, "counters"))
		offer_events(c, b);
}

/* ---- options ---- */

/* Whether the n characters are the option's name. */
static bool is_option(const char *name, const char *text, size_t n)
{
	return strlen(name) == n && !strncmp(name, text, n);
}

/* Offers values of an option; false: no option of that name takes a value. */
static bool complete_value(const struct cursor *c, const struct benchmark *b, const char *name,
			   size_t n)
{
	for (const struct parameter *p = b ? b->parameters : NULL;
	     p && p < b->parameters + b->n_parameters; p++)
		if (p->type != P_DERIVED && is_option(p->name, name, n)) {
			offer_values(c, p);
			return true;
		}
	for (const struct option_row *o = option_rows; o->name; o++)
		if (o->argument && is_option(o->name, name, n)) {
			offer_values_of_row(c, o, b);
			return true;
		}
	return false;
}

static bool is_given(const char *name, unsigned n, char **word)
{
	for (unsigned i = 0; i + 1 < n; i++)
		if (!strncmp(word[i], "--", 2) &&
		    is_option(name, word[i] + 2, strcspn(word[i] + 2, "=")))
			return true;
	return false;
}

static void offer_option(const char *name, const char *help, unsigned n, char **word, FILE *f)
{
	char option[LONGEST_WORD];

	snprintf(option, sizeof(option), "--%s", name);
	if (!is_given(name, n, word))
		complete_word(word[n - 1], option, help, f);
}

/*
 * Offers options of a benchmark (NULL: of the suite), or values of the option that is typed or
 * precedes the last word. n > 0 words follow the benchmark's name.
 */
static void complete_measuring(const struct benchmark *b, unsigned n, char **word, FILE *f)
{
	char *typed = word[n - 1], *before = n > 1 ? word[n - 2] : "", *equals = strchr(typed, '=');
	struct cursor c = { typed, typed, f };

	if (!strncmp(typed, "--", 2) && equals) {
		c.begun = equals + 1;
		complete_value(&c, b, typed + 2, (size_t)(equals - typed) - 2);
		return;
	}
	if (!strncmp(before, "--", 2) && complete_value(&c, b, before + 2, strlen(before + 2)))
		return;
	for (const struct parameter *p = b ? b->parameters : NULL;
	     p && p < b->parameters + b->n_parameters; p++)
		if (p->type != P_DERIVED)
			offer_option(p->name, p->help, n, word, f);
	for (const struct option_row *o = option_rows; o->name; o++)
		offer_option(o->name, o->help, n, word, f);
	offer_option("help", NULL, n, word, f);
}

/* Completes the name of a lesson, then options of its benchmark. */
static void complete_lesson(const struct program *p, unsigned n, char **word, FILE *f)
{
	const struct lesson *l;

	for (unsigned i = 0; (l = lesson_at(i)); i++)
		if (n == 1)
			complete_word(word[0], l->name, l->title, f);
		else if (!strcmp(l->name, word[0]))
			complete_measuring(command_benchmark(p, l->benchmark), n - 1, word + 1, f);
	if (n == 1)
		complete_word(word[0], "--help", NULL, f);
}

/* ---- from --help ---- */

/* Words between braces, "{csv,json}": offers them, and says whether there are any. */
static bool offer_braced(const struct cursor *c, char *text)
{
	char *end = strchr(text, '}');

	if (text[0] != '{' || !end)
		return false;
	*end = 0;
	offer_words(c, text + 1);
	return true;
}

/* "Values of --format:" heads a list of this option's values. */
static bool heads_values(const char *line, const char *option)
{
	static const char heading[] = "Values of ";
	const char *of = line + sizeof(heading) - 1;
	const size_t n = strlen(option);

	return n && !strncmp(line, heading, sizeof(heading) - 1) && !strncmp(of, option, n) &&
	       !strcmp(of + n, ":\n");
}

/* "  csv    a row for each": a value that a list has; deeper lines go on. */
static void offer_listed(const struct cursor *c, char *line)
{
	char *name = line + strspn(line, " "), *end = name + strcspn(name, " \n");

	if (name - line != 2)
		return;
	*end = 0;
	offer(c, name, NULL);
}

/*
 * Offers options and values of a command that are known only from its --help: from lines that begin
 * with an option, as in "  --format {csv,json}  words" or "  -h, --help", and from lists of values.
 * False: the word is not one of its options, and does not follow one that has a list of values.
 */
static bool complete_from_help(FILE *help, unsigned n, char **word, FILE *f)
{
	const char *typed = word[n - 1], *before = n > 1 ? word[n - 2] : "";
	bool found = typed[0] == '-';
	const struct cursor c = { typed, typed, f };
	bool listed = false;
	char *line = NULL;
	size_t size = 0;

	while (getline(&line, &size, help) > 0) {
		char *name = line + strspn(line, " "), *rest;

		if (listed && *name != '\n')
			offer_listed(&c, line);
		listed = (listed && *name != '\n') || heads_values(line, before);
		found |= listed;

		if (name == line || name[0] != '-')
			continue;
		name = strstr(name, "--");
		if (!name)
			continue;
		rest = name + strcspn(name, " ,=\n");
		if (*rest)
			*rest++ = 0;
		if (!strcmp(name, before))
			found |= offer_braced(&c, rest);
		else if (typed[0] == '-')
			offer_option(name + 2, NULL, n, word, f);
	}
	free(line);
	return found;
}

/* ---- commands ---- */

/* Completes a command with its own --help, which is run as a child: some are other programs. */
static bool complete_own(const struct command *c, unsigned n, char **word, FILE *f)
{
	char *argv[] = { program_invocation_short_name, (char *)c->name, (char[]){ "--help" }, 0 };
	posix_spawn_file_actions_t actions;
	bool found = false;
	FILE *help;
	pid_t child;
	int fd[2], failed;

	if (!c->has_help || pipe2(fd, O_CLOEXEC))
		return false;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fd[1], STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	failed = posix_spawn(&child, "/proc/self/exe", &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(fd[1]);
	help = fdopen(fd[0], "r");
	if (help) {
		found = complete_from_help(help, n, word, f);
		fclose(help);
	}
	if (!failed)
		TEMP_FAILURE_RETRY(waitpid(child, NULL, 0));
	return found;
}

static void complete_first(const struct program *p, const char *typed, FILE *f)
{
	for (const struct command *c = p->commands; c->name; c++)
		complete_word(typed, c->name, c->summary, f);
	complete_benchmark(typed, p->benchmarks, f);
}

/* Completes the last of n words after a command's name, by the arguments that its usage shows. */
static void complete_command(const struct program *p, const struct command *c, unsigned n,
			     char **word, FILE *f)
{
	const char *typed = word[n - 1];

	if (!strcmp(c->arguments, "[BENCHMARK...]")) {
		complete_measuring(NULL, n, word, f);
		if (typed[0] != '-' && (n == 1 || word[n - 2][0] != '-'))
			complete_benchmark(typed, p->benchmarks, f);
	} else if (strstr(c->arguments, "LESSON")) {
		complete_lesson(p, n, word, f);
	} else if (typed[0] == '-' && !c->has_help) {
		complete_word(typed, "--help", NULL, f);
	} else if ((typed[0] == '-' || (n > 1 && word[n - 2][0] == '-')) &&
		   complete_own(c, n, word, f)) {
		return;
	} else if (strstr(c->arguments, "FILE") || strstr(c->arguments, "DESCRIPTION")) {
		fprintf(f, FILES "\n");
	} else if (n == 1 && strstr(c->arguments, "COMMAND")) {
		complete_first(p, typed, f);
	} else if (n == 1 && strstr(c->arguments, "BENCHMARK")) {
		complete_benchmark(typed, p->benchmarks, f);
	}
}

void complete(const struct program *p, unsigned n, char **word, FILE *f)
{
	const struct benchmark *b;

	if (n == 1) {
		complete_first(p, word[0], f);
		complete_word(word[0], "--help", NULL, f);
		complete_word(word[0], "--version", NULL, f);
		return;
	}
	for (const struct command *c = p->commands; n && c->name; c++)
		if (!strcmp(c->name, word[0]))
			complete_command(p, c, n - 1, word + 1, f);
	b = n ? command_benchmark(p, word[0]) : NULL;
	if (b)
		complete_measuring(b, n - 1, word + 1, f);
}
