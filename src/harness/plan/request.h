/* SPDX-License-Identifier: Apache-2.0 */
/* What trials are planned for: a benchmark, the command line, and what this machine has. */
#ifndef LOCUS_REQUEST_H
#define LOCUS_REQUEST_H

#include "benchmark.h"
#include "harness/plan/setting.h"

struct request {
	const struct benchmark *benchmark;
	const struct options *options; /* options->benchmark is NULL in a suite */
	const struct setting *setting;
};

/* Says on stderr what is wrong with an option; returns EXIT_COMMAND_LINE. */
int request_refuse(const struct request *, const char *option, const char *why);

#endif
