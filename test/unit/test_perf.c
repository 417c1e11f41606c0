/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How perf counts are computed from the kernel's answers, even answers that this machine might not
 * give: this file implements perf_event_open(), and an event is a file of prepared readings.
 */
#include <errno.h>
#include <linux/perf_event.h>
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
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

#include "count/perf.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

enum { MOST = 9 };

/* A reading of an event: its count, and the ns that it was enabled and had a counter. */
struct reading {
	uint64_t value, enabled, running;
};

static struct {
	unsigned calls;
	int error[MOST]; /* errno of each call; 0: it succeeds */
	/* readings that each event returns one after another, then end of file */
	struct reading reading[MOST];
	struct perf_event_attr asked[MOST];
} kernel_says;

/* Replaces the C library's syscall(); this program uses it for perf_event_open only. */
long syscall(long number, ...)
{
	va_list arguments;
	unsigned call;
	int file;

	if (number != SYS_perf_event_open) {
		errno = ENOSYS;
		return -1;
	}
	call = kernel_says.calls++;
	assert_true(call < MOST);
	va_start(arguments, number);
	memcpy(&kernel_says.asked[call], va_arg(arguments, const struct perf_event_attr *),
	       sizeof(struct perf_event_attr));
	va_end(arguments);
	if (kernel_says.error[call]) {
		errno = kernel_says.error[call];
		return -1;
	}
	file = memfd_create("event", MFD_CLOEXEC);
	assert_true(file >= 0);
	assert_int_equal(write(file, kernel_says.reading, sizeof(kernel_says.reading)),
			 sizeof(kernel_says.reading));
	assert_int_equal(lseek(file, 0, SEEK_SET), 0);
	return file;
}

static int forget(void **state)
{
	(void)state;
	memset(&kernel_says, 0, sizeof(kernel_says));
	return 0;
}

static struct wanted wanted(const struct provider *p, const char *name)
{
	struct wanted w = { .event = { .name = name, .unit = "1" }, .factor = 1 };
	struct reason why;

	if (!p->find(NULL, &w, &why))
		fail_msg("%s is not known", name);
	return w;
}

/* A started set of one event; NULL: it cannot be counted, and `why` has the reason. */
static void *started(const struct provider *p, struct wanted *w, bool multiplex, struct reason *why)
{
	struct wanted *list[] = { w };
	const struct wanted *failed;
	void *set = p->start(NULL, list, 1, 0, multiplex, &failed, why);

	assert_true(set ? !failed : failed == w);
	return set;
}

static double counted(const struct provider *p, const char *name, bool multiplex)
{
	struct wanted w = wanted(p, name);
	struct reason why;
	double value = 0;
	void *set = started(p, &w, multiplex, &why);

	assert_non_null(set);
	p->read(set, false, &value);
	assert_true(value == 0);
	p->read(set, true, &value);
	p->stop(set);
	return value;
}

/* The first reading is at the start of the set, the other two before and after a task. */
static void test_what_was_counted_all_the_time(void **state)
{
	(void)state;
	kernel_says.reading[0] = (struct reading){ 5, 100, 100 };
	/* 100 ns without a counter, but before the task: they do not matter */
	kernel_says.reading[1] = (struct reading){ 1000, 2000, 1900 };
	kernel_says.reading[2] = (struct reading){ 4000, 3000, 2900 };
	assert_true(counted(&perf_hardware, "perf::CYCLES", false) == 3000);
	assert_true(kernel_says.asked[0].exclude_kernel && kernel_says.asked[0].exclude_hv &&
		    !kernel_says.asked[0].disabled);
	assert_int_equal(kernel_says.asked[0].type, PERF_TYPE_HARDWARE);
}

static void test_what_lost_its_counter_has_no_value(void **state)
{
	(void)state;
	kernel_says.reading[1] = (struct reading){ 1000, 2000, 2000 };
	kernel_says.reading[2] = (struct reading){ 4000, 3000, 2999 };
	assert_true(isnan(counted(&perf_hardware, "perf::CYCLES", false)));
}

static void test_multiplexed_counts_are_extrapolated(void **state)
{
	(void)state;
	kernel_says.reading[0] = (struct reading){ 0, 100, 0 }; /* it had no counter yet */
	kernel_says.reading[1] = (struct reading){ 1000, 2000, 500 };
	kernel_says.reading[2] = (struct reading){ 4000, 3000, 750 };
	assert_true(counted(&perf_hardware, "perf::CYCLES", true) == 12000);
	kernel_says.calls = 0;
	/* it had no counter during the task */
	kernel_says.reading[2] = (struct reading){ 1000, 3000, 500 };
	assert_true(isnan(counted(&perf_hardware, "perf::CYCLES", true)));
}

/*
 * The kernel's multiplexing turns are longer than tasks: the value of a task is the change of the
 * estimate for all tasks so far, and may be negative.
 */
static void test_turns_are_longer_than_tasks(void **state)
{
	/* for each task: count, duration, and how long the event had a counter */
	static const struct reading task[] = {
		{ 0, 1000, 0 }, { 1000, 1000, 100 }, { 0, 1000, 0 }, { 900, 1000, 900 }
	};
	/*
	 * the estimates; the last is 1900 counts in 1000 ns, for the 3000 ns since the event first
	 * had a counter
	 */
	static const double known[] = { NAN, 10000, 20000, 5700 };
	struct wanted w = wanted(&perf_hardware, "perf::CYCLES");
	struct reading *r = kernel_says.reading;
	struct reason why;
	double sum = 0;
	void *set;

	(void)state;
	r[0] = (struct reading){ 0, 50, 50 };
	for (unsigned i = 0; i < LENGTH(task); i++) {
		/* counts between tasks belong to none */
		r[2 * i + 1] = (struct reading){ r[2 * i].value + 77, r[2 * i].enabled + 10,
						 r[2 * i].running + 10 };
		r[2 * i + 2] = (struct reading){ r[2 * i + 1].value + task[i].value,
						 r[2 * i + 1].enabled + task[i].enabled,
						 r[2 * i + 1].running + task[i].running };
	}
	set = started(&perf_hardware, &w, true, &why);
	for (unsigned i = 0; i < LENGTH(task); i++) {
		double value = 0;

		perf_hardware.read(set, false, &value);
		perf_hardware.read(set, true, &value);
		assert_int_equal(isnan(value), isnan(known[i]));
		sum += isnan(value) ? 0 : value;
		assert_true(isnan(known[i]) || fabs(sum - known[i]) < 1e-6);
	}
	perf_hardware.stop(set);
}

static void test_a_reading_that_fails_is_no_number(void **state)
{
	struct wanted w = wanted(&perf_hardware, "perf::CYCLES");
	struct reason why;
	double value = 0;
	void *set = started(&perf_hardware, &w, false, &why);

	(void)state;
	for (unsigned i = 0; i < 2 * MOST; i++)
		perf_hardware.read(set, i % 2, &value);
	assert_true(isnan(value));
	perf_hardware.stop(set);
}

/* All counters are taken, for example by the NMI watchdog. */
static void test_an_event_that_gets_no_counter(void **state)
{
	struct wanted w = wanted(&perf_hardware, "perf::INSTRUCTIONS");
	struct reason why = { 0 };

	(void)state;
	kernel_says.reading[0] = (struct reading){ 0, 100, 0 };
	assert_null(started(&perf_hardware, &w, false, &why));
	assert_non_null(strstr(why.what, "no counter is free"));
	assert_true(*why.remedy);
}

static void test_errors_and_their_remedies(void **state)
{
	static const struct {
		const struct provider *provider;
		const char *name;
		int error[3];
		const char *what, *remedy;
	} rows[] = {
		{ &perf_hardware, "perf::LLC-LOADS", { ENOENT, ENOENT }, "no PMU", "pmu=on" },
		{ &perf_hardware,
		  "perf::LLC-LOADS",
		  { EOPNOTSUPP, 0 },
		  "counts cycles, but not this",
		  "perf list" },
		{ &perf_hardware, "perf::CYCLES", { EACCES }, "forbidden", "PERFMON" },
		{ &perf_hardware, "perf::CYCLES", { ENOSYS }, "no perf_event_open", "PERFMON" },
		{ &perf_hardware,
		  "perf::CYCLES",
		  { EMFILE },
		  "too few file descriptors: an event takes one for each thread",
		  "ulimit -n" },
		{ &perf_software,
		  "perf::FAULTS",
		  { ENFILE, ENFILE },
		  "too few file descriptors",
		  "fs.file-max" },
		{ &perf_hardware, "perf::CYCLES", { EBUSY }, "exclusive use", "pgrep" },
		{ &perf_hardware, "perf::CYCLES", { EIO }, "Input/output error", "" },
		{ &perf_software, "perf::FAULTS", { EPERM, EPERM }, "forbidden", "PERFMON" },
		{ &perf_software, "perf::CS", { EACCES }, "forbidden", "PERFMON" },
		{ &perf_software,
		  "perf::ALIGNMENT-FAULTS",
		  { ENOENT, ENOENT },
		  "this kernel does not count it",
		  "" },
	};

	for (unsigned i = 0; i < LENGTH(rows); i++) {
		struct wanted w = wanted(rows[i].provider, rows[i].name);
		struct reason why = { 0 };

		forget(state);
		memcpy(kernel_says.error, rows[i].error, sizeof(rows[i].error));
		assert_null(started(rows[i].provider, &w, false, &why));
		if (!strstr(why.what, rows[i].what) || !strstr(why.remedy, rows[i].remedy) ||
		    strchr(why.what, '\n'))
			fail_msg("%s: \"%s\", \"%s\"", rows[i].name, why.what, why.remedy);
	}
}

static void test_how_many_descriptors(void **state)
{
	struct reason why;
	struct rlimit files;
	char remedy[64];

	(void)state;
	assert_false(reason_too_few_files(ENOENT, &why));
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	files.rlim_cur = 100;
	/* the hard limit stays lowered: no test of this program opens more than a few files */
	files.rlim_max = files.rlim_max < 5000 ? files.rlim_max : 5000;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	snprintf(remedy, sizeof(remedy), "ulimit -n %ju", (uintmax_t)files.rlim_max);
	assert_true(reason_too_few_files(EMFILE, &why));
	assert_string_equal(why.remedy, remedy);
	files.rlim_max = 100;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	assert_true(reason_too_few_files(EMFILE, &why));
	assert_string_equal(why.remedy, "ulimit -n 400 # as root; or count fewer events");
}

/*
 * Under likwid-perfctr the processor's counters belong to LIKWID: perf does not try them. Software
 * events of the kernel still count.
 */
static void test_under_likwid(void **state)
{
	struct wanted cycles = wanted(&perf_hardware, "perf::CYCLES");
	struct reason why = { 0 };

	(void)state;
	setenv("LIKWID_MODE", "1", 1);
	assert_null(started(&perf_hardware, &cycles, false, &why));
	assert_int_equal(kernel_says.calls, 0);
	assert_non_null(strstr(why.what, "likwid-perfctr uses the processor's counters"));
	assert_true(perf_no_hardware(&why));
	kernel_says.reading[1] = (struct reading){ 10, 20, 20 };
	kernel_says.reading[2] = (struct reading){ 17, 30, 30 };
	assert_true(counted(&perf_software, "perf::PAGE-FAULTS", false) == 7);
	unsetenv("LIKWID_MODE");
}

/*
 * If the kernel may not be observed, faults are counted in user space only. Context switches have
 * no such fallback: they happen in the kernel.
 */
static void test_what_may_be_seen_of_the_kernel(void **state)
{
	(void)state;
	kernel_says.error[0] = EACCES;
	kernel_says.reading[1] = (struct reading){ 10, 20, 20 };
	kernel_says.reading[2] = (struct reading){ 17, 30, 30 };
	assert_true(counted(&perf_software, "perf::PAGE-FAULTS", false) == 7);
	assert_int_equal(kernel_says.calls, 2);
	assert_true(!kernel_says.asked[0].exclude_kernel && kernel_says.asked[1].exclude_kernel);
	forget(state);
	kernel_says.reading[1] = (struct reading){ 1000000000, 20, 20 };
	kernel_says.reading[2] = (struct reading){ 3000000000, 30, 30 };
	assert_true(counted(&perf_software, "perf::TASK-CLOCK", false) == 2e9 * 1e-9);
	assert_int_equal(kernel_says.asked[0].config, PERF_COUNT_SW_TASK_CLOCK);
}

static void test_doctor(void **state)
{
	struct reason why = { 0 };

	(void)state;
	assert_false(perf_no_hardware(&why));
	kernel_says.error[kernel_says.calls] = ENOENT;
	assert_true(perf_no_hardware(&why));
	assert_non_null(strstr(why.what, "no PMU"));
	forget(state);
	assert_false(perf_no_software(&why));
	/* forbidden: only events of the kernel (i is 0), or all (1) */
	for (unsigned i = 0; i < 2; i++) {
		forget(state);
		kernel_says.error[0] = EACCES;
		kernel_says.error[1] = i ? EACCES : 0;
		assert_true(perf_no_software(&why));
		assert_int_equal(kernel_says.calls, 2);
		assert_non_null(strstr(why.what, "forbidden"));
	}
}

static void known_to_one(void *argument, const char *name)
{
	struct wanted w = { .event = { .name = name } };
	struct reason why;

	assert_true(perf_software.find(NULL, &w, &why) != perf_hardware.find(NULL, &w, &why));
	++*(unsigned *)argument;
}

static void test_names(void **state)
{
	unsigned n = 0;

	(void)state;
	perf_names(NULL, known_to_one, &n);
	assert_int_equal(n, 14 + 12 + 7 * 6);
	assert_int_equal(wanted(&perf_hardware, "perf::llc-load-misses").code,
			 PERF_COUNT_HW_CACHE_LL | PERF_COUNT_HW_CACHE_OP_READ << 8 |
				 PERF_COUNT_HW_CACHE_RESULT_MISS << 16);
	assert_int_equal(wanted(&perf_hardware, "perf::DTLB-STORES").code,
			 PERF_COUNT_HW_CACHE_DTLB | PERF_COUNT_HW_CACHE_OP_WRITE << 8);
}

#define TEST(name) cmocka_unit_test_setup(name, forget)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_what_was_counted_all_the_time),
		TEST(test_what_lost_its_counter_has_no_value),
		TEST(test_multiplexed_counts_are_extrapolated),
		TEST(test_turns_are_longer_than_tasks),
		TEST(test_a_reading_that_fails_is_no_number),
		TEST(test_an_event_that_gets_no_counter),
		TEST(test_errors_and_their_remedies),
		TEST(test_how_many_descriptors),
		TEST(test_under_likwid),
		TEST(test_what_may_be_seen_of_the_kernel),
		TEST(test_doctor),
		TEST(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
