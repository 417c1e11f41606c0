/* SPDX-License-Identifier: Apache-2.0 */
/* The command for the ranks of an MPI job, with the benchmarks that can be divided over them. */
#include <stdio.h>
#include <string.h>

#include "benchmarks.h"
#include "cluster/cluster.h"
#include "commands/commands.h"
#include "harness/ask/options.h"
#include "kit/agree.h"
#include "machine/inherited.h"

enum { MOST_BENCHMARKS = 64 };

static const struct command commands[] = {
	{ "list", "[BENCHMARK]", "list benchmarks, or one's variants and metrics", list_command,
	  false, "help" },
	{ "help", "[COMMAND]", "explain locus, a command or a benchmark", help_command, false },
	{ "version", "", "print the version", version_command, false },
	{ 0 }
};

static bool is_divided(const struct benchmark *b)
{
	for (const struct variant *v = b->variants; v < b->variants + b->n_variants; v++)
		if (v->divided)
			return true;
	return false;
}

int main(int argc, char **argv)
{
	const struct benchmark *divided[MOST_BENCHMARKS] = { NULL };
	struct program program = {
		.name = "locus-mpi",
		.summary = "measures what dividing work over MPI ranks costs, and the network "
			   "between them",
		.commands = commands,
		.benchmarks = divided,
		.for_tests = benchmarks_for_tests,
	};
	unsigned n = 0;
	int status;

	if (!inherited_prepare(argv))
		return EXIT_BAD;
	for (const struct benchmark *const *b = benchmarks; *b && n < MOST_BENCHMARKS - 1; b++)
		if (is_divided(*b))
			divided[n++] = *b;
	for (const struct benchmark *const *b = benchmarks_of_ranks; *b; b++)
		if (n < MOST_BENCHMARKS - 1)
			divided[n++] = *b;
	/* completion runs without MPI: a shell asks at each press of a key, outside a job */
	if (argc > 2 && !strcmp(argv[1], "list") && !strcmp(argv[2], "--complete"))
		return program_main(&program, argc, argv);
	program.ranks = cluster_open(&argc, &argv);
	if (!program.ranks)
		return EXIT_BAD;
	status = cluster_same_arguments(program.ranks, argc, argv);
	if (status)
		return status;
	/* only rank 0 prints */
	if (!rank_is_first(program.ranks) && !freopen("/dev/null", "w", stdout))
		return EXIT_BAD;
	return program_main(&program, argc, argv);
}
