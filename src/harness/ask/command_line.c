/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the command line of a benchmark and of the suite, by argp. */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/message.h"
#include "base/text.h"
#include "harness/ask/options.h"

/* argp's key of an option: HELP, USAGE, or ROW plus the option's index in the table. */
enum { HELP = '?', USAGE = 0x100, ROW = 0x200, PARAMETER = 0x300 };

/* Ends argp_parse(): nothing is left to do. */
static error_t print_usage(struct argp_state *state)
{
	setenv("ARGP_HELP_FMT", "rmargin=100", 0); /* the width of all other output */
	argp_state_help(state, state->out_stream, ARGP_HELP_USAGE);
	return ECANCELED;
}

static error_t take_option(int key, char *text, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case HELP:
		help_options(state->name, o->benchmark, state->out_stream);
		return ECANCELED;
	case USAGE:
		return print_usage(state);
	case ARGP_KEY_ARG:
		if (!o->benchmark && state->arg_num < OPTIONS_CHOSEN - 1) {
			o->chosen[state->arg_num] = text;
			return 0;
		}
		message("%s: '%s' is not an option; options begin with --, as in --variant LIST",
			state->name, text);
		return EINVAL;
	case ARGP_KEY_END:
		return options_agree(o, state->name);
	default:
		if (key < ROW || key >= PARAMETER + MOST_PARAMETERS)
			return ARGP_ERR_UNKNOWN;
	}
	if (key < PARAMETER)
		return option_rows[key - ROW].take(&option_rows[key - ROW], state->name, text, o);
	o->parameter[key - PARAMETER] = text;
	return 0;
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

/*
 * Fills argp's table with all options of the benchmark, and with our own --help and --usage, since
 * argp's end the program. Returns their number.
 */
static size_t list_options(const struct benchmark *b, struct argp_option *table)
{
	size_t n = 0;

	for (unsigned i = 0; b && i < b->n_parameters; i++)
		if (b->parameters[i].type != P_DERIVED)
			table[n++] = (struct argp_option){ .name = b->parameters[i].name,
							   .key = PARAMETER + (int)i,
							   .arg = help_argument(&b->parameters[i]),
							   .group = 1 };
	for (int i = 0; option_rows[i].name; i++)
		table[n++] = (struct argp_option){ .name = option_rows[i].name,
						   .key = ROW + i,
						   .arg = option_rows[i].argument,
						   .group = 2 };
	table[n++] = (struct argp_option){ .name = "help", .key = HELP, .group = -1 };
	table[n++] = (struct argp_option){ .name = "usage", .key = USAGE, .group = -1 };
	table[n] = (struct argp_option){ 0 };
	return n;
}

int options_parse(struct options *o, const struct benchmark *b, int argc, char **argv)
{
	struct argp_option table[MOST_PARAMETERS + OPTIONS_ROWS + 2];
	const struct argp argp = { .options = table, .parser = take_option };
	const size_t n = list_options(b, table);
	error_t failed;

	*o = (struct options){
		.benchmark = b, .profile = QUICK, .seed = 1, .argc = argc, .argv = argv
	};
	if (check_names(argv[0], table, n, argc, argv))
		return EXIT_COMMAND_LINE;
	failed = argp_parse(&argp, argc, argv, ARGP_NO_EXIT | ARGP_NO_HELP, NULL, o);
	if (failed)
		return failed == ECANCELED ? OPTIONS_HELPED : EXIT_COMMAND_LINE;
	return 0;
}
