/* SPDX-License-Identifier: Apache-2.0 */
#include "commands/health/examiner.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/message.h"
#include "machine/clock.h"
#include "machine/watchdog.h"

void examiner_turns_to(struct examiner *w, const char *does)
{
	snprintf(w->does, sizeof(w->does), "%s", does);
}

static void watched(sigset_t *set)
{
	watchdog_signals(set);
	sigaddset(set, SIGCHLD);
}

/*
 * Waits for the examiner's end: true, with its status, as wait() has it. False: it has not ended in
 * time, or *signal is to end this program.
 */
static bool wait_for(pid_t child, double end, int *status, int *signal)
{
	struct timespec left = { 0 };
	sigset_t set;
	double s;

	watched(&set);
	*signal = 0;
	while (waitpid(child, status, WNOHANG) == 0) {
		s = fmax(0, end - clock_now());
		if (s <= 0 || *signal)
			return false;
		left.tv_sec = (time_t)s;
		left.tv_nsec = (long)((s - floor(s)) * 1e9);
		*signal = sigtimedwait(&set, NULL, &left);
		*signal = *signal > 0 && *signal != SIGCHLD ? *signal : 0;
	}
	return true;
}

/* An examiner that waits in the kernel for ever can't be reaped: it is not waited for. */
static void end(pid_t child)
{
	int status, signal;

	kill(child, SIGKILL);
	wait_for(child, clock_now() + 0.1, &status, &signal);
}

/* Tells what an examiner was doing that did not come to its end. */
static void tell_unfinished(struct examiner *w, bool ended, int status)
{
	const char *by = ended && WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : NULL;

	/* the kernel kills what takes too much memory: that says nothing of the trial */
	if (*w->does || !*w->trial || (by && WTERMSIG(status) == SIGKILL))
		health_unknown(&w->health, "%s while %s", by ? by : "hung",
			       *w->does	   ? w->does
			       : *w->trial ? w->trial
					   : "starting");
	else if (by)
		health_finding(&w->health, "%s: killed: %s", w->trial, by);
	else
		health_finding(&w->health, "%s hung: no end after %.0f s", w->trial,
			       clock_now() - w->began);
}

/* Signals that end a command stay blocked in the child: the parent alone decides what they mean. */
static pid_t start(struct examiner *w, void (*examine)(struct examiner *))
{
	const pid_t child = fork();

	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* a parent that is killed leaves nothing behind */
	examine(w);
	w->done = true;
	exit(0);
}

int examiner_run(void (*examine)(struct examiner *), const struct asked *asked,
		 struct health *health)
{
	struct examiner *w =
		mmap(NULL, sizeof(*w), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status = 0, signal = 0;
	sigset_t set;
	bool ended = false;
	pid_t child;

	watched(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (w != MAP_FAILED) {
		w->asked = asked;
		w->began = clock_now();
	}
	child = w != MAP_FAILED ? start(w, examine) : -1;
	if (child < 0) {
		health_unknown(health, "no process for it: %s", strerror(errno));
		return 0;
	}
	ended = wait_for(child, w->began + EXAMINER_LAST, &status, &signal);
	if (!ended)
		end(child);
	if (!w->done && !signal)
		tell_unfinished(w, ended, status);
	*health = w->health;
	munmap(w, sizeof(*w));
	if (signal)
		message_own("health: cannot tell: ended by %s", watchdog_signal_name(signal));
	return signal;
}
