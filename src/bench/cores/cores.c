/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cores - fixed work on each CPU alone, one after another, then on all at once: which one is slow,
 * is interrupted, or computes wrong.
 *
 * FWQ, the fixed work quanta of the Sandia and Livermore noise benchmarks, with work whose answer
 * is known.
 */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/apart.h"
#include "base/statistics.h"
#include "bench/cores/quantum.h"
#include "benchmark.h"
#include "kit/events.h"
#include "kit/park.h"
#include "machine/clock.h"
#include "machine/topology/topology.h"

/*
 * For tests: the number of a CPU that computes wrong, or "all". It begins its work elsewhere, so
 * the check sees the same as with a faulty CPU.
 */
#define PLANTED	    "LOCUS_CORES_WRONG"
#define OTHER_START 0x1p-12 /* is added to the start */

enum { MOST_QUANTA = 1000000 };
enum { LINKS = 49152 }; /* of the chain that times a cycle: about 16 us */

enum { WIDTH, QUANTA };

/*
 * 64 CPUs take some 5 s, one after another, for six samples of each width; more CPUs share this
 * time. The same in all profiles, so that their trials can be compared.
 */
static uint64_t usual_quanta(const struct machine *m, enum profile profile)
{
	enum { USUAL = 1000, CPUS = 64, FEWEST = 250 };
	const unsigned quanta = m->cpus > CPUS ? USUAL * CPUS / m->cpus : USUAL;

	(void)profile;
	return quanta < FEWEST ? FEWEST : quanta;
}

static const struct parameter parameters[] = {
	[WIDTH] = { "width", "bits", "vector width of the multiply-adds, in bits", P_CHOICE,
		    .choices = QUANTUM_WIDTHS,
		    .meaning = { "one double at a time", "vectors that each CPU has: SSE2, NEON",
				 "AVX2 with FMA", "AVX-512" },
		    .value = { QUANTUM_WIDTHS } },
	[QUANTA] = { "quanta", "quanta", "quanta of work per CPU and sample", P_COUNT,
		     .value = { "auto" }, .automatic = usual_quanta },
};

enum { QUANTUM, RATE, CLOCK, SLOWEST, LOST, TAIL, GAP, WRONG, TIME };
static const struct metric metrics[] = {
	[QUANTUM] = { "quantum", "s/quantum", "median time of a CPU's quanta; of the median CPU",
		      LOWER_IS_BETTER, .kind = M_MEDIAN },
	[RATE] = { "rate", "madd/s", "multiply-adds a second of the median CPU", HIGHER_IS_BETTER,
		   .kind = M_MEDIAN },
	[CLOCK] = { "clock", "Hz", "the median CPU's clock, right after its quanta",
		    HIGHER_IS_BETTER, .kind = M_MEDIAN },
	[SLOWEST] = { "slowest", "1", "speed of the slowest CPU over the median CPU's",
		      HIGHER_IS_BETTER },
	[LOST] = { "lost", "1", "share of the time lost in interruptions, of the median CPU",
		   LOWER_IS_BETTER, .kind = M_MEDIAN },
	[TAIL] = { "tail", "s/quantum", "99.9 % quantile of a CPU's quanta; of the median CPU",
		   LOWER_IS_BETTER, .kind = M_MEDIAN },
	[GAP] = { "gap", "s", "the longest quantum less the median one, over all CPUs",
		  LOWER_IS_BETTER, .kind = M_MOST },
	[WRONG] = { "wrong", "quanta", "quanta with a wrong answer, of the worst CPU",
		    LOWER_IS_BETTER, .kind = M_MOST },
	[TIME] = TIME_METRIC("quantum"),
};

static const struct ratio ratios[] = {
	{ "slowdown", "of a CPU's work while all others work", P_VARIANT, "together", "alone",
	  "quantum" },
};

/* One CPU's sample. */
struct core {
	_Alignas(APART) uint64_t *ticks; /* by quantum */
	double cycle;			 /* s; 0: unknown */
	uint64_t wrong;			 /* quanta of this sample */
	uint64_t wrong_ever;		 /* quanta of all samples */
	double median;			 /* s of a quantum, in the last sample */
	int cpu;
	double start;	     /* the value with which its quanta start */
	struct parking turn; /* where a worker of `alone` waits */
};

struct state {
	quantum *quantum;
	enum isa width;
	uint64_t answer;
	double tick; /* s */
	size_t quanta;
	unsigned threads;
	struct core *core;	  /* by worker */
	double *times;		  /* room for one CPU's quanta, or for one value per CPU */
	_Atomic unsigned at_work; /* CPUs, in alone */
	_Atomic bool crowded;	  /* two CPUs worked at once where one should have been alone */
	char fault[128];
};

static size_t quanta_of_trial(const struct trial *t)
{
	return (size_t)t->value[QUANTA].count;
}

static size_t bytes_of(const struct trial *t)
{
	return t->threads * quanta_of_trial(t) * sizeof(uint64_t);
}

static void release(void *state)
{
	struct state *s = state;

	free(s->core);
	free(s->times);
	free(s);
}

static bool is_planted(int cpu)
{
	const char *planted = getenv(PLANTED);

	return planted && (!strcmp(planted, "all") || atoi(planted) == cpu);
}

/* Each CPU notes its times on its own node. */
static bool map_ticks(struct state *s, const struct trial *t)
{
	struct region *r = region_map(t->arena, "times of quanta", bytes_of(t), PAGES_BASE);
	const size_t each = s->quanta * sizeof(uint64_t);

	for (unsigned i = 0; r && i < t->threads; i++) {
		region_home(r, i * each, each, t->place[i].node);
		region_user(r, i * each, each, t->place[i].node);
		s->core[i].ticks = (uint64_t *)region_base(r) + i * s->quanta;
		s->core[i].cpu = t->place[i].cpu;
		s->core[i].start = QUANTUM_START + (is_planted(t->place[i].cpu) ? OTHER_START : 0);
	}
	return r;
}

static void *prepare(const struct trial *t)
{
	const size_t quanta = quanta_of_trial(t);
	struct state *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->width = (enum isa)t->value[WIDTH].choice;
	s->quantum = quantum_of[s->width];
	s->answer = quantum_answer(s->width);
	s->tick = clock_tick();
	s->quanta = quanta;
	s->threads = t->threads;
	s->core = apart_alloc(t->threads * sizeof(*s->core));
	s->times = calloc(quanta > t->threads ? quanta : t->threads, sizeof(*s->times));
	if (s->core && s->times && map_ticks(s, t))
		return s;
	release(s);
	return NULL;
}

static void enter(void *state, struct worker *self)
{
	const struct state *s = state;
	struct core *core = &s->core[self->index];

	for (size_t i = 0; i < s->quanta; i++)
		core->ticks[i] = 0; /* first touch */
}

/*
 * A CPU's work: quanta, timed one after another without a gap. Before them come a tenth as many, so
 * that the core leaves its idle state and reaches its clock.
 */
static void work_alone(const struct state *s, struct worker *self)
{
	struct core *core = &s->core[self->index];
	uint64_t begin, end, wrong = 0;

	for (size_t i = 0; i < s->quanta / 10 + 1; i++)
		wrong += s->quantum(core->start) != s->answer;
	begin = clock_ticks();
	for (size_t i = 0; i < s->quanta; i++, begin = end) {
		wrong += s->quantum(core->start) != s->answer;
		end = clock_ticks();
		core->ticks[i] = end - begin;
	}
	core->cycle = clock_cycle(LINKS);
	core->wrong = wrong;
	core->wrong_ever += wrong;
	self->done = s->quanta;
}

static void work_together(void *state, struct worker *self)
{
	work_alone(state, self);
}

/*
 * One worker after another; the others sleep, so that they take neither power nor their siblings'
 * units. The first worker sleeps again until the last one is done: it would spin for the team.
 */
static void work_in_turn(void *state, struct worker *self)
{
	struct state *s = state;
	const unsigned next = self->index + 1;

	if (self->index)
		park(&s->core[self->index].turn);
	if (atomic_fetch_add(&s->at_work, 1))
		atomic_store(&s->crowded, true);
	work_alone(s, self);
	atomic_fetch_sub(&s->at_work, 1);
	unpark(&s->core[next < s->threads ? next : 0].turn);
	if (!self->index)
		park(&s->core[0].turn);
}

static void collect_core(struct state *s, unsigned worker, struct result *result)
{
	struct core *core = &s->core[worker];
	const size_t lanes = isa_width(s->width) / sizeof(double);
	struct quanta q;

	for (size_t i = 0; i < s->quanta; i++)
		s->times[i] = (double)core->ticks[i] * s->tick;
	q = quanta_of(s->times, s->quanta);
	core->median = q.median;
	report_by_worker(result, QUANTUM, worker, q.median);
	report_by_worker(result, RATE, worker,
			 (double)(lanes * QUANTUM_STEPS * QUANTUM_CHAINS) / q.median);
	if (core->cycle > 0)
		report_by_worker(result, CLOCK, worker, 1 / core->cycle);
	report_by_worker(result, LOST, worker, q.lost);
	report_by_worker(result, TAIL, worker, q.tail);
	report_by_worker(result, GAP, worker, q.gap);
	report_by_worker(result, WRONG, worker, (double)core->wrong);
}

/* The time of the median CPU over the slowest one's. */
static double slowest_of(struct state *s)
{
	for (unsigned i = 0; i < s->threads; i++)
		s->times[i] = s->core[i].median;
	statistics_sort(s->times, s->threads);
	return statistics_quantile(s->times, s->threads, 0.5) / s->times[s->threads - 1];
}

static void collect(void *state, const struct trial *t, struct result *result)
{
	struct state *s = state;

	for (unsigned i = 0; i < t->threads; i++)
		collect_core(s, i, result);
	report(result, SLOWEST, slowest_of(s));
}

/* "CPU 3", "CPU 3 and 17", "CPU 3, 17, 18, ..." */
static void name_wrong(const struct state *s, FILE *f)
{
	enum { NAMED = 8 };
	unsigned left = 0, named = 0;

	for (unsigned i = 0; i < s->threads; i++)
		left += s->core[i].wrong_ever > 0;
	for (unsigned i = 0; i < s->threads && named < NAMED; i++) {
		if (!s->core[i].wrong_ever)
			continue;
		left--;
		fprintf(f, "%s%d", !named++ ? "CPU " : left ? ", " : " and ", s->core[i].cpu);
	}
	fputs(left ? ", ..." : "", f);
}

static const char *verify(void *state, const struct trial *t)
{
	struct state *s = state;
	uint64_t wrong = 0;
	FILE *f;

	for (unsigned i = 0; i < t->threads; i++)
		wrong += s->core[i].wrong_ever;
	if (!wrong)
		return s->crowded ? "several CPUs worked at once where one should have worked alone"
				  : NULL;
	f = fmemopen(s->fault, sizeof(s->fault), "w");
	if (!f)
		return "a CPU computes wrong";
	name_wrong(s, f);
	fprintf(f, " computes wrong: %" PRIu64 " quanta of multiply-adds had a wrong answer",
		wrong);
	fclose(f);
	return s->fault;
}

static struct needs needs(const struct trial *t)
{
	static const char *const missing[ISAS] = {
		[ISA_BASELINE] = "--width 128: no such vectors are known for this processor",
		[ISA_AVX2] = "--width 256: needs AVX2 with FMA",
		[ISA_AVX512] = "--width 512: needs AVX-512",
	};
	const enum isa width = (enum isa)t->value[WIDTH].choice;
	const uint64_t quanta = t->value[QUANTA].count;

	if (!quantum_of[width] || !isa_usable(width))
		return (struct needs){ .pointless = missing[width] };
	if (t->floating)
		return (struct needs){ .pointless = "it needs threads that stay on their CPUs: "
						    "choose close, spread, or a list of CPUs "
						    "with --bind" };
	if (!quanta || quanta > MOST_QUANTA)
		return (struct needs){ .pointless = "--quanta: 1 to 1,000,000" };
	return (struct needs){ .bytes = bytes_of(t), .units = quanta * t->threads };
}

static const struct ops in_turn = { prepare, enter, NULL, work_in_turn, collect, verify, release };

static const struct variant variants[] = {
	{ "alone", "one CPU after another", .ops = &in_turn },
	{ "together", "all CPUs at once" },
};

static const struct role roles[] = { { "CPU", NULL, BY_COUNT } };

static const struct explained counters[] = {
	{ EVENT_CYCLES, "cycles per quantum, independent of the frequency" },
	{ EVENT_INSTRUCTIONS, "the same for each CPU: its work is fixed" },
};

const struct benchmark cores_benchmark = {
	.name = "cores",
	.summary = "fixed work on each CPU alone, then on all: which are slow or wrong",
	.protocol = { 1,
		      "each CPU does quanta of multiply-adds in registers, and notes how long each "
		      "takes and whether its answer is right",
		      "fixed work quanta: M. Sottile, R. Minnich (2004), and the FWQ benchmark of "
		      "LLNL" },
	.unit = { "quantum" },
	ROWS(parameters, parameters),
	ROWS(metrics, metrics),
	ROWS(ratios, ratios),
	ROWS(counters, counters),
	ROWS(variants, variants),
	.ops = { prepare, enter, NULL, work_together, collect, verify, release },
	ROWS(roles, roles),
	/* a fixed number: the medians of many quanta are sure long before the wall time is */
	.preset = {
		[QUICK] = { .threads = "all", .sample = 5e-3, .repeats = 6 },
		[STANDARD] = { .repeats = 30 },
	},
	.needs = needs,
};
