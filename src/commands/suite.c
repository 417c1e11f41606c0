/* SPDX-License-Identifier: Apache-2.0 */
/* The commands that measure: `locus suite` and `locus BENCHMARK`. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands/analysis.h"
#include "commands/commands.h"
#include "commands/runs.h"
#include "harness/ask/options.h"
#include "harness/record/record.h"
#include "harness/run/engine.h"
#include "kit/agree.h"

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

int benchmark_command(const struct program *p, const struct benchmark *b, int argc, char **argv)
{
	struct options options;
	const int status = parse(&options, p, b, argc, argv);

	if (status)
		return status == OPTIONS_HELPED ? EXIT_GOOD : status;
	if (options.runs > 1 && !options.dry_run && !runs_is_one(&options))
		return runs_all(p, &options, b->name);
	return engine_run(&options, p->benchmarks, p->ranks);
}

/* ---- the card of the machine, made from the record of a suite ---- */

enum { CARD_PATH = 64 };

/* Whether people read standard output, and something is measured. */
static bool is_wanted(const struct options *o)
{
	return !o->quiet && !o->dry_run && !o->series.run && o->format == FORMAT_TABLE &&
	       !(o->output && !strcmp(o->output, RECORD_STDOUT));
}

/*
 * To be called before the run. If its record is not kept and is small, gives it a temporary file
 * that ends with this process: o->scratch, which is `path` then. Returns its descriptor, or -1.
 */
static int prepare_card(struct options *o, char path[CARD_PATH])
{
	int file;

	/* it is kept in memory: the record of a longer profile may be too large */
	if (!is_wanted(o) || o->output || o->profile != QUICK || !analysis_python())
		return -1;
	file = memfd_create("locus-record", MFD_CLOEXEC);
	if (file < 0)
		return -1;
	snprintf(path, CARD_PATH, "/proc/self/fd/%d", file);
	o->scratch = path;
	return file;
}

/* Prints the card; whether that succeeded. `file`: standard input of Python; -1: this program's. */
static bool run_python(const char *record, int file)
{
	char folder[ANALYSIS_FOLDER], *words[ANALYSIS_BEGIN + 4];
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	int failed, status = -1;
	sigset_t none;
	pid_t child;

	if (!analysis_python() || !analysis_find(folder))
		return false;
	analysis_isolate(words, analysis_code);
	memcpy(words + ANALYSIS_BEGIN, (char *[]){ folder, "summary", (char *)record, NULL },
	       4 * sizeof(*words));
	sigemptyset(&none);
	posix_spawn_file_actions_init(&files);
	if (file >= 0)
		posix_spawn_file_actions_adddup2(&files, file, STDIN_FILENO);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	failed = posix_spawnp(&child, words[0], &files, &attributes, words, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&files);
	return !failed && TEMP_FAILURE_RETRY(waitpid(child, &status, 0)) == child &&
	       WIFEXITED(status) && WEXITSTATUS(status) == 0;
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
 * To be called after the run, with its exit status. Prints the card, or without Python the command
 * that makes it elsewhere; prints nothing if nobody reads the table. Closes the file.
 */
static void print_card(const struct options *o, int file, int status)
{
	const bool measured = status == EXIT_GOOD || status == EXIT_BAD;
	bool printed = false;

	if (is_wanted(o) && measured && has_record(o, file)) {
		printf("\n");
		fflush(stdout);
		if (file >= 0)
			lseek(file, 0, SEEK_SET);
		printed = run_python(file >= 0 ? "-" : o->output, file);
	}
	if (is_wanted(o) && measured && !printed)
		printf("for this machine's card (needs Python): %slocus summary %s\n",
		       o->output ? "" : "locus suite --output FILE, and ", kept(o));
	if (file >= 0)
		close(file);
}

int suite_command(const struct program *p, int argc, char **argv)
{
	struct options options;
	char path[CARD_PATH];
	int status = parse(&options, p, NULL, argc, argv), file;

	if (status)
		return status == OPTIONS_HELPED ? EXIT_GOOD : status;
	if (options.runs > 1 && !options.dry_run && !runs_is_one(&options))
		return runs_all(p, &options, "suite");
	file = prepare_card(&options, path);
	status = engine_run(&options,
			    options.profile == QUICK && p->quick ? p->quick : p->benchmarks,
			    p->ranks);
	print_card(&options, file, status);
	return status;
}
