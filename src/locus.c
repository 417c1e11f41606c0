/* SPDX-License-Identifier: Apache-2.0 */
/* The command locus: which commands there are. */
#include "benchmarks.h"
#include "commands/doctor/doctor.h"
#include "commands/help.h"
#include "commands/list.h"
#include "commands/report.h"
#include "commands/suite.h"
#include "commands/topology.h"
#include "commands/version.h"
#include "harness/ask/options.h"
#include "machine/inherited.h"
#include "dispatch.h"

static const struct command commands[] = {
	{ "list", "[BENCHMARK]", "the benchmarks; or the variants, parameters and metrics of one",
	  list_command, false },
	{ "suite", "[OPTION...]", "every benchmark, within --time-budget", suite_command, true },
	{ "report", "FILE|DIR...", "an HTML page with plots of recorded results", report_command,
	  true },
	{ "summary", "FILE|DIR...", "on one screen what a machine is, and what its parts cost",
	  report_command, true },
	{ "compare", "FILE|DIR...", "what became slower or faster from one side of runs to another",
	  report_command, true },
	{ "levels", "FILE|DIR...", "the cache and TLB levels found in records of latency",
	  report_command, true },
	{ "export", "FILE|DIR...", "records as CSV, JSON Lines or for Google Benchmark's tools",
	  report_command, true },
	{ "validate", "FILE|DIR...", "check records against their format", report_command, true },
	{ "topology", "[DESCRIPTION]", "packages, nodes, caches, and the CPUs that may be used",
	  topology_command, false },
	{ "doctor", "", "what on this machine disturbs measuring, and how to change it",
	  doctor_command, false },
	{ "help", "[COMMAND]", "this text, or that of a command or benchmark", help_command,
	  false },
	{ "version", "", "the version", version_command, false },
	{ 0 }
};

static const struct program locus = {
	.name = "locus",
	.summary = "measures what the placement and sharing of data cost on this machine",
	.commands = commands,
	.benchmarks = benchmarks,
	.quick = benchmarks_of_quick,
	.for_tests = benchmarks_for_tests,
};

int main(int argc, char **argv)
{
	return inherited_settle(argv) ? program_main(&locus, argc, argv) : EXIT_BAD;
}
