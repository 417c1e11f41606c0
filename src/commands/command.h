/* SPDX-License-Identifier: Apache-2.0 */
/* What a command is given, and what several of them do. */
#ifndef LOCUS_COMMAND_H
#define LOCUS_COMMAND_H

#include <stdbool.h>

#include "benchmark.h"

struct program;

struct command {
	const char *name, *arguments, *summary;
	/* the exit status; argv[0] is the command, as in "locus list" */
	int (*act)(const struct program *, int argc, char **argv);
	bool has_help; /* of its own, for --help */
};

struct program {
	const char *name, *summary;
	const struct command *commands; /* ends with a row without a name */
	const struct benchmark *const *benchmarks;
	const struct benchmark *const *quick; /* of a quick suite; NULL: all */
	const struct benchmark *const *for_tests; /* run by name, not listed */
	const struct ranks *ranks;		  /* NULL: a single process */
};

/* The benchmark of this name, listed or for tests; NULL: there is none. */
const struct benchmark *command_benchmark(const struct program *, const char *name);

/* 0; if there are more than `most` arguments, an exit status after a message. */
int refuse_arguments(int argc, char **argv, int most);

/*
 * This machine, with the CPUs of the inherited binding; or a described one. NULL with an exit
 * status, after a message.
 */
struct machine *command_machine(const char *description, int *status);

#endif
