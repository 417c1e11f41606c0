/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends a run on a signal or at its time budget. The main thread checks for both between samples; a
 * sleeping thread, the watchdog, ends the program if main does not check in time.
 *
 * "The books" are all that the watchdog needs to close the record: the record itself, the table,
 * the series of samples. The main thread holds their lock, and releases it only while it is away,
 * in something that may take long and changes none of them, such as a kernel. So the watchdog finds
 * whole lines and whole batches; main, once back, blocks on the lock until the process is gone.
 *
 * A process has one watchdog. Only the main thread calls these functions.
 */
#ifndef LOCUS_WATCHDOG_H
#define LOCUS_WATCHDOG_H

#include <signal.h>

struct watch {
	double grace;	 /* s after a signal within which main must return */
	double deadline; /* clock_now() by which main must return; INFINITY: none */
	/*
	 * Closes the books on the watchdog's thread: it must not call other ranks or the team.
	 * `signal` is 0 for the budget, `what` is main's activity. Returns the exit status.
	 */
	int (*cut)(void *argument, int signal, const char *what);
	void (*leave)(void); /* the last call, when the books are closed; NULL: none */
	void *argument;
};

/* Catches watchdog_signals() from now on. -1 with errno set: no thread could be created. */
int watchdog_start(const struct watch *);
/* Ends the thread, but goes on catching signals. */
void watchdog_stop(void);

/*
 * The signals that end a run: SIGINT, SIGHUP, SIGQUIT, SIGTERM, and what batch systems and limits
 * send. The first three do not if they were ignored when the program was started, as by nohup.
 */
void watchdog_signals(sigset_t *);

/* The first signal caught; 0: none. May be called by any thread. */
int watchdog_signal(void);
const char *watchdog_signal_name(int signal); /* NULL: not a signal that is caught */

/* Around anything that may take long. They nest; without a watchdog they do nothing. */
void watchdog_away(const char *what);
void watchdog_back(void);

#endif
