/* SPDX-License-Identifier: Apache-2.0 */
/* The subcommands, for locus and locus-mpi. */
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
	const struct ranks *ranks; /* NULL: a single process */
};

/*
 * Runs the subcommand; returns the exit status. Sets the program's name, with which messages of
 * warnx() begin.
 */
int program_main(const struct program *, int argc, char **argv);

/* Plans and measures a benchmark; NULL: the suite. */
int measure_command(const struct program *, const struct benchmark *, int argc, char **argv);

int list_command(const struct program *, int argc, char **argv);
int help_command(const struct program *, int argc, char **argv);
int version_command(const struct program *, int argc, char **argv);

/* 0; where there are more than `most` arguments, a status after a message. */
int refuse_arguments(int argc, char **argv, int most);

#endif
