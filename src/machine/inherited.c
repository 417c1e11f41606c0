/* SPDX-License-Identifier: Apache-2.0 */
#include "machine/inherited.h"

#include <fcntl.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/arithmetic.h"
#include "base/message.h"

/*
 * Opens standard input, output and error if they are closed. Otherwise the next opened file, such
 * as the record, would take their place and get the table or messages. What is printed to a closed
 * output is lost, and so cannot be written.
 */
static void open_streams(void)
{
	for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++)
		if (fcntl(stream, F_GETFD) < 0 &&
		    open("/dev/null", stream == STDOUT_FILENO ? O_RDONLY : O_RDWR) < 0)
			(void)!open("/", O_PATH); /* without /dev: reads and writes then fail */
}

/*
 * A blocked signal would not end a run. Without SIGCHLD's default, children leave no status to wait
 * for. At the limit of a file's size, write() should fail, and not end the process. Any other
 * ignored signal stays ignored; machine/watchdog.c says which of them end a run nevertheless.
 */
static void unblock_signals(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGCHLD, SIG_DFL);
	signal(SIGXFSZ, SIG_IGN);
}

/* Counted events take a descriptor on each thread. */
static void raise_soft_limits(void)
{
	static const __rlimit_resource_t raised[] = { RLIMIT_NOFILE, RLIMIT_NPROC };
	struct rlimit limit;

	for (unsigned i = 0; i < LENGTH(raised); i++) {
		if (getrlimit(raised[i], &limit) || limit.rlim_cur == limit.rlim_max)
			continue;
		limit.rlim_cur = limit.rlim_max;
		setrlimit(raised[i], &limit);
	}
}

/* A run opens 6 files or fewer; for `report`, a limit of 16 is too low, and 24 is enough. */
static bool has_files(void)
{
	enum { LEAST = 32, ENOUGH = 1024 };
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) || files.rlim_cur >= LEAST)
		return true;
	message_own("the limit of open files is %ju, and %d are needed: ulimit -n %d",
		    (uintmax_t)files.rlim_max, LEAST, ENOUGH);
	return false;
}

/*
 * At the hard limit of CPU time the kernel kills; at the soft limit it sends SIGXCPU. So the soft
 * limit is set lower: by the time that all CPUs may use in 3 s while the record is closed, but at
 * most a tenth.
 */
static void warn_before_cpu_limit(void)
{
	const rlim_t busy = 3 * (rlim_t)sysconf(_SC_NPROCESSORS_ONLN);
	struct rlimit time;

	if (getrlimit(RLIMIT_CPU, &time) || time.rlim_max == RLIM_INFINITY || time.rlim_max < 2)
		return;
	time.rlim_cur =
		smaller(time.rlim_cur, time.rlim_max - 1 - smaller(busy, time.rlim_max / 10));
	setrlimit(RLIMIT_CPU, &time);
}

/*
 * The main thread, which also measures, needs about 100 KiB; OpenMP needs up to 9 MiB more, to
 * start the most threads that --threads allows. A stack may grow up to the soft limit of that
 * moment.
 */
static bool raise_stack(void)
{
	enum { LEAST = 256 << 10, ENOUGH = 16 << 20 };
	struct rlimit stack;

	if (getrlimit(RLIMIT_STACK, &stack) || stack.rlim_cur >= ENOUGH)
		return true;
	stack.rlim_cur = smaller(stack.rlim_max, ENOUGH);
	setrlimit(RLIMIT_STACK, &stack);
	if (stack.rlim_cur >= LEAST)
		return true;
	message_own("the limit of the stack is %ju KiB, and %d KiB are needed: ulimit -s %d",
		    (uintmax_t)stack.rlim_max >> 10, LEAST >> 10, ENOUGH >> 10);
	return false;
}

/*
 * Threads get stacks of 1 MiB; our largest frames take 64 KiB. The usual 8 MiB hold huge pages.
 * Where transparent ones are on for all memory, and stacks happen to begin at a multiple of 2 MiB
 * (1 process of 512: the kernel maps them anywhere), the first word on a stack makes 2 MiB of it,
 * for each thread. So where memory is limited, a trial that had been found to fit was killed.
 */
static void set_stacks_of_threads(void)
{
	pthread_attr_t usual;

	if (pthread_getattr_default_np(&usual))
		return;
	if (!pthread_attr_setstacksize(&usual, 1 << 20))
		pthread_setattr_default_np(&usual);
	pthread_attr_destroy(&usual);
}

/* Requests as many threads as a trial asks for, in at least one parallel region. */
static void set_up_openmp(void)
{
	omp_set_dynamic(0);
	if (omp_get_max_active_levels() < 1)
		omp_set_max_active_levels(1);
}

/*
 * Removes variables that set other stack sizes. OpenMP reads them before main(), so the program
 * executes itself anew without them. If that fails, as without /proc, it continues with them.
 */
static void unset_stack_sizes(char **argv)
{
	static const char *const names[] = { "OMP_STACKSIZE", "GOMP_STACKSIZE", "KMP_STACKSIZE" };
	bool any = false;

	for (unsigned i = 0; i < LENGTH(names); i++) {
		any |= getenv(names[i]) != NULL;
		unsetenv(names[i]);
	}
	if (any)
		execv("/proc/self/exe", argv);
}

bool inherited_no_output(void)
{
	const int flags = fcntl(STDOUT_FILENO, F_GETFL);

	return flags < 0 || (flags & O_ACCMODE) == O_RDONLY;
}

bool inherited_prepare(char **argv)
{
	open_streams();
	unblock_signals();
	unset_stack_sizes(argv);
	raise_soft_limits();
	warn_before_cpu_limit();
	set_stacks_of_threads();
	set_up_openmp();
	return has_files() && raise_stack();
}
