/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counting on this machine: the kernel's events are exact, and so are the instructions of a known
 * loop if there is a PMU. The team's callback sees only the task.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/arithmetic.h"
#include "machine/clock.h"
#include "count/perf.h"
#include "seats.h"

enum { THREADS = 4 };

static struct counters *opened(bool multiplex, unsigned n, const char *const *names)
{
	struct counters *c = counters_open(names, n, multiplex);

	assert_non_null(c);
	return c;
}

#define OPEN(...)                                                     \
	opened(false, LENGTH(((const char *const[]){ __VA_ARGS__ })), \
	       (const char *const[]){ __VA_ARGS__ })

static void start_whole(struct counters *c, struct team *t, unsigned pass)
{
	start(c, t, pass);
	for (unsigned i = 0; i < counters_events(c); i++)
		if (counters_event(c, i)->source)
			assert_null(counters_failure(c, i));
}

struct witness {
	struct {
		_Alignas(APART) double before, after;
		unsigned tasks, calls;
	} of[THREADS];
};

static void witness(void *argument, struct worker *w, bool after)
{
	struct witness *v = argument;

	*(after ? &v->of[w->index].after : &v->of[w->index].before) = clock_now();
	v->of[w->index].calls++;
	assert_int_equal(v->of[w->index].tasks, after);
}

static void one_task(void *argument, struct worker *w)
{
	((struct witness *)argument)->of[w->index].tasks++;
}

static int watch(struct team *t, void *argument)
{
	struct witness v = { 0 };

	(void)argument;
	seat(t, THREADS);
	team_watch(t, witness, &v);
	team_run(t, one_task, &(struct witness){ 0 }); /* untimed: not watched */
	team_time(t, one_task, &v, 0, 0, 0);
	team_watch(t, NULL, NULL);
	team_time(t, one_task, &v, 0, 0, 0);
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(v.of[i].calls, 2);
	team_watch(t, witness, &v);
	for (unsigned i = 0; i < THREADS; i++)
		v.of[i].tasks = 0;
	team_time(t, one_task, &v, 0, 0, 0);
	for (unsigned i = 0; i < THREADS; i++) {
		const struct attendance *a = team_attendance(t, i);

		assert_true(v.of[i].before <= a->begin && a->begin <= a->end &&
			    a->end <= v.of[i].after);
	}
	return 0;
}

static void test_the_clock_is_inside_of_the_reading(void **state)
{
	(void)state;
	assert_int_equal(team_open(THREADS, watch, NULL), 0);
}

/* ---- the kernel's events ---- */

static void touch(char *memory, size_t pages)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);

	for (size_t i = 0; i < pages; i++)
		((volatile char *)memory)[i * page] = 1;
}

struct happening {
	struct counters *c;
	const char *source;
	char *memory[THREADS];
	void (*task)(void *, struct worker *);
	double (*expected)(unsigned worker);
	bool least; /* there may be more */
};

/* A different number for each worker. */
static double times(unsigned worker)
{
	return 16 * (worker + 1);
}

static void fault(void *argument, struct worker *w)
{
	const struct happening *h = argument;

	touch(h->memory[w->index], (size_t)times(w->index));
}

static void nap(void *argument, struct worker *w)
{
	struct rusage now;
	long enough;

	(void)argument;
	getrusage(RUSAGE_THREAD, &now);
	enough = now.ru_nvcsw + (long)times(w->index);
	/* on a slow processor a nap may end before the thread sleeps: no switch */
	while (now.ru_nvcsw < enough) {
		nanosleep(&(struct timespec){ 0, 1 }, NULL);
		getrusage(RUSAGE_THREAD, &now);
	}
}

static int count(struct team *t, void *argument)
{
	struct happening *h = argument;
	const size_t size = (size_t)times(THREADS) * (size_t)sysconf(_SC_PAGESIZE);

	seat(t, THREADS);
	for (unsigned e = 0; e < counters_events(h->c); e++)
		assert_string_equal(counters_event(h->c, e)->source, h->source);
	start_whole(h->c, t, 0);
	for (unsigned turn = 0; turn < 3; turn++) {
		for (unsigned i = 0; i < THREADS; i++) {
			h->memory[i] = mmap(NULL, size, PROT_READ | PROT_WRITE,
					    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			assert_ptr_not_equal(h->memory[i], MAP_FAILED);
			madvise(h->memory[i], size, MADV_NOHUGEPAGE); /* one fault per page */
		}
		team_time(t, h->task, h, 0, 0, 0);
		for (unsigned i = 0; i < THREADS; i++) {
			munmap(h->memory[i], size);
			for (unsigned e = 0; e < counters_events(h->c); e++) {
				double value = counters_value(h->c, i, e);

				assert_true(h->least ? value >= times(i) : value == times(i));
			}
		}
	}
	counters_stop(h->c, t);
	return 0;
}

/* Under a sanitizer, shadow memory may fault, too. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#elif defined(__has_feature)
#define SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define SANITIZED false
#endif

static void test_faults_of_touched_pages(void **state)
{
	struct happening h = { .c = OPEN("faults", "minor-faults"),
			       .source = "kernel",
			       .task = fault,
			       .least = SANITIZED };

	(void)state;
	assert_int_equal(team_open(THREADS, count, &h), 0);
	counters_close(h.c);
}

static void test_switches_of_who_sleeps(void **state)
{
	struct happening h = { .c = OPEN("voluntary-switches", "context-switches"),
			       .source = "kernel",
			       .task = nap,
			       .least = true };

	(void)state;
	assert_int_equal(team_open(THREADS, count, &h), 0);
	counters_close(h.c);
}

static void test_all_of_the_kernels_are_there(void **state)
{
	struct counters *c =
		OPEN("faults", "minor-faults", "major-faults", "context-switches",
		     "voluntary-switches", "involuntary-switches", "migrations", "cpu-time");

	(void)state;
	assert_int_equal(counters_passes(c), 1);
	for (unsigned i = 0; i < counters_events(c); i++) {
		assert_string_equal(counters_event(c, i)->source, "kernel");
		assert_true(counters_event(c, i)->proven);
	}
	counters_close(c);
}

static void work_a_while(void *argument, struct worker *w)
{
	const double end = clock_now() + 0.002;

	(void)argument, (void)w;
	while (clock_now() < end)
		;
}

/* Seconds on the CPU, and waiting for it, do not exceed the clock's. */
static int seconds(struct team *t, void *argument)
{
	struct counters *c = argument;
	bool delays = counters_event(c, 1)->source, clocks = counters_event(c, 2)->source;

	seat(t, THREADS);
	start_whole(c, t, 0);
	team_time(t, work_a_while, NULL, 0, 0, 0);
	for (unsigned i = 0; i < THREADS; i++) {
		const struct attendance *a = team_attendance(t, i);
		double wall = a->after.wall - a->before.wall, cpu = counters_value(c, i, 0);

		/* within 1 %, since each has its own clock */
		assert_true(cpu > 0 && cpu <= 1.01 * wall);
		assert_true(!delays || (counters_value(c, i, 1) >= 0 &&
					counters_value(c, i, 1) <= 1.01 * wall));
		assert_true(!clocks || (counters_value(c, i, 2) > 0 &&
					counters_value(c, i, 2) <= 1.01 * wall));
	}
	counters_stop(c, t);
	return 0;
}

static void test_seconds(void **state)
{
	struct counters *c = OPEN("cpu-time", "run-delay", "perf::TASK-CLOCK");

	(void)state;
	assert_string_equal(counters_event(c, 0)->unit, "s");
	assert_int_equal(team_open(THREADS, seconds, c), 0);
	counters_close(c);
}

/* ---- perf_event_open ---- */

static void skip_for(struct counters *c, const char *why)
{
	printf("# %s\n", why);
	counters_close(c);
	skip();
}

static void test_perf_counts_the_same_faults(void **state)
{
	struct happening h = { .c = OPEN("perf::PAGE-FAULTS", "perf::minor-faults"),
			       .source = "perf",
			       .task = fault,
			       .least = SANITIZED };

	(void)state;
	if (!counters_passes(h.c))
		skip_for(h.c, counters_event(h.c, 0)->why);
	assert_int_equal(team_open(THREADS, count, &h), 0);
	counters_close(h.c);
}

static void test_perf_counts_the_same_switches(void **state)
{
	struct happening h = { .c = OPEN("perf::CONTEXT-SWITCHES", "perf::CS"),
			       .source = "perf",
			       .task = nap,
			       .least = true };

	(void)state;
	if (!counters_passes(h.c))
		skip_for(h.c, counters_event(h.c, 0)->why);
	assert_true(counters_event(h.c, 0)->proven);
	assert_int_equal(team_open(THREADS, count, &h), 0);
	counters_close(h.c);
}

static void test_what_doctor_says_is_what_can_be_counted(void **state)
{
	static const struct {
		const char *event;
		bool (*lacks)(struct reason *);
	} rows[] = { { "perf::CYCLES", perf_no_hardware },
		     { "perf::CONTEXT-SWITCHES", perf_no_software } };

	(void)state;
	for (unsigned what = 0; what < LENGTH(rows); what++) {
		struct counters *c = OPEN(rows[what].event);
		struct reason why = { 0 };

		assert_int_equal(rows[what].lacks(&why), !counters_passes(c));
		if (*why.what && rows[what].lacks == perf_no_software)
			/* and so it is not left to PAPI, which would return 0 */
			assert_non_null(strstr(counters_event(c, 0)->why, why.what));
		counters_close(c);
	}
}

static void test_names_that_nobody_knows(void **state)
{
	/* Not "FAULTS": if PAPI supports the processor, it knows this event as perf::FAULTS. */
	struct counters *c =
		OPEN("", "perf::", "perf::CYCLE", "falts", "faults ", "NOBODY_KNOWS_THIS",
		     "perf::L1-DCACHE-LOAD", "FALTS", "defualt", "Default");
	static const char *const meant[] = { NULL,	NULL,	  "perf::CYCLES",	   "faults",
					     "faults",	NULL,	  "perf::L1-DCACHE-LOADS", "faults",
					     "default", "default" };

	(void)state;
	for (unsigned i = 0; i < counters_events(c); i++) {
		const struct event *e = counters_event(c, i);
		char hint[64];

		assert_null(e->source);
		assert_true(strlen(e->why) > 10 && !strchr(e->why, '\n'));
		snprintf(hint, sizeof(hint), "did you mean %s?", meant[i] ? meant[i] : "");
		if (meant[i])
			assert_non_null(strstr(e->why, hint));
	}
	assert_int_equal(counters_passes(c), 0);
	counters_close(c);
}

static void test_no_event_is_no_pass(void **state)
{
	struct counters *c = opened(false, 0, NULL);

	(void)state;
	assert_int_equal(counters_passes(c), 0);
	assert_int_equal(counters_events(c), 0);
	counters_close(c);
	counters_close(NULL);
}

/* ---- a loop whose instructions are known ---- */

#define TURNS(worker) (100000 * ((uint64_t)(worker) + 1))
#define OF_A_TURN     10 /* eight nops, one subtraction, one jump */

static void loop(uint64_t turns)
{
#if defined(__x86_64__)
	__asm__ volatile("1: .rept 8\nnop\n.endr\nsub $1, %0\njnz 1b" : "+r"(turns) : : "cc");
#elif defined(__aarch64__)
	__asm__ volatile("1: .rept 8\nnop\n.endr\nsubs %0, %0, #1\nb.ne 1b" : "+r"(turns) : : "cc");
#else
	(void)turns;
#endif
}

static void known_work(void *argument, struct worker *w)
{
	(void)argument;
	loop(TURNS(w->index));
}

static void nothing(void *argument, struct worker *w)
{
	(void)argument, (void)w;
}

/* If time is counted in instructions, within 1 of 1000: reading takes some, too. */
static bool counted(double value, unsigned worker)
{
	double wanted = (double)TURNS(worker) * OF_A_TURN;

	return value >= wanted && value <= 1.001 * wanted;
}

static int known_loops(struct team *t, void *argument)
{
	struct counters *c = argument;
	double first[THREADS] = { 0 };

	seat(t, THREADS);
	for (unsigned turn = 0; turn < 3; turn++) {
		start_whole(c, t, 0);
		team_time(t, known_work, NULL, 0, 0, 0);
		for (unsigned i = 0; i < THREADS; i++) {
			double value = counters_value(c, i, 0);

			printf("# worker %u: %.0f instructions of %.0f\n", i, value,
			       (double)TURNS(i) * OF_A_TURN);
			assert_true(counted(value, i));
			assert_true(turn == 0 || fabs(value - first[i]) <= 0.001 * first[i]);
			first[i] = value;
		}
		/* The next task counts nothing of this one, nor of what happens between them. */
		loop(TURNS(9));
		team_run(t, known_work, NULL);
		team_time(t, nothing, NULL, 0, 0, 0);
		for (unsigned i = 0; i < THREADS; i++)
			assert_true(counters_value(c, i, 0) <=
				    0.001 * (double)TURNS(0) * OF_A_TURN);
		counters_stop(c, t);
	}
	return 0;
}

static void count_loops(const char *event)
{
	struct counters *c = opened(false, 1, &event);

#if !defined(__x86_64__) && !defined(__aarch64__)
	skip_for(c, "no such loop for this processor");
#endif
	if (!counters_passes(c))
		skip_for(c, counters_event(c, 0)->why);
	if (!counters_event(c, 0)->proven)
		skip_for(c, "the event can be opened, but counts nothing: an emulator without "
			    "-icount?");
	assert_int_equal(team_open(THREADS, known_loops, c), 0);
	counters_close(c);
}

static void test_instructions_of_a_known_loop_by_perf(void **state)
{
	(void)state;
	count_loops("perf::INSTRUCTIONS");
}

static void test_instructions_of_a_known_loop_by_papi(void **state)
{
	(void)state;
	count_loops("PAPI_TOT_INS");
}

/* More events than any processor has counters: several passes or, with multiplexing, one. */
static void test_more_events_than_counters(void **state)
{
	static const char *const names[] = {
		"perf::CYCLES",		  "perf::INSTRUCTIONS",
		"perf::BRANCHES",	  "perf::BRANCH-MISSES",
		"perf::CACHE-REFERENCES", "perf::CACHE-MISSES",
		"perf::L1-DCACHE-LOADS",  "perf::L1-DCACHE-LOAD-MISSES",
		"perf::DTLB-LOADS",	  "perf::DTLB-LOAD-MISSES",
		"perf::LLC-LOADS",	  "perf::LLC-LOAD-MISSES"
	};
	struct counters *c = opened(false, LENGTH(names), names);
	unsigned passes = counters_passes(c);

	(void)state;
	if (!passes)
		skip_for(c, counters_event(c, 0)->why);
	for (unsigned i = 0; i < LENGTH(names); i++)
		assert_true(!counters_event(c, i)->source || counters_event(c, i)->pass < passes);
	counters_close(c);
	c = opened(true, LENGTH(names), names);
	assert_int_equal(counters_passes(c), 1);
	counters_close(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_clock_is_inside_of_the_reading),
		cmocka_unit_test(test_faults_of_touched_pages),
		cmocka_unit_test(test_switches_of_who_sleeps),
		cmocka_unit_test(test_all_of_the_kernels_are_there),
		cmocka_unit_test(test_seconds),
		cmocka_unit_test(test_perf_counts_the_same_faults),
		cmocka_unit_test(test_perf_counts_the_same_switches),
		cmocka_unit_test(test_what_doctor_says_is_what_can_be_counted),
		cmocka_unit_test(test_names_that_nobody_knows),
		cmocka_unit_test(test_no_event_is_no_pass),
		cmocka_unit_test(test_instructions_of_a_known_loop_by_perf),
		cmocka_unit_test(test_instructions_of_a_known_loop_by_papi),
		cmocka_unit_test(test_more_events_than_counters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
