/* SPDX-License-Identifier: Apache-2.0 */
#include "commands/health/examiner.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/message.h"
#include "base/sysfs.h"
#include "machine/clock.h"
#include "machine/watchdog.h"

void examiner_turns_to(struct examiner *e, const char *does)
{
	snprintf(e->does, sizeof(e->does), "%s", does);
}

static void watched(sigset_t *set)
{
	watchdog_signals(set);
	sigaddset(set, SIGCHLD);
}

/*
 * Waits for the child's end: true, with its status, as from wait(). False: it has not ended `last`
 * s after *began (which it may change), or *signal should end this program.
 */
static bool wait_for(pid_t child, const double *began, double last, int *status, int *signal)
{
	struct timespec left = { 0 };
	sigset_t set;
	double s;

	watched(&set);
	*signal = 0;
	while (waitpid(child, status, WNOHANG) == 0) {
		s = fmax(0, *began + last - clock_now());
		if (s <= 0 || *signal)
			return false;
		left.tv_sec = (time_t)s;
		left.tv_nsec = (long)((s - floor(s)) * 1e9);
		*signal = sigtimedwait(&set, NULL, &left);
		*signal = *signal > 0 && *signal != SIGCHLD ? *signal : 0;
	}
	return true;
}

/* A child that waits in the kernel for ever cannot be reaped: it is left alone. */
static void end(pid_t child)
{
	const double now = clock_now();
	int status, signal;

	kill(child, SIGKILL);
	wait_for(child, &now, 0.1, &status, &signal);
}

/* CPUs that others have used since measuring began. */
static double foreign_now(const struct examiner *e)
{
	struct foreign now;

	foreign_read(SYSFS_ROOT, &now, RUSAGE_CHILDREN);
	return foreign_cpus(&e->load, &now);
}

/*
 * Reports what the child was doing when it did not complete. It may have waited for a CPU or memory
 * that others had, or the kernel may have sent SIGKILL: neither says anything about the trial.
 */
static void tell_unfinished(struct examiner *e, bool ended, int status)
{
	const char *by = ended && WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : NULL;
	const bool killed = by && WTERMSIG(status) == SIGKILL;
	const double foreign = *e->trial ? foreign_now(e) : 0;

	if (!*e->trial)
		health_unknown(&e->health, "%s while %s",
			       by      ? by
			       : ended ? "ended"
				       : "hung",
			       *e->does ? e->does : "starting");
	else if (killed)
		health_unknown(&e->health, "%s: %s", e->trial, by);
	else if (!by && foreign > e->asked->foreign)
		health_unknown(&e->health, "%s: did not end in time; other work uses %.1f CPUs",
			       e->trial, foreign);
	else if (by)
		health_finding(&e->health, "%s: ended by %s", e->trial, by);
	else
		health_finding(&e->health, "%s hung: no end after %.0f s", e->trial,
			       clock_now() - e->began);
}

/*
 * All that the child prints goes to an unnamed file: a reader of this command's output would wait
 * for a child that outlives it.
 */
static int hush(void)
{
	const int file = memfd_create("locus-health", MFD_CLOEXEC);

	if (file >= 0) {
		dup2(file, STDOUT_FILENO);
		dup2(file, STDERR_FILENO);
	}
	return file;
}

void examiner_said(const struct examiner *e, char line[HEALTH_TEXT])
{
	const ssize_t n = pread(e->printed, line, HEALTH_TEXT - 1, 0);

	line[n > 0 ? n : 0] = 0;
	line[strcspn(line, "\n")] = 0;
	(void)!ftruncate(e->printed, lseek(e->printed, 0, SEEK_SET));
}

/* Signals that end a command stay blocked in the child: the parent alone decides what they mean. */
static pid_t start(struct examiner *e, void (*examine)(struct examiner *))
{
	const pid_t child = fork();

	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* a parent that is killed leaves nothing behind */
	e->printed = hush();
	examine(e);
	e->done = true;
	exit(0);
}

int examiner_run(void (*examine)(struct examiner *), const struct asked *asked,
		 struct health *health)
{
	struct examiner *e =
		mmap(NULL, sizeof(*e), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status = 0, signal = 0;
	sigset_t set;
	bool ended = false;
	pid_t child;

	watched(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (e != MAP_FAILED) {
		e->asked = asked;
		e->began = clock_now();
	}
	child = e != MAP_FAILED ? start(e, examine) : -1;
	if (child < 0) {
		health_unknown(health, "can't start a process for the check: %s", strerror(errno));
		return 0;
	}
	ended = wait_for(child, &e->began, asked->last, &status, &signal);
	if (!ended)
		end(child);
	if (!e->done && !signal)
		tell_unfinished(e, ended, status);
	*health = e->health;
	munmap(e, sizeof(*e));
	if (signal)
		message_own("health: cannot tell: ended by %s", watchdog_signal_name(signal));
	return signal;
}

/* ---- other work ---- */

/* The first line of /proc/stat: "cpu  user nice system idle iowait irq softirq steal ...". */
static double busy_of(const char *line)
{
	unsigned long long user, nice, system, idle, iowait, irq, softirq;

	if (!line || sscanf(line, "%llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system,
			    &idle, &iowait, &irq, &softirq) != 7)
		return 0;
	return (double)(user + nice + system + irq + softirq) / (double)sysconf(_SC_CLK_TCK);
}

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

void foreign_read(const char *root, struct foreign *f, int who)
{
	char *text = sysfs_text(root, "/proc/stat");
	struct rusage own;

	getrusage(who, &own);
	f->own = seconds(own.ru_utime) + seconds(own.ru_stime);
	f->busy = busy_of(field_find(text, "cpu"));
	f->wall = clock_now();
	free(text);
}

double foreign_cpus(const struct foreign *before, const struct foreign *after)
{
	const double busy = after->busy - before->busy, own = after->own - before->own,
		     wall = after->wall - before->wall;

	if (before->busy <= 0 || after->busy <= 0 || wall <= 0)
		return 0;
	return fmax(0, (busy - own) / wall);
}
