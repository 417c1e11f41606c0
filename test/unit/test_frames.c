/* SPDX-License-Identifier: Apache-2.0 */
/* Page frames of a trial's allocations: no frame recurs while the earlier allocations are held. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>
#include <jansson.h>

#include "benchmark.h"
#include "harness/run/run.h"
#include "harness/sample/series.h"
#include "machine/memory/arena.h"
#include "machine/topology/topology.h"

enum { ALLOCATIONS = 6, PAGES = 512 };

/* The frames of each allocation, in the order of prepare(); 0: hidden from this user. */
static uint64_t frame[ALLOCATIONS][PAGES];
static size_t page;
static struct region *region;
static unsigned prepared;
/* prepare() refuses once, at this allocation; 0: never */
static unsigned refused;
static bool has_refused;

static void *prepare(const struct trial *t)
{
	if (refused && t->allocation == refused && !has_refused) {
		has_refused = true;
		return arena_cannot(t->arena, "no page is left");
	}
	page = t->machine->page;
	region = region_map(t->arena, "pages", PAGES * page, PAGES_BASE);
	prepared++;
	return region;
}

static void enter(void *state, struct worker *w)
{
	const int file = open("/proc/self/pagemap", O_RDONLY);
	char *base = region_base(state);
	const unsigned n = prepared - 1;

	(void)w;
	memset(base, 1, PAGES * page);
	for (unsigned i = 0; file >= 0 && n < ALLOCATIONS && i < PAGES; i++) {
		const off_t at = (off_t)(((uintptr_t)base / page + i) * sizeof(uint64_t));
		uint64_t entry = 0;

		if (pread(file, &entry, sizeof(entry), at) == sizeof(entry))
			frame[n][i] = entry & ((UINT64_C(1) << 55) - 1);
	}
	if (file >= 0)
		close(file);
}

static void work(void *state, struct worker *w)
{
	(void)state;
	w->done = 1;
}

static struct needs needs(const struct trial *t)
{
	return (struct needs){ .bytes = PAGES * t->machine->page };
}

static const struct variant variants[] = { { "a", "touches pages" } };
static const struct metric metrics[] = { TIME_METRIC("turn") };
static const struct role roles[] = { { "worker", NULL, TO_COMPLETION } };
static const struct benchmark benchmark = {
	.name = "frames",
	.summary = "touches pages",
	.protocol = { 1, "none" },
	.unit = { "turn" },
	ROWS(metrics, metrics),
	ROWS(variants, variants),
	ROWS(roles, roles),
	.ops = { .prepare = prepare, .enter = enter, .work = work },
	.preset = { [QUICK] = { .threads = "1", .sample = 1e-3 } },
	.needs = needs,
};

/* The record's lines about the allocations of the only trial. */
struct told {
	size_t allocations;
	json_int_t fresh;
};

static struct told measure(void)
{
	const struct benchmark *const table[] = { &benchmark, NULL };
	char path[] = "/tmp/locus-frames-XXXXXX";
	const struct options options = { .benchmark = &benchmark,
					 .repeats = ALLOCATIONS,
					 .output = path,
					 .resume = true,
					 .quiet = true };
	const int file = mkstemp(path);
	struct told told = { 0 };
	char *line = NULL;
	size_t room = 0;
	FILE *f;

	assert_true(file >= 0);
	prepared = 0;
	has_refused = false;
	memset(frame, 0, sizeof(frame));
	assert_int_equal(engine_run(&options, table, NULL), 0);
	f = fdopen(file, "r");
	assert_non_null(f);
	while (getline(&line, &room, f) > 0) {
		json_t *object = json_loads(line, 0, NULL);
		const json_t *batches = json_object_get(object, "batches");

		const json_t *fresh = json_object_get(batches, "fresh");
		const size_t n = json_array_size(json_object_get(batches, "allocations"));

		told.allocations += n;
		told.fresh += fresh ? json_integer_value(fresh) : (json_int_t)n;
		json_decref(object);
	}
	free(line);
	fclose(f);
	unlink(path);
	return told;
}

static int compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void no_frame_comes_again(void **state)
{
	const struct told told = measure();
	uint64_t *all = &frame[0][0];
	unsigned again = 0;

	(void)state;
	assert_int_equal(told.allocations, ALLOCATIONS);
	assert_int_equal(told.fresh, ALLOCATIONS);
	assert_int_equal(prepared, ALLOCATIONS);
	if (!frame[0][0]) {
		print_message("skipped: /proc/self/pagemap shows page frames only to root\n");
		skip();
	}
	qsort(all, ALLOCATIONS * PAGES, sizeof(*all), compare);
	for (unsigned i = 1; i < ALLOCATIONS * PAGES; i++)
		again += all[i] == all[i - 1];
	assert_int_equal(again, 0);
}

/*
 * A trial that is refused while earlier allocations are held is prepared again after they are
 * released.
 */
static void a_refused_allocation_gets_what_was_held(void **state)
{
	struct told told;

	(void)state;
	refused = 3;
	told = measure();
	refused = 0;
	assert_true(has_refused);
	assert_int_equal(told.allocations, ALLOCATIONS);
	assert_int_equal(told.fresh, 3);
}

static struct arena *an_arena(const struct machine *m, char **base)
{
	struct arena *a = arena_open(m);
	struct region *r;

	assert_non_null(a);
	r = region_map(a, "pages", m->page, PAGES_BASE);
	assert_non_null(r);
	*base = region_base(r);
	**base = 1;
	return a;
}

static bool is_mapped(const struct machine *m, char *base)
{
	unsigned char there;

	return !mincore(base, m->page, &there);
}

/* Whether the kernel may read it for us. */
static bool is_readable(const char *base)
{
	int ends[2];
	bool readable;

	assert_int_equal(pipe(ends), 0);
	readable = write(ends[1], base, 1) == 1;
	assert_true(readable || errno == EFAULT);
	close(ends[0]);
	close(ends[1]);
	return readable;
}

static void the_oldest_are_given_back_where_there_is_no_room(void **state)
{
	const char *error = NULL;
	struct machine *m = machine_open("node:1 core:1 pu:1", &error);
	struct series of[3] = { 0 };
	struct quarantine h = { .room = 25, .each = 15 };
	char *base[4];

	(void)state;
	assert_non_null(m);
	for (unsigned i = 0; i < 3; i++)
		quarantine_keep(&h, &of[i], an_arena(m, &base[i]), 10);
	assert_true(of[0].returned && !of[1].returned && !of[2].returned);
	assert_true(!is_mapped(m, base[0]) && is_mapped(m, base[1]) && is_mapped(m, base[2]));
	assert_false(is_readable(base[2]));
	quarantine_keep(&h, &of[0], an_arena(m, &base[3]), 16); /* too large to be worth keeping */
	assert_false(is_mapped(m, base[3]));
	assert_int_equal(h.n, 2);
	assert_float_equal(h.bytes, 20, 0);
	quarantine_free(&h);
	assert_true(of[1].returned && of[2].returned);
	assert_true(!is_mapped(m, base[1]) && !is_mapped(m, base[2]));
	machine_close(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_frame_comes_again),
		cmocka_unit_test(a_refused_allocation_gets_what_was_held),
		cmocka_unit_test(the_oldest_are_given_back_where_there_is_no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
