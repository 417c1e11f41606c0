/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locks - threads acquire a lock, work on what it guards, release it and pause: what each kind of
 * lock costs, whom it serves next, and how long the others wait.
 *
 * P. Sestoft, "A multicore performance mystery solved" (2017), says that false sharing of locks
 * stops mattering with work inside of the critical sections: layouts dense and padded test it.
 */
#include "bench/locks/locks.h"
#include "kit/events.h"

static const struct parameter parameters[] = {
	[LAYOUT] = { "layout", NULL, "number and layout of the locks", P_CHOICE,
		     .choices = "together,apart,dense,padded",
		     .meaning = { "one lock for all threads, on the line of its data",
				  "one lock for all threads, on its own lines",
				  "a lock per thread, packed",
				  "a lock per thread, on its own lines" },
		     .value = { "apart" } },
	[SECTION] = { "section", "steps",
		      "work under the lock: number of dependent multiplications", P_COUNT,
		      .value = { "1,1K", "1,100,1K,10K" }, .curve = true },
	[LINES] = { "lines", "lines", "lines that a critical section writes", P_COUNT,
		    .value = { "1" }, .curve = true },
	[PAUSE] = { "pause", "steps",
		    "work between two acquisitions of a thread: number of dependent "
		    "multiplications",
		    P_COUNT, .value = { "0" }, .curve = true },
	[READS] = { "reads", "%", "critical sections that only read, in percent", P_COUNT,
		    .value = { "0" } },
};

static const struct ratio ratios[] = {
	{ "slowdown", "by false sharing of the threads' locks", LAYOUT, "dense", "padded", NULL },
	{ "slowdown", "by a lock on the line of its data", LAYOUT, "together", "apart", NULL },
	{ "gain", "from waiting on one's own line", P_VARIANT, "ticket", "mcs", "throughput" },
	{ "gain", "from handing over within a node", P_VARIANT, "mcs", "cohort", "throughput" },
	{ "gain", "from readers that share the lock", P_VARIANT, "mutex", "rwlock", "throughput" },
	{ "gain", "from readers that write no common line", P_VARIANT, "rwlock", "flags",
	  "throughput" },
};

static const char *pointless(const struct trial *t)
{
	const struct kind *kind = t->variant->data;

	if (!t->value[LINES].count || t->value[LINES].count > KINDS_MOST_LINES)
		return "--lines is from 1 to 1024";
	if (t->value[READS].count > 100)
		return "--reads is a percentage: 0 to 100";
	if (t->threads >= KINDS_MOST_THREADS)
		return "a lock has fewer than 2^16 threads";
	if (kind->spread && !locks_are_one(t))
		return "this lock has a part for each thread or node, so it can't be packed: give "
		       "--layout together or apart";
	return NULL;
}

static struct needs needs(const struct trial *t)
{
	const char *why = pointless(t);

	if (why)
		return (struct needs){ .pointless = why };
	return (struct needs){ .bytes = locks_geometry(t).bytes + t->threads * locks_post_size(t) };
}

/* Layouts are compared where all threads wait on the lock, on lines of their own, and asleep. */
#define EACH_LAYOUT                                   \
	{                                             \
		LAYOUT,                               \
		{                                     \
			"together,apart,dense,padded" \
		}                                     \
	}
#define SOME_READ              \
	{                      \
		READS,         \
		{              \
			"0,90" \
		}              \
	}
static const struct override layouts[] = { EACH_LAYOUT }, reads[] = { SOME_READ },
			     both[] = { EACH_LAYOUT, SOME_READ };

static const struct variant variants[] = {
	{ "mutex", "pthread_mutex_lock(): threads sleep", &kind_mutex, ROWS(defaults, both) },
	{ "spin", "test and test-and-set with backoff: no order", &kind_spin,
	  ROWS(defaults, layouts) },
	{ "ticket", "first come, first served; all wait on one line", &kind_ticket },
	{ "mcs", "a queue; each waits on its own line (Mellor-Crummey and Scott)", &kind_mcs,
	  ROWS(defaults, layouts) },
	{ "clh", "a queue; each waits on its predecessor's line (Craig; Magnusson et al.)",
	  &kind_clh },
	{ "cohort", "a ticket lock per node, and a global one (Dice, Marathe and Shavit)",
	  &kind_cohort, .several_nodes = true },
	{ "rwlock", "pthread_rwlock_rdlock() and wrlock(): readers share the lock", &kind_rwlock,
	  ROWS(defaults, reads) },
	{ "flags", "each reader has a flag, which writers check (Hsieh and Weihl)", &kind_flags,
	  ROWS(defaults, reads) },
};

static const struct role roles[] = { { "thread", NULL, BY_DEADLINE } };

static const struct explained counters[] = {
	{ EVENT_CYCLES, "cycles per acquisition, including waiting" },
	{ EVENT_INSTRUCTIONS, "instructions: they grow with the time of waiting" },
	{ EVENT_L1_MISSES, "misses: the lock or its data was in another core's cache" },
	EVENTS_OF_TAKEN_LINES,
};

const struct benchmark locks_benchmark = {
	.name = "locks",
	.summary = "locks around work: throughput, fairness, handover and waiting",
	.protocol = { 2,
		      "each thread acquires a lock, works on the guarded data, releases it and "
		      "pauses, as often as it can; scored over the time in which all threads work; "
		      "one acquisition in 1024 is timed, up to one in 4 if sections are long",
		      "sestoft2017, mellor1991, craig1993, magnusson1994, dice2012, hsieh1992",
		      .scored = TOGETHER },
	.unit = { "acquisition", .cycles = true },
	ROWS(parameters, parameters),
	ROWS(metrics, locks_metrics),
	ROWS(ratios, ratios),
	ROWS(counters, counters),
	ROWS(variants, variants),
	.ops = { locks_prepare, locks_enter, locks_reset, locks_work, locks_collect, locks_verify,
		 locks_release },
	ROWS(roles, roles),
	.preset = {
		[QUICK] = { .threads = "auto", .sample = 5e-3 },
		[STANDARD] = { .threads = "1..auto*2,auto" },
	},
	.needs = needs,
};
