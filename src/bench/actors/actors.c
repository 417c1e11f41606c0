/* SPDX-License-Identifier: Apache-2.0 */
/*
 * actors - move the work or the data: an actor's messages are run where its state is, or by any
 * thread.
 *
 * After moeller2014: 8 threads, 8000 actors, states of 2000, 4000 and 8000 ints. What a message
 * touches, how many there are, and whether threads were pinned is not published. The published
 * executors differ in locality and in their queues. `shuffled` separates the two effects: it has
 * the queues of `dedicated` and the locality of `pool`. `openmp` and `best` are further additions.
 */
#include "bench/actors/crew.h"
#include "bench/actors/parameters.h"
#include "bench/actors/sizes.h"
#include "bench/actors/state.h"
#include "benchmark.h"
#include "kit/events.h"

static const struct parameter parameters[] = {
	[ACTORS] = { "actors", "actors", "actors, each with a state of its own", P_COUNT,
		     .value = { "1000", NULL, "8000" } },
	[STATE] = { "state", "B", "size of an actor's state, if the body is walk", P_SIZE,
		    .value = { "64,4K,64K", "64..256K*8", "8000,16000,32000" }, .curve = true,
		    .zero = "map" },
	[WORDS] = { "words", "words",
		    "words of 4 bytes that a message reads and writes, at random; 0: as many as "
		    "the state has",
		    P_COUNT, .value = { "8", NULL, "0" }, .zero = "all" },
	[BODY] = { "body", NULL,
		   "what a message does: walk over its actor's state, or allocate memory, and put "
		   "into the actor's hash map and get from it",
		   P_CHOICE, .choices = BODY_CHOICES, .value = { "walk" } },
	[ENTRIES] = { "entries", "entries",
		      "entries of an actor's hash map, if the body is real (0: 256)", P_COUNT,
		      .value = { "0" }, .zero = "none" },
	[ACTIVE] = { "active", "%", "actors that get messages, in percent", P_REAL,
		     .value = { "100", "1,10,100", "100" } },
	[IN_FLIGHT] = { "in-flight", "messages", "messages under way for each active actor",
			P_COUNT, .value = { "1" } },
	[TO] = { "to", NULL, "where a message goes next: to the same actor, or to a random one",
		 P_CHOICE, .choices = TO_CHOICES, .value = { "self" } },
	[BATCH] = { "batch", "messages", "messages of an actor that are handled in a row, at most",
		    P_COUNT, .value = { "1" } },
	[ORDER] = { "order", NULL,
		    "which of its actors a thread takes: the oldest, or the one that it scheduled "
		    "last, so that it handles one actor's messages in a row",
		    P_CHOICE, .choices = ORDER_CHOICES, .value = { "oldest" } },
	[HOME] = { "home", NULL,
		   "memory of states: on the node of the thread that an actor belongs to at first, "
		   "all on that of the first thread, or a page on each node in turn",
		   P_CHOICE, .choices = HOME_CHOICES, .value = { "own" } },
	[MESSAGES] = { "messages", "messages",
		       "messages of all actors together, in each sample; 0: as many as it has time "
		       "for",
		       P_COUNT, .value = { "0" }, .zero = "auto" },
	[EVERY] = { "every", "messages", "one in that many messages is timed; 0: none", P_COUNT,
		    .value = { "64" }, .zero = "none" },
	[RATE] = { "rate", "messages/s",
		   "messages a second that the last thread sends from outside, each when it is "
		   "due; 0: each message is sent on once it is handled",
		   P_REAL, .value = { "0" }, .zero = "none" },
};

static const struct ratio ratios[] = {
	{ "slowdown", "by lost locality: a random thread for each message", P_VARIANT, "shuffled",
	  "dedicated", NULL },
	{ "slowdown", "by one queue for all: its lock and its context switches", P_VARIANT, "pool",
	  "shuffled", NULL },
	{ "slowdown", "by lost locality and one queue for all", P_VARIANT, "pool", "dedicated",
	  NULL },
	{ "slowdown", "by stealing", P_VARIANT, "stealing", "dedicated", NULL },
	{ "slowdown", "by OpenMP's tasks", P_VARIANT, "openmp", "dedicated", NULL },
	{ "gain", "of actors that stay on a thread", P_VARIANT, "stealing", "best", NULL },
	{ "gain", "of stealing whole actors", P_VARIANT, "dedicated", "best", NULL },
	{ "speed-up", "by threads", P_THREADS, "fewest", "more", "throughput" },
};

static const struct variant variants[] = {
	{ "dedicated", "an actor belongs to a thread, which alone runs it", &executor_dedicated,
	  .unused = BIT(ORDER) },
	{ "shuffled", "the same mailboxes, but each message goes to a random thread",
	  &executor_shuffled, .unused = BIT(ORDER) },
	{ "pool", "one queue for all, under a mutex; idle threads sleep", &executor_pool,
	  .unused = BIT(ORDER) },
	{ "stealing", "a deque for each thread; one without work steals from a random other",
	  &executor_stealing },
	{ "openmp", "a task of OpenMP for each turn of an actor", &executor_tasks,
	  .unused = BIT(ORDER), .available = executor_no_tasks },
	{ "best", "an actor stays where it ran last, until a thread without work takes it",
	  &executor_best, .unused = BIT(ORDER) },
};

static const struct role roles[] = { { "thread", NULL, BY_COUNT } };

static const struct explained counters[] = {
	{ EVENT_CYCLES, "cycles of a message, waiting for work included" },
	{ EVENT_INSTRUCTIONS, "instructions of a message, and of waiting" },
	{ EVENT_L1_MISSES, "L1 misses: states and queues" },
	{ EVENT_L2_MISSES, "L2 misses: states and queues" },
	{ EVENT_TAKEN_FROM_CORE, "lines that another core wrote: states that moved, queues" },
	{ EVENT_L3_MISSES, "misses of the last-level cache: states" },
	{ EVENT_TLB_MISSES, "TLB misses: states" },
};

const struct benchmark actors_benchmark = {
	.name = "actors",
	.summary = "actors with a state each: run where their state is, or on any idle thread",
	.protocol = { 1,
		      "messages are under way before the clock starts; each is sent on once it is "
		      "handled, until all were handled equally often; or a thread sends them when "
		      "they are due",
		      "moeller2014" },
	.unit = { "message" },
	ROWS(parameters, parameters),
	ROWS(metrics, actors_metrics),
	ROWS(counters, counters),
	ROWS(ratios, ratios),
	ROWS(variants, variants),
	.ops = { actors_prepare, actors_enter, actors_reset, actors_work, actors_collect,
		 actors_verify, actors_release },
	ROWS(roles, roles),
	.preset = {
		[QUICK] = { .threads = "auto", .sample = 5e-3 },
		[STANDARD] = { .threads = "auto", .sample = 20e-3 },
		[PAPER] = { .threads = "8" },
	},
	.settle = actors_settle,
	.needs = actors_needs,
};
