/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ends a run from outside: a signal, or its time budget. The main thread looks for both
 * between samples. A sleeping thread, the watchdog, ends the program where main does not get to
 * look in time.
 *
 * "The books" are all that the watchdog needs to close the record: the record itself, the table,
 * the series of samples. The main thread holds their lock, and releases it only while it is away:
 * where something may take long that changes none of them, such as a kernel. So the watchdog finds
 * whole lines and whole batches, and main, once back, waits for the lock until the process is gone.
 *
 * There is one watchdog, for there is one process to end. Only the main thread calls these
 * functions.
 */
#ifndef LOCUS_WATCHDOG_H
#define LOCUS_WATCHDOG_H

struct watch {
	double grace;	 /* s from a signal until main has to be back */
	double deadline; /* the same for the budget: clock_now(), INFINITY: none */
	/*
	 * Closes the books on the watchdog's thread: it must not call other ranks or the team.
	 * `signal` is 0 for the budget, `what` is what main was doing. Returns the exit status.
	 */
	int (*cut)(void *argument, int signal, const char *what);
	void *argument;
};

/*
 * Catches SIGINT, SIGTERM and SIGHUP from now on. -1 with errno set: there is no thread to be had.
 */
int watchdog_start(const struct watch *);
/* Ends the thread, but goes on catching signals. */
void watchdog_stop(void);

/* The signal that asked us to end; 0: none did. Any thread may ask. */
int watchdog_signal(void);
const char *watchdog_signal_name(int signal); /* NULL: none that is caught */

/* Around what may take long. They nest; without a watchdog they do nothing. */
void watchdog_away(const char *what);
void watchdog_back(void);

#endif
