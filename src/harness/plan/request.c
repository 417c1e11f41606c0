/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>

#include "harness/plan/request.h"
#include "base/message.h"

int request_refuse(const struct request *r, const char *option, const char *why)
{
	message("%s %s: --%s: %s", program_invocation_short_name, r->benchmark->name, option, why);
	return EXIT_COMMAND_LINE;
}
