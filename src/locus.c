/* SPDX-License-Identifier: Apache-2.0 */
/* The command locus: its subcommands. */
#include <err.h>
#include <stdbool.h>
#include <stdio.h>

#include "benchmarks.h"
#include "command.h"
#include "commands/doctor/doctor.h"
#include "commands/topology.h"
#include "harness/ask/options.h"
#include "commands/report.h"
#include "machine/threads/affinity.h"
#include "machine/topology/open.h"
#include "machine/topology/topology.h"

/* This machine, with the CPUs of the inherited binding; or a described one. NULL with a status. */
static struct machine *open_machine(const char *description, int *status)
{
	struct affinity affinity;
	const char *error = "can't find out which CPUs locus may use";
	struct machine *m = NULL;

	*status = description ? EXIT_COMMAND_LINE : EXIT_BAD;
	if (description || !affinity_inherit(&affinity))
		m = machine_open(description, &error);
	if (!description)
		affinity_free(&affinity);
	if (!m)
		warnx("%s", error);
	else
		topology_warn(m);
	return m;
}

static int topology_command(const struct program *p, int argc, char **argv)
{
	struct machine *m;
	int status;

	(void)p;
	if (refuse_arguments(argc, argv, 1))
		return EXIT_COMMAND_LINE;
	m = open_machine(argc > 1 ? argv[1] : NULL, &status);
	if (!m)
		return status;
	topology_print(m, stdout);
	machine_close(m);
	return 0;
}

static int doctor_command(const struct program *p, int argc, char **argv)
{
	struct machine *m;
	int status;

	(void)p;
	if (refuse_arguments(argc, argv, 0))
		return EXIT_COMMAND_LINE;
	m = open_machine(NULL, &status);
	if (!m)
		return status;
	status = doctor(m, stdout);
	machine_close(m);
	return status;
}

static int suite_command(const struct program *p, int argc, char **argv)
{
	return measure_command(p, NULL, argc, argv);
}

static int report_command(const struct program *p, int argc, char **argv)
{
	(void)p;
	return analysis_command(argc, argv);
}

static const struct command commands[] = {
	{ "list", "[BENCHMARK]",
	  "the benchmarks, or one with its variants and parameters (--names, --man: for programs)",
	  list_command, false },
	{ "suite", "[OPTION...]", "every benchmark, within --time-budget", suite_command, true },
	{ "report", "FILE|DIR...", "an HTML page with plots of recorded results", report_command,
	  true },
	{ "levels", "FILE|DIR...", "the cache and TLB levels found in records of latency",
	  report_command, true },
	{ "validate", "FILE|DIR...", "check records against their format", report_command, true },
	{ "topology", "[DESCRIPTION]", "packages, nodes, caches, CPUs that may be used",
	  topology_command, false },
	{ "doctor", "", "what this machine lacks or has set wrong for measuring, and what mends it",
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
};

int main(int argc, char **argv)
{
	return program_main(&locus, argc, argv);
}
