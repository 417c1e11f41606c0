/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line of a benchmark and of the suite: one table of options, and one more option for
 * each parameter of the benchmark.
 */
#ifndef LOCUS_OPTIONS_H
#define LOCUS_OPTIONS_H

#include <jansson.h>
#include <stdio.h>

#include "benchmark.h"
#include "harness/ask/parameters.h"

/* The statuses that a program ends with. */
enum {
	EXIT_GOOD = 0, /* even if noisy or unconverged */
	EXIT_BAD = 1,  /* wrong, misplaced, failed; output unwritable or full */
	EXIT_COMMAND_LINE = 2,
	EXIT_IMPOSSIBLE = 3, /* on this machine, and requested by name */
	EXIT_FAULT = 70,     /* of locus itself */
	EXIT_SIGNAL = 128,   /* + its number */
};

enum format { FORMAT_TABLE, FORMAT_CSV, FORMAT_MARKDOWN, FORMAT_JSON };
enum { OPTIONS_TAGS = 32, OPTIONS_ROWS = 32, OPTIONS_HAND = 128, OPTIONS_CHOSEN = 32 };

/* NULL and 0: not given. */
struct options {
	const struct benchmark *benchmark; /* NULL: the suite, or the command `name` */
	const char *name;
	const char *chosen[OPTIONS_CHOSEN]; /* a suite's benchmarks; the first NULL: all */
	enum profile profile;
	enum format format; /* of the printed results */
	const char *variant, *threads, *bind, *topology, *output;
	/*
	 * Set by the program, not by options: a file for the record if `output` is NULL; which
	 * option messages name for `output` (record_open()); ids of trials, {ID: true}, if no
	 * others should be planned; OPTIONS_HAND bytes for the name of the present trial; whether
	 * each benchmark has a line instead of its table.
	 */
	const char *scratch, *output_option;
	const json_t *only;
	char *hand;
	bool brief;
	const char *counters; /* "default,PAPI_TOT_INS": no name empty, none twice */
	const char *parameter[MOST_PARAMETERS]; /* in the order of the benchmark's */
	const char *tag[OPTIONS_TAGS];		/* "KEY=VALUE": no key twice */
	unsigned tags;
	double time_budget, case_budget, duration; /* s */
	double begin_at;			   /* s since 1970 */
	unsigned repeats, runs;
	/* this process's place in a series of runs (--runs); run: from 1; 0: not in a series */
	struct {
		uint64_t id;
		unsigned run;
	} series;
	uint64_t seed;
	bool resume, append, dry_run, oversubscribe, quiet, verbose, counters_optional, multiplex;
	int argc;
	char **argv;
};

/* Whether the user selected trials by name: an impossible one is then an error. */
bool options_select(const struct options *);

/*
 * Reads the arguments after the subcommand (argv[0] is "locus numa"). 0: continue; OPTIONS_HELPED:
 * --help or --usage has been printed, and the command is done; else the status to exit with, after
 * a message.
 */
enum { OPTIONS_HELPED = -1 };
int options_parse(struct options *, const struct benchmark *, int argc, char **argv);
/*
 * Checks that options do not exclude each other or lack one that they need: 0, or EINVAL after a
 * message.
 */
int options_agree(const struct options *, const char *program);

/*
 * An option of every benchmark: a row of the table from which the command line is read, and help,
 * `locus list`, completion and the man page are made. A row without a name ends it.
 */
struct option_row {
	const char *name, *argument, *help; /* argument: NULL if there is none */
	/*
	 * Reads the argument into the options. 0, or EINVAL after a message that begins with the
	 * program ("locus numa").
	 */
	int (*take)(const struct option_row *, const char *program, const char *text,
		    struct options *);
	size_t field;  /* the offset in struct options of the member that it sets */
	uint64_t most; /* the largest number */
	/*
	 * Words that the argument may be, besides a benchmark's own: "close,spread"; ":files":
	 * names of files; NULL: none.
	 */
	const char *values;
};
extern const struct option_row option_rows[];

/* ---- --help ---- */

/* The placeholder of a parameter's value: "SIZES". A constant. */
const char *help_argument(const struct parameter *);
/* A line for each choice whose meaning the table has, from that column on. */
void help_meanings(const struct parameter *, int column, FILE *);
/* Prints --help of a benchmark; NULL: of the suite. The program is "locus numa". */
void help_options(const char *program, const struct benchmark *, FILE *);

/* ---- contract.c ---- */

/*
 * The first fault of the table, a sentence that names benchmark, row and the expected content; to
 * be freed. NULL: none. Takes microseconds; calls no function of the benchmark.
 */
char *contract_fault(const struct benchmark *);

/* Checks a list of benchmarks that ends with NULL. False, after a message, at the first fault. */
bool contract_check(const struct benchmark *const *);

#endif
