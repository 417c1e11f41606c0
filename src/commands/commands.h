/* SPDX-License-Identifier: Apache-2.0 */
/* The commands: their arguments, what several of them share, and the function of each. */
#ifndef LOCUS_COMMANDS_H
#define LOCUS_COMMANDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "benchmark.h"

struct program;

struct command {
	const char *name, *arguments, *summary;
	/* the exit status; argv[0] is the command, as in "locus list" */
	int (*act)(const struct program *, int argc, char **argv);
	bool has_help;	    /* has its own --help */
	const char *begins; /* the heading of the commands from here on; NULL: as before */
};

struct program {
	const char *name, *summary;
	const struct command *commands; /* ends with a row without a name */
	const struct benchmark *const *benchmarks;
	const struct benchmark *const *quick; /* the benchmarks of a quick suite; NULL: all */
	/* benchmarks that run by name but are not listed */
	const struct benchmark *const *for_tests;
	/* benchmarks of locus-mpi, which this program only describes in its man page; NULL: none */
	const struct benchmark *const *of_ranks;
	const struct ranks *ranks; /* NULL: a single process */
};

/*
 * Reads a program's command line: finds the command or benchmark, and runs it. Returns the exit
 * status. Sets program_invocation_short_name, with which messages begin.
 */
int program_main(const struct program *, int argc, char **argv);

/* The benchmark of this name, listed or for tests, or NULL. */
const struct benchmark *command_benchmark(const struct program *, const char *name);

/* As command_benchmark(), but prints a message with the nearest name before it returns NULL. */
const struct benchmark *command_named(const struct program *, const char *name);

/* 0; if there are more than `most` arguments, an exit status after a message. */
int refuse_arguments(int argc, char **argv, int most);

/*
 * This machine, with the CPUs of the inherited binding; or a described one. NULL with an exit
 * status, after a message.
 */
struct machine *command_machine(const char *description, int *status);

/* ---- the commands; see struct command ---- */

int list_command(const struct program *, int argc, char **argv);
int suite_command(const struct program *, int argc, char **argv);
/* `locus BENCHMARK`. */
int benchmark_command(const struct program *, const struct benchmark *, int argc, char **argv);
/*
 * `locus report`, `summary`, `compare`, `levels`, `export` and `validate` (argv[0] is which):
 * replaces this process by the Python program of analysis/ (analysis.h). Returns only on failure.
 */
int report_command(const struct program *, int argc, char **argv);
int lesson_command(const struct program *, int argc, char **argv);
int soak_command(const struct program *, int argc, char **argv);
int topology_command(const struct program *, int argc, char **argv);
int doctor_command(const struct program *, int argc, char **argv);
int health_command(const struct program *, int argc, char **argv);
int help_command(const struct program *, int argc, char **argv);
int version_command(const struct program *, int argc, char **argv);

/* ---- what they print ---- */

/* Prints all commands and benchmarks. */
void help_print(const struct program *, FILE *);
/* Prints a line for every benchmark. */
void list_benchmarks(const struct benchmark *const *table, FILE *);
/* Prints packages, nodes, caches, TLBs, distances and page sizes. */
void topology_print(const struct machine *, FILE *);
/*
 * Completes a command line for a shell: n words follow the program's name; the last is typed in
 * part, or empty. Prints a line for each word that it may become: "WORD\tWHAT IT IS", or "WORD"
 * without an explanation; ":files" stands for any file.
 */
void complete(const struct program *, unsigned n, char **word, FILE *);

/* ---- lessons.c: demonstrations for a class, with measurements ---- */

enum { LESSON_BARS = 4, LESSON_OPTIONS = 8, LESSON_COMPARED = 2 };

struct lesson {
	const char *name, *title, *prediction;
	const char *benchmark, *options[LESSON_OPTIONS];
	const char *metric; /* the metric that the bars show */
	struct lesson_bar {
		const char *label;
		const char *of; /* the trial: "layout=dense", or "variant=cycle,size=16384" */
	} bar[LESSON_BARS];
	struct lesson_compared {
		/* a sentence on the two trials; the ratio of their times follows */
		const char *words;
		unsigned slow, fast;
	} compared[LESSON_COMPARED];
	const char *explanation, *next;
	/* what the machine must have at least; why the lesson can't be shown with fewer */
	unsigned cpus, nodes;
	const char *lacking;
	bool places; /* whether the pages' nodes are shown */
};

/* Lesson i; NULL: there is none. */
const struct lesson *lesson_at(unsigned i);
/* NULL: there is no such lesson; a message has said so. */
const struct lesson *lesson_find(const char *name);
/* Prints a line for each; returns the exit status. */
int lesson_list(FILE *);
/* Prints the lines of C that the lesson measures, as they stand in the source. */
void lesson_print_code(const struct lesson *, FILE *);

/* ---- soak_verdict.c: a soak's rounds, and the verdict on the machine ---- */

/*
 * When a machine throttles: the first moment from which on its rate is lower, to the end or for 10
 * rounds or more. The rule, and how often it errs: doc/methods/soak.md.
 */
enum { THROTTLE_EDGE = 10 }; /* rounds: each side of a change has at least so many */

struct throttle {
	bool known; /* false: fewer than 2 THROTTLE_EDGE rounds, or no memory */
	bool found;
	unsigned at;	/* the first round after the change */
	double share;	/* the rate after the change over the rate before */
	double noise;	/* standard deviation of a round, relative */
	double visible; /* the smallest fall, as a share, that would have been found at half time */
};

/* If noise hides even falls as large as this, steadiness is unknown. */
#define THROTTLE_HIDDEN 0.1

struct throttle throttle_find(const double *rate, unsigned rounds);

enum { SOAK_LOADS = 8 };

/* A round; NaN: unknown. `at`: when it ended (s since the soak began); `rate`: each load's rate. */
struct soak_round {
	double at, rate[SOAK_LOADS], clock, temperature, power;
};

struct soak_load {
	const char *name, *unit; /* name of its trial; unit of its rate */
	/* why its answer is wrong; why it could not go on; NULL: it is right; it could */
	const char *wrong, *failure;
};

struct soak_rounds {
	struct soak_round *round;
	unsigned n;
	struct soak_load load[SOAK_LOADS];
	unsigned loads;
	json_t *errors; /* hardware errors during the soak: {corrected, ...}, or null */
	/* why temperature and power are unknown; "": known */
	const char *no_temperature, *no_power;
};

/* Prints the verdict; returns the status to exit with. */
int soak_judge(const struct soak_rounds *, FILE *);
/* The line `soak-verdict` of the record. */
json_t *soak_verdict_json(const struct soak_rounds *);
/* The line `soak` of a round. */
json_t *soak_round_json(const struct soak_rounds *, const struct soak_round *);

/* {NAME: after - before}; null if one of them is not known. */
json_t *soak_errors_since(const json_t *before, const json_t *after);

#endif
