/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "commands/version.h"
#include "config.h"
#include "harness/ask/options.h"

int version_command(const struct program *p, int argc, char **argv)
{
	if (refuse_arguments(argc, argv, 0))
		return EXIT_COMMAND_LINE;
	printf("%s %s\n", p->name, PACKAGE_VERSION);
	return 0;
}
