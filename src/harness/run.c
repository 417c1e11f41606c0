/* SPDX-License-Identifier: Apache-2.0 */
#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "harness/allocation.h"
#include "harness/batch.h"
#include "harness/calibrate.h"
#include "harness/dry_run.h"
#include "harness/group.h"
#include "harness/record.h"
#include "harness/run.h"
#include "harness/samples_line.h"
#include "harness/seat.h"
#include "harness/statistics.h"
#include "harness/summary.h"
#include "harness/table.h"
#include "count/markers.h"
#include "kit/agree.h"
#include "kit/random.h"
#include "machine/affinity.h"
#include "machine/clock.h"
#include "machine/cpuset.h"
#include "machine/places.h"
#include "machine/provenance.h"
#include "machine/topology.h"
#include "machine/watchdog.h"
#include "base/sysfs.h"
#include "base/text.h"
#include "base/utf8.h"

/*
 * How long and how often a profile measures; --time-budget, --case-budget and --repeats cut it. s;
 * 0: no bound.
 */
static const struct {
	double time, one;     /* the whole command; one trial */
	unsigned allocations; /* at least */
} efforts[PROFILES] = {
	[QUICK] = { 8, 0, 2 },
	[STANDARD] = { 0, 4, 3 },
	[PAPER] = { 0, 60, 5 },
};
enum { MOST_ALLOCATIONS = 50 };

/*
 * How long main may stay away: s after a signal, on the rank that writes the record and on the
 * others, which must not be lost before it has written (mpirun then kills it); and beyond the time
 * budget.
 */
#define GRACE		0.7
#define GRACE_OF_OTHERS 1.2
#define OVERTIME_SHARE	0.1
#define OVERTIME	1.0
/* s for the watchdog to write lines of trials without samples: thousands would take longer. */
#define LINES 0.5

#define MORE "give more with --time-budget, or choose smaller sizes"

/* What the user gave, or else the profile has; s, 0: no bound. */
static double time_budget(const struct options *o)
{
	return o->time_budget > 0 ? o->time_budget : efforts[o->profile].time;
}

static double case_budget(const struct options *o)
{
	return o->case_budget > 0 ? o->case_budget : efforts[o->profile].one;
}

/*
 * A batch covers about this long, so that batches are less alike than neighbouring samples; s.
 * Less, where the budget is too small for enough of them.
 */
#define BATCH 0.02

struct run {
	const struct options *options;
	const struct ranks *ranks; /* NULL: this process has it all */
	struct machine *machine;
	struct affinity affinity;
	struct setting setting;
	struct plan *plan; /* one for each benchmark */
	unsigned plans, trials, finished;
	struct record *record;
	struct progress progress;
	struct team *team;
	struct counting *counting; /* NULL: nothing was asked for */
	struct markers *markers;   /* regions for LIKWID, one a trial; NULL: none, see why */
	unsigned regions;
	char *why_no_markers; /* NULL: nobody asked for them */
	struct clock_quality clock;
	double began; /* clock_now() */
	/* s from then on, INFINITY: of all; of the share of the benchmark at hand */
	double deadline, until;
	double last;	 /* the same: when the watchdog ends it */
	bool measured;	 /* there is a batch of some trial */
	uint64_t random; /* state of the generator that shuffles */
	unsigned count[STATUSES], skipped;
	int signal;	 /* that ends it, on all ranks; 0: none */
	bool unwritable; /* so does the record */
	/* How far it is */
	bool headed;		    /* the record has its header */
	unsigned plan_at, trial_at; /* the first trial that was in no group yet */
	struct group *group;	    /* at hand; NULL: none */
	const struct planned *hand; /* the trial that was begun last; NULL: none */
	struct table table;
};

/* A signal may come to one rank, and the record is rank 0's: that ends them all. */
static bool ended(struct run *r)
{
	r->signal = (int)agree_most(r->ranks, watchdog_signal());
	r->unwritable = agree_any(r->ranks, record_failed(r->record));
	return r->signal || r->unwritable;
}

/* s since the run began: what is decided by it is decided by the latest of the ranks' clocks. */
static double now(const struct run *r)
{
	return agree_most(r->ranks, clock_now() - r->began);
}

/*
 * Until when something may be begun. Until there is a batch that is as long as the watchdog waits,
 * so that each run that is resumed gets on, however small its budget and slow the machine.
 */
static double limit(const struct run *r)
{
	return r->measured ? r->until : fmax(r->until, r->last);
}

/* SplitMix64 (Steele, Lea and Flood 2014). */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static void shuffle(unsigned *x, unsigned n, uint64_t *state)
{
	for (unsigned i = n; i > 1; i--) {
		unsigned j = (unsigned)(next_random(state) % i), spare = x[i - 1];

		x[i - 1] = x[j];
		x[j] = spare;
	}
}

static char *utc(char *text, size_t size)
{
	struct timespec t;
	struct tm tm;
	char seconds[32];

	clock_gettime(CLOCK_REALTIME, &t);
	gmtime_r(&t.tv_sec, &tm);
	strftime(seconds, sizeof(seconds), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text, size, "%s.%03uZ", seconds, (unsigned)(t.tv_nsec / 1000000) % 1000);
	return text;
}

/* --- the measuring of a group --- */

struct group {
	struct run *run;
	struct series *series;
	unsigned n, *order;
	unsigned told;	      /* trials whose lines are in the record */
	unsigned repeats;     /* samples of each trial; 0: until the result is known */
	double end;	      /* now() when its budget is spent */
	double batch;	      /* s */
	unsigned allocations; /* at least */
	unsigned rounds;      /* batches of each trial in an allocation, at least */
	char started[40];
};

/*
 * True if all that can be measured have converged. Ranks compute that from the same samples, but
 * maybe not with the same libm.
 */
static bool all_converged(const struct group *g, int allocation)
{
	bool wanting = false;

	for (unsigned i = 0; i < g->n && !wanting; i++)
		wanting = g->series[i].batches && !series_converged(&g->series[i], allocation);
	return !agree_any(g->run->ranks, wanting);
}

static void show(struct run *r, const struct series *s)
{
	r->hand = s->planned;
	progress_show(&r->progress, s->planned->name, r->finished, r->trials,
		      clock_now() - r->began, isfinite(r->deadline) ? r->deadline : 0);
}

/* True if any could be allocated; then the rest waits when so much time is spent. */
static bool allocate(struct group *g, double enough, unsigned *reached)
{
	struct run *r = g->run;
	bool any = false;

	for (*reached = 0; *reached < g->n && !ended(r); ++*reached) {
		struct series *s = &g->series[*reached];

		if (now(r) >= (any ? fmin(enough, r->until) : limit(r)))
			break;
		show(r, s);
		any |= allocation_open(s, r->team);
	}
	return any;
}

/* Leaves the series from the n-th on to a later group. */
static void split(struct group *g, unsigned n)
{
	while (g->n > n)
		series_close(&g->series[--g->n]);
}

/*
 * The first allocation. Where it takes half of the group's time, as memory that is slow to be
 * touched does, those that have memory by then are measured, instead of none.
 */
static bool allocate_first(struct group *g)
{
	const double began = now(g->run);
	unsigned reached;
	bool any = allocate(g, isfinite(g->run->until) ? began + (g->end - began) / 2 : INFINITY,
			    &reached);

	if (any && !ended(g->run))
		split(g, reached);
	return any;
}

static void release(struct group *g)
{
	for (unsigned i = 0; i < g->n; i++) {
		g->run->hand = g->series[i].planned;
		allocation_close(&g->series[i], g->run->team);
	}
}

static void calibrate_all(struct group *g)
{
	for (unsigned i = 0; i < g->n && !ended(g->run); i++) {
		struct series *s = &g->series[i];

		if (!s->ready)
			continue;
		show(g->run, s);
		calibrate(s, g->run->team, g->batch,
			  (i ? g->run->until : limit(g->run)) - now(g->run));
	}
}

/* False for a sample that the watchdog would cut off: it would not end within the time budget. */
static bool fits(const struct run *r, const struct series *s)
{
	return now(r) + s->duration <= r->last;
}

/* A batch of every trial, in random order. False: there was none to take. */
static bool take_round(struct group *g)
{
	struct run *r = g->run;
	bool any = false;

	shuffle(g->order, g->n, &r->random);
	for (unsigned i = 0; i < g->n && !ended(r) && now(r) < limit(r); i++) {
		struct series *s = &g->series[g->order[i]];

		if (!s->ready || !fits(r, s))
			continue;
		any = true;
		show(r, s);
		if (!batch_take(s, r->team, g->repeats && !s->pairs ? 1 : s->per_batch,
				(g->n > 1 || r->counting) && s->duration < 0.02))
			continue;
		r->measured = true;
		record_line(r->record, "samples", samples_line(s, clock_now() - r->began), false);
	}
	return any;
}

/* All rounds of one allocation. */
static void take_rounds(struct group *g, int allocation, double until)
{
	struct run *r = g->run;

	for (unsigned round = 0; !ended(r) && now(r) < limit(r); round++) {
		if (round >= g->rounds &&
		    (g->repeats || now(r) >= until || all_converged(g, allocation)))
			break;
		if (round && now(r) >= g->end && isfinite(r->until))
			break; /* the rest of the budget belongs to other trials */
		if (!take_round(g))
			break;
	}
}

static enum stopped measure_rounds(struct group *g)
{
	struct run *r = g->run;
	const unsigned repeats = g->repeats;
	unsigned left = repeats, reached;

	for (unsigned a = 0; a < MOST_ALLOCATIONS; a++) {
		double began = now(r),
		       slice = (g->end - began) / fmax(1, (double)g->allocations - a);
		bool any;

		if (repeats)
			g->rounds = (left + g->allocations - a - 1) / (g->allocations - a);
		any = a ? allocate(g, INFINITY, &reached) : allocate_first(g);
		if (a == 0)
			calibrate_all(g);
		if (any)
			take_rounds(g, (int)a, began + slice);
		release(g);
		left -= repeats ? g->rounds : 0;
		if (ended(r))
			return STOPPED_SIGNAL;
		if (repeats && !left)
			return STOPPED_REPEATS;
		if (!repeats && a + 1 >= g->allocations && all_converged(g, -1))
			return STOPPED_CONVERGED;
		if (!repeats && now(r) + (a + 1 >= g->allocations ? now(r) - began : 0) >= g->end)
			return STOPPED_BUDGET;
		if (!any || now(r) >= r->until)
			return STOPPED_BUDGET;
	}
	return STOPPED_BUDGET;
}

/* Why a trial ended, where the whole group ended for this reason. */
static enum stopped why_stopped(const struct group *g, const struct series *s, enum stopped stopped)
{
	if (stopped == STOPPED_REPEATS && s->samples < g->repeats)
		return STOPPED_BUDGET;
	if (stopped == STOPPED_BUDGET && !g->repeats && s->allocations >= g->allocations &&
	    !s->ready && series_converged(s, -1))
		return STOPPED_CONVERGED;
	return stopped;
}

/*
 * The line of the next trial, and its row. The disk is waited for once a group: what was measured
 * is in the batches' lines.
 */
static void tell_next(struct group *g, enum stopped stopped)
{
	struct run *r = g->run;
	struct series *s = &g->series[g->told];
	enum status status;
	json_t *line;

	if (s->planned->again && !s->samples) { /* what an earlier run found holds */
		g->told++;
		r->skipped++;
		return;
	}
	s->stopped = why_stopped(g, s, stopped);
	line = summary(s, g->series, g->n, g->started, &status);
	g->told++;
	record_line(r->record, "trial", json_incref(line), g->told == g->n && s->samples);
	/* a row is shown once a kill cannot lose its line any more */
	if (line && is_first(r->ranks))
		table_row(&r->table, s->planned, line);
	json_decref(line);
	r->count[status]++;
	r->finished++;
}

static void finish(struct group *g, enum stopped stopped)
{
	progress_clear(&g->run->progress);
	while (g->told < g->n) {
		series_gather(&g->series[g->told]);
		tell_next(g, stopped);
		/* Of very many lines: the watchdog may take over between two. */
		watchdog_away("writing the line of");
		watchdog_back();
	}
}

/* Batches of a trial in each of so many allocations that make an interval. */
static unsigned least_rounds(unsigned allocations)
{
	return (LEAST_VALUES + allocations - 1) / allocations;
}

/* On all ranks, or on none. */
static bool all_open(struct series *s, struct planned *p, struct counting *counting)
{
	bool failed = series_open(s, p, counting);

	if (!agree_any(p->trial.ranks, failed))
		return true;
	if (!failed)
		series_close(s);
	return false;
}

static bool is_wanted(const struct planned *p)
{
	return !p->done || p->again;
}

/* Two threads on a CPU would share a region of LIKWID's, and count each other. */
static bool has_region(const struct planned *p)
{
	return is_wanted(p) && !p->refusal && !p->trial.oversubscribed;
}

/* Whether one is left to be measured, and not only wanted again. */
static bool any_left(const struct planned *p, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (!p[i].done)
			return true;
	return false;
}

/* The series of those that are to be measured; others are left out. -1: no memory. */
static int open_group(struct group *g, struct planned *p, unsigned n)
{
	struct run *r = g->run;
	const bool left = any_left(p, n);

	g->series = calloc(n, sizeof(*g->series));
	g->order = calloc(n, sizeof(*g->order));
	if (agree_any(r->ranks, !g->series || !g->order) || !g->series || !g->order)
		return -1;
	for (unsigned i = 0; i < n; i++) {
		struct series *s = &g->series[g->n];

		r->skipped += p[i].again && !left;
		if (!(left ? is_wanted(&p[i]) : !p[i].done) || !all_open(s, &p[i], r->counting))
			continue;
		g->order[g->n] = g->n;
		s->overhead = r->clock.overhead;
		if (r->markers && has_region(&p[i])) {
			s->markers = r->markers;
			s->region = p[i].region;
		}
		if (p[i].refusal)
			s->impossible = strdup(p[i].refusal);
		g->n++;
	}
	return 0;
}

static void close_group(struct group *g)
{
	for (unsigned i = 0; i < g->n; i++)
		series_close(&g->series[i]);
	free(g->series);
	free(g->order);
}

/*
 * Trials of the plan which can all be held at once; those found done in a resumed file are left
 * out. Returns how many it took: where memory took too long to be touched, the rest is another
 * group.
 */
static unsigned measure_group(struct run *r, struct planned *p, unsigned n, double budget)
{
	const unsigned repeats = p->repeats, allocations = efforts[r->options->profile].allocations;
	struct group g = { .run = r, .repeats = repeats, .end = now(r) + budget };
	enum stopped stopped = STOPPED_SIGNAL;
	unsigned opened, taken = n;

	utc(g.started, sizeof(g.started));
	g.allocations = repeats && repeats < allocations ? repeats : allocations;
	if (open_group(&g, p, n)) {
		r->trial_at += n;
		warnx("no memory for a group of %u trials: choose fewer values", n);
		r->count[STATUS_FAILED] += n;
		close_group(&g);
		return n;
	}
	r->group = &g;
	r->trial_at += n;
	opened = g.n;
	g.rounds = least_rounds(g.allocations);
	for (unsigned i = 0; i < g.n; i++) /* each pass, and a batch without */
		g.rounds = g.series[i].tally.passes >= g.rounds ? g.series[i].tally.passes + 1
								: g.rounds;
	g.batch = fmin(BATCH, budget / (2.0 * n * g.rounds * g.allocations));
	if (g.n && !ended(r))
		stopped = now(r) < limit(r) ? measure_rounds(&g) : STOPPED_BUDGET;
	if (g.n < opened)
		taken = (unsigned)(g.series[g.n].planned - p);
	finish(&g, stopped);
	r->group = NULL;
	r->trial_at -= n - taken;
	close_group(&g);
	return taken;
}

/* --- the run --- */

static int exit_status(const struct run *r)
{
	if (r->signal)
		return EXIT_SIGNAL + r->signal;
	if (r->unwritable || r->count[STATUS_WRONG] || r->count[STATUS_MISPLACED] ||
	    r->count[STATUS_FAILED])
		return EXIT_BAD;
	if (r->count[STATUS_IMPOSSIBLE] && r->options->benchmark &&
	    (options_select(r->options) || r->count[STATUS_IMPOSSIBLE] == r->trials))
		return EXIT_IMPOSSIBLE;
	return counting_status(r->counting);
}

static json_t *altered(const struct options *o)
{
	json_t *list = json_array();

	if (o->repeats)
		json_array_append_new(list, json_string("repeats"));
	if (o->duration > 0)
		json_array_append_new(list, json_string("duration"));
	if (o->case_budget > 0)
		json_array_append_new(list, json_string("case-budget"));
	if (o->time_budget > 0)
		json_array_append_new(list, json_string("time-budget"));
	return list;
}

static json_t *binding(const struct run *r)
{
	json_t *affinity = json_array(),
	       *inherited = r->affinity.threads ? json_array() : json_null();
	const char *policy = r->machine->policy.text;

	unsigned cpu;

	hwloc_bitmap_foreach_begin(cpu, r->affinity.allowed)
		json_array_append_new(affinity, json_integer(cpu));
	hwloc_bitmap_foreach_end();
	for (unsigned i = 0; i < r->affinity.threads; i++)
		json_array_append_new(inherited, json_integer(r->affinity.cpu_of[i]));
	return json_pack("{s:s?, s:o, s:o?, s:o, s:b, s:o?, s:s*}", "bound_by",
			 r->affinity.bound_by, "affinity", affinity, "bind",
			 utf8_json(plan_bind(r->options, &r->affinity, 1)), "inherited", inherited,
			 "oversubscribe", r->options->oversubscribe, "memory_policy",
			 *policy ? utf8_json(policy) : NULL, "memory_policy_why",
			 *policy ? NULL : "/proc/self/numa_maps can't be read");
}

static json_t *clock_json(const struct run *r)
{
	const struct clock_quality q = r->clock;
	char *source = sysfs_line(
		THIS_MACHINE, "/sys/devices/system/clocksource/clocksource0/current_clocksource");
	json_t *clock =
		json_pack("{s:s, s:o, s:o, s:o?, s:s}", "source", "CLOCK_MONOTONIC_RAW", "overhead",
			  number(q.overhead), "resolution", number(q.resolution), "kernel_source",
			  utf8_json(source), "cycle_chain", clock_chain());

	free(source);
	return clock;
}

static json_t *markers_json(const struct markers *m)
{
	json_t *groups = json_array();

	if (!m) {
		json_decref(groups);
		return json_null();
	}
	for (unsigned i = 0; i < markers_groups(m); i++)
		json_array_append_new(groups, utf8_json(markers_group(m, i)));
	return json_pack("{s:o?, s:o?, s:o?, s:o, s:i}", "library", utf8_json(markers_library(m)),
			 "mode", utf8_json(markers_mode(m)), "cpus", utf8_json(markers_cpus(m)),
			 "groups", groups, "regions", (int)markers_regions(m));
}

static void write_header(struct run *r)
{
	const struct options *o = r->options;
	json_t *command = json_array();
	char started[40], host[256] = "";

	gethostname(host, sizeof(host) - 1);
	json_array_append_new(command, json_string(r->ranks ? "locus-mpi" : "locus"));
	json_array_append_new(command, json_string(o->benchmark ? o->benchmark->name : "suite"));
	for (int i = 1; i < o->argc; i++)
		json_array_append_new(command, utf8_json(o->argv[i]));
	record_line(r->record, "header",
		    json_pack("{s:s, s:s, s:o?, s:i, s:i, s:o, s:O, s:o, s:o, s:s, s:o, s:I, "
			      "s:{s:o, s:o}, s:o, s:o, s:o, s:o, s:o, s:o*}",
			      "schema", RECORD_SCHEMA, "started", utc(started, sizeof(started)),
			      "host", utf8_json(host), "rank", 0, "ranks",
			      r->ranks ? (int)r->ranks->ranks : 1, "job", provenance_job(),
			      "resumes", record_runs(r->record), "program", provenance_program(),
			      "command", command, "profile", profile_names[o->profile], "altered",
			      altered(o), "seed", (json_int_t)o->seed, "budget", "time",
			      isfinite(r->deadline) ? json_real(r->deadline) : json_null(), "case",
			      o->case_budget > 0 ? json_real(o->case_budget) : json_null(), "clock",
			      clock_json(r), "binding", binding(r), "counters",
			      counting_header_json(r->counting), "machine",
			      provenance_machine(r->machine), "markers", markers_json(r->markers),
			      "markers_why", utf8_json(r->why_no_markers)),
		    true);
	r->headed = true;
}

static void write_end(struct run *r, int status)
{
	json_t *trials = json_object();

	for (enum status s = STATUS_OK; s < STATUSES; s++)
		if (r->count[s])
			json_object_set_new(trials, status_names[s],
					    json_integer((json_int_t)r->count[s]));
	record_line(r->record, "end",
		    json_pack("{s:i, s:s?, s:o, s:i, s:o}", "status", status, "signal",
			      watchdog_signal_name(r->signal), "trials", trials, "skipped",
			      (int)r->skipped, "elapsed", number(clock_now() - r->began)),
		    true);
}

/*
 * What a trial may take of the time, relative to others: measuring takes them all as long, touching
 * memory does not.
 */
static double weigh(const struct planned *p, unsigned n)
{
	double weight = 0;

	for (unsigned i = 0; i < n; i++)
		if (is_wanted(&p[i]) && !p[i].refusal)
			weight += 1 + (double)p[i].needs.bytes / (16 << 20);
	return weight;
}

/* The share of n trials in the time left, by their weight; no more than cases may have. */
static double share(const struct run *r, double weight, double left, unsigned n)
{
	const double one = case_budget(r->options);
	double budget =
		isfinite(r->until) ? (r->until - now(r)) * weight / fmax(1, left) : INFINITY;

	return one > 0 ? fmin(budget, one * n) : budget;
}

static void begin_plan(struct run *r)
{
	if (r->plan_at)
		printf("\n");
	if (is_first(r->ranks))
		table_begin(&r->table, &r->plan[r->plan_at]);
	r->trial_at = 0;
}

static void measure_plan(struct run *r)
{
	struct plan *plan = &r->plan[r->plan_at];
	double left = weigh(plan->trial, plan->trials);
	unsigned n;

	begin_plan(r);
	for (unsigned i = 0, taken; i < plan->trials; i += taken) {
		struct planned *first = &plan->trial[i];

		for (n = 1; i + n < plan->trials && first[n].group == first->group;)
			n++;
		taken = measure_group(r, first, n, share(r, weigh(first, n), left, n));
		left -= weigh(first, taken);
		for (unsigned j = taken; j < n; j++)
			first[j].group = plan->groups;
		plan->groups += taken < n;
	}
}

/* True where all ranks can. Takes over why this one can't. */
static bool go_on(const struct run *r, char *why_not)
{
	bool good;

	agree_words(r->ranks, &why_not);
	good = !why_not;
	if (why_not && is_first(r->ranks))
		warnx("%s", why_not);
	free(why_not);
	return good;
}

static bool name_regions(struct run *r, char **name)
{
	for (unsigned i = 0; i < r->plans; i++)
		for (unsigned j = 0; j < r->plan[i].trials; j++) {
			struct planned *p = &r->plan[i].trial[j];

			if (!has_region(p))
				continue;
			p->region = r->regions;
			name[r->regions] = text_of("%.24s_%.32s_%s", p->trial.benchmark->name,
						   p->trial.variant->name, p->id);
			if (!name[r->regions++])
				return false;
		}
	return true;
}

/* A region for each trial, where LIKWID wraps us. Without its library we say so, and go on. */
static void register_markers(struct run *r)
{
	char **name = calloc(r->trials + 1, sizeof(*name));

	if (r->markers && name && name_regions(r, name) && r->regions &&
	    !markers_register(r->markers, (const char *const *)name, r->regions,
			      &r->why_no_markers)) {
		markers_close(r->markers);
		r->markers = NULL;
	}
	for (unsigned i = 0; name && i < r->regions; i++)
		free(name[i]);
	free(name);
	agree_words(r->ranks, &r->why_no_markers);
	if (r->why_no_markers && is_first(r->ranks))
		warnx("no regions for LIKWID: %s", r->why_no_markers);
}

/* Whether LIKWID read more than zeros on all CPUs of a trial. */
static bool all_counted(const struct run *r, const struct planned *p)
{
	for (unsigned i = 0; i < p->trial.threads; i++)
		if (!markers_counted(r->markers, p->region, p->trial.place[i].cpu))
			return false;
	return true;
}

static void report_lost_counts(const struct run *r)
{
	unsigned lost = 0, entered = 0;

	for (unsigned i = 0; r->markers && r->regions && i < r->plans; i++)
		for (unsigned j = 0; j < r->plan[i].trials; j++) {
			const struct planned *p = &r->plan[i].trial[j];

			if (!has_region(p) || !markers_calls(r->markers, p->region))
				continue;
			entered++;
			lost += !all_counted(r, p);
		}
	if (lost && is_first(r->ranks))
		fprintf(stderr,
			"locus: LIKWID's counters read nothing but zeros on some CPU in %u of %u "
			"regions, see the notes of their trials: "
			"do not believe what it adds up of them\n",
			lost, entered);
}

static void close_markers(struct run *r)
{
	report_lost_counts(r);
	markers_close(r->markers);
	r->markers = NULL;
}

static int measure(struct team *team, void *argument)
{
	struct run *r = argument;
	int status;

	if (!go_on(r, NULL))
		return EXIT_BAD;
	r->team = team;
	watchdog_away("preparing LIKWID's regions");
	register_markers(r);
	watchdog_back();
	write_header(r);
	for (unsigned i = 0; i < r->plans; i++) {
		double begun = now(r);

		r->until = i + 1 < r->plans ? begun + (r->deadline - begun) / (r->plans - i)
					    : r->deadline;
		r->plan_at = i;
		measure_plan(r);
	}
	if (r->skipped)
		printf("%u trials were complete in the file already\n", r->skipped);
	close_markers(r);
	ended(r);
	if (!r->measured && r->count[STATUS_INTERRUPTED] && !r->signal && !r->unwritable &&
	    is_first(r->ranks))
		fprintf(stderr,
			"locus: the time budget was spent before any trial had a batch: " MORE
			"\n");
	status = exit_status(r);
	write_end(r, status);
	return status;
}

/* Lines of the group at hand, of all that has samples and, until then, of the rest. */
static void tell_rest(struct group *g, enum stopped stopped, double enough)
{
	while (g->told < g->n)
		if (g->series[g->told].samples || clock_now() < enough)
			tell_next(g, stopped);
		else
			g->told++;
}

/* A line for each trial of the plan at hand that was in no group yet, until then. */
static void tell_unbegun(struct run *r, enum stopped stopped, double enough)
{
	const struct plan *plan = &r->plan[r->plan_at];

	for (; r->trial_at < plan->trials && clock_now() < enough; r->trial_at++) {
		struct planned *p = &plan->trial[r->trial_at];
		struct series series;
		struct group g = { .run = r, .series = &series, .n = 1 };

		utc(g.started, sizeof(g.started));
		/* To divide what counts a package, ranks would have to be asked. */
		r->skipped += p->again;
		if (p->done || series_open(&series, p, r->ranks ? NULL : r->counting))
			continue;
		if (p->refusal)
			series.impossible = strdup(p->refusal);
		tell_next(&g, stopped);
		series_close(&series);
	}
}

/* Main did not come back in time: closes the books on the watchdog's thread. The exit status. */
static int cut(void *argument, int signal, const char *what)
{
	struct run *r = argument;
	const struct options *o = r->options;
	const enum stopped stopped = signal ? STOPPED_SIGNAL : STOPPED_BUDGET;
	const double enough = clock_now() + LINES;
	int status;

	r->signal = signal;
	if (!is_first(r->ranks))
		return exit_status(r);
	progress_clear(&r->progress);
	warnx("%s: cut off while %s%s%s%s%s%s",
	      signal ? watchdog_signal_name(signal) : "time budget spent", what, r->hand ? " " : "",
	      r->hand ? r->hand->name : "", o->output ? "; what was measured before is in " : "",
	      o->output ? o->output : "", signal ? "" : "; " MORE);
	if (!r->headed) /* there is no record yet */
		return exit_status(r);
	if (r->group)
		tell_rest(r->group, stopped, enough);
	tell_unbegun(r, stopped, enough);
	while (++r->plan_at < r->plans && clock_now() < enough) {
		begin_plan(r);
		tell_unbegun(r, stopped, enough);
	}
	r->unwritable = record_failed(r->record);
	status = exit_status(r);
	write_end(r, status);
	fflush(stdout);
	return record_failed(r->record) && !status ? EXIT_BAD : status;
}

/* Without a thread for it, main alone looks for signals: between samples. */
static void start_watchdog(struct run *r)
{
	const double grace = is_first(r->ranks) ? GRACE : GRACE_OF_OTHERS;
	struct watch watch = { .grace = grace, .cut = cut, .argument = r };

	/* However long it took to plan: there is time for something. */
	r->last = fmax((1 + OVERTIME_SHARE) * r->deadline, now(r)) + OVERTIME;
	watch.deadline = r->began + r->last + grace - GRACE;
	if (watchdog_start(&watch))
		fprintf(stderr,
			"locus: no thread for the watchdog (%s): a signal ends this run after the "
			"sample at hand; look at ulimit -u\n",
			strerror(errno));
	signal(SIGXFSZ, SIG_IGN); /* a file at its limit is a write that fails */
	if (r->options->output)	  /* nobody reads the table any more, but the record goes on */
		signal(SIGPIPE, SIG_IGN);
}

static int plan_all(struct run *r, const struct benchmark *const *table)
{
	const struct options *o = r->options;
	unsigned rows = 0;
	int status = 0;

	while (table[rows])
		rows++;
	r->plan = calloc(rows, sizeof(*r->plan));
	if (!r->plan)
		return EXIT_BAD;
	for (unsigned i = 0; i < rows && !status; i++) {
		if (o->benchmark ? table[i] != o->benchmark : table[i]->internal)
			continue;
		status = plan_make(&r->plan[r->plans], table[i], o, &r->setting);
		if (!status && r->plan[r->plans].trials)
			r->trials += r->plan[r->plans++].trials;
	}
	return status;
}

/* s of one trial: its budget, or what is fixed, or what it takes at least. */
static double estimate_one(const struct run *r, const struct planned *p)
{
	const unsigned allocations = efforts[r->options->profile].allocations;

	if (p->repeats)
		return p->repeats * fmax(p->sample, plan_tournament(p));
	return fmax(case_budget(r->options),
		    least_rounds(allocations) * allocations * plan_tournament(p));
}

/* Without a budget of time: the sum of the trials'. */
static double estimate(const struct run *r)
{
	const double time = time_budget(r->options), one = case_budget(r->options);
	double sum = 0;

	for (unsigned i = 0; i < r->plans; i++)
		for (unsigned j = 0; j < r->plan[i].trials; j++)
			if (!r->plan[i].trial[j].refusal)
				sum += estimate_one(r, &r->plan[i].trial[j]);
	return time > 0 && (one <= 0 || time < sum) ? time : sum;
}

static bool any_possible(const struct planned *p, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (!p[i].refusal)
			return true;
	return false;
}

/* Those that are left come first: there may not be time for all. The order is else kept. */
static unsigned sort_left(struct planned *p, unsigned n)
{
	struct planned *done = calloc(n, sizeof(*done));
	unsigned left = 0, others = 0;

	for (unsigned i = 0; done && i < n; i++)
		if (p[i].done)
			done[others++] = p[i];
		else
			p[left++] = p[i];
	if (done)
		memcpy(p + left, done, others * sizeof(*done));
	free(done);
	return left;
}

/*
 * A ratio takes two trials that were sampled in turn: where one of a group is left, the others are
 * wanted again.
 */
static void keep_together(struct plan *plan)
{
	for (unsigned i = 0, n; i < plan->trials; i += n) {
		struct planned *first = &plan->trial[i];
		unsigned left;

		for (n = 0; i + n < plan->trials && first[n].group == first->group; n++)
			;
		left = sort_left(first, n);
		for (unsigned j = left; j < n && any_possible(first, left); j++)
			first[j].again = true;
	}
}

/* Whether a trial that is complete in the file lacks what would be counted beside it now. */
static bool lacks_counters(const struct run *r, const struct planned *p)
{
	const char *event;

	for (unsigned i = 0;
	     !is_wanted(p) && (event = counting_event(r->counting, p->trial.benchmark, i)); i++)
		if (!record_has_counter(r->record, p->id, event))
			return true;
	return false;
}

static void find_done(struct run *r)
{
	unsigned lacking = 0;

	for (unsigned i = 0; i < r->plans; i++)
		for (unsigned j = 0; j < r->plan[i].trials; j++)
			r->plan[i].trial[j].done =
				agree_any(r->ranks, record_has(r->record, r->plan[i].trial[j].id));
	for (unsigned i = 0; i < r->plans; i++) {
		if (r->plan[i].benchmark->ratios)
			keep_together(&r->plan[i]);
		for (unsigned j = 0; j < r->plan[i].trials; j++) {
			r->skipped += !is_wanted(&r->plan[i].trial[j]);
			lacking += lacks_counters(r, &r->plan[i].trial[j]);
		}
	}
	if (lacking && is_first(r->ranks))
		warnx("--resume: %u of the trials that are complete in %s have not counted what "
		      "--counters names: "
		      "give another --output to count it",
		      lacking, r->options->output);
}

static int find_counters(struct run *r)
{
	const struct benchmark *benchmarks[r->plans + 1];

	for (unsigned i = 0; i < r->plans; i++)
		benchmarks[i] = r->plan[i].benchmark;
	return counting_open(&r->counting, r->options, benchmarks, r->plans, r->ranks);
}

static int perform(struct run *r)
{
	const struct options *o = r->options;
	unsigned threads = 1;
	const char *output = is_first(r->ranks) ? o->output : NULL;
	int status = record_open(&r->record, output,
				 o->resume   ? RECORD_RESUME
				 : o->append ? RECORD_APPEND
					     : RECORD_NEW);

	if (agree_any(r->ranks, status)) {
		if (r->record)
			record_close(r->record);
		return (int)agree_most(r->ranks, status);
	}
	if (o->resume)
		find_done(r);
	start_watchdog(r);
	progress_begin(&r->progress, o->quiet || !is_first(r->ranks));
	r->clock = clock_measure();
	for (unsigned i = 0; i < r->plans; i++)
		threads = r->plan[i].threads > threads ? r->plan[i].threads : threads;
	errno = 0;
	status = team_open(threads, measure, r);
	if (status < 0) {
		go_on(r, text_of("%u threads were not to be had (%s); look at OMP_THREAD_LIMIT, "
				 "OMP_DYNAMIC and ulimit -u",
				 threads, strerror(errno)));
		write_header(r);
		status = EXIT_BAD;
	}
	watchdog_stop();
	return record_close(r->record) && status == EXIT_GOOD ? EXIT_BAD : status;
}

/* This machine, or the one that is described, with what it lets us have. */
static int find_machine(struct run *r)
{
	const struct options *o = r->options;
	const char *error = NULL;

	if (!o->topology && affinity_inherit(&r->affinity)) {
		warnx("the CPUs that we may use could not be found out: %s", strerror(errno));
		return EXIT_BAD;
	}
	r->machine = machine_open(o->topology, &error);
	if (!r->machine) {
		warnx("%s%s", o->topology ? "--topology: " : "", error);
		return o->topology ? EXIT_COMMAND_LINE : EXIT_BAD;
	}
	topology_warn(r->machine);
	if (o->bind && machine_restrict(r->machine, o->bind, &error)) {
		warnx("--bind: %s", error);
		return EXIT_COMMAND_LINE;
	}
	r->setting = (struct setting){ .machine = r->machine,
				       .affinity = o->topology ? NULL : &r->affinity,
				       .memory = { .available = NO_LIMIT },
				       .ranks = r->ranks,
				       .here = 1 };
	if (!o->topology)
		memory_limit_read(THIS_MACHINE, &r->setting.memory);
	return 0;
}

/* What ranks of one node share: its memory, and CPUs where nobody has bound each to its own. */
static void look_around(struct run *r)
{
	const unsigned room = cpuset_room();
	int64_t here = 1, on_cpu[room];
	bool mine[room];

	if (!r->ranks)
		return;
	r->ranks->sum_here(&here, 1);
	r->setting.here = (unsigned)here;
	r->setting.most =
		-agree_most(r->ranks, -(double)r->setting.memory.available / (double)here);
	for (unsigned cpu = 0; cpu < room; cpu++)
		on_cpu[cpu] = mine[cpu] =
			r->setting.affinity && hwloc_bitmap_isset(r->affinity.allowed, cpu);
	r->ranks->sum_here(on_cpu, room);
	for (unsigned cpu = 0; cpu < room && !r->setting.crowd; cpu++)
		if (on_cpu[cpu] > 1 && mine[cpu])
			r->setting.crowd =
				text_of("%d ranks of this node may use CPU %u: bind each to CPUs "
					"of its own (srun -c N --cpu-bind=cores, mpirun "
					"--map-by slot:PE=N), or allow more than one on a CPU with "
					"--oversubscribe",
					(int)on_cpu[cpu], cpu);
	agree_words(r->ranks, &r->setting.crowd);
}

/* The plan's trials in a row; NULL behind the last. */
static struct planned *trial_of(const struct run *r, unsigned n)
{
	for (unsigned i = 0; i < r->plans; n -= r->plan[i++].trials)
		if (n < r->plan[i].trials)
			return &r->plan[i].trial[n];
	return NULL;
}

/*
 * The parameter that settle() finds, such as the length of a file; behind the last: there is none.
 */
static unsigned found_parameter(const struct benchmark *b)
{
	unsigned i = 0;

	while (i < parameter_count(b) && b->parameters[i].type != P_FOUND)
		i++;
	return i;
}

static uint64_t found(const struct planned *p)
{
	const unsigned i = p ? found_parameter(p->trial.benchmark) : 0;

	return p && i < parameter_count(p->trial.benchmark) ? p->trial.value[i].count : 0;
}

static uint64_t plan_hash(const struct run *r)
{
	uint64_t hash = 0;

	for (unsigned i = 0; i < r->trials; i++)
		hash = mix(mix(hash + trial_of(r, i)->hash) + found(trial_of(r, i)));
	return hash;
}

/*
 * Ranks in lockstep need the same trials, which machines that differ do not give; and the same
 * groups of them: what is refused on one is on all, and the least room decides.
 */
static int agree_plan(struct run *r)
{
	const unsigned most = (unsigned)agree_most(r->ranks, r->trials);
	const bool differ = r->ranks && !agree_same(r->ranks, plan_hash(r));
	char *difference = NULL;

	for (unsigned i = 0; differ && i < most; i++) {
		const struct planned *p = trial_of(r, i);
		struct {
			uint64_t hash, found;
			char identity[1024];
		} own = { .hash = p ? p->hash : 0, .found = found(p) }, first;

		snprintf(own.identity, sizeof(own.identity), "%s", p ? p->identity : "none");
		first = own;
		agree_copy(r->ranks, 0, &first, sizeof(first));
		if (!difference && own.hash != first.hash)
			difference = text_of(
				"trial %u would be another than on rank 0: %.400s, and not %.400s; "
				"give --threads and sizes, or take nodes of one kind",
				i + 1, own.identity, first.identity);
		else if (!difference && p && own.found != first.found)
			difference = text_of(
				"trial %u would be another than on rank 0: its file has %" PRIu64
				" %s, and not %" PRIu64 ": %.400s",
				i + 1, own.found,
				p->trial.benchmark->parameters[found_parameter(p->trial.benchmark)]
					.name,
				first.found, own.identity);
	}
	if (differ && !go_on(r, difference))
		return EXIT_COMMAND_LINE;
	for (unsigned i = 0; r->ranks && i < r->trials; i++)
		agree_words(r->ranks, &trial_of(r, i)->refusal);
	r->setting.room = -agree_most(r->ranks, -plan_room(&r->setting));
	for (unsigned i = 0; r->ranks && i < r->plans; i++)
		plan_group(&r->plan[i], &r->setting);
	return 0;
}

static int plan_trials(struct run *r, const struct benchmark *const *table)
{
	int status = plan_all(r, table);

	if (!status && !r->plans) {
		warnx("suite: no trial is left in any benchmark");
		status = EXIT_COMMAND_LINE;
	}
	return status;
}

int run(const struct options *o, const struct benchmark *const *table, const struct ranks *ranks)
{
	const double time = time_budget(o);
	struct run r = { .options = o,
			 .ranks = ranks,
			 .began = clock_now(),
			 .deadline = time > 0 ? time : INFINITY,
			 .random = o->seed };
	struct aside aside;
	int status;

	/* Before the first parallel region, which is find_machine()'s: see markers.h. */
	if (!o->dry_run)
		r.markers = markers_open(&r.why_no_markers);
	aside_begin(&aside, ranks);
	status = find_machine(&r);
	aside_end(&aside, ranks, &status);
	if (status)
		goto out;
	look_around(&r);
	aside_begin(&aside, ranks);
	status = plan_trials(&r, table);
	aside_end(&aside, ranks, &status);
	if (!status)
		status = agree_plan(&r);
	if (!status && o->dry_run) {
		for (unsigned i = 0; i < r.plans; i++)
			plan_print(&r.plan[i], &r.setting, estimate(&r), stdout);
	} else if (!status && !(status = find_counters(&r))) {
		status = perform(&r);
	}
out:
	counting_close(r.counting);
	for (unsigned i = 0; i < r.plans; i++)
		plan_free(&r.plan[i]);
	free(r.plan);
	free(r.setting.crowd);
	markers_close(r.markers);
	free(r.why_no_markers);
	if (r.machine)
		machine_close(r.machine);
	affinity_free(&r.affinity);
	return status;
}
