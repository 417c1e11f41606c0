/* SPDX-License-Identifier: Apache-2.0 */
/* The command: finds the subcommand, nothing else. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "benchmarks.h"
#include "config.h"
#include "harness/doctor.h"
#include "harness/list.h"
#include "harness/names.h"
#include "harness/options.h"
#include "harness/report.h"
#include "harness/run.h"
#include "machine/affinity.h"
#include "machine/topology.h"

enum { MOST_NAMES = 64 };

/* argv[0] is the subcommand, as in "locus list". */
static int list_command(int argc, char **argv);
static int topology_command(int argc, char **argv);
static int doctor_command(int argc, char **argv);
static int suite_command(int argc, char **argv);
static int help_command(int argc, char **argv);
static int version_command(int argc, char **argv);

static const struct command {
	const char *name, *arguments, *summary;
	int (*act)(int argc, char **argv);
} commands[] = {
	{ "list", "[BENCHMARK]", "the benchmarks, or one with its variants and parameters (--names, --man: for programs)", list_command },
	{ "suite", "[OPTION...]", "every benchmark, within --time-budget", suite_command },
	{ "report", "FILE...", "a page and pictures of what was recorded", analysis_command },
	{ "levels", "FILE...", "the levels of cache and TLB in what latency recorded", analysis_command },
	{ "topology", "[DESCRIPTION]", "packages, nodes, caches, CPUs that may be used", topology_command },
	{ "doctor", "", "what this machine lacks or has set wrong for measuring, and what mends it", doctor_command },
	{ "help", "", "this text", help_command },
	{ "version", "", "the version", version_command },
	{ 0 }
};

static void print_help(FILE *f)
{
	fprintf(f, "locus measures what the placement and sharing of data cost on this machine.\n\n"
		   "usage: locus BENCHMARK [OPTION...]     (locus BENCHMARK --help)\n");
	for (const struct command *c = commands; c->name; c++)
		fprintf(f, "       locus %-8s %-14s %s\n", c->name, c->arguments, c->summary);
	fprintf(f, "\nbenchmarks:\n");
	list_benchmarks(benchmarks, f);
}

static int refuse_arguments(int argc, char **argv, int most)
{
	if (argc <= 1 + most)
		return 0;
	fprintf(stderr, "%s: '%s' is one argument too many; `locus help` shows what is expected\n", argv[0], argv[1 + most]);
	return EXIT_COMMAND_LINE;
}

static int list_command(int argc, char **argv)
{
	const bool names = argc > 1 && strcmp(argv[1], "--names") == 0, man = argc > 1 && strcmp(argv[1], "--man") == 0;
	const char *name = argc > 1 + names ? argv[1 + names] : NULL;
	const struct benchmark *b = NULL;

	if (refuse_arguments(argc, argv, 1 + names))
		return EXIT_COMMAND_LINE;
	if (man) {
		list_man(benchmarks, stdout);
		return 0;
	}
	if (name && !(b = find_benchmark(benchmarks, name)))
		return EXIT_COMMAND_LINE;
	for (const struct command *c = commands; names && !b && c->name; c++)
		printf("%s\n", c->name);
	if (names)
		list_names(benchmarks, b, stdout);
	else if (b)
		list_benchmark(b, stdout);
	else
		list_benchmarks(benchmarks, stdout);
	return 0;
}

/* This machine, as bound from outside; or one that is described. */
static struct machine *open_machine(const char *description, int *status)
{
	struct affinity affinity;
	const char *error = "the CPUs that we may use could not be found out";
	struct machine *m = NULL;

	*status = description ? EXIT_COMMAND_LINE : EXIT_BAD;
	if (description || !affinity_inherit(&affinity))
		m = machine_open(description, &error);
	if (!description)
		affinity_free(&affinity);
	if (!m)
		fprintf(stderr, "locus: %s\n", error);
	return m;
}

static int topology_command(int argc, char **argv)
{
	struct machine *m;
	int status;

	if (refuse_arguments(argc, argv, 1))
		return EXIT_COMMAND_LINE;
	m = open_machine(argc > 1 ? argv[1] : NULL, &status);
	if (!m)
		return status;
	topology_print(m, stdout);
	machine_close(m);
	return 0;
}

static int doctor_command(int argc, char **argv)
{
	struct machine *m;
	int status;

	if (refuse_arguments(argc, argv, 0))
		return EXIT_COMMAND_LINE;
	m = open_machine(NULL, &status);
	if (!m)
		return status;
	status = doctor(m, stdout);
	machine_close(m);
	return status;
}

static int suite_command(int argc, char **argv)
{
	struct options options;
	int status = options_parse(&options, NULL, argc, argv);

	return status ? status : run(&options, benchmarks);
}

static int help_command(int argc, char **argv)
{
	(void)argc, (void)argv;
	print_help(stdout);
	return 0;
}

static int version_command(int argc, char **argv)
{
	(void)argc, (void)argv;
	printf("locus %s\n", PACKAGE_VERSION);
	return 0;
}

static int benchmark_command(const struct benchmark *b, int argc, char **argv)
{
	struct options options;
	int status = options_parse(&options, b, argc, argv);

	return status ? status : run(&options, benchmarks);
}

/* A name that is neither a command nor a benchmark. */
static int unknown(const char *name)
{
	const char *names[MOST_NAMES];
	size_t n = 0;
	int near;

	for (const struct command *c = commands; c->name && n < MOST_NAMES; c++)
		names[n++] = c->name;
	for (const struct benchmark *const *b = benchmarks; *b && n < MOST_NAMES; b++)
		if (!(*b)->internal)
			names[n++] = (*b)->name;
	near = nearest(name, names, n);
	if (near >= 0)
		fprintf(stderr, "locus: there is no '%s'; did you mean '%s'?\n", name, names[near]);
	else
		fprintf(stderr, "locus: there is no '%s'; `locus help` lists commands and benchmarks\n", name);
	return EXIT_COMMAND_LINE;
}

static int dispatch(int argc, char **argv)
{
	const char *name = argv[0];
	char full[128];

	snprintf(full, sizeof(full), "locus %s", name);
	argv[0] = full;
	for (const struct command *c = commands; c->name; c++)
		if (strcmp(c->name, name) == 0)
			return c->act(argc, argv);
	for (const struct benchmark *const *b = benchmarks; *b; b++)
		if (strcmp((*b)->name, name) == 0)
			return benchmark_command(*b, argc, argv);
	return unknown(name);
}

/* What could not be printed was not said: that is no success. */
static int flush(int status)
{
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	fprintf(stderr, "locus: standard output: %s\n", strerror(errno));
	return status ? status : EXIT_BAD;
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		print_help(stderr);
		return EXIT_COMMAND_LINE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		argv[1] = "help";
	if (strcmp(argv[1], "--version") == 0)
		argv[1] = "version";
	return flush(dispatch(argc - 1, argv + 1));
}
