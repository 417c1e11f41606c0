/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/message.h"
#include "base/text.h"
#include "commands/commands.h"
#include "harness/ask/options.h"
#include "machine/threads/affinity.h"
#include "machine/topology/topology.h"

int refuse_arguments(int argc, char **argv, int most)
{
	if (argc <= 1 + most)
		return 0;
	message("%s: '%s' is one argument too many; see `%s --help`", argv[0], argv[1 + most],
		argv[0]);
	return EXIT_COMMAND_LINE;
}

enum { MOST_NAMES = 64 };

static const struct benchmark *named(const struct benchmark *const *table, const char *name)
{
	while (*table && strcmp((*table)->name, name))
		table++;
	return *table;
}

const struct benchmark *command_benchmark(const struct program *p, const char *name)
{
	const struct benchmark *listed = named(p->benchmarks, name);

	return listed ? listed : named(p->for_tests, name);
}

const struct benchmark *command_named(const struct program *p, const char *name)
{
	const struct benchmark *found = command_benchmark(p, name);
	const char *names[MOST_NAMES];
	size_t n = 0;
	int near;

	if (found)
		return found;
	for (; p->benchmarks[n] && n < MOST_NAMES; n++)
		names[n] = p->benchmarks[n]->name;
	near = names_nearest(name, names, n);
	if (near >= 0)
		message_own("there is no benchmark '%s'; did you mean '%s'?", name, names[near]);
	else
		message_own("there is no benchmark '%s'; `%s list` shows them", name,
			    program_invocation_short_name);
	return NULL;
}

struct machine *command_machine(const char *description, int *status)
{
	struct affinity affinity;
	const char *error = NULL;
	struct machine *m = NULL;

	*status = description ? EXIT_COMMAND_LINE : EXIT_BAD;
	if (description || !affinity_inherit(&affinity, &error))
		m = machine_open(description, &error);
	if (!description)
		affinity_free(&affinity);
	if (!m)
		message_own("%s", error);
	else
		topology_warn(m);
	return m;
}
