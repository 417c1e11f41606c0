/* SPDX-License-Identifier: Apache-2.0 */
/* A file that is there already: what is read of it, and what is cut off; and a fuzzer that damages it. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <cmocka.h>

#include "cases.h"
#include "harness/options.h"
#include "harness/record.h"
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
		 "{\"type\":\"header\",\"run\":\"0123456789abcdef\",\"schema\":\"" RECORD_SCHEMA "\",\"host\":\"%s\"}\n"
		 "{\"type\":\"samples\",\"run\":\"0123456789abcdef\",\"trial\":\"a\",\"times\":[1e-6,null]}\n"
		 "{\"type\":\"trial\",\"run\":\"0123456789abcdef\",\"id\":\"a\",\"status\":\"noisy\"}\n"
		 "{\"type\":\"trial\",\"run\":\"0123456789abcdef\",\"id\":\"b\",\"status\":\"interrupted\"}\n"
		 "{\"type\":\"end\",\"run\":\"0123456789abcdef\",\"status\":130}\n",
		 host);
	return text;
}

static void test_what_is_there_is_read(void **state)
{
	struct record *r;

	(void)state;
	put_file("/record", whole_record());
	assert_int_equal(record_open(&r, in_tree("/record"), RECORD_RESUME), 0);
	assert_true(record_has(r, "a"));
	assert_false(record_has(r, "b"));
	assert_int_equal(json_array_size(record_runs(r)), 1);
	assert_false(record_close(r));
	assert_string_equal(contents().bytes, whole_record());
}

/* Refused, it is as it was. Taken, it is whole lines from its beginning, and goes on with ours. */
static void damage(uint64_t *seed)
{
	struct contents before, after;
	struct record *r;
	int status;

	put_damaged((const struct file[]){ { "/record", whole_record() }, { NULL, NULL } }, seed);
	if (access(in_tree("/record"), F_OK))
		put_file("/record", "");
	before = contents();
	status = record_open(&r, in_tree("/record"), RECORD_RESUME);
	if (status) {
		after = contents();
		assert_int_equal(status, EXIT_COMMAND_LINE);
		assert_int_equal(after.n, before.n);
		assert_memory_equal(after.bytes, before.bytes, before.n);
		return;
	}
	after = contents();
	assert_true(after.n <= before.n && (!after.n || after.bytes[after.n - 1] == '\n'));
	assert_memory_equal(after.bytes, before.bytes, after.n);
	assert_null(memchr(before.bytes + after.n, '\n', before.n - after.n));
	record_line(r, "end", json_pack("{s:i}", "status", 0), false);
	assert_false(record_close(r));
	assert_true(contents().n > after.n);
}

static void test_damage(void **state)
{
	uint64_t seed = 7;
	int complaints = dup(STDERR_FILENO), nowhere = open("/dev/null", O_WRONLY);

	(void)state;
	dup2(nowhere, STDERR_FILENO);
	for (unsigned turn = 0; turn < inputs(3000); turn++)
		damage(&seed);
	dup2(complaints, STDERR_FILENO);
	close(complaints);
	close(nowhere);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_there_is_read),
		cmocka_unit_test(test_damage),
	};

	return cmocka_run_group_tests(tests, tree_make, tree_remove);
}
