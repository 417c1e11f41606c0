/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "machine/clock.h"
#include "machine/watchdog.h"

/*
 * How long closing the books may take: LEAST_LOOKS, one each half second, since a disk or a reader
 * may hang. On a busy machine, or under a quota, the thread with the books may only have waited for
 * a CPU: while it works, or would with a CPU, it has up to MOST_LOOKS.
 */
enum { LEAST_LOOKS = 2, MOST_LOOKS = 20 };
static const struct itimerval each_look = { { 0, 500000 }, { 0, 500000 } }, no_look;
#define IDLE 1e-4 /* s of CPU time between looks: a thread that hangs uses less */

/* Written by the signal handler, which has no other access. */
enum { SIGNALLED = 128 };

/* The exit status after signal n is 128 + n. */
static const struct {
	int number;
	const char *name;
	bool ignorable;
} signals[] = {
	{ SIGINT, "SIGINT", true },    { SIGHUP, "SIGHUP", true },    { SIGTERM, "SIGTERM", false },
	{ SIGXCPU, "SIGXCPU", false }, { SIGUSR1, "SIGUSR1", false }, { SIGUSR2, "SIGUSR2", false },
	{ SIGALRM, "SIGALRM", false }, { SIGQUIT, "SIGQUIT", true },
};
enum { SIGNALS = sizeof(signals) / sizeof(*signals) };

/*
 * Signals from users, batch systems and limits; SIGALRM from a timer that was set before exec().
 * SIGQUIT, a terminal's ^\, ends a run in the same order, without a core dump: SIGABRT gives one.
 * Three may stay ignored: nohup ignores SIGHUP, a script's background SIGINT and SIGQUIT. The
 * others announce the end of the job: if a wrapper ignores them, to outlive locus, locus should
 * still obey them.
 */
static struct {
	_Atomic int signal; /* the first one caught */
	int wake;	    /* an eventfd on which the watchdog sleeps */
} caught = { 0, -1 };

static struct {
	struct watch watch;
	pthread_t thread;
	bool on;
	_Atomic bool over, late; /* main has finished; main has not come back in time */
	pthread_mutex_t books;
	unsigned away;		 /* nested calls of watchdog_away(); only main uses it */
	const char *what;	 /* the activity of the outermost call; protected by `books` */
	_Atomic clockid_t clock; /* CPU time of the thread that has the books */
	_Atomic double used;	 /* s on this clock at the last look */
	/* the watchdog's /proc/thread-self/stat; -1: it does not have the books */
	_Atomic int stat;
	_Atomic unsigned looks;
	_Atomic int status; /* of the exit, when the books are closed; before: -1 */
} dog = { .books = PTHREAD_MUTEX_INITIALIZER, .stat = -1, .status = -1 };

static void wake(void)
{
	const uint64_t one = 1;

	(void)!write(caught.wake, &one, sizeof(one));
}

static void catch (int signal)
{
	const int error = errno;
	int none = 0;

	if (atomic_compare_exchange_strong(&caught.signal, &none, signal))
		wake();
	errno = error;
}

/* Whether the thread that has the books has used CPU time since the last look. */
static bool has_worked(void)
{
	struct timespec t;
	double now;

	if (clock_gettime(atomic_load(&dog.clock), &t))
		return false;
	now = (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
	return now - atomic_exchange(&dog.used, now) > IDLE;
}

/*
 * Whether the watchdog would run if it got a CPU: it does not wait for a disk, a reader or a lock.
 * Under a quota (cpu.max), other threads may use up the time for seconds.
 */
static bool is_ready(void)
{
	char text[64] = ""; /* "7 (locus) R ...": the state follows the name */
	const ssize_t n = pread(atomic_load(&dog.stat), text, sizeof(text) - 3, 0);
	const char *end = n > 0 ? memrchr(text, ')', (size_t)n) : NULL;

	return end && end[1] == ' ' && end[2] == 'R';
}

/*
 * Handles SIGALRM, at each look: exits if the books cannot be closed, or others told, in time. A
 * record that is not closed has whole lines, but no end line.
 */
static void look(int number)
{
	static const char words[] =
		"locus: ended before its record could be closed: its last lines are missing\n";
	const int signal = atomic_load(&caught.signal), error = errno;
	const unsigned looks = atomic_fetch_add(&dog.looks, 1) + 1;
	const int status = atomic_load(&dog.status);

	(void)number;
	if ((has_worked() || is_ready() || looks < LEAST_LOOKS) && looks < MOST_LOOKS) {
		errno = error;
		return;
	}
	if (status >= 0)
		_exit(status);
	(void)!write(STDERR_FILENO, words, sizeof(words) - 1);
	_exit(signal ? SIGNALLED + signal : EXIT_FAILURE);
}

/* s in ms, for poll(); -1: forever. */
static int milliseconds(double s)
{
	if (isinf(s))
		return -1;
	return (int)fmin(INT_MAX, fmax(0, ceil(s * 1e3)));
}

/* True when main is late; false when it has finished. */
static bool wait_until_late(void)
{
	struct pollfd event = { .fd = caught.wake, .events = POLLIN };
	double end = dog.watch.deadline, now = clock_now();
	bool told = false;
	uint64_t times;

	for (; now < end; now = clock_now()) {
		if (poll(&event, 1, milliseconds(end - now)) > 0)
			(void)!read(caught.wake, &times, sizeof(times));
		if (atomic_load(&dog.over))
			return false;
		if (!told && atomic_load(&caught.signal)) {
			told = true;
			end = fmin(end, clock_now() + dog.watch.grace);
		}
	}
	return true;
}

/* From now on this thread has the books, and should be working. */
static void look_at_me(void)
{
	clockid_t clock;

	atomic_store(&dog.used, 0);
	if (!pthread_getcpuclockid(pthread_self(), &clock))
		atomic_store(&dog.clock, clock);
}

static void *keep_watch(void *unused)
{
	struct sigaction action = { .sa_handler = look, .sa_flags = SA_RESTART };
	int status;

	(void)unused;
	if (!wait_until_late())
		return NULL;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &each_look, NULL);
	atomic_store(&dog.late, true);
	pthread_mutex_lock(&dog.books);
	look_at_me();
	atomic_store(&dog.stat, open("/proc/thread-self/stat", O_RDONLY | O_CLOEXEC));
	if (!atomic_load(&dog.over)) {
		status = dog.watch.cut(dog.watch.argument, atomic_load(&caught.signal), dog.what);
		atomic_store(&dog.status, status);
		if (dog.watch.leave)
			dog.watch.leave();
		/* ThreadSanitizer's _exit() takes a second */
		setitimer(ITIMER_REAL, &no_look, NULL);
		_exit(status);
	}
	setitimer(ITIMER_REAL, &no_look, NULL);
	pthread_mutex_unlock(&dog.books);
	return NULL;
}

/* Starts the watchdog with signals blocked: only the eventfd wakes it. */
static int start_thread(void)
{
	sigset_t all, before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&dog.thread, NULL, keep_watch, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error;
}

static bool is_ignored(int signal)
{
	struct sigaction now;

	return !sigaction(signal, NULL, &now) && now.sa_handler == SIG_IGN;
}

void watchdog_signals(sigset_t *set)
{
	sigemptyset(set);
	for (unsigned i = 0; i < SIGNALS; i++)
		if (!signals[i].ignorable || !is_ignored(signals[i].number))
			sigaddset(set, signals[i].number);
}

/* A second signal changes nothing: timeout(1) and batch systems send it twice. */
static void catch_signals(void)
{
	const struct sigaction action = { .sa_handler = catch };
	sigset_t set;

	watchdog_signals(&set);
	for (unsigned i = 0; i < SIGNALS; i++)
		if (sigismember(&set, signals[i].number))
			sigaction(signals[i].number, &action, NULL);
}

int watchdog_start(const struct watch *watch)
{
	int error;

	atomic_store(&caught.signal, 0);
	atomic_store(&dog.over, false);
	atomic_store(&dog.late, false);
	atomic_store(&dog.looks, 0);
	dog.watch = *watch;
	dog.away = 0;
	dog.what = "beginning";
	if (caught.wake < 0)
		caught.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	catch_signals();
	if (caught.wake < 0)
		return -1;
	pthread_mutex_lock(&dog.books);
	look_at_me();
	error = start_thread();
	dog.on = !error;
	if (dog.on)
		return 0;
	pthread_mutex_unlock(&dog.books);
	errno = error;
	return -1;
}

/* Signals stay caught: a repeated one must not disturb an orderly end. */
void watchdog_stop(void)
{
	if (!dog.on)
		return;
	atomic_store(&dog.over, true);
	wake();
	pthread_mutex_unlock(&dog.books);
	pthread_join(dog.thread, NULL);
	dog.on = false;
}

int watchdog_signal(void)
{
	return atomic_load(&caught.signal);
}

const char *watchdog_signal_name(int signal)
{
	for (unsigned i = 0; i < SIGNALS; i++)
		if (signals[i].number == signal)
			return signals[i].name;
	return NULL;
}

void watchdog_away(const char *what)
{
	if (!dog.on || dog.away++)
		return;
	dog.what = what;
	pthread_mutex_unlock(&dog.books);
}

void watchdog_back(void)
{
	const int error = errno; /* set while main was away */

	if (dog.on && --dog.away == 0) {
		while (atomic_load(
			&dog.late)) /* the books are the watchdog's now: do not race it for them */
			pause();
		pthread_mutex_lock(&dog.books);
	}
	errno = error;
}
