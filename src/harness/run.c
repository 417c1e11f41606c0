/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "harness/agree.h"
#include "harness/measure.h"
#include "harness/random.h"
#include "harness/record.h"
#include "harness/run.h"
#include "harness/statistics.h"
#include "harness/summary.h"
#include "harness/table.h"
#include "harness/text.h"
#include "machine/affinity.h"
#include "machine/markers.h"
#include "machine/provenance.h"
#include "machine/sysfs.h"
#include "machine/topology.h"

/* How long and how often a profile measures; --time-budget, --case-budget and --repeats cut it. s; 0: no bound. */
static const struct {
	double time, one;                  /* the whole command; one trial */
	unsigned allocations;              /* at least */
} efforts[PROFILES] = {
	[QUICK] = { 8, 0, 2 },
	[STANDARD] = { 0, 4, 3 },
	[PAPER] = { 0, 60, 5 },
};
enum { MOST_ALLOCATIONS = 50 };

/* What the user gave, or else the profile has; s, 0: no bound. */
static double time_budget(const struct options *o)
{
	return o->time_budget > 0 ? o->time_budget : efforts[o->profile].time;
}

static double case_budget(const struct options *o)
{
	return o->case_budget > 0 ? o->case_budget : efforts[o->profile].one;
}

/* Samples of a trial that are asked for, or published; 0: until its result is known. */
static unsigned repeats_of(const struct options *o, const struct benchmark *b)
{
	return o->repeats || o->case_budget > 0 ? o->repeats : b->fixed[o->profile].repeats;
}

/* s of a sample that are asked for, or published; 0: what the benchmark aims at. */
static double sample_of(const struct options *o, const struct benchmark *b)
{
	return o->duration > 0 ? o->duration : b->fixed[o->profile].sample;
}

/* A batch covers about this long, so that batches are less alike than neighbouring samples; s. Less, where the budget is too small for enough of them. */
#define BATCH 0.02

struct run {
	const struct options *options;
	const struct ranks *ranks;         /* NULL: this process has it all */
	struct machine *machine;
	struct affinity affinity;
	struct setting setting;
	struct plan *plan;                 /* one for each benchmark */
	unsigned plans, trials, finished;
	struct record *record;
	struct progress progress;
	struct team *team;
	struct counting *counting;         /* NULL: nothing was asked for */
	struct markers *markers;           /* regions for LIKWID, one for each of `marked`; NULL: none, see why */
	const struct planned **marked;     /* trials that have one, all that are to be measured */
	unsigned regions;
	char *why_no_markers;              /* NULL: nobody asked for them */
	struct clock_quality clock;
	double began;                      /* clock_now() */
	double deadline, until;            /* s from then on, INFINITY: of all; of the share of the benchmark at hand */
	uint64_t random;                   /* state of the generator that shuffles */
	unsigned count[STATUSES], skipped;
	int signal;                        /* that ends it, on all ranks; 0: none */
	bool unwritable;                   /* so does the record */
};

/* The signal that asked us to end. A handler can reach nothing else. */
static volatile sig_atomic_t caught;

static const struct {
	int number;
	const char *name;
} signals[] = { { SIGINT, "SIGINT" }, { SIGTERM, "SIGTERM" }, { SIGHUP, "SIGHUP" } };
enum { SIGNALS = sizeof(signals) / sizeof(*signals) };

static void catch(int signal)
{
	if (!caught)
		caught = signal;
}

/* A second ^C ends the program at once. The others don't come from a hand, and batch systems send them several times. */
static void watch_signals(const struct options *o)
{
	for (unsigned i = 0; i < SIGNALS; i++) {
		struct sigaction action = { .sa_handler = catch, .sa_flags = signals[i].number == SIGINT ? (int)SA_RESETHAND : 0 };

		sigaction(signals[i].number, &action, NULL);
	}
	signal(SIGXFSZ, SIG_IGN); /* a file at its limit is a write that fails */
	if (o->output)
		signal(SIGPIPE, SIG_IGN); /* nobody reads the table any more, but the record goes on */
}

static const char *signal_name(int number)
{
	for (unsigned i = 0; i < SIGNALS; i++)
		if (signals[i].number == number)
			return signals[i].name;
	return NULL;
}

/* A signal may come to one rank, and the record is rank 0's: that ends them all. */
static bool ended(struct run *r)
{
	r->signal = (int)agree_most(r->ranks, caught);
	r->unwritable = agree_any(r->ranks, record_failed(r->record));
	return r->signal || r->unwritable;
}

/* s since the run began: what is decided by it is decided by the latest of the ranks' clocks. */
static double now(const struct run *r)
{
	return agree_most(r->ranks, clock_now() - r->began);
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
	unsigned repeats;                  /* samples of each trial; 0: until the result is known */
	double end;                        /* now() when its budget is spent */
	double batch;                      /* s */
	unsigned allocations;              /* at least */
	unsigned rounds;                   /* batches of each trial in an allocation, at least */
};

static bool converged(const struct series *s, int allocation)
{
	struct estimate e = series_estimate(s, allocation, NULL);

	return (e.high - e.low) / 2 <= CONVERGED_WITHIN * e.value; /* false where one is not a number */
}

/* True if all that can be measured have converged. Ranks compute that from the same samples, but maybe not with the same libm. */
static bool all_converged(const struct group *g, int allocation)
{
	bool wanting = false;

	for (unsigned i = 0; i < g->n && !wanting; i++)
		wanting = g->series[i].batches && !converged(&g->series[i], allocation);
	return !agree_any(g->run->ranks, wanting);
}

static void show(struct run *r, const struct series *s)
{
	progress_show(&r->progress, s->planned->name, r->finished, r->trials, clock_now() - r->began, isfinite(r->deadline) ? r->deadline : 0);
}

static bool allocate(struct group *g)
{
	bool any = false;

	for (unsigned i = 0; i < g->n && !ended(g->run) && now(g->run) < g->run->until; i++) {
		show(g->run, &g->series[i]);
		any |= series_allocate(&g->series[i], g->run->team);
	}
	return any;
}

static void release(struct group *g)
{
	for (unsigned i = 0; i < g->n; i++)
		series_release(&g->series[i], g->run->team);
}

static void calibrate(struct group *g)
{
	for (unsigned i = 0; i < g->n && !ended(g->run); i++) {
		struct series *s = &g->series[i];

		if (s->ready)
			series_calibrate(s, g->run->team, sample_of(g->run->options, s->planned->trial.benchmark), g->batch, g->run->until - now(g->run));
	}
}

/* A batch of every trial, in random order. */
static void take_round(struct group *g)
{
	struct run *r = g->run;

	shuffle(g->order, g->n, &r->random);
	for (unsigned i = 0; i < g->n && !ended(r) && now(r) < r->until; i++) {
		struct series *s = &g->series[g->order[i]];

		if (!s->ready)
			continue;
		show(r, s);
		if (series_batch(s, r->team, g->repeats && !s->pairs ? 1 : s->per_batch, (g->n > 1 || r->counting) && s->duration < 0.02))
			record_line(r->record, "samples", series_batch_json(s, clock_now() - r->began), false);
	}
}

/* All rounds of one allocation. */
static void take_rounds(struct group *g, int allocation, double until)
{
	struct run *r = g->run;

	for (unsigned round = 0; !ended(r) && now(r) < r->until; round++) {
		if (round >= g->rounds && (g->repeats || now(r) >= until || all_converged(g, allocation)))
			break;
		if (round && now(r) >= g->end && isfinite(r->until))
			break; /* the rest of the budget belongs to other trials */
		take_round(g);
	}
}

static enum stopped measure_rounds(struct group *g)
{
	struct run *r = g->run;
	const unsigned repeats = g->repeats;
	unsigned left = repeats;

	for (unsigned a = 0; a < MOST_ALLOCATIONS; a++) {
		double began = now(r), slice = (g->end - began) / fmax(1, (double)g->allocations - a);
		bool any;

		if (repeats)
			g->rounds = (left + g->allocations - a - 1) / (g->allocations - a);
		any = allocate(g);
		if (a == 0)
			calibrate(g);
		if (any)
			take_rounds(g, (int)a, began + slice);
		release(g);
		left -= repeats ? g->rounds : 0;
		if (ended(r))
			return SIGNAL;
		if (repeats && !left)
			return REPEATS;
		if (!repeats && a + 1 >= g->allocations && all_converged(g, -1))
			return CONVERGED;
		if (!repeats && now(r) + (a + 1 >= g->allocations ? now(r) - began : 0) >= g->end)
			return BUDGET;
		if (!any || now(r) >= r->until)
			return BUDGET;
	}
	return BUDGET;
}

static void finish(struct run *r, struct table *table, struct group *g, enum stopped stopped, const char *started)
{
	progress_clear(&r->progress);
	for (unsigned i = 0; i < g->n; i++) {
		struct series *s = &g->series[i];
		enum status status;
		json_t *line;

		series_gather(s);
		s->stopped = stopped;
		if (stopped == REPEATS && s->samples < g->repeats)
			s->stopped = BUDGET;
		else if (stopped == BUDGET && !g->repeats && s->allocations >= g->allocations && converged(s, -1))
			s->stopped = CONVERGED;
		line = summary(s, g->series, g->n, started, &status);
		if (is_first(r->ranks))
			table_row(table, s->planned, line);
		record_line(r->record, "trial", line, true);
		r->count[status]++;
		r->finished++;
	}
	for (unsigned i = 0; i < g->n; i++)
		series_close(&g->series[i]);
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

/* Where LIKWID wraps us. */
static void give_region(const struct run *r, struct series *s)
{
	for (unsigned i = 0; r->markers && i < r->regions; i++)
		if (r->marked[i] == s->planned) {
			s->markers = r->markers;
			s->region = i;
		}
}

/* Trials first..first+n-1 of the plan, which can all be held at once; those found done in a resumed file are left out. */
static void measure_group(struct run *r, struct table *table, struct planned *p, unsigned n, double budget)
{
	const unsigned repeats = repeats_of(r->options, p->trial.benchmark), allocations = efforts[r->options->profile].allocations;
	struct series series[n];
	unsigned order[n];
	struct group g = { .run = r, .series = series, .order = order, .repeats = repeats, .end = now(r) + budget };
	enum stopped stopped = SIGNAL;
	char started[40];

	for (unsigned i = 0; i < n; i++) {
		if (p[i].done || !all_open(&series[g.n], &p[i], r->counting))
			continue;
		order[g.n] = g.n;
		series[g.n].overhead = r->clock.overhead;
		series[g.n].interrupted = &caught;
		give_region(r, &series[g.n]);
		if (p[i].refusal)
			series[g.n].impossible = strdup(p[i].refusal);
		g.n++;
	}
	g.allocations = repeats && repeats < allocations ? repeats : allocations;
	g.rounds = least_rounds(g.allocations);
	for (unsigned i = 0; i < g.n; i++) /* each pass, and a batch without */
		g.rounds = series[i].tally.passes >= g.rounds ? series[i].tally.passes + 1 : g.rounds;
	g.batch = fmin(BATCH, budget / (2.0 * n * g.rounds * g.allocations));
	utc(started, sizeof(started));
	if (g.n && !ended(r))
		stopped = now(r) < r->until ? measure_rounds(&g) : BUDGET;
	finish(r, table, &g, stopped, started);
}

/* --- the run --- */

static int exit_status(struct run *r)
{
	if (ended(r) && r->signal)
		return EXIT_SIGNAL + r->signal;
	if (r->unwritable || r->count[WRONG] || r->count[MISPLACED] || r->count[FAILED])
		return EXIT_BAD;
	if (r->count[IMPOSSIBLE] && r->options->benchmark && (options_select(r->options) || r->count[IMPOSSIBLE] == r->trials))
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
	json_t *affinity = json_array(), *inherited = r->affinity.threads ? json_array() : json_null();

	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &r->affinity.allowed))
			json_array_append_new(affinity, json_integer(cpu));
	for (unsigned i = 0; i < r->affinity.threads; i++)
		json_array_append_new(inherited, json_integer(r->affinity.cpu_of[i]));
	return json_pack("{s:s?, s:o, s:s, s:o, s:b}", "bound_by", r->affinity.bound_by, "affinity", affinity, "bind",
			 plan_bind(r->options, &r->affinity, 1), "inherited", inherited, "oversubscribe", r->options->oversubscribe);
}

static json_t *clock_json(const struct run *r)
{
	const struct clock_quality q = r->clock;
	char *source = sysfs_line(THIS_MACHINE, "/sys/devices/system/clocksource/clocksource0/current_clocksource");
	json_t *clock = json_pack("{s:s, s:f, s:f, s:s?, s:s}", "source", "CLOCK_MONOTONIC_RAW", "overhead", q.overhead, "resolution", q.resolution,
				  "kernel_source", source, "cycle_chain", clock_chain());

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
		json_array_append_new(groups, json_string(markers_group(m, i)));
	return json_pack("{s:s, s:s, s:s, s:o, s:i}", "library", markers_library(m), "mode", markers_mode(m), "cpus", markers_cpus(m), "groups", groups,
			 "regions", (int)markers_regions(m));
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
		json_array_append_new(command, json_string(o->argv[i]));
	record_line(r->record, "header",
		    json_pack("{s:s, s:s, s:s, s:i, s:i, s:o, s:O, s:o, s:o, s:s, s:o, s:I, s:{s:o, s:o}, s:o, s:o, s:o, s:o, s:o, s:s*}", "schema", RECORD_SCHEMA,
			      "started", utc(started, sizeof(started)), "host", host, "rank", 0, "ranks", r->ranks ? (int)r->ranks->ranks : 1, "job", provenance_job(), "resumes",
			      record_runs(r->record), "program", provenance_program(), "command", command, "profile", profile_names[o->profile], "altered",
			      altered(o), "seed", (json_int_t)o->seed, "budget", "time",
			      isfinite(r->deadline) ? json_real(r->deadline) : json_null(), "case",
			      o->case_budget > 0 ? json_real(o->case_budget) : json_null(), "clock", clock_json(r), "binding", binding(r), "counters",
			      counting_header_json(r->counting), "machine", provenance_machine(r->machine), "markers", markers_json(r->markers), "markers_why",
			      r->why_no_markers),
		    true);
}

static void write_end(struct run *r, int status)
{
	json_t *trials = json_object();

	for (enum status s = OK; s < STATUSES; s++)
		if (r->count[s])
			json_object_set_new(trials, status_names[s], json_integer((json_int_t)r->count[s]));
	record_line(r->record, "end",
		    json_pack("{s:i, s:s?, s:o, s:i, s:f}", "status", status, "signal", signal_name(r->signal), "trials", trials, "skipped",
			      (int)r->skipped, "elapsed", clock_now() - r->began),
		    true);
}

/* What a trial may take of the time, relative to others: measuring takes them all as long, touching memory does not. */
static double weigh(const struct planned *p, unsigned n)
{
	double weight = 0;

	for (unsigned i = 0; i < n; i++)
		if (!p[i].done && !p[i].refusal)
			weight += 1 + (double)p[i].footprint / (16 << 20);
	return weight;
}

/* The share of n trials in the time that is left for `left` of them, themselves included; and no more than cases may have. */
static double share(const struct run *r, const struct planned *p, unsigned n, unsigned left)
{
	const double one = case_budget(r->options);
	double budget = isfinite(r->until) ? (r->until - now(r)) * weigh(p, n) / fmax(1, weigh(p, left)) : INFINITY;

	return one > 0 ? fmin(budget, one * n) : budget;
}

static void measure_plan(struct run *r, struct plan *plan)
{
	struct table table;
	unsigned n;

	if (is_first(r->ranks))
		table_begin(&table, plan);
	for (unsigned i = 0; i < plan->trials; i += n) {
		struct planned *first = &plan->trial[i];

		for (n = 1; i + n < plan->trials && first[n].group == first->group;)
			n++;
		measure_group(r, &table, first, n, share(r, first, n, plan->trials - i));
	}
}

/* True where all ranks can. Takes over why this one can't. */
static bool go_on(const struct run *r, char *why_not)
{
	bool good;

	agree_words(r->ranks, &why_not);
	good = !why_not;
	if (why_not && is_first(r->ranks))
		fprintf(stderr, "locus: %s\n", why_not);
	free(why_not);
	return good;
}

/* Two threads on a CPU would share a region of LIKWID's, and count each other. */
static bool has_region(const struct planned *p)
{
	return !p->done && !p->refusal && !p->trial.oversubscribed;
}

static bool name_regions(struct run *r, char **name)
{
	for (unsigned i = 0; i < r->plans; i++)
		for (unsigned j = 0; j < r->plan[i].trials; j++) {
			const struct planned *p = &r->plan[i].trial[j];

			if (!has_region(p))
				continue;
			r->marked[r->regions] = p;
			name[r->regions] = text_of("%.24s_%.32s_%s", p->trial.benchmark->name, p->trial.variant->name, p->id);
			if (!name[r->regions++])
				return false;
		}
	return true;
}

/* A region for each trial, where LIKWID wraps us. Without its library we say so, and go on. */
static void open_markers(struct run *r)
{
	char **name = calloc(r->trials + 1, sizeof(*name));

	r->marked = calloc(r->trials + 1, sizeof(*r->marked));
	if (name && r->marked && name_regions(r, name))
		r->markers = markers_open(r->team, (const char *const *)name, r->regions, &r->why_no_markers);
	for (unsigned i = 0; name && i < r->regions; i++)
		free(name[i]);
	free(name);
	agree_words(r->ranks, &r->why_no_markers);
	if (r->why_no_markers && is_first(r->ranks))
		fprintf(stderr, "locus: no regions for LIKWID: %s\n", r->why_no_markers);
}

static void close_markers(struct run *r)
{
	markers_close(r->markers);
	free(r->marked);
	free(r->why_no_markers);
}

static int measure(struct team *team, void *argument)
{
	struct run *r = argument;
	double weights = 0;
	int status;

	if (!go_on(r, NULL))
		return EXIT_BAD;
	r->team = team;
	open_markers(r);
	write_header(r);
	for (unsigned i = 0; i < r->plans; i++)
		weights += r->plan[i].benchmark->weight;
	for (unsigned i = 0; i < r->plans; i++) {
		double weight = r->plan[i].benchmark->weight, begun = now(r);

		if (i)
			printf("\n");
		r->until = i + 1 < r->plans ? begun + (r->deadline - begun) * weight / weights : r->deadline;
		measure_plan(r, &r->plan[i]);
		weights -= weight;
	}
	if (r->skipped)
		printf("%u trials were complete in the file already\n", r->skipped);
	close_markers(r);
	status = exit_status(r);
	write_end(r, status);
	return status;
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
	const struct options *o = r->options;
	const struct benchmark *b = p->trial.benchmark;
	const unsigned allocations = efforts[o->profile].allocations;

	if (b->fixed[o->profile].repeats && repeats_of(o, b))
		return repeats_of(o, b) * sample_of(o, b);
	return fmax(case_budget(o), least_rounds(allocations) * allocations * plan_tournament(p));
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

/* A ratio takes two trials that were sampled in turn: where one of a group is left, none is done. */
static void keep_together(struct plan *plan)
{
	for (unsigned i = 0, n; i < plan->trials; i += n) {
		struct planned *first = &plan->trial[i];
		bool all = true;

		for (n = 0; i + n < plan->trials && first[n].group == first->group; n++)
			all &= first[n].done || first[n].refusal;
		for (unsigned j = 0; j < n && !all; j++)
			first[j].done = false;
	}
}

/* Whether a trial that is complete in the file lacks what would be counted beside it now. */
static bool lacks_counters(const struct run *r, const struct planned *p)
{
	const char *event;

	for (unsigned i = 0; p->done && (event = counting_event(r->counting, p->trial.benchmark, i)); i++)
		if (!record_has_counter(r->record, p->id, event))
			return true;
	return false;
}

static void find_done(struct run *r)
{
	unsigned lacking = 0;

	for (unsigned i = 0; i < r->plans; i++)
		for (unsigned j = 0; j < r->plan[i].trials; j++)
			r->plan[i].trial[j].done = agree_any(r->ranks, record_has(r->record, r->plan[i].trial[j].id));
	for (unsigned i = 0; i < r->plans; i++) {
		if (r->plan[i].benchmark->ratios)
			keep_together(&r->plan[i]);
		for (unsigned j = 0; j < r->plan[i].trials; j++) {
			r->skipped += r->plan[i].trial[j].done;
			lacking += lacks_counters(r, &r->plan[i].trial[j]);
		}
	}
	if (lacking && is_first(r->ranks))
		fprintf(stderr, "locus: --resume: %u of the trials that are complete in %s have not counted what --counters names: "
				"give another --output to count it\n", lacking, r->options->output);
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
	int status = record_open(&r->record, output, o->resume ? RECORD_RESUME : o->append ? RECORD_APPEND : RECORD_NEW);

	if (agree_any(r->ranks, status)) {
		if (r->record)
			record_close(r->record);
		return (int)agree_most(r->ranks, status);
	}
	if (o->resume)
		find_done(r);
	watch_signals(o);
	progress_begin(&r->progress, o->quiet || !is_first(r->ranks));
	r->clock = clock_measure();
	for (unsigned i = 0; i < r->plans; i++)
		threads = r->plan[i].threads > threads ? r->plan[i].threads : threads;
	errno = 0;
	status = team_open(threads, measure, r);
	if (status < 0) {
		go_on(r, text_of("%u threads were not to be had (%s); look at OMP_THREAD_LIMIT, OMP_DYNAMIC and ulimit -u", threads, strerror(errno)));
		write_header(r);
		status = EXIT_BAD;
	}
	return record_close(r->record) && status == EXIT_GOOD ? EXIT_BAD : status;
}

/* This machine, or the one that is described, with what it lets us have. */
static int find_machine(struct run *r)
{
	const struct options *o = r->options;
	const char *error = NULL;

	if (!o->topology && affinity_inherit(&r->affinity)) {
		fprintf(stderr, "locus: the CPUs that we may use could not be found out: %s\n", strerror(errno));
		return EXIT_BAD;
	}
	r->machine = machine_open(o->topology, &error);
	if (!r->machine) {
		fprintf(stderr, "locus: %s%s\n", o->topology ? "--topology: " : "", error);
		return o->topology ? EXIT_COMMAND_LINE : EXIT_BAD;
	}
	r->setting = (struct setting){ .machine = r->machine, .affinity = o->topology ? NULL : &r->affinity,
				       .memory = { .available = NO_LIMIT }, .ranks = r->ranks, .here = 1 };
	if (!o->topology)
		memory_limit_read(THIS_MACHINE, &r->setting.memory);
	return 0;
}

/* What ranks of one node share: its memory, and CPUs where nobody has bound each to its own. */
static void look_around(struct run *r)
{
	int64_t here = 1, on_cpu[CPU_SETSIZE];

	if (!r->ranks)
		return;
	r->ranks->sum_here(&here, 1);
	r->setting.here = (unsigned)here;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		on_cpu[cpu] = r->setting.affinity && CPU_ISSET(cpu, &r->affinity.allowed);
	r->ranks->sum_here(on_cpu, CPU_SETSIZE);
	for (int cpu = 0; cpu < CPU_SETSIZE && !r->setting.crowd; cpu++)
		if (on_cpu[cpu] > 1 && CPU_ISSET(cpu, &r->affinity.allowed))
			r->setting.crowd = text_of("%d ranks of this node may use CPU %d: bind each to CPUs of its own (srun -c N --cpu-bind=cores, mpirun "
						   "--map-by slot:PE=N), or allow more than one on a CPU with --oversubscribe", (int)on_cpu[cpu], cpu);
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

/* What a benchmark settled for itself, such as the length of a file. */
static uint64_t settled(const struct planned *p)
{
	return p && p->trial.benchmark->settle ? p->trial.value[parameter_count(p->trial.benchmark)].count : 0;
}

static uint64_t plan_hash(const struct run *r)
{
	uint64_t hash = 0;

	for (unsigned i = 0; i < r->trials; i++)
		hash = mix(mix(hash + trial_of(r, i)->hash) + settled(trial_of(r, i)));
	return hash;
}

/*
 * Ranks in lockstep need the same trials, which machines that differ do not give; and the same groups of them: what is refused on one is on all,
 * and the least room decides.
 */
static int agree_plan(struct run *r)
{
	const unsigned most = (unsigned)agree_most(r->ranks, r->trials);
	const bool differ = r->ranks && !agree_same(r->ranks, plan_hash(r));
	char *difference = NULL;

	for (unsigned i = 0; differ && i < most; i++) {
		const struct planned *p = trial_of(r, i);
		struct {
			uint64_t hash, settled;
			char identity[1024];
		} own = { .hash = p ? p->hash : 0, .settled = settled(p) }, first;

		snprintf(own.identity, sizeof(own.identity), "%s", p ? p->identity : "none");
		first = own;
		agree_copy(r->ranks, 0, &first, sizeof(first));
		if (!difference && own.hash != first.hash)
			difference = text_of("trial %u would be another than on rank 0: %.400s, and not %.400s; give --threads and sizes, or take nodes of one kind",
					     i + 1, own.identity, first.identity);
		else if (!difference && own.settled != first.settled)
			difference = text_of("trial %u would be another than on rank 0: its file has %" PRIu64 " rows, and not %" PRIu64 ": %.400s", i + 1,
					     own.settled, first.settled, own.identity);
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
		fprintf(stderr, "locus suite: no trial is left in any benchmark\n");
		status = EXIT_COMMAND_LINE;
	}
	return status;
}

int run(const struct options *o, const struct benchmark *const *table, const struct ranks *ranks)
{
	const double time = time_budget(o);
	struct run r = { .options = o, .ranks = ranks, .began = clock_now(), .deadline = time > 0 ? time : INFINITY, .random = o->seed };
	struct aside aside;
	int status;

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
	if (r.machine)
		machine_close(r.machine);
	affinity_free(&r.affinity);
	return status;
}
