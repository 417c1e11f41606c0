/* SPDX-License-Identifier: Apache-2.0 */
/* What locus and locus-mpi have in common: finding the subcommand. */
#ifndef LOCUS_COMMAND_H
#define LOCUS_COMMAND_H

#include <stdbool.h>

#include "benchmark.h"

struct program;

/* argv[0] is the subcommand, as in "locus list". */
struct command {
	const char *name, *arguments, *summary;
	int (*act)(const struct program *, int argc, char **argv);
	bool has_help; /* of its own, for --help */
};

struct program {
	const char *name, *summary;
	const struct command *commands;
	const struct benchmark *const *benchmarks;
	const struct ranks *ranks; /* NULL: it is one process */
};

/*
 * The exit status. Messages begin with the program's name from here on: warnx() of err.h knows it.
 */
int program_main(const struct program *, int argc, char **argv);

/* Plans and measures a benchmark; NULL: the suite. */
int measure_command(const struct program *, const struct benchmark *, int argc, char **argv);

int list_command(const struct program *, int argc, char **argv);
int help_command(const struct program *, int argc, char **argv);
int version_command(const struct program *, int argc, char **argv);

/* 0, or a status after a message where there are more than `most` arguments. */
int refuse_arguments(int argc, char **argv, int most);

#endif
