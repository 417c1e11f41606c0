/* SPDX-License-Identifier: Apache-2.0 */
#include <err.h>
#include <stdio.h>

#include "commands/command.h"
#include "harness/ask/options.h"
#include "machine/threads/affinity.h"
#include "machine/topology/open.h"
#include "machine/topology/topology.h"

int refuse_arguments(int argc, char **argv, int most)
{
	if (argc <= 1 + most)
		return 0;
	fprintf(stderr, "%s: '%s' is one argument too many; see `%s --help`\n", argv[0],
		argv[1 + most], argv[0]);
	return EXIT_COMMAND_LINE;
}

struct machine *command_machine(const char *description, int *status)
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
