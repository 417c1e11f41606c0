/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dummy - behaves as it is told to, so that the harness can be tested: takes a given time, varies
 * it, fails, gives a wrong result, or misreports where its pages are. With several ranks, only the
 * last one has faults.
 *
 * Unlike every real kernel it reads the clock, because a test chooses the time that it takes.
 *
 * The environment variable LOCUS_DUMMY_SLOWER, a factor, makes all delays longer. It plants a
 * change that comparisons are to find: a parameter would make another trial of it. LOCUS_DUMMY_GATE
 * names a file: trials of `stuck` that map more bytes than it has wait until it has grown. So a
 * test decides how far a run gets before a fault comes.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "benchmark.h"
#include "kit/events.h"
#include "kit/histogram.h"
#include "kit/loop.h"
#include "kit/pool.h"
#include "kit/random.h"
#include "machine/clock.h"

#define PLANTED "LOCUS_DUMMY_SLOWER"
#define GATE	"LOCUS_DUMMY_GATE"
enum { DELAY, SIZE_OF_MAP, WHERE, POOL, WRITERS };
enum { A_TURN = 64 };	 /* bytes */
enum { NAP = 10000000 }; /* ns */
enum where { IN_PREPARE, IN_ENTER, IN_RESET, IN_COLLECT, IN_VERIFY, IN_RELEASE, NOWHERE };
#define PLACES "prepare,enter,reset,collect,verify,release"
static const struct parameter parameters[] = {
	[DELAY] = { "delay", "us", "time of one turn, in microseconds", P_REAL, .value = { "10" } },
	[SIZE_OF_MAP] = { "size", "B", "memory to map and touch", P_SIZE, .value = { "0" } },
	[WHERE] = { "where", NULL, "where it waits for one delay, but in its work", P_CHOICE,
		    PLACES, .value = { "prepare" } },
	[POOL] = { "pool", "B", "of each worker, from which each of its turns takes 64", P_SIZE,
		   .value = { "16M" } },
	[WRITERS] = { "writers", "writers",
		      "threads whose turns are counted; the others go on "
		      "until these are done",
		      P_COUNT, .value = { "1" } },
};

enum { ASKED, COMMUNICATION, FAIRNESS, IMBALANCE, RISING };
static const struct metric metrics[] = {
	[ASKED] = { "asked", "s", "the delay that was asked for", NEITHER_IS_BETTER, NULL },
	[COMMUNICATION] = { "communication", "s", "in calls to other ranks", LOWER_IS_BETTER,
			    NULL },
	[FAIRNESS] = { "fairness", "1", "of what workers report: the first 1, the next 2, ...",
		       NEITHER_IS_BETTER, .kind = M_FAIRNESS },
	[IMBALANCE] = { "imbalance", "1", "of the same", NEITHER_IS_BETTER, .kind = M_IMBALANCE },
	[RISING] = { "rising", "s", "1, 2, .. 1000 us of each worker", NEITHER_IS_BETTER,
		     .kind = M_DISTRIBUTION },
	TIME_METRIC("turn"),
};

/* The parts of a unit: the microseconds of a turn's delay, on all threads of all ranks. */
static double microseconds(const struct trial *trial)
{
	return trial->value[DELAY].real * trial->threads * ranks_of(trial->ranks);
}

static const struct explained counters[] = {
	{ EVENT_INSTRUCTIONS,
	  "turns of the loop that waits, and the readings of the clock in them" },
	{ EVENT_CYCLES, "with the time, the frequency at which it waited" },
};

struct behaviour {
	double scatter; /* the delay grows by this share at most; uniformly distributed */
	double second;	/* half of the samples, at random, take this many times the delay */
	int fail;	/* errno of prepare() */
	const char *wrong, *impossible;
	bool idle, lie;
	bool sum;   /* the ranks add up their turns, and exchange messages */
	bool stuck; /* waits at `where`, on the last rank, and not in its work */
	bool grows; /* takes memory while it is at work */
	bool tells; /* reports by worker, and a distribution */
};
static const struct behaviour steady = { 0 }, jitter = { .scatter = 0.5 },
			      humps = { .second = 1.5 }, idle = { .idle = true },
			      failing = { .fail = EIO },
			      impossible = { .impossible = "it was told to be impossible" },
			      wrong = { .wrong = "it was told to be wrong" },
			      misplaced = { .lie = true }, sums = { .sum = true },
			      stuck = { .stuck = true }, grows = { .grows = true },
			      tells = { .tells = true };

struct state {
	const struct behaviour *behaviour;
	const struct ranks *ranks;
	int64_t turns, sum; /* turns of worker 0 in the last sample; their sum over the ranks */
	double delay;	    /* s */
	double turn;	    /* s: the delay, or 10 us if a rank is stuck */
	enum where where;
	unsigned sample;
	uint64_t drawn; /* the stream that decides which samples take longer */
	struct region *region;
	struct pool *pool;	  /* NULL: not `grows` */
	struct histogram *rising; /* NULL: not `tells` */
};

static const struct behaviour *behaviour_of(const struct trial *trial)
{
	const struct behaviour *b = trial->variant->data;

	return b->sum || rank_of(trial->ranks) + 1 == ranks_of(trial->ranks) ? b : &steady;
}

/* Sleeps, so that a trial that hangs for minutes leaves the CPU to other tests. */
static void nap(double ns)
{
	nanosleep(&(struct timespec){ .tv_nsec = (long)fmin(ns, NAP) }, NULL);
}

static void wait_in(const struct state *s, enum where where)
{
	const double end = clock_now() + s->delay;
	double left;

	while (s->where == where && (left = end - clock_now()) > 0)
		nap(1e9 * left + 1);
}

/* How many bytes of idle memory a trial maps; `misplaced` needs some to lie about. */
static uint64_t idle_bytes(const struct trial *t, const struct behaviour *b)
{
	const uint64_t asked = t->value[SIZE_OF_MAP].count;

	return b->lie && !asked ? 1 << 20 : asked;
}

static bool gate_is_shut(uint64_t bytes)
{
	const char *path = getenv(GATE);
	struct stat file;

	return path && (stat(path, &file) || (uint64_t)file.st_size < bytes);
}

/* The planted factor; 0: the variable holds no factor. */
static double planted(void)
{
	const char *given = getenv(PLANTED);
	char *end = NULL;
	double factor = given ? strtod(given, &end) : 1;

	return !given || (*given && !*end && isfinite(factor) && factor > 0) ? factor : 0;
}

static void drop(struct state *s)
{
	pool_close(s->pool);
	free(s->rising);
	free(s);
}

static void *prepare(const struct trial *trial)
{
	const struct behaviour *b = behaviour_of(trial);
	const uint64_t bytes = idle_bytes(trial, b);
	struct state *s;

	if (b->impossible)
		return arena_cannot(trial->arena, "%s", b->impossible);
	if (planted() == 0)
		return arena_cannot(trial->arena, PLANTED "=%s is no factor above 0, like 1.05",
				    getenv(PLANTED));
	if (b->fail) {
		errno = b->fail;
		return NULL;
	}
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->behaviour = b;
	s->ranks = trial->ranks;
	s->delay = trial->value[DELAY].real * 1e-6 * planted();
	s->turn = ((const struct behaviour *)trial->variant->data)->stuck ? 1e-5 : s->delay;
	s->drawn = random_word(trial->seed, trial->allocation);
	s->where = b->stuck ? trial->value[WHERE].choice : NOWHERE;
	wait_in(s, IN_PREPARE);
	while (b->stuck && gate_is_shut(bytes))
		nap(NAP);
	if (b->grows)
		s->pool = pool_open(trial, "the turns", trial->value[POOL].count, PAGES_BASE);
	if (b->tells)
		s->rising = apart_alloc(sizeof(*s->rising));
	if (!s->pool != !b->grows || !s->rising != !b->tells) {
		drop(s);
		return NULL;
	}
	if (!bytes)
		return s;
	s->region = region_map(trial->arena, "idle memory", bytes, PAGES_BASE);
	if (!s->region) {
		drop(s);
		return NULL;
	}
	/* The lie: pages on a node that no machine has. */
	region_home(s->region, 0, region_bytes(s->region), b->lie ? 1023 : trial->place[0].node);
	region_user(s->region, 0, region_bytes(s->region), trial->place[0].node);
	return s;
}

static void enter(void *state, struct worker *self)
{
	const struct state *s = state;
	volatile char *byte;

	wait_in(s, IN_ENTER);
	if (s->pool)
		pool_touch(s->pool, self);
	if (self->index || !s->region)
		return;
	byte = region_base(s->region);
	for (size_t i = 0; i < region_bytes(s->region); i += region_granule(s->region))
		byte[i] = 1;
}

static void reset(void *state)
{
	struct state *s = state;

	s->sample++;
	if (s->pool)
		pool_reset(s->pool);
	wait_in(s, IN_RESET);
}

/* A pseudo-random number between 0 and 1 for the n-th sample: the same in every run. */
static double fraction(unsigned n)
{
	return (double)((n * UINT32_C(2654435761)) & 0xffff) / 0x10000;
}

static void read_on(const struct state *s, struct worker *self)
{
	double end = clock_now();

	for (self->done = 0; !loop_time_is_up(self); self->done++)
		for (end += s->delay; clock_now() < end && !loop_time_is_up(self);)
			;
}

static void work(void *state, struct worker *self)
{
	struct state *s = state;
	const struct behaviour *b = s->behaviour;
	double each = s->turn * (1 + b->scatter * fraction(s->sample)) *
		      (b->second > 0 && random_word(s->drawn, s->sample) & 1 ? b->second : 1);
	double end = clock_now() + each * (double)self->count;

	if (self->count == UINT64_MAX) {
		read_on(s, self);
		return;
	}
	for (uint64_t turn = 0; s->pool && turn < self->count; turn++)
		if (!pool_take(s->pool, self, A_TURN, A_TURN))
			return;
	while (clock_now() < end)
		;
	self->done = b->idle ? 0 : self->count;
	if (self->index || !b->sum)
		return;
	s->turns = s->sum = (int64_t)self->count;
	if (s->ranks)
		s->ranks->sum(&s->sum, 1);
}

static void tell(struct state *s, const struct trial *trial, struct result *result)
{
	histogram_clear(s->rising);
	for (unsigned us = 1; us <= 1000; us++)
		histogram_add(s->rising, us);
	for (unsigned i = 0; i < trial->threads; i++) {
		report_by_worker(result, FAIRNESS, i, i + 1);
		report_by_worker(result, IMBALANCE, i, i + 1);
		report_distribution(result, RISING, s->rising, 1e-6);
	}
}

static void collect(void *state, const struct trial *trial, struct result *result)
{
	struct state *s = state;

	wait_in(s, IN_COLLECT);
	if (s->rising)
		tell(s, trial, result);
	report(result, ASKED, ((const struct state *)state)->delay);
	report(result, COMMUNICATION, communicated(result));
}

/* --- exchanges that overlap, with a message of another length and content for each rank --- */

enum { AT_ONCE = 3, LONGEST = 50 };

struct swap {
	struct piece *out, *in;
	unsigned char *bytes; /* the bytes of all ranks */
	void *exchange;
};

static size_t length_of(unsigned from, unsigned to, unsigned which)
{
	return (from * 7 + to * 3 + which * 5) % LONGEST;
}

static unsigned char byte_of(unsigned from, unsigned to, unsigned which)
{
	return (unsigned char)(from * 31 + to * 17 + which + 1);
}

static void begin_swap(const struct ranks *ranks, struct swap *s, unsigned which)
{
	const unsigned n = ranks->ranks;

	s->out = calloc(n, sizeof(*s->out));
	s->in = calloc(n, sizeof(*s->in));
	s->bytes = calloc(n, (size_t)2 * LONGEST);
	if (!s->out || !s->in || !s->bytes)
		abort(); /* the launcher then ends the other ranks */
	for (unsigned i = 0; i < n; i++) {
		unsigned char *bytes = s->bytes + (size_t)i * 2 * LONGEST;
		const size_t length = length_of(ranks->rank, i, which);

		memset(bytes, byte_of(ranks->rank, i, which), length);
		s->out[i] = (struct piece){ bytes, length };
		s->in[i] = (struct piece){ bytes + LONGEST, LONGEST };
	}
	s->exchange = ranks->begin(s->out, s->in);
}

/* Ends it, and returns whether all messages are right. */
static bool end_swap(const struct ranks *ranks, struct swap *s, unsigned which)
{
	bool right = true;

	ranks->finish(s->exchange);
	for (unsigned from = 0; from < ranks->ranks; from++) {
		const unsigned char *bytes = s->in[from].bytes;

		if (from == ranks->rank)
			continue;
		right &= s->in[from].size == length_of(from, ranks->rank, which);
		for (size_t i = 0; i < s->in[from].size; i++)
			right &= bytes[i] == byte_of(from, ranks->rank, which);
	}
	free(s->out);
	free(s->in);
	free(s->bytes);
	return right;
}

static const char *check_swaps(const struct ranks *ranks)
{
	struct swap swap[AT_ONCE];
	bool right = true;

	for (unsigned i = 0; i < AT_ONCE; i++)
		begin_swap(ranks, &swap[i], i);
	for (unsigned i = 0; i < AT_ONCE; i++)
		right &= end_swap(ranks, &swap[i], i);
	return right ? NULL : "an exchange brought another message than was sent";
}

static const char *verify(void *state, const struct trial *trial)
{
	const struct state *s = state;

	wait_in(s, IN_VERIFY);
	if (s->sum != s->turns * ranks_of(trial->ranks))
		return "the sum over the ranks is not what they did";
	if (s->behaviour->sum && trial->ranks)
		return check_swaps(trial->ranks);
	return s->behaviour->wrong;
}

static unsigned writers(const struct trial *trial)
{
	return (unsigned)trial->value[WRITERS].count;
}

static struct needs needs(const struct trial *trial)
{
	const struct behaviour *b = trial->variant->data;
	const size_t pool = b->grows ? pool_bytes(trial, trial->value[POOL].count, PAGES_BASE) : 0;

	if (trial->variant->roles && (!writers(trial) || writers(trial) >= trial->threads))
		return (struct needs){ .pointless = "there are writers, and readers beside them" };
	return (struct needs){ .bytes = idle_bytes(trial, b) + pool };
}

static void give_back(void *state)
{
	struct state *s = state;

	wait_in(s, IN_RELEASE);
	drop(s);
}

static const struct role writers_and_readers[] = {
	{ "writer", writers, BY_COUNT },
	{ "reader", NULL, BY_DEADLINE },
};

static const char *absent(void)
{
	return "it needs libabsent, which nobody has";
}

enum { UNUSED = BIT(WHERE) | BIT(POOL) | BIT(WRITERS) };
static const struct variant variants[] = {
	{ "steady", "each turn takes the delay", &steady, .unused = UNUSED, .divided = true },
	{ "jitter", "each sample takes up to half as much again", &jitter, .unused = UNUSED,
	  .divided = true },
	{ "humps", "half of the samples, drawn at random, take half as much again", &humps,
	  .unused = UNUSED, .divided = true },
	{ "idle", "counts no turn", &idle, .unused = UNUSED, .divided = true },
	{ "failing", "cannot be prepared", &failing, .unused = UNUSED, .divided = true },
	{ "impossible", "says that it is impossible here", &impossible, .unused = UNUSED,
	  .divided = true },
	{ "wrong", "has the wrong answer", &wrong, .unused = UNUSED, .divided = true },
	{ "sums", "adds up over the ranks what each did", &sums, .unused = UNUSED,
	  .divided = true },
	{ "misplaced", "claims that its pages are where they can't be", &misplaced,
	  .unused = UNUSED, .divided = true },
	{ "stuck", "waits, but not in its work", &stuck, .unused = BIT(POOL) | BIT(WRITERS),
	  .divided = true },
	{ "grows", "takes 64 bytes of memory in each turn", &grows,
	  .unused = BIT(WHERE) | BIT(WRITERS), .divided = true },
	{ "tells", "reports a value by worker, and a distribution", &tells, .unused = UNUSED,
	  .divided = true },
	{ "roles", "writers, and readers that go on until they are done", &steady,
	  .unused = BIT(WHERE) | BIT(POOL), ROWS(roles, writers_and_readers) },
	{ "absent", "lacks a library", &steady, .unused = UNUSED, .divided = true,
	  .available = absent },
};

static const struct role roles[] = { { "waiter", NULL, BY_COUNT } };

const struct benchmark dummy_benchmark = {
	.name = "dummy",
	.summary =
		"does nothing, in a time and with faults of your choice: for tests of the harness",
	.protocol = { 1, "waits by the clock, delay after delay" },
	.unit = { "turn", .part = "microsecond", .parts = microseconds },
	ROWS(parameters, parameters),
	ROWS(metrics, metrics),
	ROWS(counters, counters),
	ROWS(variants, variants),
	.ops = { prepare, enter, reset, work, collect, verify, give_back },
	ROWS(roles, roles),
	.preset = { [QUICK] = { "steady,jitter,humps,idle,failing,impossible,wrong,sums,misplaced",
				.threads = "1", .sample = 1e-3 } },
	.needs = needs,
};
