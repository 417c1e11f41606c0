/* SPDX-License-Identifier: Apache-2.0 */
/* The command: its options, the order of its checks, and how it ends. */
#include "commands/health/finding.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/message.h"
#include "base/numbers.h"
#include "base/sysfs.h"
#include "base/utf8.h"
#include "commands/health/examiner.h"
#include "harness/ask/options.h"
#include "harness/record/record.h"
#include "machine/provenance/provenance.h"
#include "machine/topology/topology.h"

/* ---- in the child ---- */

/* The machine as in the record's header. NULL after a reason. */
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

static void examine(struct examiner *e)
{
	const struct asked *a = e->asked;
	const json_t *of_class = NULL;
	char why[HEALTH_TEXT];
	json_t *classes, *machine;

	examiner_turns_to(e, "reading the file of expected values");
	foreign_read(SYSFS_ROOT, &e->load, RUSAGE_SELF);
	classes = expected_read(a->expect, why);
	if (!classes)
		health_unknown(&e->health, "%s", why);
	examiner_turns_to(e, "reading facts of the machine");
	machine = classes ? look_at_machine(&e->health) : NULL;
	if (machine)
		of_class = facts_judge(&e->health, classes, machine);
	if (of_class && !e->health.findings)
		trials_examine(e, of_class);
	if (machine && a->record && !e->measured && !*e->health.no_record)
		trials_append_none(e);
	json_decref(machine);
	json_decref(classes);
}

/* ---- the command line ---- */

static const struct option long_options[] = {
	{ "expect", required_argument, NULL, 'e' },
	{ "record", required_argument, NULL, 'r' },
	{ "time-budget", required_argument, NULL, 't' },
	{ "foreign", required_argument, NULL, 'f' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static const char usage[] =
	"usage: locus health --expect FILE [OPTION...]\n"
	"\n"
	"Says in one line whether this node is as FILE expects, for SLURM's HealthCheckProgram\n"
	"and for NHC. `locus export --expect` makes FILE from records of good nodes.\n"
	"\n"
	"Exit status: 0 as expected, or cannot tell (standard error says why); 1 not as expected;\n"
	"2 the command line is wrong.\n"
	"\n"
	"      --expect=FILE      expected facts and trials of each class of machines\n"
	"      --foreign=CPUS     check only facts if other work uses more CPUs than this\n"
	"                         (default: 0.5)\n"
	"      --record=FILE      append the record to this file\n"
	"      --time-budget=TIME time for all trials, at most 20s (default: 18s)\n"
	"      --help             print this text\n";

/*
 * Limits (s): for the trials, and for the whole command, whatever hangs. The harness itself ends a
 * trial that does not return at 110 % of its time and a second.
 */
#define MOST_TIME 20.0
#define LAST	  24.5

/* Reads an option. False after a message. */
static bool take(struct asked *a, int option, const char *program)
{
	char why[HEALTH_TEXT] = "";

	switch (option) {
	case 'e':
		a->expect = optarg;
		break;
	case 'r':
		a->record = optarg;
		break;
	case 'f':
		quantity_real(optarg, &a->foreign, why, sizeof(why));
		break;
	case 't':
		if (!quantity_seconds(optarg, &a->time_budget, why, sizeof(why)) &&
		    (a->time_budget <= 0 || a->time_budget > MOST_TIME))
			snprintf(why, sizeof(why), "'%.40s': expected a time up to 20s", optarg);
		break;
	default:
		return false; /* getopt has said why */
	}
	if (*why)
		message("%s: --%s: %s", program, option == 'f' ? "foreign" : "time-budget", why);
	return !*why;
}

/* 0; OPTIONS_HELPED; or EXIT_COMMAND_LINE after a message. */
static int parse(struct asked *a, int argc, char **argv)
{
	int c;

	optind = 0;
	while ((c = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		if (c == 'h') {
			fputs(usage, stdout);
			return OPTIONS_HELPED;
		}
		if (!take(a, c, argv[0]))
			return EXIT_COMMAND_LINE;
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

/*
 * Prints the line, unbuffered, so that it precedes what stderr has if both are one pipe. If it
 * can't be written, stderr has it, and the status still tells of the node alone.
 */
static void print(const char *line)
{
	if (dprintf(STDOUT_FILENO, "%s\n", line) < 0)
		message_own("health: standard output: %s; not written: %s", strerror(errno), line);
}

/* Prints the line, then what is unknown or could not be kept. Returns the exit status. */
static int conclude(const struct health *h)
{
	/* of a file whose other facts are unknown, the class alone says too little */
	const bool judged = h->facts > 1 || h->trials || (h->facts && !h->unknowns);
	char host[UTF8_HOST], line[HEALTH_LINE + 1];

	if (h->findings || judged) {
		health_line(h, utf8_host(host), line);
		print(line);
	}
	if (h->unknowns)
		message_own("health: cannot tell: %s%s", h->unknown,
			    h->unknowns > 1 ? "; and more" : "");
	if (*h->no_record)
		message_own("health: nothing was appended: %s", h->no_record);
	return h->findings ? EXIT_BAD : EXIT_GOOD;
}

int health_command(const struct program *p, int argc, char **argv)
{
	struct asked asked = { .program = p, .time_budget = 18, .foreign = 0.5, .last = LAST };
	int status = parse(&asked, argc, argv);
	struct health health = { 0 };

	signal(SIGPIPE, SIG_IGN); /* a reader that is gone changes no status */
	if (status)
		return status == OPTIONS_HELPED ? EXIT_GOOD : status;
	if (examiner_run(examine, &asked, &health))
		return EXIT_GOOD; /* by a signal */
	return conclude(&health);
}
