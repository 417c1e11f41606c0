/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in for LIKWID's library aborts on calls that would break LIKWID. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "perfctr.h"

static void nested(const struct standin *s)
{
	begin(s);
	s->start("a");
	s->start("b");
}

static void unregistered(const struct standin *s)
{
	begin(s);
	s->start("c");
}

static void late(const struct standin *s)
{
	begin(s);
	s->start("a");
	s->stop("a");
	s->register_region("c");
}

static void left_open(const struct standin *s)
{
	begin(s);
	s->start("a");
	s->close();
}

static void left_twice(const struct standin *s)
{
	begin(s);
	s->start("a");
	s->stop("a");
	s->stop("a");
}

static void never_left(const struct standin *s)
{
	begin(s);
	s->start("a");
	s->stop("a");
	s->close(); /* b was not primed */
}

static void group_inside(const struct standin *s)
{
	begin(s);
	s->start("a");
	s->next_group();
}

static void bad_name(const struct standin *s)
{
	begin(s);
	s->register_region("a b");
}

static void twice(const struct standin *s)
{
	begin(s);
	s->init();
}

static void fine(const struct standin *s)
{
	begin(s);
	for (unsigned i = 0; i < 2; i++) {
		const char *name = i ? "b" : "a";

		s->start(name);
		s->stop(name);
		s->reset(name);
	}
	s->close();
}

static void lost(const struct standin *s)
{
	begin(s);
	s->start("a");
	s->stop("a");
	s->finalize();
}

/* ThreadSanitizer does not support threads that a forked child starts. */
#ifdef __has_feature
#define BELOW_TSAN __has_feature(thread_sanitizer)
#else
#define BELOW_TSAN 0
#endif

static void *start_one(void *standin)
{
	const struct standin *s = standin;

	s->thread_init();
	s->register_region("a");
	s->start("a");
	s->stop("a");
	s->reset("a");
	return NULL;
}

/* Two threads enter a region on one CPU. */
static void one_column(const struct standin *s)
{
	struct standin own = *s;
	pthread_t thread;

	s->init();
	start_one(&own);
	pthread_create(&thread, NULL, start_one, &own);
	pthread_join(thread, NULL);
}

/* A region is entered on one of the two CPUs on which LIKWID counts. */
static void too_few(const struct standin *s)
{
	struct standin own = *s;

	setenv("LIKWID_THREADS", "0,1", 1);
	s->init();
	pin(main_cpu());
	start_one(&own);
	s->close();
}

static int ends_by(void (*misuse)(const struct standin *), const char *library)
{
	int status;
	pid_t child = fork();

	if (!child) {
		void *handle = dlopen(library, RTLD_NOW);
		struct standin s;

		if (!handle || !freopen("/dev/null", "w", stderr))
			_exit(9);
		*(void **)&s.init = dlsym(handle, "likwid_markerInit");
		*(void **)&s.thread_init = dlsym(handle, "likwid_markerThreadInit");
		*(void **)&s.next_group = dlsym(handle, "likwid_markerNextGroup");
		*(void **)&s.close = dlsym(handle, "likwid_markerClose");
		*(void **)&s.register_region = dlsym(handle, "likwid_markerRegisterRegion");
		*(void **)&s.start = dlsym(handle, "likwid_markerStartRegion");
		*(void **)&s.stop = dlsym(handle, "likwid_markerStopRegion");
		*(void **)&s.reset = dlsym(handle, "likwid_markerResetRegion");
		*(void **)&s.get = dlsym(handle, "likwid_markerGetRegion");
		*(void **)&s.finalize = dlsym(handle, "perfmon_finalize");
		signal(SIGABRT, SIG_DFL);
		misuse(&s);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void test_the_stand_in_notices(void **state)
{
	static const char older[] = "liblikwid.so.5.2";
	void (*const misuse[])(const struct standin *) = {
		nested,
		unregistered,
		late,
		left_open,
		left_twice,
		never_left,
		group_inside,
		bad_name,
		twice,
		lost,
#if !BELOW_TSAN
		there_before,
#endif
	};
	char home[] = "/tmp/locus-likwid-XXXXXX", newer[PATH_MAX];
	cpu_set_t before;
	int cpu[2];

	(void)state;
#ifdef LOCUS_WITHOUT_LIKWID
	skip();
#endif
	cpus(cpu);
	wrap(cpu, 1, "MEM|CLOCK");
	install("5.5", newer, home);
	sched_getaffinity(0, sizeof(before), &before);
	pin(cpu[0]);
	assert_int_equal(ends_by(fine, older), 0);
	assert_int_equal(ends_by(fine, newer), 0);
	for (size_t i = 0; i < sizeof(misuse) / sizeof(*misuse); i++)
		assert_int_equal(ends_by(misuse[i], older), 128 + SIGABRT);
	assert_int_equal(ends_by(one_column, newer), 128 + SIGABRT);
	assert_int_equal(ends_by(too_few, newer), 128 + SIGABRT);
	sched_setaffinity(0, sizeof(before), &before);
	unlink(newer);
	rmdir(home);
}

int main(int argc, char *argv[])
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_the_stand_in_notices, unwrap),
	};
	int number;

	(void)argc;
	begin_again(argv);
	number = mkstemp(file);
	if (number >= 0)
		close(number);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
