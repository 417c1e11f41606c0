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

#include "harness/judge/contention.h"
#include "machine/memory/probe.h"
#include "machine/topology/topology.h"

/* Two nodes of two cores, each of two CPUs; L2 of a MiB. */
#define MACHINE                                                                              \
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
	struct undisturbed quiet[CPUS];
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

/* Nodes without SMT, and with huge pages of 1 MiB. */
#define TWO_L3 \
	"package:1 [numa(memory=1073741824)] l3:2(size=8388608) l2:2(size=1048576) core:1 pu:1"
#define NO_L3 "package:1 [numa(memory=1073741824)] l2:4(size=1048576) core:1 pu:1"
#define GUEST \
	"package:1 [numa(memory=1073741824)] l3:1(size=503316480) l2:2(size=1048576) core:1 pu:1"

static struct machine *other_machine(const char *synthetic)
{
	const char *why;
	struct machine *m = machine_open(synthetic, &why);

	assert_non_null(m);
	m->huge_page = MIB;
	return m;
}

static void test_who_shares_what(void **state)
{
	static const struct {
		size_t bytes, touched;
		unsigned cpus;
		enum neighbours_level level;
		const char *list;
		int second;	   /* CPU of the second thread; 0: 2 */
		const char *other; /* machine; NULL: MACHINE */
	} table[] = {
		/* in L1 and in L2, also on a huge page, neighbours are those of the core */
		{ 16384, 0, 1, NEIGHBOURS_CORE, "1" },
		{ MIB, 0, 1, NEIGHBOURS_CORE, "1" },
		{ 2 * MIB, 0, 1, NEIGHBOURS_CORE, "1" },
		{ 4 * MIB, 0, 1, NEIGHBOURS_CORE, "1" },
		/* beyond L2: those of the L3, then those of the node */
		{ 8 * MIB, 0, 1, NEIGHBOURS_L3, "1-3" },
		{ 16 * MIB, 0, 1, NEIGHBOURS_L3, "1-3" },
		{ 16 * MIB + 1, 0, 1, NEIGHBOURS_MEMORY, "1-3" },
		{ 256 * MIB, 0, 1, NEIGHBOURS_MEMORY, "1-3" },
		/* few lines of many pages */
		{ 256 * MIB, MIB, 1, NEIGHBOURS_CORE, "1" },
		/* two CPUs, 0 and 2, have two L2 */
		{ 5 * MIB, 0, 1, NEIGHBOURS_L3, "1-3" },
		{ 5 * MIB, 0, 2, NEIGHBOURS_CORE, "1,3" },
		{ 64 * MIB, 0, 2, NEIGHBOURS_MEMORY, "1,3" },
		/* CPUs 0 and 1 have one L2 together */
		{ 5 * MIB, 0, 2, NEIGHBOURS_L3, "2-3", 1 },
		/* two L3 of 8 MiB on the node: only one belongs to the CPU, unless both are used */
		{ 4 * MIB, 0, 1, NEIGHBOURS_L3, "1", 0, TWO_L3 },
		{ 5 * MIB, 0, 1, NEIGHBOURS_MEMORY, "1-3", 0, TWO_L3 },
		{ 8 * MIB, 0, 2, NEIGHBOURS_L3, "1,3", 0, TWO_L3 },
		/* no L3 */
		{ 8 * MIB, 0, 1, NEIGHBOURS_MEMORY, "1-3", 0, NO_L3 },
		/* a guest with two CPUs sees the L3 of a host that has many more */
		{ 16 * MIB, 0, 1, NEIGHBOURS_L3, "1", 0, GUEST },
		{ 17 * MIB, 0, 1, NEIGHBOURS_MEMORY, "1", 0, GUEST },
	};
	struct bench *b = *state;

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		hwloc_bitmap_t set = hwloc_bitmap_alloc();
		struct machine *other = NULL;
		struct neighbours beside;
		char list[64];

		if (table[i].other)
			b->planned.trial.machine = other = other_machine(table[i].other);
		b->planned.needs.bytes = table[i].bytes;
		b->planned.needs.touched = table[i].touched;
		b->planned.cpus = table[i].cpus;
		b->cpu[1] = table[i].second ? table[i].second : 2;
		assert_int_equal(neighbours_open(&beside, &b->planned), 0);
		assert_int_equal(beside.level, table[i].level);
		for (unsigned j = 0; j < beside.cpus; j++)
			hwloc_bitmap_set(set, (unsigned)beside.cpu[j]);
		hwloc_bitmap_list_snprintf(list, sizeof(list), set);
		assert_string_equal(list, table[i].list);
		hwloc_bitmap_free(set);
		neighbours_close(&beside);
		machine_close(other);
		b->planned.trial.machine = b->machine;
	}
}

/* If the neighbours are unknown, none is watched; caches are not examined. */
static void test_who_is_not_watched(void **state)
{
	struct bench *b = *state;
	struct ranks ranks = { .ranks = 2 };

	b->planned.needs.bytes = 64 * MIB;
	for (unsigned i = 0; i < 3; i++) {
		struct neighbours beside;

		b->planned.trial.ranks = i == 0 ? &ranks : NULL;
		b->planned.trial.floating = i == 1;
		b->planned.refusal = i == 2 ? (char *)"no memory" : NULL;
		assert_int_equal(neighbours_open(&beside, &b->planned), 0);
		assert_int_equal(beside.cpus, 0);
		neighbours_ready(&beside);
		assert_true(neighbours_look(&beside).line == 0);
		neighbours_close(&beside);
	}
	b->planned.trial.floating = false;
	b->planned.refusal = NULL;
}

/*
 * A series whose neighbours kept so many CPUs busy, and after whose batches a probe of memory took
 * so long.
 */
static void invent(struct bench *b, size_t bytes, double busy, const double *line)
{
	b->planned.needs = (struct needs){ .bytes = bytes };
	b->planned.cpus = 1;
	b->series = (struct series){
		.planned = &b->planned,
		.samples = { .batch = b->batch, .batches = BATCHES, .n = BATCHES },
	};
	assert_int_equal(neighbours_open(&b->series.evidence.neighbours, &b->planned), 0);
	b->series.evidence.neighbours.undisturbed = b->quiet;
	b->series.evidence.noise.beside = 2 * busy;
	b->series.evidence.noise.watched = 2;
	memset(b->batch, 0, sizeof(b->batch));
	for (unsigned i = 0; i < BATCHES; i++)
		b->batch[i].look = (struct neighbours_look){
			.line = line && b->series.evidence.neighbours.level != NEIGHBOURS_CORE
					? line[i]
					: 0,
			.memory = 2,
		};
}

static const double fast[BATCHES] = { 1.0, 1.1, 1.2, 1.0, 1.1, 1.2, 1.0, 1.25 },
		    one_slow[BATCHES] = { 1.0, 1.1, 1.2, 1.0, 1.1, 1.2, 1.0, 9 },
		    half_slow[BATCHES] = { 1.0, 2.1, 2.1, 1.0, 2.1, 2.2, 1.0, 1.0 },
		    often_slow[BATCHES] = { 1.0, 2.1, 2.1, 1.0, 2.1, 2.2, 1.0, 9 },
		    slow[BATCHES] = { 2.0, 2.1, 2.2, 2.0, 2.1, 2.2, 2.0, 2.1 },
		    /* probes of L3; a line from memory takes 2 */
	kept[BATCHES] = { 0.5, 0.6, 0.9, 0.5, 1.4, 0.6, 0.7, 1.0 },
		    half_gone[BATCHES] = { 0.5, 2.1, 2.0, 0.5, 1.9, 1.6, 0.7, 1.0 },
		    gone[BATCHES] = { 0.5, 2.1, 2.0, 0.5, 1.9, 1.6, 0.7, 2.0 };

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
		/* a guest of the same host, which the kernel does not see */
		{ 64 * MIB, 0, 0, half_slow, NULL },
		{ 64 * MIB, 0, 0, often_slow,
		  "memory was slow after 5 of 8 batches: a line took "
		  "2.1 times" },
		{ 64 * MIB, 0, 1, slow, "memory was slow after 8 of 8 batches" },
		/* busy from start to end, so only their CPU time shows them */
		{ 64 * MIB, 0.97, 0, slow,
		  "other work used 0.97 s of CPU time per second on CPUs 1-3, "
		  "which share its memory: its effect is unknown" },
		{ 64 * MIB, 0.97, 0, NULL, "other work used 0.97 s" },
		/* they are busy, and the run knows how fast memory is while they rest */
		{ 64 * MIB, 0.97, 1, fast, NULL },
		{ 64 * MIB, 0.97, 1, slow, "memory was slow after 8 of 8 batches" },
		/*
		 * lines in L3: whether they are still there is the evidence, with and without CPU
		 * time
		 */
		{ 8 * MIB, 0.97, 0, kept, NULL },
		{ 8 * MIB, 0.97, 0, half_gone, NULL },
		{ 8 * MIB, 0.37, 0, gone,
		  "lines were evicted from L3 in 5 of 8 batches (a line "
		  "took 0.88 of the time from memory); other work used 0.37 s of "
		  "CPU time per second on CPUs 1-3, which share its L3" },
		{ 8 * MIB, 0, 1, slow, "lines were evicted from L3 in 8 of 8 batches" },
		/* no probe */
		{ 8 * MIB, 0.97, 0, NULL, "which share its L3: its effect can't be probed" },
		{ 8 * MIB, 0.3, 0, NULL, NULL },
		/* lines in L1 and L2: only the other CPU of the core matters */
		{ 16384, 0, 1, slow, NULL },
		{ MIB, 0, 1, slow, NULL },
		{ MIB, 0.97, 1, slow, "on CPU 1, which shares its core" },
	};
	struct bench *b = *state;

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct verdict v = { STATUS_OK, json_array(), json_array() };
		json_t *object, *said;

		invent(b, table[i].bytes, table[i].busy, table[i].line);
		b->quiet[0].line = table[i].quiet;
		contention_judge(&b->series, &v);
		said = table[i].reason && strstr(table[i].reason, "evicted") ? v.notes : v.reasons;
		assert_int_equal(v.status,
				 table[i].reason && said == v.reasons ? STATUS_NOISY : STATUS_OK);
		assert_int_equal(json_array_size(said), table[i].reason != NULL);
		assert_int_equal(json_array_size(said == v.notes ? v.reasons : v.notes), 0);
		if (table[i].reason)
			assert_non_null(strstr(json_string_value(json_array_get(said, 0)),
					       table[i].reason));
		object = contention_json(&b->series);
		assert_string_equal(json_string_value(json_object_get(object, "share")),
				    table[i].bytes > 32 * MIB ? "memory"
				    : table[i].bytes > MIB    ? "l3"
							      : "core");
		assert_int_equal(json_object_get(object, "slow") != NULL,
				 table[i].line && table[i].bytes > MIB);
		json_decref(object);
		json_decref(v.reasons);
		json_decref(v.notes);
		neighbours_close(&b->series.evidence.neighbours);
	}
}

/*
 * Neighbours that work from start to end, except during one batch: its probe shows how fast memory
 * is without them.
 */
static void test_a_moment_of_rest_is_enough(void **state)
{
	struct bench *b = *state;

	for (unsigned rested = 0; rested < 2; rested++) {
		struct verdict v = { STATUS_OK, json_array(), json_array() };

		invent(b, 64 * MIB, 0.7, fast);
		b->quiet[0].line = 0;
		b->batch[4].rested = rested;
		contention_judge(&b->series, &v);
		assert_int_equal(v.status, rested ? STATUS_OK : STATUS_NOISY);
		contention_learn(&b->series);
		assert_true(b->quiet[0].line == (rested ? fast[4] : 0));
		json_decref(v.reasons);
		json_decref(v.notes);
		neighbours_close(&b->series.evidence.neighbours);
	}
}

/* A tick is 10 ms: a CPU that never rests has one in 15 ms. */
static void test_who_rests(void **state)
{
	(void)state;
	assert_true(others_rested(0, 0.02));
	assert_false(others_rested(0.01, 0.02));
	assert_false(others_rested(0, 0.01));
	assert_false(others_rested(NAN, 0.02));
}

/* Probes of L3 do not describe memory. */
static void test_memory_learns_nothing_from_l3(void **state)
{
	struct bench *b = *state;

	b->quiet[0].line = 0;
	invent(b, 8 * MIB, 0, kept);
	contention_learn(&b->series);
	assert_true(b->quiet[0].line == 0);
	neighbours_close(&b->series.evidence.neighbours);
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
		contention_learn(&b->series);
		assert_true(b->quiet[0].line == table[i].quiet && b->quiet[1].line == 0);
		neighbours_close(&b->series.evidence.neighbours);
	}
}

/* Busy threads of this process beside a trial are not neighbours; an unknown load is not 0. */
static void test_own_threads_are_no_neighbours(void **state)
{
	struct bench *b = *state;

	invent(b, 64 * MIB, 1, NULL);
	b->series.evidence.noise.foreign = -1.5; /* s, of 2 */
	assert_true(contention_seen(&b->series).busy == 0.25);
	b->series.evidence.noise.beside = NAN;
	assert_true(isnan(contention_seen(&b->series).busy));
	neighbours_close(&b->series.evidence.neighbours);
}

/* The probe reads lines: none takes less than a cycle. For L3 it has both times. */
static void test_the_probe(void **state)
{
	struct bench *b = *state;

	for (unsigned l3 = 0; l3 < 2; l3++) {
		invent(b, (l3 ? 8 : 64) * (size_t)MIB, 0, NULL);
		for (unsigned i = 0; i < 3; i++) {
			struct neighbours_look look;

			neighbours_ready(&b->series.evidence.neighbours);
			look = neighbours_look(&b->series.evidence.neighbours);
			assert_true(b->series.evidence.neighbours.lines ? look.line > 1e-10
									: look.line == 0);
			assert_int_equal(look.memory > 1e-10,
					 l3 && b->series.evidence.neighbours.lines);
		}
		neighbours_close(&b->series.evidence.neighbours);
	}
}

/* The chain leads through all its lines and back: otherwise some would never be probed. */
static void test_the_probe_walks_all_its_lines(void **state)
{
	const char *lines = probe_open(), *at = lines;
	unsigned links = 0;

	(void)state;
	if (!lines)
		skip();
	do
		at = *(const char *const *)(const void *)at;
	while (++links < PROBE_BYTES / 64 && at != lines);
	assert_int_equal(links, PROBE_BYTES / 256);
	probe_close((void *)(uintptr_t)lines);
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
		cmocka_unit_test(test_the_probe_walks_all_its_lines),
		cmocka_unit_test(test_a_moment_of_rest_is_enough),
		cmocka_unit_test(test_who_rests),
		cmocka_unit_test(test_memory_learns_nothing_from_l3),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
