/* SPDX-License-Identifier: Apache-2.0 */
/* The neighbours of a trial: which CPUs they are, and when they make it noisy. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "harness/judge/summary_beside.h"
#include "harness/sample/slowed.h"
#include "machine/memory/probe.h"
#include "machine/topology/open.h"
#include "machine/topology/topology.h"

/* Two nodes of two cores, each of two CPUs; L2 of a MiB. */
#define MACHINE                                                                               \
	"package:2 [numa(memory=1073741824)] l3:1(size=33554432) l2:2(size=1048576) core:1 " \
	"pu:2"

enum { CPUS = 8, BATCHES = 8, MIB = 1 << 20 };

struct bench {
	struct machine *machine;
	struct benchmark benchmark;
	struct variant variant;
	struct place place;
	int cpu[2];
	struct planned planned;
	struct batch batch[BATCHES];
	double quiet[CPUS];
	struct series series;
};

static int setup(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));
	const char *why;

	assert_non_null(b);
	b->machine = machine_open(MACHINE, &why);
	assert_non_null(b->machine);
	assert_int_equal(b->machine->cpus, CPUS);
	b->machine->huge_page = 2 * MIB;
	b->planned.trial = (struct trial){ .benchmark = &b->benchmark,
					   .variant = &b->variant,
					   .threads = 1,
					   .place = &b->place,
					   .machine = b->machine };
	b->planned.cpu = b->cpu;
	b->planned.cpus = 1;
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct bench *b = *state;

	machine_close(b->machine);
	free(b);
	return 0;
}

static void test_who_shares_what(void **state)
{
	static const struct {
		size_t bytes, touched;
		unsigned cpus;
		bool memory;
		const char *list;
		int second; /* CPU of the second thread; 0: 2 */
	} table[] = {
		/* in L1 and in L2, also on a huge page, neighbours are those of the core */
		{ 16384, 0, 1, false, "1" },
		{ MIB, 0, 1, false, "1" },
		{ 2 * MIB, 0, 1, false, "1" },
		{ 4 * MIB, 0, 1, false, "1" },
		/* beyond: those of the node */
		{ 8 * MIB, 0, 1, true, "1-3" },
		{ 256 * MIB, 0, 1, true, "1-3" },
		/* a few lines of many pages */
		{ 256 * MIB, MIB, 1, false, "1" },
		/* two CPUs, 0 and 2, have two L2 */
		{ 5 * MIB, 0, 1, true, "1-3" },
		{ 5 * MIB, 0, 2, false, "1,3" },
		{ 64 * MIB, 0, 2, true, "1,3" },
		/* CPUs 0 and 1 have one L2 together */
		{ 5 * MIB, 0, 2, true, "2-3", 1 },
	};
	struct bench *b = *state;

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		hwloc_bitmap_t set = hwloc_bitmap_alloc();
		struct beside beside;
		char list[64];

		b->planned.needs.bytes = table[i].bytes;
		b->planned.needs.touched = table[i].touched;
		b->planned.cpus = table[i].cpus;
		b->cpu[1] = table[i].second ? table[i].second : 2;
		assert_int_equal(beside_open(&beside, &b->planned), 0);
		assert_int_equal(beside.memory, table[i].memory);
		for (unsigned j = 0; j < beside.cpus; j++)
			hwloc_bitmap_set(set, (unsigned)beside.cpu[j]);
		hwloc_bitmap_list_snprintf(list, sizeof(list), set);
		assert_string_equal(list, table[i].list);
		hwloc_bitmap_free(set);
		beside_close(&beside);
	}
}

/* Where nobody knows who the neighbours are, none is watched; caches are not looked at. */
static void test_who_is_not_watched(void **state)
{
	struct bench *b = *state;
	struct ranks ranks = { .ranks = 2 };

	b->planned.needs.bytes = 64 * MIB;
	for (unsigned i = 0; i < 3; i++) {
		struct beside beside;

		b->planned.trial.ranks = i == 0 ? &ranks : NULL;
		b->planned.trial.floating = i == 1;
		b->planned.refusal = i == 2 ? (char *)"no memory" : NULL;
		assert_int_equal(beside_open(&beside, &b->planned), 0);
		assert_int_equal(beside.cpus, 0);
		assert_true(beside_look(&beside) == 0);
		beside_close(&beside);
	}
	b->planned.trial.floating = false;
	b->planned.refusal = NULL;
}

/* A series whose neighbours kept so many CPUs busy, and after whose batches memory took so long. */
static void invent(struct bench *b, size_t bytes, double busy, const double *line)
{
	b->planned.needs = (struct needs){ .bytes = bytes };
	b->planned.cpus = 1;
	b->series = (struct series){ .planned = &b->planned,
				     .batch = b->batch,
				     .batches = BATCHES,
				     .samples = BATCHES };
	assert_int_equal(beside_open(&b->series.beside, &b->planned), 0);
	b->series.beside.quiet = b->quiet;
	b->series.noise.beside = 2 * busy;
	b->series.noise.watched = 2;
	for (unsigned i = 0; i < BATCHES; i++)
		b->batch[i] = (struct batch){ .line = line && b->series.beside.memory ? line[i]
										      : 0 };
}

static const double fast[BATCHES] = { 1.0, 1.1, 1.2, 1.0, 1.1, 1.2, 1.0, 1.25 },
		    one_slow[BATCHES] = { 1.0, 1.1, 1.2, 1.0, 1.1, 1.2, 1.0, 9 },
		    half_slow[BATCHES] = { 1.0, 2.1, 2.1, 1.0, 2.1, 2.2, 1.0, 1.0 },
		    often_slow[BATCHES] = { 1.0, 2.1, 2.1, 1.0, 2.1, 2.2, 1.0, 9 },
		    slow[BATCHES] = { 2.0, 2.1, 2.2, 2.0, 2.1, 2.2, 2.0, 2.1 };

static void test_when_neighbours_are_noise(void **state)
{
	static const struct {
		size_t bytes;
		double busy, quiet;
		const double *line;
		const char *reason; /* NULL: not noisy */
	} table[] = {
		/* nobody is there */
		{ 64 * MIB, 0, 0, fast, NULL },
		{ 64 * MIB, 0.3, 0, fast, NULL },
		{ 64 * MIB, 0, 0, one_slow, NULL },
		/* somebody whom the kernel does not see, a guest of the same host */
		{ 64 * MIB, 0, 0, half_slow, NULL },
		{ 64 * MIB, 0, 0, often_slow, "memory was slow after 5 of 8 batches: a line took "
					      "2.1 times" },
		{ 64 * MIB, 0, 1, slow, "memory was slow after 8 of 8 batches" },
		/* from start to end, so that only their CPU time tells of them */
		{ 64 * MIB, 0.97, 0, slow, "others had 0.97 s of CPU time a second on CPUs 1-3, "
					   "which share its memory: how fast" },
		{ 64 * MIB, 0.97, 0, NULL, "others had 0.97 s" },
		/* they work, and the run knows how fast memory is while they don't */
		{ 64 * MIB, 0.97, 1, fast, NULL },
		{ 64 * MIB, 0.97, 1, slow, "memory was slow after 8 of 8 batches" },
		/* lines in L1 and L2: only the other CPU of the core matters */
		{ 16384, 0, 1, slow, NULL },
		{ MIB, 0, 1, slow, NULL },
		{ MIB, 0.97, 1, slow, "on CPU 1, which shares its core" },
	};
	struct bench *b = *state;

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct verdict v = { STATUS_OK, json_array(), json_array() };
		json_t *object;

		invent(b, table[i].bytes, table[i].busy, table[i].line);
		b->quiet[0] = table[i].quiet;
		beside_judge(&b->series, &v);
		assert_int_equal(v.status, table[i].reason ? STATUS_NOISY : STATUS_OK);
		assert_int_equal(json_array_size(v.reasons), table[i].reason != NULL);
		if (table[i].reason)
			assert_non_null(strstr(json_string_value(json_array_get(v.reasons, 0)),
					       table[i].reason));
		object = beside_json(&b->series);
		assert_string_equal(json_string_value(json_object_get(object, "share")),
				    table[i].bytes > MIB ? "memory" : "core");
		assert_int_equal(json_object_get(object, "slow") != NULL,
				 table[i].line && table[i].bytes > MIB);
		json_decref(object);
		json_decref(v.reasons);
		json_decref(v.notes);
		beside_close(&b->series.beside);
	}
}

/* The run learns only from series whose neighbours rested, and keeps the fastest. */
static void test_what_a_run_learns(void **state)
{
	static const struct {
		double busy;
		const double *line;
		double quiet;
	} table[] = { { 0.97, fast, 0 }, { 0.3, fast, 0 },  { 0, NULL, 0 },
		      { 0.05, slow, 2 }, { 0.05, fast, 1 }, { 0, slow, 1 } };
	struct bench *b = *state;

	memset(b->quiet, 0, sizeof(b->quiet));
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		invent(b, 64 * MIB, table[i].busy, table[i].line);
		slowed_learn(&b->series);
		assert_true(b->quiet[0] == table[i].quiet && b->quiet[1] == 0);
		beside_close(&b->series.beside);
	}
}

/* Threads of this process that are at work beside a trial are no neighbours; unknown is not 0. */
static void test_own_threads_are_no_neighbours(void **state)
{
	struct bench *b = *state;

	invent(b, 64 * MIB, 1, NULL);
	b->series.noise.foreign = -1.5; /* s, of 2 */
	assert_true(slowed_seen(&b->series).busy == 0.25);
	b->series.noise.beside = NAN;
	assert_true(isnan(slowed_seen(&b->series).busy));
	beside_close(&b->series.beside);
}

/* The probe reads memory: no line of it takes less than a cycle. */
static void test_the_probe(void **state)
{
	struct bench *b = *state;

	invent(b, 64 * MIB, 0, NULL);
	for (unsigned i = 0; i < 3; i++) {
		const double line = beside_look(&b->series.beside);

		assert_true(b->series.beside.lines ? line > 1e-10 : line == 0);
	}
	beside_close(&b->series.beside);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_shares_what),
		cmocka_unit_test(test_who_is_not_watched),
		cmocka_unit_test(test_when_neighbours_are_noise),
		cmocka_unit_test(test_what_a_run_learns),
		cmocka_unit_test(test_own_threads_are_no_neighbours),
		cmocka_unit_test(test_the_probe),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
