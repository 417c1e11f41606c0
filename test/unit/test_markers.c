/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regions for LIKWID, with a stand-in for its library (test/stand-in/likwid.c) that aborts on calls
 * that LIKWID could not bear; and tests that the stand-in aborts.
 */
#include "config.h"

#include <libgen.h>
#include <limits.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "count/likwid.h"
#include "count/markers.h"
#include "machine/threads/team.h"

enum { THREADS = 3 };

static const char *const names[] = { "numa_static_0123456789abcdef", "numa by-thread:1,2 \"x\"",
				     "never_entered" };
enum { NAMES = sizeof(names) / sizeof(*names) };

struct wanted {
	unsigned threads; /* that enter */
	int cpu[2];
	const char *library, *mode;
	unsigned groups;
	struct markers *markers;
	char *why;
};

static char folder[PATH_MAX], file[] = "/tmp/locus-markers-XXXXXX";

static bool nowhere; /* no library is found */

/* In the place of the C library's, so that a test can hide LIKWID. */
void *dlopen(const char *path, int flags)
{
	void *(*real)(const char *, int), *symbol = dlsym(RTLD_NEXT, "dlopen");

	memcpy(&real, &symbol, sizeof(real));
	return real(nowhere ? "/nowhere/liblikwid.so" : path, flags);
}

static bool loaded(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[PATH_MAX + 128];
	bool found = false;

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		found |= strstr(line, "liblikwid") != NULL;
	fclose(maps);
	return found;
}

/* Two CPUs that this process may use, or the only one. */
static unsigned cpus(int cpu[2])
{
	cpu_set_t set;
	unsigned n = 0;

	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	for (int i = 0; i < CPU_SETSIZE && n < 2; i++)
		if (CPU_ISSET(i, &set))
			cpu[n++] = i;
	return n;
}

/* Sets the environment as likwid-perfctr -C does. */
static void wrap(const int cpu[2], unsigned n, const char *events)
{
	char list[32];

	snprintf(list, sizeof(list), n > 1 ? "%d,%d" : "%d", cpu[0], cpu[1]);
	setenv("LIKWID_MODE", "1", 1);
	setenv("LIKWID_FILEPATH", file, 1);
	setenv("LIKWID_EVENTS", events, 1);
	setenv("LIKWID_THREADS", list, 1);
	setenv("LIKWID_PIN", list, 1);
	setenv("LIKWID_STANDIN", "early", 1); /* some OpenMP keeps the threads of the last test */
}

static int unwrap(void **state)
{
	static const char *const set[] = { "LIKWID_MODE",    "LIKWID_FILEPATH", "LIKWID_EVENTS",
					   "LIKWID_THREADS", "LIKWID_PIN",	"LIKWID_STANDIN",
					   "LD_PRELOAD" };

	(void)state;
	for (size_t i = 0; i < sizeof(set) / sizeof(*set); i++)
		unsetenv(set[i]);
	unlink(file);
	return 0;
}

static void seat(struct team *t, const int cpu[2], unsigned threads)
{
	struct place place[2] = { { cpu[0], 0 }, { cpu[1], 0 } };
	unsigned culprit;

	assert_int_equal(team_seat(t, place, threads, &culprit), 0);
}

struct masks {
	cpu_set_t of[THREADS];
};

/* Workers have no numbers before they sit. */
static void ask(void *argument, struct worker *w)
{
	struct masks *m = argument;
	int number = omp_get_thread_num();

	(void)w;
	assert_int_equal(sched_getaffinity(0, sizeof(m->of[number]), &m->of[number]), 0);
}

static void spend(void *argument, struct worker *w)
{
	(void)argument, (void)w;
	usleep(1000);
}

static int entered(struct team *t, void *argument)
{
	const struct wanted *want = argument;
	struct masks before, after;
	struct markers *m;
	char *why;

	memset(&before, 0, sizeof(before));
	memset(&after, 0, sizeof(after));
	team_run(t, ask, &before);
	m = want->markers;
	assert_true(markers_register(m, names, NAMES, &why));
	assert_null(why);
	team_run(t, ask, &after);
	assert_memory_equal(&before, &after, sizeof(before)); /* though LIKWID pins who comes */
	assert_string_equal(markers_library(m), want->library);
	assert_string_equal(markers_mode(m), want->mode);
	assert_int_equal(markers_groups(m), want->groups);
	assert_int_equal(markers_regions(m), NAMES);
	assert_string_equal(markers_name(m, 1), "numa_by_thread_1_2__x_");
	seat(t, want->cpu, want->threads);
	for (unsigned i = 0; i < 5; i++) {
		markers_begin(m, t, 0);
		team_run(t, spend, NULL);
		markers_end(m, t, 0);
	}
	seat(t, want->cpu + want->threads - 1,
	     1); /* on the last CPU alone, of which LIKWID's file knows least */
	markers_begin(m, t, 1);
	markers_end(m, t, 1);
	assert_int_equal(markers_calls(m, 0), 5);
	assert_int_equal(markers_calls(m, 1), 1);
	assert_int_equal(markers_calls(m, 2), 0);
	assert_true(markers_seconds(m, 0) >= 5e-3);
	assert_true(markers_cover(m, want->cpu[0]) && !markers_cover(m, CPU_SETSIZE - 1) &&
		    !markers_cover(m, -1));
	for (unsigned i = 0; i < NAMES; i++)
		assert_true(markers_counted(m, i, want->cpu[0]) &&
			    markers_counted(m, i, want->cpu[want->threads - 1]));
	markers_close(m);
	return 7;
}

/* As the program does it: LIKWID begins before the team is there. */
static int with_team(int (*body)(struct team *, void *), struct wanted *want)
{
	cpu_set_t before, after;

	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	want->markers = markers_open(&want->why);
	assert_non_null(want->markers);
	assert_null(want->why);
	assert_int_equal(sched_getaffinity(0, sizeof(after), &after), 0);
	assert_memory_equal(&before, &after, sizeof(before));
	return team_open(THREADS, body, want);
}

/* Calls of a region on a CPU in LIKWID's file, -1: no such line. */
static int calls_in_file(const char *tag, int cpu)
{
	FILE *f = fopen(file, "r");
	char line[256], found[128];
	int number = -1, id, group, on, calls, answer = -1;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%d:%127s", &id, found) == 2 && !strcmp(found, tag))
			number = id;
		else if (!strchr(line, ':') &&
			 sscanf(line, "%d %d %d %d", &id, &group, &on, &calls) == 4 &&
			 id == number && on == cpu)
			answer = calls;
	}
	fclose(f);
	return answer;
}

static void test_every_region_is_entered_and_left_by_the_book(void **state)
{
	struct wanted want = { .library = "liblikwid.so.5.2", .mode = "accessdaemon", .groups = 1 };

	(void)state;
	want.threads = cpus(want.cpu);
	wrap(want.cpu, want.threads, "MEM");
	assert_int_equal(with_team(entered, &want), 7);
	assert_int_equal(calls_in_file("numa_static_0123456789abcdef-0", want.cpu[0]), 5);
	assert_int_equal(
		calls_in_file("numa_static_0123456789abcdef-0", want.cpu[want.threads - 1]), 5);
	assert_int_equal(calls_in_file("numa_by_thread_1_2__x_-0", want.cpu[want.threads - 1]), 1);
	assert_int_equal(calls_in_file("never_entered-0", want.cpu[0]), -1);
}

static void test_several_groups_take_turns(void **state)
{
	struct wanted want = { .library = "liblikwid.so.5.2", .mode = "accessdaemon", .groups = 3 };

	(void)state;
	want.threads = cpus(want.cpu);
	wrap(want.cpu, want.threads, "MEM|CLOCK|L3");
	assert_int_equal(with_team(entered, &want), 7);
	assert_int_equal(calls_in_file("numa_static_0123456789abcdef-0", want.cpu[0]), 2);
	assert_int_equal(calls_in_file("numa_static_0123456789abcdef-1", want.cpu[0]), 2);
	assert_int_equal(calls_in_file("numa_static_0123456789abcdef-2", want.cpu[0]), 1);
	assert_int_equal(calls_in_file("numa_by_thread_1_2__x_-0", want.cpu[want.threads - 1]), 1);
}

/* LIKWID counts on one CPU of two: regions are entered only there. */
static int entered_in_part(struct team *t, void *argument)
{
	const struct wanted *want = argument;
	struct markers *m = want->markers;
	char *why;

	assert_true(markers_register(m, names, 1, &why));
	seat(t, want->cpu, want->threads);
	markers_begin(m, t, 0);
	markers_end(m, t, 0);
	assert_string_equal(markers_cpus(m), getenv("LIKWID_THREADS"));
	assert_false(want->threads > 1 && markers_cover(m, want->cpu[1]));
	markers_close(m);
	return 7;
}

static void test_only_where_likwid_counts(void **state)
{
	struct wanted want = { 0 };
	char lua[32];

	(void)state;
	want.threads = cpus(want.cpu);
	wrap(want.cpu, 1, "MEM");
	snprintf(lua, sizeof(lua), "%d.0", want.cpu[0]); /* as Lua may write a number */
	setenv("LIKWID_THREADS", lua, 1);
	unsetenv("LIKWID_PIN");
	assert_int_equal(with_team(entered_in_part, &want), 7);
	assert_int_equal(calls_in_file("numa_static_0123456789abcdef-0", want.cpu[0]), 1);
}

/* LIKWID can't be used: *why says why. */
static void refused(char **why)
{
	assert_null(markers_open(why));
}

static void test_nobody_asked(void **state)
{
	char *why;

	(void)state;
	assert_false(perfctr_asked());
	refused(&why);
	assert_null(why);
	assert_false(loaded());
}

static void copy_file(const char *from, const char *to)
{
	FILE *in = fopen(from, "r"), *out = fopen(to, "w");
	char block[4096];
	size_t n;

	assert_true(in && out);
	while ((n = fread(block, 1, sizeof(block), in)))
		assert_int_equal(fwrite(block, 1, n, out), n);
	fclose(in);
	assert_int_equal(fclose(out), 0);
}

/*
 * Puts a LIKWID into a folder of its own, and its library that pins into LD_PRELOAD, as
 * likwid-perfctr -C does.
 */
static void install(const char *version, char *library, char *folder_of_it)
{
	char standin[PATH_MAX + 32], preload[PATH_MAX];

	assert_non_null(mkdtemp(folder_of_it));
	snprintf(standin, sizeof(standin), "%s/liblikwid.so.5.2", folder);
	snprintf(library, PATH_MAX, "%s/liblikwid.so.%s", folder_of_it, version);
	snprintf(preload, sizeof(preload),
		 "/nowhere/libother.so:%s/liblikwidpin.so.%s:/nowhere/third.so", folder_of_it,
		 version);
	copy_file(standin, library);
	setenv("LD_PRELOAD", preload, 1);
}

/* What the doctor asks: the library's names are tried in the order in which it is loaded. */
static void test_what_would_be_loaded(void **state)
{
	char home[] = "/tmp/locus-likwid-XXXXXX", library[PATH_MAX], *found, *why;

	(void)state;
	found = likwid_available(&why);
	assert_non_null(found);
	assert_null(why);
	assert_string_equal(found, "liblikwid.so.5.2");
	free(found);
	install("5.0", library, home);
	found = likwid_available(&why);
	assert_non_null(found);
	assert_string_equal(found, "liblikwid.so.5.0");
	free(found);
	assert_false(loaded());
	unlink(library);
	rmdir(home);
}

/* Under likwid-perfctr, or where the doctor asks. */
static void test_no_library(void **state)
{
	struct wanted want = { 0 };

	(void)state;
	cpus(want.cpu);
	wrap(want.cpu, 1, "MEM");
	nowhere = true;
	for (unsigned i = 0; i < 2; i++) {
		if (i)
			assert_null(likwid_available(&want.why));
		else
			refused(&want.why);
		assert_non_null(want.why);
		assert_non_null(strstr(want.why, "could not be loaded (/nowhere/liblikwid.so: "));
		assert_non_null(strstr(want.why, "LD_LIBRARY_PATH"));
		free(want.why);
	}
	nowhere = false;
	assert_false(loaded());
}

static void test_left_out(void **state)
{
	struct wanted want = { 0 };

	(void)state;
	cpus(want.cpu);
	wrap(want.cpu, 1, "MEM");
	assert_true(perfctr_asked()); /* all the same: LIKWID has the counters */
	refused(&want.why);
	assert_non_null(strstr(want.why, "--without-likwid"));
	free(want.why);
	assert_null(likwid_available(&want.why));
	assert_non_null(strstr(want.why, "--without-likwid"));
	free(want.why);
	assert_false(loaded());
}

static void test_half_an_environment(void **state)
{
	static const char *const needed[] = { "LIKWID_FILEPATH", "LIKWID_EVENTS",
					      "LIKWID_THREADS" };

	(void)state;
	for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++) {
		struct wanted want = { 0 };

		cpus(want.cpu);
		wrap(want.cpu, 1, "MEM");
		unsetenv(needed[i]);
		refused(&want.why);
		assert_non_null(want.why);
		assert_non_null(strstr(want.why, needed[i]));
		assert_non_null(strstr(want.why, "unset LIKWID_MODE"));
		free(want.why);
		assert_false(loaded());
	}
}

static int not_registered(struct team *t, void *argument)
{
	struct wanted *want = argument;

	(void)t;
	assert_false(markers_register(want->markers, names, NAMES, &want->why));
	markers_close(want->markers);
	return 7;
}

static void test_a_library_that_does_not_begin(void **state)
{
	struct wanted want = { 0 };

	(void)state;
	cpus(want.cpu);
	wrap(want.cpu, 1, "MEM");
	setenv("LIKWID_STANDIN", "refuse", 1);
	assert_int_equal(with_team(not_registered, &want), 7);
	assert_non_null(want.why);
	assert_non_null(strstr(want.why, "liblikwid.so.5.2 could not begin to count"));
	free(want.why);
}

/* LIKWID reads "not a number" where it does not know an event. */
static void test_events_that_nobody_can_read(void **state)
{
	struct wanted want = { 0 };

	(void)state;
	cpus(want.cpu);
	wrap(want.cpu, 1, "NONSENSE:PMC0");
	setenv("LIKWID_STANDIN", "early unreadable", 1);
	assert_int_equal(with_team(not_registered, &want), 7);
	assert_non_null(want.why);
	assert_non_null(
		strstr(want.why,
		       "no event of LIKWID_EVENTS (NONSENSE:PMC0) can be read: likwid-perfctr -e"));
	free(want.why);
}

/* CPU 1023, which no machine of a test has. */
static void test_a_cpu_that_is_not_ours(void **state)
{
	struct wanted want = { 0 };

	(void)state;
	cpus(want.cpu);
	wrap((int[]){ want.cpu[0], CPU_SETSIZE - 1 }, 2, "MEM");
	assert_int_equal(with_team(not_registered, &want), 7);
	assert_non_null(want.why);
	assert_non_null(strstr(want.why, "but this process may not use CPU 1023"));
	free(want.why);
}

/* One CPU reads zero: the region is not counted there. A socket's counters can't tell that. */
static int entered_and_zero(struct team *t, void *argument)
{
	struct wanted *want = argument;
	const bool core =
		strstr(getenv("LIKWID_EVENTS"), "PMC") || strstr(getenv("LIKWID_EVENTS"), "MEM");
	const int last = want->cpu[want->threads - 1];
	struct markers *m = want->markers;

	assert_true(markers_register(m, names, NAMES, &want->why));
	seat(t, want->cpu, want->threads);
	assert_true(markers_counted(m, 0, last)); /* not entered yet */
	for (unsigned i = 0; i < 2; i++) {
		markers_begin(m, t, 0);
		markers_end(m, t, 0);
	}
	assert_int_equal(markers_counted(m, 0, last), !core);
	assert_int_equal(markers_counted(m, 0, want->cpu[0]), want->threads > 1 || !core);
	assert_true(markers_counted(m, 1, last) && markers_counted(m, 0, -1));
	markers_close(m);
	return 7;
}

static void test_zeros_are_noticed(void **state)
{
	static const char *const groups[] = { "MEM", "INSTR:PMC0|CAS:MBOX0C0", "CAS:MBOX0C0" };

	for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++) {
		struct wanted want = { 0 };
		char words[32];

		want.threads = cpus(want.cpu);
		wrap(want.cpu, want.threads, groups[i]);
		snprintf(words, sizeof(words), "early zero=%d", want.cpu[want.threads - 1]);
		setenv("LIKWID_STANDIN", words, 1);
		assert_int_equal(with_team(entered_and_zero, &want), 7);
		unwrap(state);
	}
}

static void test_the_library_beside_the_one_that_pins(void **state)
{
	char home[] = "/tmp/locus-likwid-XXXXXX", library[PATH_MAX];
	struct wanted want = { .library = "liblikwid.so.5.3", .mode = "direct", .groups = 2 };

	(void)state;
	want.threads = cpus(want.cpu);
	wrap(want.cpu, want.threads, "MEM|CLOCK");
	setenv("LIKWID_MODE", "0", 1);
	install("5.3", library, home);
	assert_int_equal(with_team(entered, &want), 7);
	unlink(library);
	rmdir(home);
	want.library = "liblikwid.so.5.2"; /* no such file: the next in line */
	setenv("LD_PRELOAD", "/nowhere/liblikwidpin.so.5.9", 1);
	assert_int_equal(with_team(entered, &want), 7);
}

/* Any library that is none of LIKWID's. */
static void test_a_library_without_regions(void **state)
{
	char home[] = "/tmp/locus-likwid-XXXXXX", library[PATH_MAX];
	struct wanted want = { 0 };
	Dl_info other;

	(void)state;
	cpus(want.cpu);
	wrap(want.cpu, 1, "MEM");
	install("5.0", library, home);
	assert_true(dladdr(dlsym(RTLD_DEFAULT, "_cmocka_run_group_tests"), &other));
	copy_file(other.dli_fname, library);
	refused(&want.why);
	assert_non_null(strstr(want.why, "lacks likwid_markerInit"));
	free(want.why);
	unlink(library);
	rmdir(home);
}

/* Since 5.5 LIKWID adds up what all groups counted in a region: so only one group counts. */
static void test_groups_that_are_not_kept_apart(void **state)
{
	char home[] = "/tmp/locus-likwid-XXXXXX", library[PATH_MAX];
	struct wanted want = { .library = "liblikwid.so.5.5", .mode = "perf_event", .groups = 1 };

	(void)state;
	want.threads = cpus(want.cpu);
	wrap(want.cpu, want.threads, "MEM|CLOCK");
	setenv("LIKWID_MODE", "-1", 1);
	install("5.5", library, home);
	assert_int_equal(with_team(entered, &want), 7);
	assert_int_equal(calls_in_file("numa_static_0123456789abcdef-0", want.cpu[0]), 5);
	unlink(library);
	rmdir(home);
}

/* --- the stand-in --- */

struct standin {
	void (*init)(void), (*thread_init)(void), (*next_group)(void), (*close)(void),
		(*finalize)(void);
	int (*register_region)(const char *), (*start)(const char *), (*stop)(const char *),
		(*reset)(const char *);
	void (*get)(const char *, int *, double *, double *, int *);
};

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
}

static void begin(const struct standin *s)
{
	s->init();
	s->thread_init();
	s->register_region("a");
	s->register_region("b");
}

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

static _Atomic bool sits;

static void *sit(void *cpu)
{
	pin(*(int *)cpu);
	sits = true;
	pause();
	return NULL;
}

static int main_cpu(void)
{
	cpu_set_t set;

	sched_getaffinity(0, sizeof(set), &set);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &set))
			return cpu;
	return -1;
}

/* A thread older than perf_event's counters, which only new threads inherit. */
__attribute__((unused)) static void there_before(const struct standin *s)
{
	static int cpu;
	pthread_t thread;

	cpu = main_cpu();
	setenv("LIKWID_STANDIN", "", 1);
	pthread_create(&thread, NULL, sit, &cpu);
	while (!sits)
		usleep(1000);
	begin(s);
	s->start("a");
}

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

/* The dynamic linker looks at LD_LIBRARY_PATH once, when a program begins. */
static void begin_again(char *const argv[])
{
	char own[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);

	if (n <= 0)
		return;
	own[n] = 0;
	if (snprintf(folder, sizeof(folder), "%.*s/likwid", PATH_MAX - 16, dirname(dirname(own))) <
	    0)
		return;
	if (getenv("LD_LIBRARY_PATH") && !strcmp(getenv("LD_LIBRARY_PATH"), folder))
		return;
	setenv("LD_LIBRARY_PATH", folder, 1);
	execv("/proc/self/exe", argv);
}

int main(int argc, char *argv[])
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_nobody_asked, unwrap),
		cmocka_unit_test_teardown(test_what_would_be_loaded, unwrap),
		cmocka_unit_test_teardown(test_no_library, unwrap),
		cmocka_unit_test_teardown(test_half_an_environment, unwrap),
		cmocka_unit_test_teardown(test_every_region_is_entered_and_left_by_the_book,
					  unwrap),
		cmocka_unit_test_teardown(test_several_groups_take_turns, unwrap),
		cmocka_unit_test_teardown(test_only_where_likwid_counts, unwrap),
		cmocka_unit_test_teardown(test_a_library_that_does_not_begin, unwrap),
		cmocka_unit_test_teardown(test_events_that_nobody_can_read, unwrap),
		cmocka_unit_test_teardown(test_a_cpu_that_is_not_ours, unwrap),
		cmocka_unit_test_teardown(test_zeros_are_noticed, unwrap),
		cmocka_unit_test_teardown(test_the_library_beside_the_one_that_pins, unwrap),
		cmocka_unit_test_teardown(test_a_library_without_regions, unwrap),
		cmocka_unit_test_teardown(test_groups_that_are_not_kept_apart, unwrap),
		cmocka_unit_test_teardown(test_the_stand_in_notices, unwrap),
	};
	const struct CMUnitTest without[] = { cmocka_unit_test_teardown(test_nobody_asked, unwrap),
					      cmocka_unit_test_teardown(test_left_out, unwrap) };
	int number;

	(void)argc;
	begin_again(argv);
	number = mkstemp(file);
	if (number >= 0)
		close(number);
#ifdef LOCUS_WITHOUT_LIKWID
	(void)tests;
	return cmocka_run_group_tests(without, NULL, NULL);
#else
	(void)without;
	return cmocka_run_group_tests(tests, NULL, NULL);
#endif
}
