/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hashmap - a map that all threads use: lock striping, its costs, and faster maps.
 *
 * After P. Sestoft, "A multicore performance mystery solved" (2017), section 5: 1.6 million
 * operations divided over threads, 32 stripes, locks and counts of stripes on shared lines or
 * padded. The paper does not give its mix of operations: `course` is the mix of a course that it
 * cites.
 */
#include "bench/hashmap/map.h"
#include "bench/hashmap/hashmap.h"
#include "benchmark.h"
#include "kit/events.h"

static const struct parameter parameters[] = {
	[OPERATIONS] = { "operations", "operations",
			 "operations of all threads together, on a fresh map in each sample; 0: "
			 "1.6 million for course; for steady, on one map, as many as --duration "
			 "allows",
			 P_COUNT, .value = { "0" }, .zero = "auto" },
	[MIX] = { "mix", NULL, "mix of operations", P_CHOICE, .choices = MIX_CHOICES,
		  .meaning = { "look up; if absent, insert with probability 0.6; if present, "
			       "remove and reinsert with 0.02",
			       "as --reads and --turnover say" },
		  .value = { "steady", "course,steady", "course" } },
	[READS] = { "reads", "%", "lookups, in percent of all operations", P_COUNT,
		    .value = { "95", "50,95" } },
	[TURNOVER] = { "turnover", "%",
		       "insertions and removals, half each, in percent of the other operations; "
		       "the rest are updates",
		       P_COUNT, .value = { "100" } },
	[RANGE] = { "range", "keys", "number of possible keys", P_COUNT, .value = { "200000" } },
	[KEYS] = { "keys", NULL, "distribution of keys", P_CHOICE, .choices = DISTRIBUTION_CHOICES,
		   .meaning = { "all keys equally often", "key r with weight 1 / r^skew",
				"one key gets a share of skew" },
		   .value = { "uniform" } },
	[SKEW] = { "skew", NULL,
		   "exponent of zipf keys (0: 0.99), or share of the hot key (0: 0.9); unused for "
		   "uniform keys",
		   P_REAL, .value = { "0" }, .zero = "none" },
	[VALUE] = { "value", "B", "size of a value", P_SIZE, .value = { "8" } },
	[READERS] = { "readers", "threads", "threads that only look up; the others do the mix",
		      P_COUNT, .value = { "0" } },
	[LOAD] = { "load", NULL, "mean entries per bucket above which the table doubles", P_REAL,
		   .value = { "1" } },
	[STRIPES] = { "stripes", "stripes", "stripes, each with a lock and a count of its entries",
		      P_COUNT, .value = { "32" } },
	[PADDED] = { "padded", NULL, "what is padded in the stripes", P_CHOICE,
		     .choices = PADDED_CHOICES,
		     .meaning = { "nothing", "the locks", "the counts of entries",
				  "locks and counts" },
		     .value = { "none,both", "none,locks,sizes,both" } },
	[LOCK_BYTES] = { "lock-bytes", "B",
			 "bytes of a lock: 4, 16 (a Java object), 40 (a POSIX mutex)", P_SIZE,
			 .value = { "16" } },
	[PADDING] = { "padding", "elements",
		      "distance of padded elements, in elements; those between are unused", P_COUNT,
		      .value = { "16" } },
	[RECLAIM] = { "reclaim", NULL, "reclamation of removed entries' memory", P_CHOICE,
		      .choices = RECLAIM_CHOICES,
		      .meaning = { "reused once no reader can hold it", "never reused" },
		      .value = { "epoch" } },
	[PLACEMENT] = { "placement", NULL, "placement of tables and locks", P_CHOICE,
			.choices = PLACEMENT_CHOICES,
			.meaning = { "on the node of the first thread",
				     "pages round-robin over all nodes" },
			.value = { "local" } },
	[PAGES] = { "pages", NULL,
		    "pages of tables, locks and entries (best always uses huge pages)", P_CHOICE,
		    .choices = PAGES_CHOICES, .value = { "base" } },
	[CALLS] = { "calls", NULL, "operations per call", P_CHOICE, .choices = CALLS_CHOICES,
		    .meaning = { "one", "64, whose memory a call prefetches; they are not timed "
					"one by one" },
		    .value = { "single" } },
	[EVERY] = { "every", "operations", "time one operation in this many; 0: none", P_COUNT,
		    .value = { "64" }, .zero = "none" },
};

static const struct ratio ratios[] = {
	{ "slowdown", "by locks and counts that share lines", PADDED, "none", "both", NULL },
	{ "slowdown", "by locks that share lines", PADDED, "none", "locks", NULL },
	{ "slowdown", "by counts that share lines", PADDED, "none", "sizes", NULL },
	{ "gain", "from reads without locks", P_VARIANT, "striped", "striped-waitfree", NULL },
	{ "gain", "from a lock-free table", P_VARIANT, "striped-waitfree", "library", NULL },
	{ "gain", "from buckets of two lines", P_VARIANT, "striped-waitfree", "best", NULL },
	{ "gain", "from buckets of two lines, against the library", P_VARIANT, "library", "best",
	  NULL },
	{ "slowdown", "by reclaiming memory", RECLAIM, "epoch", "none", NULL },
	{ "gain", "from batches of operations", CALLS, "single", "batches", NULL },
	{ "speed-up", "by threads", P_THREADS, "fewest", "more", "throughput" },
};

static unsigned mixed(const struct trial *t)
{
	return mixed_of(t);
}

static const struct role roles[] = {
	{ "thread", mixed, BY_COUNT },
	{ "reader", NULL, BY_DEADLINE },
};

static const struct way striped = { &striped_map, .words = true },
			waitfree = { &waitfree_map, .words = true },
			library = { &library_map, .words = true }, best = { &fast_map };
enum {
	STRIPED_ONLY = BIT(LOAD) | BIT(STRIPES) | BIT(PADDED) | BIT(LOCK_BYTES) | BIT(PADDING),
};
static const struct variant variants[] = {
	{ "striped", "every operation holds its stripe's lock", &striped,
	  .unused = BIT(RECLAIM) | BIT(CALLS) },
	{ "striped-waitfree", "writes hold their stripe's lock; reads never lock or wait",
	  &waitfree, .unused = BIT(CALLS) },
	{ "library", "liburcu's cds_lfht, a lock-free table", &library,
	  .unused = STRIPED_ONLY | BIT(PLACEMENT) | BIT(CALLS), .available = library_available },
	{ "best", "buckets of two lines with a one-bit lock; readers never wait", &best,
	  .unused = STRIPED_ONLY | BIT(RECLAIM) | BIT(PAGES) },
};

static const struct explained counters[] = {
	{ EVENT_CYCLES, "cycles per operation, including drawing and waiting" },
	{ EVENT_INSTRUCTIONS, "instructions per operation, including drawing and waiting" },
	{ EVENT_BRANCH_MISSES, "mispredictions at the ends of chains" },
	{ EVENT_L1_MISSES, "L1 misses: buckets, entries, and lines that another thread wrote" },
	{ EVENT_TAKEN_FROM_CORE, "lines that another core wrote: locks, counts, entries" },
	{ EVENT_L3_MISSES, "misses of the last-level cache: buckets and entries" },
	{ EVENT_TLB_MISSES, "TLB misses: the table and entries" },
};

const struct benchmark hashmap_benchmark = {
	.name = "hashmap",
	.summary = "a shared hash map: lock striping, its costs, and faster maps",
	.protocol = { 1,
		      "each thread repeatedly draws 64 operations and then does them; with a fixed "
		      "number of operations, each sample begins with a fresh map",
		      "sestoft2017" },
	.unit = { "operation" },
	ROWS(parameters, parameters),
	ROWS(metrics, hashmap_metrics),
	ROWS(counters, counters),
	ROWS(ratios, ratios),
	ROWS(variants, variants),
	.ops = { hashmap_prepare, hashmap_enter, hashmap_reset, hashmap_work, hashmap_collect,
		 hashmap_verify, hashmap_release },
	ROWS(roles, roles),
	.preset = {
		[QUICK] = { .threads = "auto", .sample = 5e-3 },
		[STANDARD] = { .threads = "1..auto*2,auto" },
	},
	.resolve = hashmap_resolve,
	.needs = hashmap_needs,
};
