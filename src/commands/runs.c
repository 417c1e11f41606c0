/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/message.h"
#include "commands/commands.h"
#include "commands/runs.h"
#include "count/likwid.h"
#include "harness/record/record.h"
#include "harness/run/run.h"
#include "kit/agree.h"
#include "machine/clock.h"
#include "machine/watchdog.h"

/*
 * The environment variable by which the parent tells a run: series, number of the run, how to open
 * the record, seconds, scratch file.
 */
#define VARIABLE "LOCUS_RUN"
#define FORMAT	 "%" SCNx64 " %u %c %lf %63s"

enum { MODE_NEW = 'n', MODE_APPEND = 'a', MODE_RESUME = 'r' };

bool runs_is_one(struct options *o)
{
	static char scratch[64];
	const char *told = getenv(VARIABLE);
	double seconds;
	char mode;

	if (!told ||
	    sscanf(told, FORMAT, &o->series.id, &o->series.run, &mode, &seconds, scratch) != 5)
		return false;
	unsetenv(VARIABLE);
	/* a parent that is killed cannot pass on signals */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	o->resume = mode == MODE_RESUME;
	o->append = mode == MODE_APPEND;
	if (o->time_budget > 0)
		o->time_budget = seconds;
	if (strcmp(scratch, RECORD_STDOUT))
		o->scratch = scratch;
	/* rows of several runs don't make one CSV or JSON table; the series prints it */
	o->quiet |= o->format == FORMAT_CSV || o->format == FORMAT_JSON;
	return true;
}

struct runs {
	const struct program *program;
	const struct options *options;
	const char *name; /* the benchmark's name, or "suite" */
	uint64_t id;
	double began;
	const char *scratch; /* path of the record if the user wants none; "-": none */
	sigset_t before;     /* the signals that were blocked */
	int signal;	     /* the signal that ends the series; 0: none */
};

/* ---- one run ---- */

static int start(struct runs *r, unsigned run, char mode, double seconds, pid_t *child)
{
	const struct options *o = r->options;
	char told[160], *words[o->argc + 2];
	posix_spawnattr_t attributes;
	int failed;

	words[0] = (char *)r->program->name;
	words[1] = (char *)r->name;
	for (int i = 1; i < o->argc; i++)
		words[i + 1] = o->argv[i];
	words[o->argc + 1] = NULL;
	snprintf(told, sizeof(told), "%" PRIx64 " %u %c %.17g %s", r->id, run, mode, seconds,
		 r->scratch);
	if (setenv(VARIABLE, told, 1))
		return errno;
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &r->before);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	failed = posix_spawn(child, "/proc/self/exe", NULL, &attributes, words, environ);
	posix_spawnattr_destroy(&attributes);
	unsetenv(VARIABLE);
	return failed;
}

static void watched(sigset_t *set)
{
	watchdog_signals(set);
	sigaddset(set, SIGCHLD);
}

/* Passes signals on to the run until it ends. Returns its status, as from wait(). */
static int follow(struct runs *r, pid_t child)
{
	sigset_t set;
	int status = 0, signal;

	watched(&set);
	while (waitpid(child, &status, WNOHANG) == 0) {
		signal = sigwaitinfo(&set, NULL);
		if (signal <= 0 || signal == SIGCHLD)
			continue;
		r->signal = r->signal ? r->signal : signal;
		kill(child, signal); /* a terminal's ^C reached it already: once more is harmless */
	}
	return status;
}

/* The exit status of a run, after a message if it did not complete. */
static int run_once(struct runs *r, unsigned run, char mode, double seconds)
{
	const unsigned of = r->options->runs;
	pid_t child = 0;
	int status = start(r, run, mode, seconds, &child);

	if (status) {
		message_own("run %u of %u could not be started: %s", run, of, strerror(status));
		return EXIT_BAD;
	}
	status = follow(r, child);
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	message_own("run %u of %u was killed by signal %d (%s); rerun with --resume to continue",
		    run, of, WTERMSIG(status), strsignal(WTERMSIG(status)));
	return EXIT_SIGNAL + WTERMSIG(status);
}

/* ---- all runs ---- */

static bool is_file(const char *path)
{
	return path && strcmp(path, RECORD_STDOUT);
}

/* A new id, and the first run; with --resume the id and the next run of the file's last series. */
static unsigned first_run(struct runs *r, char *mode)
{
	const struct options *o = r->options;
	struct runs_last last = { 0 };

	if (getrandom(&r->id, sizeof(r->id), 0) != sizeof(r->id))
		r->id = (uint64_t)(clock_now() * 1e9) ^ (uint64_t)getpid() << 32;
	*mode = o->append ? MODE_APPEND : MODE_NEW;
	if (!o->resume)
		return 1;
	runs_read_last(o->output, &last);
	*mode = !last.run || last.complete ? MODE_APPEND : MODE_RESUME;
	if (!last.run)
		return 1;
	r->id = last.series;
	return last.run + last.complete;
}

/* Time for each run from this one on (s); 0: none is left; INFINITY: no limit. */
static double share(const struct runs *r, unsigned run)
{
	const double time = r->options->time_budget, left = time - fmax(0, clock_now() - r->began);

	return time > 0 ? fmax(0, left / (r->options->runs - run + 1)) : INFINITY;
}

static int run_all(struct runs *r)
{
	const unsigned of = r->options->runs;
	int worst = EXIT_GOOD;
	char mode;

	for (unsigned run = first_run(r, &mode); run <= of; run++) {
		const double seconds = share(r, run);
		int status;

		if (seconds <= 0) {
			message_own("time budget spent: %u of %u runs not begun", of - run + 1, of);
			break;
		}
		status = run_once(r, run, mode, isfinite(seconds) ? seconds : 0);
		worst = status > worst ? status : worst;
		if (r->signal)
			return EXIT_SIGNAL + r->signal;
		if (status > EXIT_BAD)
			break;
		mode = MODE_APPEND;
	}
	return worst;
}

int runs_all(const struct program *p, const struct options *o, const char *name)
{
	struct runs r = { .program = p, .options = o, .name = name, .began = clock_now() };
	const char *record = is_file(o->output) ? o->output : o->scratch;
	sigset_t set;
	int status;

	if (p->ranks) {
		if (rank_is_first(p->ranks))
			message("%s: --runs: the processes of an MPI job cannot be restarted; "
				"repeat the whole srun or mpirun command with --append to the same "
				"--output",
				o->argv[0]);
		return EXIT_COMMAND_LINE;
	}
	if (perfctr_asked())
		message("%s: --runs: each run overwrites the counts for likwid-perfctr, so its "
			"table will show the last run; the record has all runs",
			o->argv[0]);
	watched(&set);
	sigprocmask(SIG_BLOCK, &set, &r.before);
	/* the series' time begins at the moment of --begin-at, for which its first run waits */
	r.began += fmax(0, run_moment_left(o));
	r.scratch = o->scratch ? o->scratch : RECORD_STDOUT;
	status = run_all(&r);
	if (record && !o->quiet && !o->brief && status != EXIT_COMMAND_LINE &&
	    status != EXIT_IMPOSSIBLE)
		runs_table(record, r.id, o->format, stdout);
	return status;
}
