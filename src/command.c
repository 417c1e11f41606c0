/* SPDX-License-Identifier: Apache-2.0 */
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "benchmarks.h"
#include "command.h"
#include "config.h"
#include "kit/agree.h"
#include "commands/list.h"
#include "base/names.h"
#include "harness/ask/options.h"
#include "harness/run/engine.h"

enum { MOST_NAMES = 64 };

static int dispatch(const struct program *, int argc, char **argv);

static void print_help(const struct program *p, FILE *f)
{
	fprintf(f, "%s %s.\n\nusage: %s BENCHMARK [OPTION...]     (%s BENCHMARK --help)\n", p->name,
		p->summary, p->name, p->name);
	for (const struct command *c = p->commands; c->name; c++)
		fprintf(f, "       %s %-8s %-14s %s\n", p->name, c->name, c->arguments, c->summary);
	fprintf(f, "\nbenchmarks:\n");
	list_benchmarks(p->benchmarks, f);
}

int refuse_arguments(int argc, char **argv, int most)
{
	if (argc <= 1 + most)
		return 0;
	fprintf(stderr, "%s: '%s' is one argument too many; see `%s --help`\n",
		argv[0], argv[1 + most], argv[0]);
	return EXIT_COMMAND_LINE;
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

int help_command(const struct program *p, int argc, char **argv)
{
	char help[] = "--help", *asked[] = { argv[1], help, NULL };

	if (refuse_arguments(argc, argv, 1))
		return EXIT_COMMAND_LINE;
	if (argc > 1)
		return dispatch(p, 2, asked);
	print_help(p, stdout);
	return 0;
}

int version_command(const struct program *p, int argc, char **argv)
{
	if (refuse_arguments(argc, argv, 0))
		return EXIT_COMMAND_LINE;
	printf("%s %s\n", p->name, PACKAGE_VERSION);
	return 0;
}

int measure_command(const struct program *p, const struct benchmark *b, int argc, char **argv)
{
	struct options options;
	struct mute mute;
	int status;

	mute_begin(&mute, p->ranks);
	status = options_parse(&options, b, argc, argv);
	mute_end(&mute, p->ranks, &status);
	if (status)
		return status == OPTIONS_HELPED ? EXIT_GOOD : status;
	return engine_run(&options, p->benchmarks, p->ranks);
}

/* Says that a name is neither a command nor a benchmark. */
static int unknown(const struct program *p, const char *name)
{
	const char *names[MOST_NAMES];
	size_t n = 0;
	int near;

	for (const struct command *c = p->commands; c->name && n < MOST_NAMES; c++)
		names[n++] = c->name;
	for (const struct benchmark *const *b = p->benchmarks; *b && n < MOST_NAMES; b++)
		if (!(*b)->internal)
			names[n++] = (*b)->name;
	near = names_nearest(name, names, n);
	if (near >= 0)
		fprintf(stderr, "%s: there is no '%s'; did you mean '%s'?\n", p->name, name,
			names[near]);
	else
		fprintf(stderr, "%s: there is no '%s'; `%s help` lists commands and benchmarks\n",
			p->name, name, p->name);
	return EXIT_COMMAND_LINE;
}

static bool asks_for_help(const char *word)
{
	return !strcmp(word, "--help") || !strcmp(word, "-h");
}

/* All ranks get the same status; rank 0 prints the messages. */
static int obey(const struct program *p, const struct command *c, int argc, char **argv)
{
	struct mute mute;
	int status;

	if (argc > 1 && asks_for_help(argv[1]) && !c->has_help) {
		printf("usage: %s %s\n\n%s: %s\n", argv[0], c->arguments, c->name, c->summary);
		return 0;
	}
	mute_begin(&mute, p->ranks);
	status = c->act(p, argc, argv);
	mute_end(&mute, p->ranks, &status);
	return status;
}

static int dispatch(const struct program *p, int argc, char **argv)
{
	const char *name = argv[0];
	char full[128];

	snprintf(full, sizeof(full), "%s %s", p->name, name);
	argv[0] = full;
	for (const struct command *c = p->commands; c->name; c++)
		if (strcmp(c->name, name) == 0)
			return obey(p, c, argc, argv);
	for (const struct benchmark *const *b = p->benchmarks; *b; b++)
		if (strcmp((*b)->name, name) == 0)
			return measure_command(p, *b, argc, argv);
	for (const struct benchmark *const *b = benchmarks; *b && rank_is_first(p->ranks); b++)
		if (strcmp((*b)->name, name) == 0) {
			fprintf(stderr,
				"%s: %s is not divided over ranks; run `locus %s` on each node\n",
				p->name, name, name);
			return EXIT_COMMAND_LINE;
		}
	return rank_is_first(p->ranks) ? unknown(p, name) : EXIT_COMMAND_LINE;
}

/* Output that can't be written makes the status a failure. */
static int flush(const struct program *p, int status)
{
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	fprintf(stderr, "%s: standard output: %s\n", p->name, strerror(errno));
	return status ? status : EXIT_BAD;
}

int program_main(const struct program *p, int argc, char **argv)
{
	program_invocation_short_name = (char *)p->name;
	if (argc < 2) {
		if (rank_is_first(p->ranks))
			print_help(p, stderr);
		return EXIT_COMMAND_LINE;
	}
	if (asks_for_help(argv[1]))
		argv[1] = "help";
	if (strcmp(argv[1], "--version") == 0)
		argv[1] = "version";
	return flush(p, dispatch(p, argc - 1, argv + 1));
}
