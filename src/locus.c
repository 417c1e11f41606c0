/* SPDX-License-Identifier: Apache-2.0 */
/* The command locus and its list of subcommands. */
#include "benchmarks.h"
#include "commands/commands.h"
#include "harness/ask/options.h"
#include "machine/inherited.h"

static const struct command commands[] = {
	{ "suite", "[BENCHMARK...]", "run all benchmarks, or the named ones, within a minute",
	  suite_command, true, "measure" },
	{ "lesson", "[LESSON [OPTION...]]", "predict, measure and explain one effect, for teachers",
	  lesson_command, true },
	{ "soak", "[--for TIME]", "load the machine, and find whether it throttles", soak_command,
	  true },
	{ "health", "--expect FILE", "check this node against expected values", health_command,
	  true },
	{ "summary", "FILE|DIR...", "show a machine and its costs on one screen", report_command,
	  true, "read records" },
	{ "report", "FILE|DIR...", "make an HTML page with plots", report_command, true },
	{ "compare", "FILE|DIR...", "find what became slower or faster", report_command, true },
	{ "sick", "FILE|DIR...", "find sick nodes of a cluster", report_command, true },
	{ "history", "HOST FILE|DIR...", "show how a node changed over time", report_command,
	  true },
	{ "levels", "FILE|DIR...", "find levels of cache and TLB", report_command, true },
	{ "aggregate", "FILE|DIR... --into STORE", "collect records in a store", report_command,
	  true },
	{ "export", "FILE|DIR...", "convert records to CSV, JSON and other formats", report_command,
	  true },
	{ "validate", "FILE|DIR...", "check records against their format", report_command, true },
	{ "topology", "[DESCRIPTION|--picture FILE]", "show nodes, caches, usable CPUs",
	  topology_command, false, "look at this machine" },
	{ "doctor", "", "find what disturbs measurements here", doctor_command, false },
	{ "list", "[BENCHMARK]", "list benchmarks, or one's variants and metrics", list_command,
	  false, "help" },
	{ "help", "[COMMAND|WORD]", "explain a command, a benchmark or a word", help_command,
	  false },
	{ "version", "", "print the version", version_command, false },
	{ 0 }
};

static const struct program locus = {
	.name = "locus",
	.summary = "measures what the placement and sharing of data cost on this machine",
	.commands = commands,
	.benchmarks = benchmarks,
	.quick = benchmarks_of_quick,
	.for_tests = benchmarks_for_tests,
	.of_ranks = benchmarks_of_ranks,
};

int main(int argc, char **argv)
{
	return inherited_prepare(argv) ? program_main(&locus, argc, argv) : EXIT_BAD;
}
