/* SPDX-License-Identifier: Apache-2.0 */
/* What trials are planned for: a benchmark, the command line, and what this machine has. */
#ifndef LOCUS_REQUEST_H
#define LOCUS_REQUEST_H

#include "benchmark.h"
#include "harness/options.h"
#include "machine/affinity.h"
#include "machine/limits.h"

/* The machine, and what of it this run may use. */
struct setting {
	const struct machine *machine;
	const struct affinity *affinity; /* NULL on a described machine */
	struct memory_limit memory;
	const struct ranks *ranks; /* NULL: this process has it all */
	unsigned here;		   /* ranks on this node; 0 and 1: it is one's own */
	/* bytes a trial may map, of all ranks; 0: what is there */
	double most;
	/* bytes that trials sampled in turn may hold together; 0: as plan_room() finds */
	double room;
	/*
	 * why ranks may not go on, unless trials may be oversubscribed: they share CPUs; NULL: they
	 * don't
	 */
	char *crowd;
};

struct request {
	const struct benchmark *benchmark;
	const struct options *options; /* options->benchmark is NULL in a suite */
	const struct setting *setting;
};

/* Says on stderr what is wrong with an option. EXIT_COMMAND_LINE. */
int request_refuse(const struct request *, const char *option, const char *why);

#endif
