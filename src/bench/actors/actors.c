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
#include "bench/actors/actors.h"
#include "benchmark.h"
#include "kit/events.h"

static const struct parameter parameters[] = {
	[ACTORS] = { "actors", "actors", "number of actors, each with its own state", P_COUNT,
		     .value = { "1000", NULL, "8000" } },
	[STATE] = { "state", "B", "size of an actor's state, with --body walk", P_SIZE,
		    .value = { "64,4K,64K", "64..256K*8", "8000,16000,32000" }, .curve = true,
		    .zero = "map" },
	[WORDS] = { "words", "words",
		    "random 4-byte words that a message reads and writes; 0: as many as the state "
		    "has",
		    P_COUNT, .value = { "8", NULL, "0" }, .zero = "all" },
	[BODY] = { "body", NULL, "work of a message", P_CHOICE, .choices = BODY_CHOICES,
		   .meaning = { "reads and writes its actor's state",
				"allocates memory; writes and reads its actor's hash map" },
		   .value = { "walk" } },
	[ENTRIES] = { "entries", "entries",
		      "entries of an actor's hash map, with --body real (0: 256)", P_COUNT,
		      .value = { "0" }, .zero = "none" },
	[ACTIVE] = { "active", "%", "actors that get messages, in percent", P_REAL,
		     .value = { "100", "1,10,100", "100" } },
	[IN_FLIGHT] = { "in-flight", "messages", "messages in flight for each active actor",
			P_COUNT, .value = { "1" } },
	[TO] = { "to", NULL, "next destination of a message", P_CHOICE, .choices = TO_CHOICES,
		 .meaning = { "the same actor", "a random actor" }, .value = { "self" } },
	[BATCH] = { "batch", "messages", "messages of an actor that are handled in a row, at most",
		    P_COUNT, .value = { "1" } },
	[ORDER] = { "order", NULL, "which of its actors a thread takes", P_CHOICE,
		    .choices = ORDER_CHOICES,
		    .meaning = { "the one that waits longest",
				 "the one scheduled last, so that one actor's messages are handled "
				 "in a row" },
		    .value = { "oldest" } },
	[HOME] = { "home", NULL, "placement of the actors' states", P_CHOICE,
		   .choices = HOME_CHOICES,
		   .meaning = { "on the node of the thread to which the actor first belongs",
				"on the node of the first thread",
				"pages round-robin over all nodes" },
		   .value = { "own" } },
	[MESSAGES] = { "messages", "messages",
		       "messages of all actors together, per sample; 0: as many as --duration "
		       "allows",
		       P_COUNT, .value = { "0" }, .zero = "auto" },
	[EVERY] = { "every", "messages", "time one message in this many; 0: none", P_COUNT,
		    .value = { "64" }, .zero = "none" },
	[RATE] = { "rate", "messages/s",
		   "messages per second that the last thread sends on a schedule; 0: each message "
		   "is sent on after it is handled",
		   P_REAL, .value = { "0" }, .zero = "none" },
};

static const struct ratio ratios[] = {
	{ "slowdown", "by lost locality (a random thread for each message)", P_VARIANT, "shuffled",
	  "dedicated", NULL },
	{ "slowdown", "by one queue for all threads (its lock and context switches)", P_VARIANT,
	  "pool", "shuffled", NULL },
	{ "slowdown", "by lost locality and one queue for all threads", P_VARIANT, "pool",
	  "dedicated", NULL },
	{ "slowdown", "by stealing", P_VARIANT, "stealing", "dedicated", NULL },
	{ "slowdown", "by OpenMP tasks", P_VARIANT, "openmp", "dedicated", NULL },
	{ "gain", "from keeping actors on a thread", P_VARIANT, "stealing", "best", NULL },
	{ "gain", "from stealing whole actors", P_VARIANT, "dedicated", "best", NULL },
	{ "speed-up", "by threads", P_THREADS, "fewest", "more", "throughput" },
};

static const struct variant variants[] = {
	{ "dedicated", "each actor belongs to one thread, and only that thread runs it",
	  &executor_dedicated, .unused = BIT(ORDER) },
	{ "shuffled", "as dedicated, but each message goes to a random thread", &executor_shuffled,
	  .unused = BIT(ORDER) },
	{ "pool", "one queue for all threads, under a mutex; idle threads sleep", &executor_pool,
	  .unused = BIT(ORDER) },
	{ "stealing",
	  "a deque for each thread; a thread without work steals from a random other thread",
	  &executor_stealing },
	{ "openmp", "an OpenMP task for each turn of an actor", &executor_tasks,
	  .unused = BIT(ORDER), .available = executor_no_tasks },
	{ "best",
	  "an actor stays on the thread where it ran last, until a thread without work takes it",
	  &executor_best, .unused = BIT(ORDER) },
};

static const struct role roles[] = { { "thread", NULL, BY_COUNT } };

static const struct explained counters[] = {
	{ EVENT_CYCLES, "cycles per message, including waiting for work" },
	{ EVENT_INSTRUCTIONS, "instructions per message, including waiting" },
	{ EVENT_L1_MISSES, "L1 misses: states and queues" },
	{ EVENT_L2_MISSES, "L2 misses: states and queues" },
	{ EVENT_TAKEN_FROM_CORE, "lines that another core wrote: states that moved, queues" },
	{ EVENT_L3_MISSES, "misses of the last-level cache: states" },
	{ EVENT_TLB_MISSES, "TLB misses: states" },
};

const struct benchmark actors_benchmark = {
	.name = "actors",
	.summary = "actors: run each where its state lies, or on any idle thread",
	.protocol = { 1,
		      "messages are in flight before the clock starts; each is sent on after it is "
		      "handled, until all were handled equally often; with --rate, a thread sends "
		      "them on a schedule",
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
	.resolve = actors_resolve,
	.needs = actors_needs,
};
