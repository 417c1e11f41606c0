/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Existing records: what --resume reads of them, and what it cuts off. test/fuzz has more damaged
 * records.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

#include "harness/ask/options.h"
#include "harness/record/record.h"
#include "tree.h"

struct contents {
	char bytes[4096];
	size_t n;
};

static struct contents contents(void)
{
	struct contents c = { .n = 0 };
	FILE *f = fopen(in_tree("/record"), "r");

	assert_non_null(f);
	c.n = fread(c.bytes, 1, sizeof(c.bytes), f);
	assert_true(feof(f));
	fclose(f);
	return c;
}

/* A record of this host, with a complete trial and one that was interrupted. */
static const char *whole_record(void)
{
	static char text[2048];
	char host[256] = "";

	gethostname(host, sizeof(host) - 1);
	snprintf(text, sizeof(text),
		 "{\"type\":\"header\",\"run\":\"0123456789abcdef\",\"schema\":\"" RECORD_SCHEMA
		 "\",\"host\":\"%s\"}\n"
		 "{\"type\":\"samples\",\"run\":\"0123456789abcdef\",\"trial\":\"a\",\"times\":[1e-"
		 "6,null]}\n"
		 "{\"type\":\"trial\",\"run\":\"0123456789abcdef\",\"id\":\"a\",\"status\":"
		 "\"noisy\"}\n"
		 "{\"type\":\"trial\",\"run\":\"0123456789abcdef\",\"id\":\"b\",\"status\":"
		 "\"interrupted\"}\n"
		 "{\"type\":\"end\",\"run\":\"0123456789abcdef\",\"status\":130}\n",
		 host);
	return text;
}

static void test_what_is_there_is_read(void **state)
{
	struct record *r;

	(void)state;
	put_file("/record", whole_record());
	assert_int_equal(record_open(&r, in_tree("/record"), RECORD_RESUME, NULL), 0);
	assert_true(record_has(r, "a"));
	assert_false(record_has(r, "b"));
	assert_int_equal(json_array_size(record_runs(r)), 1);
	assert_false(record_close(r));
	assert_string_equal(contents().bytes, whole_record());
}

/* Each trial has the kernel's counters, except those in its `kernel_unknown`. */
static void test_what_was_counted_is_known(void **state)
{
	static const char counted[] =
		"{\"type\":\"benchmark\",\"run\":\"0123456789abcdef\",\"counters\":{\"kernel\":["
		"{\"name\":\"migrations\"},{\"name\":\"steal\"},{\"name\":7},8]}}\n"
		"{\"type\":\"trial\",\"run\":\"0123456789abcdef\",\"id\":\"c\",\"status\":\"ok\","
		"\"kernel_unknown\":[\"steal\",9],\"counters\":[{\"name\":\"PAPI_TOT_INS\"}]}\n";
	char text[4096];
	struct record *r;

	(void)state;
	snprintf(text, sizeof(text), "%s%s", whole_record(), counted);
	put_file("/record", text);
	assert_int_equal(record_open(&r, in_tree("/record"), RECORD_RESUME, NULL), 0);
	assert_true(record_has_counter(r, "c", "migrations"));
	assert_true(record_has_counter(r, "c", "PAPI_TOT_INS"));
	assert_false(record_has_counter(r, "c", "steal"));
	assert_false(record_has_counter(r, "a", "migrations"));
	assert_false(record_close(r));
}

/* Every second call is interrupted by a signal, as network file systems (FUSE) allow. */
static bool signals;
static unsigned calls;

static bool interrupted(void)
{
	if (!signals || calls++ % 2)
		return false;
	errno = EINTR;
	return true;
}

/*
 * meanwhile(): called between open() and flock() unless NULL; then the errno with which flock()
 * fails, unless 0.
 */
static void (*meanwhile)(void);
static int no_locks;

int flock(int file, int operation)
{
	void (*act)(void) = meanwhile;

	meanwhile = NULL;
	if (act)
		act();
	if (interrupted())
		return -1;
	if (!no_locks)
		return (int)syscall(SYS_flock, file, operation);
	errno = no_locks;
	return -1;
}

/* Opens the record; returns the status; `said` has the text on stderr. */
static char said[1024];

static int open_told(struct record **r, enum record_mode mode)
{
	int before = dup(STDERR_FILENO), pipes[2], status;
	ssize_t n;

	assert_int_equal(pipe(pipes), 0);
	dup2(pipes[1], STDERR_FILENO);
	status = record_open(r, in_tree("/record"), mode, NULL);
	dup2(before, STDERR_FILENO);
	close(before);
	close(pipes[1]);
	n = read(pipes[0], said, sizeof(said) - 1);
	close(pipes[0]);
	assert_true(n >= 0);
	said[n] = '\0';
	return status;
}

/* Stands for a second process: a lock belongs to an open file, not to a process. */
static struct record *other;

static void another_opens(void)
{
	assert_int_equal(record_open(&other, in_tree("/record"), RECORD_RESUME, NULL), 0);
}

static void another_runs(void)
{
	another_opens();
	record_line(other, "header", json_pack("{s:s}", "schema", RECORD_SCHEMA), false);
	assert_false(record_close(other));
}

static const enum record_mode modes[] = { RECORD_NEW, RECORD_RESUME, RECORD_APPEND };

static void test_of_two_creators_one_writes(void **state)
{
	struct record *r;

	(void)state;
	for (unsigned i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		remove(in_tree("/record"));
		meanwhile = another_opens;
		assert_int_equal(open_told(&r, modes[i]), EXIT_BAD);
		assert_null(r);
		assert_non_null(strstr(said, "/record: another process is writing it; wait"));
		assert_false(record_close(other));
	}
}

static void test_a_run_of_another_creator_is_seen(void **state)
{
	struct record *r;

	(void)state;
	remove(in_tree("/record"));
	meanwhile = another_runs;
	assert_int_equal(open_told(&r, RECORD_NEW), EXIT_COMMAND_LINE);
	assert_non_null(strstr(said, "/record: exists; give another name"));
	remove(in_tree("/record"));
	meanwhile = another_runs;
	assert_int_equal(open_told(&r, RECORD_RESUME), 0);
	assert_int_equal(json_array_size(record_runs(r)), 1);
	assert_false(record_close(r));
}

static void test_a_file_system_without_locks_is_told_of(void **state)
{
	struct record *r;

	(void)state;
	for (unsigned i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		remove(in_tree("/record"));
		no_locks = ENOLCK;
		assert_int_equal(open_told(&r, modes[i]), 0);
		no_locks = 0;
		assert_non_null(
			strstr(said, "/record: no lock (No locks available): make sure that"));
		assert_false(record_close(r));
	}
}

static void test_append_resumes_nothing(void **state)
{
	struct record *r;

	(void)state;
	put_file("/record", whole_record());
	assert_int_equal(record_open(&r, in_tree("/record"), RECORD_APPEND, NULL), 0);
	assert_int_equal(json_array_size(record_runs(r)), 0);
	assert_false(record_has(r, "a"));
	assert_false(record_close(r));
	assert_string_equal(contents().bytes, whole_record());
}

/* Adds a run of this host with one trial; `resumes`: the run that it continues, or NULL. */
static void add_run(const char *run, const char *resumes, const char *trial, const char *status)
{
	char host[256] = "", text[64] = "";
	FILE *f = fopen(in_tree("/record"), "a");

	assert_non_null(f);
	gethostname(host, sizeof(host) - 1);
	if (resumes)
		snprintf(text, sizeof(text), "\"%s\"", resumes);
	fprintf(f,
		"{\"type\":\"header\",\"run\":\"%s\",\"schema\":\"" RECORD_SCHEMA "\","
		"\"host\":\"%s\",\"resumes\":[%s]}\n"
		"{\"type\":\"trial\",\"run\":\"%s\",\"id\":\"%s\",\"status\":\"%s\"}\n",
		run, host, text, run, trial, status);
	assert_int_equal(fclose(f), 0);
}

/* An appended run is a repeat: trials that only earlier runs measured are still to do in it. */
static void test_the_last_run_is_resumed_and_what_it_resumed(void **state)
{
	struct record *r;

	(void)state;
	remove(in_tree("/record"));
	add_run("0000000000000001", NULL, "a", "ok");
	add_run("0000000000000002", NULL, "b", "ok");
	add_run("0000000000000003", "0000000000000002", "c", "ok");
	assert_int_equal(record_open(&r, in_tree("/record"), RECORD_RESUME, NULL), 0);
	assert_int_equal(json_array_size(record_runs(r)), 2);
	assert_string_equal(json_string_value(json_array_get(record_runs(r), 0)),
			    "0000000000000002");
	assert_string_equal(json_string_value(json_array_get(record_runs(r), 1)),
			    "0000000000000003");
	assert_false(record_has(r, "a"));
	assert_true(record_has(r, "b"));
	assert_true(record_has(r, "c"));
	assert_false(record_close(r));
}

/* Overwrites n bytes with zeros, as a crash does with parts that did not reach the disk. */
static void zero(off_t at, size_t n)
{
	static const char zeros[256];
	int file = open(in_tree("/record"), O_WRONLY);

	assert_true(file >= 0 && n <= sizeof(zeros));
	assert_int_equal(pwrite(file, zeros, n, at), (ssize_t)n);
	assert_int_equal(close(file), 0);
}

/* Writes whole_record() without its end line; returns the length. */
static size_t put_unfinished_record(void)
{
	put_file("/record", whole_record());
	assert_int_equal(truncate(in_tree("/record"),
				  strstr(whole_record(), "{\"type\":\"end\"") - whole_record()),
			 0);
	return contents().n;
}

/* An unfinished run may end in zeros that begin anywhere after the first line. */
static void test_a_tail_of_zeros_is_cut_off(void **state)
{
	const char *whole = whole_record();
	const size_t first = (size_t)(strchr(whole, '\n') + 1 - whole);
	const size_t length = put_unfinished_record();
	struct record *r;

	(void)state;
	for (size_t at = first; at < length; at++) {
		size_t kept = at;

		put_unfinished_record();
		zero((off_t)at, length - at);
		while (whole[kept - 1] != '\n')
			kept--;
		assert_int_equal(open_told(&r, RECORD_RESUME), 0);
		assert_false(record_close(r));
		assert_int_equal(contents().n, kept);
		assert_memory_equal(contents().bytes, whole, kept);
	}
}

/* Lines after a hole may be intact: before fdatasync() pages reach the disk in any order. */
static void test_a_hole_is_cut_off_with_all_behind_it(void **state)
{
	const char *whole = whole_record();
	const size_t first = (size_t)(strchr(whole, '\n') + 1 - whole);
	struct record *r;

	(void)state;
	for (size_t at = first; at < first + 120; at++) {
		put_unfinished_record();
		zero((off_t)at, 10);
		assert_int_equal(open_told(&r, RECORD_RESUME), 0);
		assert_false(record_has(r, "a"));
		assert_false(record_close(r));
		assert_true(contents().n >= first && contents().n <= at);
		assert_memory_equal(contents().bytes, whole, contents().n);
	}
}

static void test_a_hole_in_a_run_that_had_ended_is_refused(void **state)
{
	struct contents before;
	struct record *r;

	(void)state;
	put_file("/record", whole_record());
	zero((off_t)strlen(whole_record()) - 150, 10);
	before = contents();
	assert_int_equal(open_told(&r, RECORD_RESUME), EXIT_COMMAND_LINE);
	assert_non_null(strstr(said, ": zeros, followed by a whole run"));
	assert_int_equal(contents().n, before.n);
	assert_memory_equal(contents().bytes, before.bytes, before.n);
}

/* It is no single line that was cut off, as one is that has such an object in a list. */
static void test_a_record_without_line_feeds_is_kept(void **state)
{
	struct record *r;

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		const enum record_mode mode = i % 2 ? RECORD_RESUME : RECORD_APPEND;
		char *text = strdup(whole_record()), *to = text;

		for (const char *from = text; *from; from++)
			if (*from != '\n' || i / 2)
				*to++ = (char)(*from == '\n' ? '\r' : *from);
		*to = '\0';
		put_file("/record", text);
		assert_int_equal(open_told(&r, mode), EXIT_COMMAND_LINE);
		assert_non_null(strstr(said, "line 1: several lines of a record without"));
		assert_int_equal(contents().n, strlen(text));
		free(text);
		put_file("/record", "{\"type\":\"header\",\"a\":[{\"type\":\"b\"");
		assert_int_equal(open_told(&r, mode), 0);
		assert_false(record_close(r));
	}
}

/* A record that fails with EIO does not count as damaged, and nothing is cut off. */
static void test_a_disk_that_can_not_be_read(void **state)
{
	struct record *r;

	(void)state;
	remove(in_tree("/record"));
	assert_int_equal(symlink("/proc/self/mem", in_tree("/record")), 0);
	assert_int_equal(open_told(&r, RECORD_RESUME), EXIT_BAD);
	assert_non_null(strstr(said, "/record: Input/output error"));
	assert_int_equal(remove(in_tree("/record")), 0);
}

static bool disk_fails;
int fdatasync(int file)
{
	if (interrupted())
		return -1;
	if (!disk_fails)
		return (int)syscall(SYS_fdatasync, file);
	errno = EIO;
	return -1;
}

int ftruncate(int file, off_t length)
{
	return interrupted() ? -1 : (int)syscall(SYS_ftruncate, file, length);
}

/* Half of the text is written before the signal comes. */
ssize_t write(int file, const void *bytes, size_t n)
{
	return interrupted() ? -1 : syscall(SYS_write, file, bytes, signals ? (n + 1) / 2 : n);
}

/* Linux has closed the file when it reports this. */
int close(int file)
{
	const int status = (int)syscall(SYS_close, file);

	return interrupted() ? -1 : status;
}

/* If fdatasync() fails, any part of the lines may be on the disk: all of them are cut off. */
static void test_what_the_disk_did_not_take_is_cut_off(void **state)
{
	struct contents before;
	struct record *r;

	(void)state;
	remove(in_tree("/record"));
	assert_int_equal(open_told(&r, RECORD_NEW), 0);
	record_line(r, "header", json_pack("{s:s}", "schema", RECORD_SCHEMA), true);
	record_line(r, "trial", json_pack("{s:s}", "id", "a"), true);
	before = contents();
	record_line(r, "samples", json_pack("{s:s}", "trial", "b"), false);
	assert_true(contents().n > before.n);
	disk_fails = true;
	record_line(r, "trial", json_pack("{s:s}", "id", "b"), true);
	disk_fails = false;
	record_line(r, "end", json_object(), true);
	assert_true(record_close(r));
	assert_int_equal(contents().n, before.n);
	assert_memory_equal(contents().bytes, before.bytes, before.n);
}

static void test_signals_are_no_failure(void **state)
{
	static const char end[] = "\"type\":\"end\"";
	struct contents whole;
	struct record *r;

	(void)state;
	remove(in_tree("/record"));
	signals = true;
	for (unsigned i = 0; i < 2; i++) { /* a second run follows the first */
		assert_int_equal(record_open(&r, in_tree("/record"), RECORD_APPEND, NULL), 0);
		record_line(r, "header", json_pack("{s:s, s:s}", "schema", RECORD_SCHEMA, "x", "y"),
			    true);
		record_line(r, "end", json_object(), true);
		calls = 0; /* the next call is interrupted: close() */
		assert_false(record_close(r));
	}
	signals = false;
	whole = contents();
	assert_int_equal(whole.bytes[whole.n - 1], '\n');
	assert_non_null(strstr(strstr(whole.bytes, end) + 1, end));
}

static void test_the_time_has_four_digits_for_the_year(void **state)
{
	static const struct {
		struct timespec t;
		const char *text;
	} rows[] = { { { 0, 0 }, "1970-01-01T00:00:00.000Z" },
		     { { 1769903999, 999999999 }, "2026-01-31T23:59:59.999Z" },
		     { { 253402300799, 500000000 }, "9999-12-31T23:59:59.500Z" },
		     { { 253402300800, 0 }, "9999-12-31T23:59:59.999Z" },
		     { { INT64_MAX, 0 }, "9999-12-31T23:59:59.999Z" },
		     { { -1, 1000000 }, "1969-12-31T23:59:59.001Z" },
		     { { -62135596801, 999000000 }, "0001-01-01T00:00:00.000Z" },
		     { { INT64_MIN, 0 }, "0001-01-01T00:00:00.000Z" } };
	char text[RECORD_TIME];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_string_equal(record_time_of(rows[i].t, text), rows[i].text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_there_is_read),
		cmocka_unit_test(test_what_was_counted_is_known),
		cmocka_unit_test(test_of_two_creators_one_writes),
		cmocka_unit_test(test_a_run_of_another_creator_is_seen),
		cmocka_unit_test(test_a_file_system_without_locks_is_told_of),
		cmocka_unit_test(test_append_resumes_nothing),
		cmocka_unit_test(test_the_last_run_is_resumed_and_what_it_resumed),
		cmocka_unit_test(test_a_tail_of_zeros_is_cut_off),
		cmocka_unit_test(test_a_hole_is_cut_off_with_all_behind_it),
		cmocka_unit_test(test_a_record_without_line_feeds_is_kept),
		cmocka_unit_test(test_a_hole_in_a_run_that_had_ended_is_refused),
		cmocka_unit_test(test_a_disk_that_can_not_be_read),
		cmocka_unit_test(test_what_the_disk_did_not_take_is_cut_off),
		cmocka_unit_test(test_signals_are_no_failure),
		cmocka_unit_test(test_the_time_has_four_digits_for_the_year),
	};

	return cmocka_run_group_tests(tests, tree_make, tree_remove);
}
