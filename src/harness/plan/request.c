/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>

#include "harness/plan/request.h"

int request_refuse(const struct request *r, const char *option, const char *why)
{
	fprintf(stderr, "%s %s: --%s: %s\n", program_invocation_short_name, r->benchmark->name,
		option, why);
	return EXIT_COMMAND_LINE;
}
