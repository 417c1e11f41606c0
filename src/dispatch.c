/* SPDX-License-Identifier: Apache-2.0 */
/* Calls the command or the benchmark that the command line names. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/arithmetic.h"
#include "base/text.h"
#include "benchmarks.h"
#include "commands/commands.h"
#include "harness/ask/options.h"
#include "kit/agree.h"
#include "base/message.h"

enum { MOST_NAMES = 192 };

/* Words that users try as names of commands, and the command that answers them. */
static const struct {
	const char *words, *command;
} topics[] = {
	{ "stream,bandwidth,memory,numa-bandwidth,membw", "numa" },
	{ "tlb,pages,huge-pages", "latency --variant page-random --pages base,thp" },
	{ "cache,caches,l1,l2,l3,lat-mem,memory-latency", "latency" },
	{ "false-sharing,true-sharing,cache-line", "sharing" },
	{ "padding", "sharing --variant distance" },
	{ "first-touch,placement,remote", "numa --variant static,single" },
	{ "ping-pong,pingpong,c2c", "core-to-core" },
	{ "mutex,lock,spinlock", "locks" },
	{ "barrier", "barriers" },
	{ "atomic", "atomics" },
	{ "stride,prefetcher", "prefetch" },
	{ "csv,json,data-frame,dataframe", "export" },
	{ "throttle,throttling", "soak" },
	{ "diff,change,changed,regression", "compare" },
};

/* The command that measures a topic; NULL: the word names no topic. */
static const char *command_for(const char *word)
{
	char name[64];

	for (size_t i = 0; i < LENGTH(topics); i++)
		for (const char *list = topics[i].words; names_next(&list, name, sizeof(name));)
			if (!strcasecmp(name, word))
				return topics[i].command;
	return NULL;
}

/* Says that a name is neither a command nor a benchmark; `for_help`: nor a term. */
static int unknown(const struct program *p, const char *name, bool for_help)
{
	const char *names[MOST_NAMES];
	size_t n = 0;
	int near;

	if (*name == '-') {
		message("%s: options come after the benchmark: `%s BENCHMARK %s`", p->name, p->name,
			name);
		return EXIT_COMMAND_LINE;
	}
	if (command_for(name)) {
		message("%s: there is no '%s'; try `locus %s`", p->name, name, command_for(name));
		return EXIT_COMMAND_LINE;
	}
	for (const struct command *c = p->commands; c->name && n < MOST_NAMES; c++)
		names[n++] = c->name;
	for (const struct benchmark *const *b = p->benchmarks; *b && n < MOST_NAMES; b++)
		names[n++] = (*b)->name;
	if (for_help)
		n += glossary_terms(names + n, MOST_NAMES - n);
	near = names_nearest(name, names, n);
	if (near >= 0)
		message("%s: there is no '%s'; did you mean '%s'?", p->name, name, names[near]);
	else
		message("%s: there is no '%s'; `%s help` lists commands and benchmarks", p->name,
			name, p->name);
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
		printf("usage: %s%s%s\n\n%s: %s\n", argv[0], *c->arguments ? " " : "", c->arguments,
		       c->name, c->summary);
		return 0;
	}
	mute_begin(&mute, p->ranks);
	status = c->act(p, argc, argv);
	mute_end(&mute, p->ranks, &status);
	return status;
}

/* `locus help TERM`: the meaning of the word. */
static int explain(const struct program *p, const char *term)
{
	char head[128];
	const char *meaning = glossary_meaning(term);

	if (!meaning)
		return unknown(p, term, true);
	snprintf(head, sizeof(head), "%s: ", term);
	message_row(head, meaning, 2, stdout);
	return 0;
}

static bool is_help(int argc, char **argv)
{
	return argc > 1 && asks_for_help(argv[1]);
}

static int dispatch(const struct program *p, int argc, char **argv)
{
	const char *name = argv[0];
	const struct benchmark *known = command_benchmark(p, name);
	char full[128];

	snprintf(full, sizeof(full), "%s %s", p->name, name);
	argv[0] = full;
	for (const struct command *c = p->commands; c->name; c++)
		if (strcmp(c->name, name) == 0)
			return obey(p, c, argc, argv);
	if (known)
		return benchmark_command(p, known, argc, argv);
	for (const struct benchmark *const *b = benchmarks; *b && rank_is_first(p->ranks); b++)
		if (strcmp((*b)->name, name) == 0) {
			message("%s: %s is not divided over ranks; run `locus %s` on each node",
				p->name, name, name);
			return EXIT_COMMAND_LINE;
		}
	for (const struct benchmark *const *b = p->of_ranks; b && *b; b++)
		if (strcmp((*b)->name, name) == 0) {
			message("%s: %s measures between the ranks of an MPI job: run `locus-mpi "
				"%s` in one",
				p->name, name, name);
			return EXIT_COMMAND_LINE;
		}
	if (!rank_is_first(p->ranks))
		return EXIT_COMMAND_LINE;
	return is_help(argc, argv) ? explain(p, name) : unknown(p, name, false);
}

static bool asks_for_version(const char *word)
{
	return !strcmp(word, "--version") || !strcmp(word, "-V");
}

/*
 * Turns --help and -h into the command help; --version and -V, even after a command, into the
 * command version; and `help NAME` into `NAME --help`. Returns the new number of words.
 */
static int reword(int argc, char **argv)
{
	static char help[] = "help", option[] = "--help", version[] = "version";

	if (asks_for_help(argv[1]))
		argv[1] = help;
	if (asks_for_version(argv[1]) || (argc == 3 && asks_for_version(argv[2]))) {
		argv[1] = version;
		argv[2] = NULL;
		return 2;
	}
	if (argc == 3 && strcmp(argv[1], help) == 0 && !asks_for_help(argv[2])) {
		argv[1] = argv[2];
		argv[2] = option;
	}
	return argc;
}

int program_main(const struct program *p, int argc, char **argv)
{
	int status;

	program_invocation_short_name = (char *)p->name;
	if (argc < 2) {
		if (rank_is_first(p->ranks))
			help_print(p, stderr);
		return EXIT_COMMAND_LINE;
	}
	if (!contract_check(p->benchmarks) || !contract_check(p->for_tests))
		return EXIT_FAULT;
	argc = reword(argc, argv);
	status = dispatch(p, argc - 1, argv + 1);
	return message_flush() || status ? status : EXIT_BAD;
}
