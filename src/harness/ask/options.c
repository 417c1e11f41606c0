/* SPDX-License-Identifier: Apache-2.0 */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "harness/ask/argument.h"
#include "harness/ask/options.h"
#include "harness/ask/profile.h"
#include "base/message.h"

enum key {
	VARIANT = 0x100,
	THREADS,
	BIND,
	PROFILE,
	OUTPUT,
	RESUME,
	APPEND,
	REPEATS,
	RUNS,
	DURATION,
	TIME_BUDGET,
	CASE_BUDGET,
	DRY_RUN,
	TOPOLOGY,
	OVERSUBSCRIBE,
	SEED,
	TAG,
	QUIET,
	FORMAT,
	COUNTERS,
	COUNTERS_OPTIONAL,
	MULTIPLEX,
	USAGE,
	PARAMETER
};

const struct option_row option_rows[] = {
	{ "variant", "LIST", "run only these variants", VARIANT },
	{ "threads", "LIST",
	  "numbers of threads (default: see `locus list BENCHMARK`, else one per core; a layout "
	  "sets its own)",
	  THREADS },
	{ "bind", "WHERE",
	  "how threads are placed: close, spread, float (free to move), or only on the CPUs of a "
	  "list such as 0,2-5; with a layout, within each node (default: the binding that the "
	  "process inherits, else close)",
	  BIND, "close,spread,float" },
	{ "oversubscribe", NULL, "allow more threads than CPUs; the record says so",
	  OVERSUBSCRIBE },
	{ "profile", "NAME",
	  "quick (a minute), standard (many minutes), or paper: the published setting (default: "
	  "quick)",
	  PROFILE },
	{ "output", "FILE",
	  "write the record (JSON Lines) to FILE, which must not exist; -: the record to standard "
	  "output, the table to standard error",
	  OUTPUT, ":files" },
	{ "resume", NULL, "continue the record in --output: complete trials are not run again",
	  RESUME },
	{ "append", NULL, "add this run to --output, as a repeat", APPEND },
	{ "repeats", "N",
	  "samples of each trial, whatever their spread (default: until the interval is within 1 "
	  "%, or the budget is spent)",
	  REPEATS },
	{ "runs", "N",
	  "run the command N times, each time in a new process, and report how far the runs differ "
	  "(default: 1)",
	  RUNS },
	{ "duration", "TIME", "target length of a sample", DURATION },
	{ "time-budget", "TIME",
	  "time limit of the whole command, all --runs together, such as 60s", TIME_BUDGET },
	{ "case-budget", "TIME", "time limit of one trial", CASE_BUDGET },
	{ "seed", "N", "seed of all random numbers (default: 1)", SEED },
	{ "tag", "KEY=VALUE",
	  "label the run in the record's header, for example campaign=may; may be repeated", TAG },
	{ "counters", "LIST",
	  "count these events beside the time: PAPI names, perf::NAME, kernel counters (faults, "
	  "context-switches, migrations, ...), or default: the events that `locus list BENCHMARK` "
	  "shows",
	  COUNTERS, "default" },
	{ "counters-optional", NULL, "measure even if none of them can be counted",
	  COUNTERS_OPTIONAL },
	{ "multiplex", NULL,
	  "if there are more events than hardware counters, let them take turns within each sample "
	  "and extrapolate (default: they take turns from batch to batch, and each is counted for "
	  "whole samples)",
	  MULTIPLEX },
	{ "dry-run", NULL,
	  "print the trials, the CPUs of their threads, and the expected time; run nothing",
	  DRY_RUN },
	{ "topology", "WHAT",
	  "with --dry-run: a machine such as \"node:2 core:64 pu:2\", or an hwloc XML file",
	  TOPOLOGY, ":files" },
	{ "format", "NAME", "output format: table, csv, md (Markdown) or json (default: table)",
	  FORMAT, "table,csv,md,json" },
	{ "quiet", NULL, "print only errors and warnings", QUIET },
	{ 0 }
};

bool options_select(const struct options *o)
{
	bool selected = o->variant || o->threads || o->bind || o->profile == PAPER;

	for (unsigned i = 0; i < MOST_PARAMETERS; i++)
		selected |= o->parameter[i] != NULL;
	return selected;
}

static int parse_profile(const char *program, const char *text, enum profile *profile)
{
	unsigned number = 0;
	const int failed = argument_name(program, "profile", text, profile_names, PROFILES,
					 "quick, standard or paper", &number);

	*profile = (enum profile)number;
	return failed;
}

static int parse_format(const char *program, const char *text, enum format *format)
{
	static const char *const names[] = { [FORMAT_TABLE] = "table",
					     [FORMAT_CSV] = "csv",
					     [FORMAT_MARKDOWN] = "md",
					     [FORMAT_JSON] = "json" };
	unsigned number = 0;
	const int failed =
		argument_name(program, "format", text, names, sizeof(names) / sizeof(*names),
			      "table, csv, md or json", &number);

	*format = (enum format)number;
	return failed;
}

/* Options that need or exclude each other. */
static error_t check_together(struct argp_state *state, const struct options *o)
{
	if ((o->resume || o->append) && !o->output)
		return argument_refuse(state->name, o->resume ? "resume" : "append",
				       "needs --output FILE");
	if (o->resume && o->append)
		return argument_refuse(state->name, "resume", "give either --resume or --append");
	if ((o->resume || o->append) && !strcmp(o->output, "-"))
		return argument_refuse(state->name, o->resume ? "resume" : "append",
				       "needs a file, and --output - is standard output");
	if ((o->counters_optional || o->multiplex) && !o->counters)
		return argument_refuse(state->name,
				       o->multiplex ? "multiplex" : "counters-optional",
				       "needs --counters LIST");
	if (o->topology && !o->dry_run)
		return argument_refuse(
			state->name, "topology",
			"nothing can be run on a machine that is only described; add --dry-run");
	return 0;
}

/* Ends argp_parse(): nothing is left to do. */
static error_t print_usage(struct argp_state *state)
{
	setenv("ARGP_HELP_FMT", "rmargin=100", 0); /* the width of all other output */
	argp_state_help(state, state->out_stream, ARGP_HELP_USAGE);
	return ECANCELED;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	error_t failed = 0;
	uint64_t n = 0;

	switch (key) {
	case VARIANT:
		o->variant = arg;
		break;
	case THREADS:
		o->threads = arg;
		break;
	case BIND:
		o->bind = arg;
		break;
	case OVERSUBSCRIBE:
		o->oversubscribe = true;
		break;
	case PROFILE:
		return parse_profile(state->name, arg, &o->profile);
	case OUTPUT:
		o->output = arg;
		break;
	case RESUME:
		o->resume = true;
		break;
	case APPEND:
		o->append = true;
		break;
	case REPEATS:
		failed = argument_count(state->name, "repeats", arg, 1, 1000000, &n);
		o->repeats = (unsigned)n;
		break;
	case RUNS:
		failed = argument_count(state->name, "runs", arg, 1, 1000, &n);
		o->runs = (unsigned)n;
		break;
	case DURATION:
		return argument_seconds(state->name, "duration", arg, &o->duration);
	case TIME_BUDGET:
		return argument_seconds(state->name, "time-budget", arg, &o->time_budget);
	case CASE_BUDGET:
		return argument_seconds(state->name, "case-budget", arg, &o->case_budget);
	case SEED:
		return argument_count(state->name, "seed", arg, 0, UINT64_C(1) << 53, &o->seed);
	case TAG:
		if (argument_tag(state->name, arg, o->tag, o->tags, OPTIONS_TAGS))
			return EINVAL;
		o->tag[o->tags++] = arg;
		break;
	case DRY_RUN:
		o->dry_run = true;
		break;
	case TOPOLOGY:
		o->topology = arg;
		break;
	case FORMAT:
		return parse_format(state->name, arg, &o->format);
	case QUIET:
		o->quiet = true;
		break;
	case COUNTERS:
		o->counters = arg;
		return argument_events(state->name, arg);
	case COUNTERS_OPTIONAL:
		o->counters_optional = true;
		break;
	case MULTIPLEX:
		o->multiplex = true;
		break;
	case '?':
		help_options(state->name, o->benchmark, option_rows, state->out_stream);
		return ECANCELED;
	case USAGE:
		return print_usage(state);
	case ARGP_KEY_ARG:
		message("%s: '%s' is not an option; options begin with --, as in --variant LIST",
			state->name, arg);
		return EINVAL;
	case ARGP_KEY_END:
		return check_together(state, o);
	default:
		if (key < PARAMETER || key >= PARAMETER + MOST_PARAMETERS)
			return ARGP_ERR_UNKNOWN;
		o->parameter[key - PARAMETER] = arg;
	}
	return failed;
}

/* Refuses unknown long options with a suggestion, which getopt would not make. */
static int check_names(const char *program, const struct argp_option *known, size_t n, int argc,
		       char **argv)
{
	const char *names[n];

	for (size_t i = 0; i < n; i++)
		names[i] = known[i].name;
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		char name[64];
		int near, matches = 0;

		if (strncmp(argv[i], "--", 2))
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(argv[i] + 2, "="), argv[i] + 2);
		for (size_t j = 0; j < n; j++)
			matches += strncmp(names[j], name, strlen(name)) == 0;
		if (matches)
			continue;
		near = names_nearest(name, names, n);
		if (near >= 0)
			message("%s: there is no option --%s; did you mean --%s?", program, name,
				names[near]);
		else
			message("%s: there is no option --%s; %s --help lists them", program, name,
				program);
		return EXIT_COMMAND_LINE;
	}
	return 0;
}

/* Replace argp's own --help and --usage, which end the program. */
static const struct argp_option helps[] = {
	{ .name = "help", .key = '?', .group = -1 },
	{ .name = "usage", .key = USAGE, .group = -1 },
};

int options_parse(struct options *o, const struct benchmark *b, int argc, char **argv)
{
	const size_t rows = sizeof(option_rows) / sizeof(*option_rows) - 1,
		     all = sizeof(helps) / sizeof(*helps);
	const unsigned parameters = b ? b->n_parameters : 0;
	struct argp_option table[MOST_PARAMETERS + rows + all + 1];
	struct argp argp = { .options = table, .parser = parse_option };
	unsigned options = 0;
	error_t failed;
	int status;

	*o = (struct options){
		.benchmark = b, .profile = QUICK, .seed = 1, .argc = argc, .argv = argv
	};
	memset(table, 0, sizeof(table));
	for (unsigned i = 0; i < parameters; i++) {
		if (b->parameters[i].type == P_FOUND)
			continue;
		table[options++] = (struct argp_option){ .name = b->parameters[i].name,
							 .key = PARAMETER + (int)i,
							 .arg = help_argument(&b->parameters[i]),
							 .group = 1 };
	}
	for (size_t i = 0; i < rows; i++)
		table[options + i] = (struct argp_option){ .name = option_rows[i].name,
							   .key = option_rows[i].key,
							   .arg = option_rows[i].argument,
							   .group = 2 };
	memcpy(table + options + rows, helps, sizeof(helps));
	status = check_names(argv[0], table, options + rows + all, argc, argv);
	failed = status ? 0 : argp_parse(&argp, argc, argv, ARGP_NO_EXIT | ARGP_NO_HELP, NULL, o);
	if (failed)
		status = failed == ECANCELED ? OPTIONS_HELPED : EXIT_COMMAND_LINE;
	return status;
}
