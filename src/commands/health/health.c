/* SPDX-License-Identifier: Apache-2.0 */
/* The command: what it is asked, what it looks at in which order, and how it ends. */
#include "commands/health/finding.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/message.h"
#include "base/utf8.h"
#include "commands/health/examiner.h"
#include "harness/ask/options.h"
#include "machine/provenance/provenance.h"
#include "machine/topology/topology.h"

/* ---- in the examiner ---- */

/* The machine as the record's header has it. NULL after a reason. */
static json_t *look_at_machine(struct health *h)
{
	const char *why;
	struct machine *m = machine_open(NULL, &why);
	json_t *machine = m ? provenance_machine(m) : NULL;

	if (!m)
		health_unknown(h, "%s", why);
	else
		machine_close(m);
	return machine;
}

static void examine(struct examiner *w)
{
	const struct asked *a = w->asked;
	char why[HEALTH_TEXT];
	json_t *classes, *machine;

	examiner_turns_to(w, "reading the file of expected values");
	classes = expected_read(a->expect, why);
	if (!classes)
		health_unknown(&w->health, "%s", why);
	examiner_turns_to(w, "reading facts of the machine");
	machine = classes ? look_at_machine(&w->health) : NULL;
	if (machine)
		facts_judge(&w->health, classes, machine);
	json_decref(machine);
	json_decref(classes);
}

/* ---- the command line ---- */

static const struct option long_options[] = {
	{ "expect", required_argument, NULL, 'e' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static const char usage[] =
	"usage: locus health --expect FILE\n"
	"\n"
	"Says in one line whether this node is as FILE expects, for SLURM's HealthCheckProgram\n"
	"and for NHC. FILE is from `locus export --expect` of records of good nodes.\n"
	"\n"
	"Exit status: 0 as expected, or it cannot be told (standard error says why); 1 it is not;\n"
	"2 the command line is wrong.\n"
	"\n"
	"      --expect=FILE      expected facts of each class of machines\n"
	"      --help             print this text\n";

/* 0; OPTIONS_HELPED; or EXIT_COMMAND_LINE after a message. */
static int parse(struct asked *a, int argc, char **argv)
{
	int c;

	optind = 0;
	while ((c = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		switch (c) {
		case 'e':
			a->expect = optarg;
			break;
		case 'h':
			fputs(usage, stdout);
			return OPTIONS_HELPED;
		default:
			return EXIT_COMMAND_LINE; /* getopt has said why */
		}
	}
	if (optind < argc)
		message("%s: '%s' is one argument too many; see `%s --help`", argv[0], argv[optind],
			argv[0]);
	else if (!a->expect)
		message("%s: --expect FILE is missing: expected values, from `locus export "
			"--expect`",
			argv[0]);
	return optind < argc || !a->expect ? EXIT_COMMAND_LINE : 0;
}

/* ---- the end ---- */

/* Prints the line, and what can't be told. Returns the exit status. */
static int conclude(const struct health *h)
{
	char host[UTF8_HOST], line[HEALTH_LINE + 1];

	if (h->findings || h->facts) {
		health_line(h, utf8_host(host), line);
		puts(line);
	}
	if (h->unknowns)
		message_own("health: cannot tell: %s%s", h->unknown,
			    h->unknowns > 1 ? "; and more" : "");
	return h->findings ? EXIT_BAD : EXIT_GOOD;
}

int health_command(const struct program *p, int argc, char **argv)
{
	struct asked asked = { .program = p };
	int status = parse(&asked, argc, argv);
	struct health health = { 0 };

	if (status)
		return status == OPTIONS_HELPED ? EXIT_GOOD : status;
	if (examiner_run(examine, &asked, &health))
		return EXIT_GOOD; /* by a signal */
	return conclude(&health);
}
