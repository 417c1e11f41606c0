/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which provider counts an event, which events share a pass, and which worker counts for a
 * package. The providers are test doubles that share one set of counters; the packages are made
 * up, too.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>

#include "count/counters.h"
#include "count/event.h"
#include "count/papi.h"
#include "count/perf.h"
#include "machine/threads/team.h"
#include "machine/threads/affinity.h"
#include "many_cpus.h"
#include "seats.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* ---- the doubles ---- */

enum { ROOM = 2, CPUS = 8 };

static int package[CPUS];
static unsigned failing; /* the number of the start that fails, from 1; 0: none */
static _Atomic unsigned starts;
static _Thread_local unsigned used; /* counters of this CPU */

int __wrap_package_of(int cpu);
int __wrap_package_of(int cpu)
{
	return package[cpu % CPUS];
}

struct double_set {
	unsigned n, index[8];
	int file[8];
};

static bool find_a(struct wanted *w, const char *prefix)
{
	return !strncmp(w->event.name, prefix, strlen(prefix));
}

static bool software_find(void *library, struct wanted *w, struct reason *why)
{
	(void)library, (void)why;
	return find_a(w, "file");
}

static bool hardware_find(void *library, struct wanted *w, struct reason *why)
{
	(void)library, (void)why;
	return find_a(w, "perf");
}

/* Events "package" (of each package), "package=36" (of one), and "node". */
static bool find_native(void *library, struct wanted *w, struct reason *why)
{
	(void)library;
	reason_set(why, "no such event");
	if (!find_a(w, "papi") && !find_a(w, "package") && !find_a(w, "node"))
		return false;
	w->event.scope = find_a(w, "papi") ? SCOPE_THREAD : SCOPE_PACKAGE;
	w->event.package = find_a(w, "node") ? PACKAGE_NODE : PACKAGE_EACH;
	sscanf(w->event.name, "package=%d", &w->event.package);
	return true;
}

static void stop_files(void *set)
{
	struct double_set *s = set;

	while (s->n--)
		close(s->file[s->n]);
	free(s);
}

/* Each event takes a descriptor. */
static void *start_files(void *library, struct wanted *const *w, unsigned n, int cpu,
			 bool multiplex, const struct wanted **failed, struct reason *why)
{
	struct double_set *s = calloc(1, sizeof(*s));

	(void)library, (void)cpu, (void)multiplex;
	for (*failed = NULL; s->n < n && !*failed; s->n++) {
		s->index[s->n] = w[s->n]->index;
		s->file[s->n] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (s->file[s->n] < 0)
			*failed = w[s->n];
	}
	if (!*failed)
		return s;
	reason_set(why, "%s", strerror(errno));
	s->n--;
	stop_files(s);
	return NULL;
}

/* Events of threads share the ROOM counters of a CPU. */
static void *start_counters(void *library, struct wanted *const *w, unsigned n, int cpu,
			    bool multiplex, const struct wanted **failed, struct reason *why)
{
	struct double_set *s = calloc(1, sizeof(*s));

	(void)library, (void)cpu, (void)multiplex;
	*failed = ++starts == failing ? w[0] : NULL;
	for (; s->n < n && !*failed; s->n++) {
		s->index[s->n] = w[s->n]->index;
		if (w[s->n]->event.scope == SCOPE_THREAD && used + s->n == ROOM)
			*failed = w[s->n];
	}
	if (!*failed) {
		used += n;
		return s;
	}
	reason_set(why, "no counter is free");
	free(s);
	return NULL;
}

static void stop_counters(void *set)
{
	used -= ((struct double_set *)set)->n;
	free(set);
}

static void read_one(void *set, bool after, double *value)
{
	const struct double_set *s = set;

	for (unsigned i = 0; i < s->n && after; i++)
		value[s->index[i]] = 1;
}

const struct provider perf_software = { "perf",	     NULL,     NULL, software_find,
					start_files, read_one, NULL, stop_files };
const struct provider perf_hardware = { "perf",		NULL,	  NULL, hardware_find,
					start_counters, read_one, NULL, stop_counters };
const struct provider papi_provider = { "papi",		NULL,	  NULL, find_native,
					start_counters, read_one, NULL, stop_counters };

static int forget(void **state)
{
	(void)state;
	for (int cpu = 0; cpu < CPUS; cpu++)
		/* four packages of two CPUs, numbered from 36 */
		package[cpu] = 36 + cpu / 2;
	starts = 0;
	failing = used = 0;
	return 0;
}

static struct counters *opened(unsigned n, const char *const *names)
{
	struct counters *c = counters_open(names, n, false);

	assert_non_null(c);
	assert_int_equal(used, 0); /* everything was released */
	return c;
}

#define OPEN(...) \
	opened(LENGTH(((const char *const[]){ __VA_ARGS__ })), (const char *const[]){ __VA_ARGS__ })

/* ---- passes ---- */

/* PAPI and perf share the two counters; events of the kernel need none. */
static void test_providers_share_a_processor(void **state)
{
	struct counters *c = OPEN("papi1", "perf1", "faults", "perf2", "papi2", "file1", "perf3");
	static const unsigned pass[] = { 0, 0, 0, 1, 1, 0, 2 };

	(void)state;
	assert_int_equal(counters_passes(c), 3);
	for (unsigned i = 0; i < LENGTH(pass); i++) {
		assert_null(counters_event(c, i)->why);
		assert_int_equal(counters_event(c, i)->pass, pass[i]);
		assert_true(counters_event(c, i)->proven);
	}
	counters_close(c);
}

static void test_what_does_not_start_alone_does_not_start(void **state)
{
	struct counters *c;

	(void)state;
	failing = 1;
	c = OPEN("perf1", "faults", "perf2");
	assert_null(counters_event(c, 0)->source);
	assert_string_equal(counters_event(c, 0)->why, "no counter is free");
	assert_string_equal(counters_event(c, 2)->source, "perf");
	assert_int_equal(counters_passes(c), 1);
	counters_close(c);
}

/* The event did start alone, so it can be counted; but no probe has shown that it exceeds zero. */
static void test_what_fails_in_the_probe_is_not_proven(void **state)
{
	struct counters *c;

	(void)state;
	failing = 2;
	c = OPEN("papi1");
	assert_string_equal(counters_event(c, 0)->source, "papi");
	assert_null(counters_event(c, 0)->why);
	assert_false(counters_event(c, 0)->proven);
	counters_close(c);
}

/* ---- on a team ---- */

enum { THREADS = 4, EVENTS = 8 };

static void nothing(void *argument, struct worker *w)
{
	(void)argument, (void)w;
}

/* Events beyond the limit of descriptors fail with EMFILE, on any worker. */
static int count_with_few_files(struct team *t, void *argument)
{
	struct counters *c = argument;
	const int next = dup(STDERR_FILENO);
	struct rlimit files;
	bool *duty;

	close(next);
	seat(t, THREADS);
	duty = duties(c, t);
	for (unsigned turn = 0; turn < 2; turn++) {
		counters_start(c, t, 0, duty);
		team_time(t, nothing, NULL, 0, 0, 0);
		for (unsigned i = 0; i < EVENTS; i++) {
			assert_null(counters_failure(c, i));
			for (unsigned w = 0; w < THREADS; w++)
				assert_true(counters_value(c, w, i) == 1);
		}
		counters_stop(c, t);
	}
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	files.rlim_cur = (rlim_t)next + EVENTS;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	counters_start(c, t, 0, duty);
	assert_string_equal(counters_failure(c, EVENTS - 1), strerror(EMFILE));
	counters_stop(c, t);
	free(duty);
	return 0;
}

static void test_descriptors_for_each_event_and_worker(void **state)
{
	struct counters *c =
		OPEN("file0", "file1", "file2", "file3", "file4", "file5", "file6", "file7");

	(void)state;
	assert_int_equal(team_open(THREADS, count_with_few_files, c), 0);
	counters_close(c);
}

/*
 * An event that fails on one worker reports the reason, and the other workers still count it. The
 * next start clears the failure. A smaller team shows no counts of a larger one before it.
 */
static int count_with_failures(struct team *t, void *argument)
{
	struct counters *c = argument;
	bool *duty;

	seat(t, THREADS);
	duty = duties(c, t);
	used = ROOM; /* as if another program had taken the counters of worker 0's CPU */
	counters_start(c, t, 0, duty);
	team_time(t, nothing, NULL, 0, 0, 0);
	assert_string_equal(counters_failure(c, 0), "no counter is free");
	assert_string_equal(counters_failure(c, 1), "no counter is free");
	assert_null(counters_failure(c, 2));
	assert_true(isnan(counters_value(c, 0, 0)) && counters_value(c, 1, 0) == 1 &&
		    counters_value(c, 0, 2) == 1);
	counters_stop(c, t);
	used = 0;
	seat(t, 1);
	counters_start(c, t, 0, (bool[]){ true, true, true });
	team_time(t, nothing, NULL, 0, 0, 0);
	for (unsigned i = 0; i < 3; i++) {
		assert_null(counters_failure(c, i));
		assert_true(counters_value(c, 0, i) == 1 && isnan(counters_value(c, 1, i)));
	}
	counters_stop(c, t);
	free(duty);
	return 0;
}

static void test_a_failure_is_of_its_start(void **state)
{
	struct counters *c = OPEN("papi1", "perf1", "file1");

	(void)state;
	assert_int_equal(team_open(THREADS, count_with_failures, c), 0);
	counters_close(c);
}

/* ---- packages ---- */

enum { MOST_RANKS = 4 };

static struct {
	unsigned ranks;
	struct place place[MOST_RANKS][THREADS];
} seated;

/*
 * Replaces the maximum over ranks: x[cpu] is -(lowest rank) with a worker on that CPU, and the last
 * element is the same for the node.
 */
static void most_host(double *x, size_t n)
{
	const unsigned cpus = cpuset_room();

	assert_int_equal(n, cpus + 1);
	for (unsigned rank = 0; rank < seated.ranks; rank++) {
		x[cpus] = fmax(x[cpus], -(double)rank);
		for (unsigned i = 0; i < THREADS; i++)
			x[seated.place[rank][i].cpu] =
				fmax(x[seated.place[rank][i].cpu], -(double)rank);
	}
}

enum { ITS_OWN, EACH, FIRST, ABSENT, NODE, DUTIES };

static void check_duties(struct counters *c)
{
	unsigned counts[DUTIES] = { 0 }, packages = 0;
	bool of[CPUS] = { false }, sits[CPUS] = { false };

	for (unsigned rank = 0; rank < seated.ranks; rank++) {
		const struct place *place = seated.place[rank];
		bool *duty = counters_duties(c, place, THREADS, rank,
					     seated.ranks > 1 ? most_host : NULL);

		assert_non_null(duty);
		for (unsigned i = 0; i < THREADS; i++) {
			const unsigned mine = (unsigned)package_of(place[i].cpu) - 36;

			sits[mine] = true;
			for (unsigned e = 0; e < DUTIES; e++)
				counts[e] += duty[e * THREADS + i];
			assert_false(duty[EACH * THREADS + i] && of[mine]);
			of[mine] |= duty[EACH * THREADS + i];
			if (duty[FIRST * THREADS + i])
				/* true: a worker on package 36 itself counts for it */
				of[CPUS - 1] = mine == 0;
			assert_true(!(duty[NODE * THREADS + i] || duty[ABSENT * THREADS + i]) ||
				    (rank == 0 && i == 0));
		}
		free(duty);
	}
	for (unsigned i = 0; i < CPUS; i++)
		packages += sits[i];
	assert_int_equal(counts[ITS_OWN], seated.ranks * THREADS);
	assert_int_equal(counts[EACH], packages);
	for (unsigned e = FIRST; e < DUTIES; e++)
		assert_int_equal(counts[e], 1);
	assert_true(of[CPUS - 1] || !sits[0]);
}

/*
 * For any places of workers and ranks, each package is counted once. Every other turn has CPU
 * numbers beyond 1024.
 */
static void test_a_package_is_counted_once(void **state)
{
	struct counters *c = OPEN("papi1", "package", "package=36", "package=99", "node");
	uint64_t random = 1;

	(void)state;
	for (unsigned turn = 0; turn < 500; turn++) {
		many = turn % 2;
		seated.ranks = 1 + turn / 2 % MOST_RANKS;
		for (unsigned rank = 0; rank < seated.ranks; rank++)
			for (unsigned i = 0; i < THREADS; i++) {
				random = random * UINT64_C(6364136223846793005) +
					 1442695040888963407;
				seated.place[rank][i] = (struct place){
					(int)(random >> 61) + (many ? LAST_OF_MANY : 0), 0
				};
			}
		check_duties(c);
	}
	many = false;
	counters_close(c);
}

static void test_packages_that_nobody_knows(void **state)
{
	struct counters *c;

	(void)state;
	for (int cpu = 0; cpu < CPUS; cpu++)
		package[cpu] = -1;
	c = OPEN("package", "package=36", "node", "papi1");
	assert_null(counters_event(c, 0)->source);
	assert_non_null(strstr(counters_event(c, 0)->why,
			       "the kernel does not say which CPUs belong to which: "));
	for (unsigned i = 1; i < 4; i++)
		assert_string_equal(counters_event(c, i)->source, "papi");
	counters_close(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_providers_share_a_processor, forget),
		cmocka_unit_test_setup(test_what_does_not_start_alone_does_not_start, forget),
		cmocka_unit_test_setup(test_what_fails_in_the_probe_is_not_proven, forget),
		cmocka_unit_test_setup(test_a_failure_is_of_its_start, forget),
		cmocka_unit_test_setup(test_a_package_is_counted_once, forget),
		cmocka_unit_test_setup(test_packages_that_nobody_knows, forget),
		/* last: it lowers the hard limit of descriptors for good */
		cmocka_unit_test_setup(test_descriptors_for_each_event_and_worker, forget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
