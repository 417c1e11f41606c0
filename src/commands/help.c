/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <stdio.h>

#include "commands/commands.h"
#include "harness/ask/options.h"

void help_print(const struct program *p, FILE *f)
{
	fprintf(f, "%s %s.\n\nusage: %s BENCHMARK [OPTION...]     (%s BENCHMARK --help)\n", p->name,
		p->summary, p->name, p->name);
	for (const struct command *c = p->commands; c->name; c++)
		fprintf(f, "       %s %-8s %-14s %s\n", p->name, c->name, c->arguments, c->summary);
	fprintf(f, "\nbenchmarks:\n");
	list_benchmarks(p->benchmarks, f);
}

int help_command(const struct program *p, int argc, char **argv)
{
	if (refuse_arguments(argc, argv, 1))
		return EXIT_COMMAND_LINE;
	help_print(p, stdout);
	return 0;
}

int version_command(const struct program *p, int argc, char **argv)
{
	if (refuse_arguments(argc, argv, 0))
		return EXIT_COMMAND_LINE;
	printf("%s %s\n", p->name, PACKAGE_VERSION);
	return 0;
}
