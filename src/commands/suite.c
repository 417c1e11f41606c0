/* SPDX-License-Identifier: Apache-2.0 */
/* The commands that measure: `locus suite` and `locus BENCHMARK`. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/message.h"
#include "commands/analysis.h"
#include "commands/commands.h"
#include "commands/runs.h"
#include "harness/ask/options.h"
#include "harness/record/record.h"
#include "harness/run/run.h"
#include "kit/agree.h"
#include "machine/inherited.h"

/* All ranks get the same status; the first one prints. */
static int parse(struct options *o, const struct program *p, const struct benchmark *b, int argc,
		 char **argv)
{
	struct mute mute;
	int status;

	mute_begin(&mute, p->ranks);
	status = options_parse(o, b, argc, argv);
	mute_end(&mute, p->ranks, &status);
	return status;
}

/* ---- the answer after a run: the card of the machine, or its lines on one benchmark ---- */

enum { ANSWER_PATH = 64 };

struct answer {
	const char *of; /* "suite", or the benchmark's name */
	bool wanted;
	int file; /* file of a record that is not kept; -1: none */
	char path[ANSWER_PATH];
};

/* Whether a person reads the output, and something is measured. */
static bool is_read(const struct options *o)
{
	return !o->quiet && !o->dry_run && o->format == FORMAT_TABLE &&
	       !(o->output && !strcmp(o->output, RECORD_STDOUT));
}

/*
 * No answer for tests' benchmarks, which the card does not know. Scripts switch it off by
 * LOCUS_ANSWER=no.
 */
static bool is_wanted(const struct program *p, const struct options *o)
{
	const char *refused = getenv("LOCUS_ANSWER");

	if (!is_read(o) || o->series.run || p->ranks)
		return false;
	for (const struct benchmark *const *b = p->benchmarks; o->benchmark && *b; b++)
		if (*b == o->benchmark)
			return !refused || strcmp(refused, "no") != 0;
	return !o->benchmark;
}

/* Runs Python; `file`: its standard input; -1: this program's. Returns whether it succeeded. */
static bool run_python(char *const *words, int file, bool silent)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	int failed, status = -1;
	sigset_t none;
	pid_t child;

	sigemptyset(&none);
	posix_spawn_file_actions_init(&files);
	if (file >= 0)
		posix_spawn_file_actions_adddup2(&files, file, STDIN_FILENO);
	for (int output = STDOUT_FILENO; silent && output <= STDERR_FILENO; output++)
		posix_spawn_file_actions_addopen(&files, output, "/dev/null", O_WRONLY, 0);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	failed = posix_spawnp(&child, words[0], &files, &attributes, words, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&files);
	return !failed && TEMP_FAILURE_RETRY(waitpid(child, &status, 0)) == child &&
	       WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Whether there is a Python with all modules that the card needs. */
static bool has_python(void)
{
	static const char code[] =
		"import sys\n"
		"from importlib.util import find_spec as find\n"
		"sys.exit(not all(map(find, '" LOCUS_PYTHON_MODULES "'.split())))";
	char folder[ANALYSIS_FOLDER], *words[ANALYSIS_BEGIN + 1] = { NULL };

	if (!analysis_python() || !analysis_find(folder))
		return false;
	analysis_isolate(words, code);
	return run_python(words, -1, true);
}

/*
 * Opens an unnamed file for a record that is not kept: in memory if it will be small. A series
 * passes the file on to its runs. -1 on failure.
 */
static int open_scratch(const struct options *o)
{
	FILE *f;
	int file;

	if (o->profile == QUICK && o->runs <= 1)
		return memfd_create("locus-record", MFD_CLOEXEC);
	f = tmpfile();
	file = f ? dup(fileno(f)) : -1;
	if (f)
		fclose(f);
	return file;
}

/*
 * To be called before the run. A record that is not kept gets a file that ends with this process:
 * o->scratch. A suite with a card hides its tables, unless --verbose is given.
 */
static void answer_open(struct answer *a, struct options *o, const struct program *p, bool series)
{
	*a = (struct answer){ .of = o->benchmark ? o->benchmark->name : "suite",
			      .wanted = is_wanted(p, o),
			      .file = -1 };
	if (!o->output && !o->quiet && (series || (a->wanted && analysis_python())))
		a->file = open_scratch(o);
	if (a->file >= 0) {
		snprintf(a->path, ANSWER_PATH, "/proc/self/fd/%d", a->file);
		o->scratch = a->path;
	}
	o->brief = !o->benchmark && !o->verbose && is_read(o) && (o->output || o->scratch) &&
		   has_python();
}

/* `locus summary RECORD [--only BENCHMARK]`; returns whether it succeeded. */
static bool print_summary(const struct answer *a, const struct options *o)
{
	char folder[ANALYSIS_FOLDER], *words[ANALYSIS_BEGIN + 6];

	if (!analysis_python() || !analysis_find(folder))
		return false;
	analysis_isolate(words, analysis_code);
	memcpy(words + ANALYSIS_BEGIN,
	       (char *[]){ folder, "summary", (char *)(a->file >= 0 ? "-" : o->output),
			   o->benchmark ? "--only" : NULL, (char *)a->of, NULL },
	       6 * sizeof(*words));
	return run_python(words, a->file, false);
}

static bool is_file(const char *path)
{
	struct stat s;

	return stat(path, &s) == 0 && S_ISREG(s.st_mode);
}

/* Whether the record is in a file that can be read again. */
static bool has_record(const struct options *o, int file)
{
	return file >= 0 || (o->output && is_file(o->output));
}

/* The name of the record that outlives this process, or a placeholder. */
static const char *kept(const struct options *o)
{
	return o->output && is_file(o->output) ? o->output : "FILE";
}

/*
 * To be called after the run, with its exit status. Prints the answer, or without Python the
 * command that makes it elsewhere; prints nothing if nobody reads the table. Closes the file.
 */
static void answer_print(struct answer *a, const struct options *o, int status)
{
	bool wanted = a->wanted && (status == EXIT_GOOD || status == EXIT_BAD);
	bool printed = false;

	if (fflush(stdout) || ferror(stdout)) /* which main() says */
		wanted = false;
	if (wanted && has_record(o, a->file)) {
		printf("\n");
		fflush(stdout);
		if (a->file >= 0)
			lseek(a->file, 0, SEEK_SET);
		printed = print_summary(a, o);
	}
	if (wanted && !printed)
		printf("for %s (needs Python): %s%s%slocus summary %s\n",
		       o->benchmark ? "the conclusions on this machine" : "this machine's card",
		       o->output ? "" : "locus ", o->output ? "" : a->of,
		       o->output ? "" : " --output FILE, and ", kept(o));
	if (a->file >= 0)
		close(a->file);
}

/* ---- the commands ---- */

static int run(const struct program *p, struct options *o, const struct benchmark *const *table)
{
	const bool series = o->runs > 1 && !o->dry_run && !runs_is_one(o);
	struct answer answer;
	int status;

	if (o->quiet && !o->output && !o->dry_run && !o->series.run && rank_is_first(p->ranks))
		message("%s: --quiet without --output: results are neither shown nor kept",
			o->argv[0]);
	/* Who closed standard output wants the record alone. */
	if (o->output && strcmp(o->output, RECORD_STDOUT) && !o->dry_run && inherited_no_output())
		o->quiet = true;
	answer_open(&answer, o, p, series);
	status = series ? runs_all(p, o, answer.of) : engine_run(o, table, p->ranks);
	answer_print(&answer, o, status);
	o->scratch = NULL; /* its path is freed with `answer` */
	return status;
}

int benchmark_command(const struct program *p, const struct benchmark *b, int argc, char **argv)
{
	struct options options;
	const int status = parse(&options, p, b, argc, argv);

	if (status)
		return status == OPTIONS_HELPED ? EXIT_GOOD : status;
	return run(p, &options, p->benchmarks);
}

/* The requested benchmarks, each once, in the order of the list. False: after a message. */
static bool choose(const struct program *p, const struct options *o,
		   const struct benchmark *chosen[OPTIONS_CHOSEN])
{
	unsigned n = 0;

	for (const char *const *name = o->chosen; *name; name++)
		if (!command_named(p, *name))
			return false;
	for (const struct benchmark *const *b = p->benchmarks; *b; b++)
		for (const char *const *name = o->chosen; *name; name++)
			if (!strcmp((*b)->name, *name)) {
				chosen[n++] = *b;
				break;
			}
	return true;
}

int suite_command(const struct program *p, int argc, char **argv)
{
	const struct benchmark *chosen[OPTIONS_CHOSEN] = { NULL };
	struct options options;
	const int status = parse(&options, p, NULL, argc, argv);

	if (status)
		return status == OPTIONS_HELPED ? EXIT_GOOD : status;
	if (options.variant) {
		message("%s: --variant: each benchmark has its own; run one by itself: `%s "
			"BENCHMARK --variant %s`",
			argv[0], p->name, options.variant);
		return EXIT_COMMAND_LINE;
	}
	if (!choose(p, &options, chosen))
		return EXIT_COMMAND_LINE;
	if (*chosen)
		return run(p, &options, chosen);
	return run(p, &options, options.profile == QUICK && p->quick ? p->quick : p->benchmarks);
}
