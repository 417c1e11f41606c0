/* SPDX-License-Identifier: Apache-2.0 */
/* `locus soak`: full load for as long as the user says, and whether the machine keeps its speed. */
#include <argp.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/message.h"
#include "base/numbers.h"
#include "base/statistics.h"
#include "base/sysfs.h"
#include "base/text.h"
#include "commands/commands.h"
#include "harness/run/run.h"
#include "kit/instructions.h"
#include "machine/provenance/provenance.h"
#include "machine/threads/team.h"
#include "machine/topology/topology.h"
#include "machine/watchdog.h"

#define ROUND 1.0 /* s */
/* share of a load's time in a round that a sample takes, unless the trial fixes it */
#define SAMPLE 0.1
#define LINKS  49152 /* steps of clock_cycle(): 16 us */
/* a load that hangs is cut off after this multiple of the time asked for, plus this many s */
#define OVERTIME_SHARE 1.1
#define OVERTIME       60.0
#define GRACE	       0.7 /* s to end a round after a signal */
enum { LINE = 60 };	   /* rounds between two lines on the terminal */
enum { WORDS = 32 };	   /* most words of a load's command line */
enum { SAMPLES = 20 };	   /* most samples of a load in a round */

/* A trial that is run in each round. */
struct load {
	char *text, *word[WORDS]; /* "numa", "--variant", "static": parts of `text` */
	struct options options;
	struct plan plan;
	struct series series;
	bool opened;
	char unit[32]; /* unit of its rate */
};

struct soak {
	const struct program *program;
	double seconds; /* the requested duration */
	const char *output;
	bool quiet;
	struct options options;
	struct run run; /* its setting, record and header */
	struct sensors sensors;
	json_t *errors; /* hardware errors before the soak */
	struct load load[SOAK_LOADS];
	unsigned loads;
	struct soak_rounds told;
	unsigned room; /* room for so many rounds */
};

/* ---- the command line ---- */

enum { FOR = 'f', OUTPUT = 'o', QUIET = 'q', HELP = 'h' };
static const struct argp_option known[] = {
	{ "for", FOR, "TIME", 0, "how long (default: 20m)", 0 },
	{ "output", OUTPUT, "FILE", 0,
	  "write the record (JSON Lines) to FILE, which must not exist", 0 },
	{ "quiet", QUIET, NULL, 0, "print only the verdict", 0 },
	{ "help", HELP, NULL, 0, "print this help", -1 },
	{ 0 }
};

/* Adds "numa --variant static": 0, or EINVAL after a message. */
static int add_load(struct soak *s, const char *program, const char *text)
{
	struct load *l = &s->load[s->loads];
	char *rest = NULL;
	unsigned n = 0;

	if (s->loads == SOAK_LOADS) {
		message("%s: '%s': at most %d loads can share a round", program, text, SOAK_LOADS);
		return EINVAL;
	}
	l->text = strdup(text);
	for (char *w = l->text ? strtok_r(l->text, " ", &rest) : NULL; w && n + 1 < WORDS;
	     w = strtok_r(NULL, " ", &rest))
		l->word[n++] = w;
	s->loads++;
	if (l->text && n && !rest[strspn(rest, " ")])
		return 0;
	message("%s: '%s': expected a benchmark and its options, as in 'numa --variant static'",
		program, text);
	return EINVAL;
}

static error_t take(int key, char *text, struct argp_state *state)
{
	struct soak *s = state->input;
	char why[256];

	switch (key) {
	case FOR:
		if (quantity_seconds(text, &s->seconds, why, sizeof(why))) {
			message("%s: --for: %s", state->name, why);
			return EINVAL;
		}
		if (s->seconds > 0)
			return 0;
		message("%s: --for: must be more than zero", state->name);
		return EINVAL;
	case OUTPUT:
		s->output = text;
		return 0;
	case QUIET:
		s->quiet = true;
		return 0;
	case HELP:
		argp_state_help(state, state->out_stream,
				ARGP_HELP_LONG | ARGP_HELP_PRE_DOC | ARGP_HELP_POST_DOC |
					ARGP_HELP_USAGE);
		return ECANCELED;
	case ARGP_KEY_ARG:
		return add_load(s, state->name, text);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- the loads: trials of benchmarks, which take turns in each round ---- */

/* The two things that draw most power: the widest vectors, and all memory channels. */
static int add_usual(struct soak *s, const char *program)
{
	static const char *const computing[ISAS] = {
		[ISA_SCALAR] = "cores --variant together --width 64 --quanta 10000",
		[ISA_BASELINE] = "cores --variant together --width 128 --quanta 10000",
		[ISA_AVX2] = "cores --variant together --width 256 --quanta 10000",
		[ISA_AVX512] = "cores --variant together --width 512 --quanta 10000",
	};
	enum isa widest = ISA_SCALAR;

	for (enum isa set = ISA_SCALAR; set < ISAS; set++)
		if (isa_usable(set))
			widest = set;
	return add_load(s, program, computing[widest]) ||
			       add_load(s, program,
					"numa --variant static --kernel triad --layout all")
		       ? EXIT_COMMAND_LINE
		       : 0;
}

/* Reads a load's words. 0, or the status to exit with after a message. */
static int read_load(const struct soak *s, struct load *l)
{
	const struct benchmark *b = command_named(s->program, l->word[0]);
	const struct options *o = &l->options;
	char name[64];
	int words = 0, status;

	if (!b)
		return EXIT_COMMAND_LINE;
	while (l->word[words])
		words++;
	snprintf(name, sizeof(name), "locus %s", b->name);
	l->word[0] = name; /* messages begin with it */
	status = options_parse(&l->options, b, words, l->word);
	l->word[0] = (char *)b->name;
	if (status)
		return status == OPTIONS_HELPED ? EXIT_COMMAND_LINE : status;
	if (!o->output && !o->bind && !o->counters && !o->dry_run && !o->topology && !o->tags &&
	    !o->runs && !o->repeats && !(o->time_budget > 0) && !(o->case_budget > 0) &&
	    !(o->begin_at > 0))
		return 0;
	message("%s: a soak takes only the options that choose its trial", name);
	return EXIT_COMMAND_LINE;
}

static int plan_load(struct soak *s, struct load *l)
{
	const struct benchmark *b = l->options.benchmark;
	int status = plan_make(&l->plan, b, &l->options, &s->run.setting);

	if (status)
		return status;
	if (b->protocol.scored == IN_PAIRS) {
		message("locus %s: can't be a load of a soak, since its workers meet in pairs; "
			"choose another variant",
			b->name);
		return EXIT_COMMAND_LINE;
	}
	if (l->plan.trials != 1) {
		message("locus %s: a load of a soak is one trial, and these are %u: choose by "
			"--variant and others; --dry-run lists them",
			b->name, l->plan.trials);
		return EXIT_COMMAND_LINE;
	}
	if (!l->plan.trial->refusal)
		return 0;
	message_own("soak: %s: %s", l->plan.trial->name, l->plan.trial->refusal);
	return EXIT_IMPOSSIBLE;
}

/* Plans all loads. 0, or the status to exit with after a message. */
static int plan_loads(struct soak *s)
{
	int status = 0;

	for (unsigned i = 0; i < s->loads && !status; i++)
		status = read_load(s, &s->load[i]);
	if (!status)
		status = setting_find(&s->run.setting, &s->options, NULL);
	for (unsigned i = 0; i < s->loads && !status; i++)
		status = plan_load(s, &s->load[i]);
	return status;
}

/* The first metric that is an amount over time; NULL: none, so its units over time count. */
static const struct metric *rate_metric(const struct benchmark *b)
{
	for (unsigned i = 0; i < b->n_metrics; i++)
		if (b->metrics[i].amount)
			return &b->metrics[i];
	return NULL;
}

static double rate_of(const struct load *l, double time)
{
	const struct metric *m = rate_metric(l->plan.benchmark);

	return (m ? m->amount(&l->plan.trial->trial) : 1) / time;
}

/* Prepares a load's memory, and finds how much work a sample needs. False: it failed. */
static bool open_load(struct soak *s, struct load *l, double part)
{
	struct planned *p = l->plan.trial;
	const struct metric *m = rate_metric(l->plan.benchmark);

	p->sample = part * SAMPLE;
	l->opened = !series_open(&l->series, p, NULL);
	if (!l->opened)
		return false;
	l->series.task.overhead = s->run.clock.overhead;
	l->series.task.conditions = &s->run.setting.conditions;
	if (m)
		snprintf(l->unit, sizeof(l->unit), "%s", m->unit);
	else
		snprintf(l->unit, sizeof(l->unit), "%s/s", l->plan.benchmark->unit.name);
	if (allocation_open(&l->series, s->run.team))
		batch_calibrate(&l->series, s->run.team, part, INFINITY);
	return l->series.ready;
}

/*
 * Takes samples for this part of a round (s). Returns the median rate (of the last samples, if
 * there are very many). NAN: it failed.
 */
static double run_load(struct soak *s, struct load *l, double part)
{
	const double end = clock_now() + part;
	double times[SAMPLES], median;
	struct noise unused = { 0 };
	size_t n = 0;

	if (!sample_seat(&l->series, s->run.team))
		return NAN;
	run_take(&s->run, l->plan.trial);
	do
		times[n++ % SAMPLES] = sample_take(&l->series, s->run.team, &unused,
						   sample_turn(&l->series, 0), false)
					       .time;
	while (clock_now() < end && !watchdog_signal() && !l->series.evidence.failure);
	n = n < SAMPLES ? n : SAMPLES;
	statistics_sort(times, n);
	median = statistics_quantile(times, n, 0.5);
	return l->series.evidence.failure ? NAN : rate_of(l, median);
}

/* ---- rounds ---- */

static void show(const struct soak *s, const struct soak_round *r)
{
	char clock[32], temperature[32], power[32], rate[32];

	printf("%6.0f s  %10s  %10s  %10s", r->at,
	       quantity_show(r->clock, "Hz", clock, sizeof(clock)),
	       quantity_show(r->temperature, "°C", temperature, sizeof(temperature)),
	       quantity_show(r->power, "W", power, sizeof(power)));
	for (unsigned i = 0; i < s->loads; i++)
		printf("  %16s", quantity_show(r->rate[i], s->load[i].unit, rate, sizeof(rate)));
	printf("\n");
	fflush(stdout);
}

static void show_head(const struct soak *s)
{
	printf("%8s  %10s  %10s  %10s", "time", "clock", "temp.", "power");
	for (unsigned i = 0; i < s->loads; i++)
		printf("  %16.16s", s->told.load[i].name);
	printf("\n");
}

static struct soak_round *new_round(struct soak *s)
{
	struct soak_round *more = s->told.round;

	if (s->told.n == s->room)
		more = realloc(more, (s->room = 2 * s->room + 64) * sizeof(*more));
	if (more)
		s->told.round = more;
	return more ? &more[s->told.n] : NULL;
}

/* False: a load failed, a signal came, or there is no memory or disk. */
static bool add_round(struct soak *s)
{
	struct soak_round *r = new_round(s);
	struct sensed seen;
	double cycle;

	if (!r)
		return false;
	for (unsigned i = 0; i < s->loads; i++)
		r->rate[i] = run_load(s, &s->load[i], ROUND / s->loads);
	for (unsigned i = 0; i < s->loads; i++)
		if (isnan(r->rate[i]))
			return false;
	if (watchdog_signal())
		return false; /* a part of a round */
	cycle = clock_cycle(LINKS);
	r->at = budget_elapsed(&s->run.budget);
	/* between rounds: no other thread wakes up */
	seen = sensors_look(&s->sensors, clock_now());
	r->clock = cycle > 0 ? 1 / cycle : NAN;
	r->temperature = seen.temperature;
	r->power = seen.power;
	record_line(s->run.record, "soak", soak_round_json(&s->told, r), false);
	if (!s->quiet && s->told.n % LINE == 0)
		show(s, r);
	s->told.n++;
	return !record_failed(s->run.record);
}

/* ---- the end ---- */

static void note_faults(struct soak_load *told, const struct evidence *e)
{
	told->wrong = e->wrong;
	told->failure = e->failure ? e->failure : e->impossible;
}

/* The verdict, in the record and on the terminal. Returns the exit status. */
static int judge(struct soak *s)
{
	json_t *after = provenance_errors(SYSFS_ROOT);
	int status;

	s->told.errors = soak_errors_since(s->errors, after);
	s->told.no_temperature = s->sensors.no_temperature;
	s->told.no_power = s->sensors.no_power;
	for (unsigned i = 0; i < s->loads; i++)
		note_faults(&s->told.load[i], &s->load[i].series.evidence);
	record_line(s->run.record, "soak-verdict", soak_verdict_json(&s->told), false);
	status = soak_judge(&s->told, stdout);
	if (*s->told.no_temperature && !s->quiet)
		message_own("no temperature: %s", s->told.no_temperature);
	if (*s->told.no_power && !s->quiet)
		message_own("no power: %s", s->told.no_power);
	json_decref(s->told.errors);
	json_decref(after);
	status = s->run.signal ? EXIT_SIGNAL + s->run.signal : status;
	run_end(&s->run, status);
	fflush(stdout);
	return status;
}

/* Runs on the watchdog's thread when a load does not return. */
static int cut(void *soak, int signal, const char *what)
{
	struct soak *s = soak;

	message_own("%s: cut off while %s %s",
		    signal ? watchdog_signal_name(signal) : "far beyond its time", what,
		    s->run.hand ? s->run.hand->name : "a load");
	s->run.signal = signal;
	return judge(s);
}

static void watch(struct soak *s)
{
	const struct watch watch = {
		.grace = GRACE,
		.deadline = clock_now() + OVERTIME_SHARE * s->seconds + OVERTIME,
		.cut = cut,
		.argument = s,
	};

	if (watchdog_start(&watch))
		cut_say_unwatched(&s->run, "a round");
}

static int with_team(struct team *team, void *soak)
{
	struct soak *s = soak;
	bool ready = true;

	s->run.team = team;
	run_header(&s->run);
	for (unsigned i = 0; i < s->loads && ready && !watchdog_signal(); i++) {
		run_take(&s->run, s->load[i].plan.trial);
		ready = open_load(s, &s->load[i], ROUND / s->loads);
		s->told.load[i] =
			(struct soak_load){ s->load[i].plan.trial->name, s->load[i].unit, NULL };
	}
	s->told.loads = s->loads;
	sensors_look(&s->sensors, clock_now());
	budget_begin(&s->run.budget, NULL, s->seconds);
	if (!s->quiet && ready)
		show_head(s);
	while (ready && budget_elapsed(&s->run.budget) < s->seconds && !watchdog_signal() &&
	       add_round(s))
		;
	s->run.signal = watchdog_signal();
	for (unsigned i = 0; i < s->loads; i++)
		allocation_close(&s->load[i].series, team); /* checks its answer */
	return judge(s);
}

/* ---- the command ---- */

static int soak(struct soak *s)
{
	struct run *r = &s->run;
	unsigned threads = 1;
	int status = plan_loads(s);

	if (status)
		return status;
	status = record_open(&r->record, s->output, RECORD_NEW, "--output");
	if (status)
		return status;
	r->clock = clock_measure();
	s->errors = provenance_errors(SYSFS_ROOT);
	for (unsigned i = 0; i < s->loads; i++)
		threads = s->load[i].plan.threads > threads ? s->load[i].plan.threads : threads;
	watch(s);
	status = team_open(threads, with_team, s);
	watchdog_stop();
	if (status < 0)
		message_own("soak: no threads: %s", strerror(errno));
	if (record_close(r->record) && status == EXIT_GOOD)
		status = EXIT_BAD;
	return status < 0 ? EXIT_BAD : status;
}

static void soak_free(struct soak *s)
{
	for (unsigned i = 0; i < s->loads; i++) {
		if (s->load[i].opened)
			series_close(&s->load[i].series);
		plan_free(&s->load[i].plan);
		free(s->load[i].text);
	}
	setting_free(&s->run.setting);
	json_decref(s->errors);
	free(s->told.round);
}

int soak_command(const struct program *p, int argc, char **argv)
{
	static const struct argp argp = {
		.options = known,
		.parser = take,
		.args_doc = "['BENCHMARK OPTION...'...]",
		.doc = "Loads all CPUs and memory, and says whether the machine keeps its speed, "
		       "or throttles, and when.\vEach load is a trial of a benchmark, as in "
		       "'hashmap --variant best'. Without arguments, the loads are "
		       "multiply-adds with the widest vectors (cores), and memory bandwidth (numa)."
	};
	struct soak s = { .program = p,
			  .seconds = 1200,
			  .options = { .name = "soak", .seed = 1, .argc = argc, .argv = argv } };
	int status = EXIT_COMMAND_LINE;
	error_t failed;

	failed = argp_parse(&argp, argc, argv, ARGP_NO_EXIT | ARGP_NO_HELP, NULL, &s);
	if (failed == ECANCELED)
		status = EXIT_GOOD;
	else if (!failed && (s.loads || !add_usual(&s, argv[0]))) {
		s.run.options = &s.options;
		sensors_find(&s.sensors, SYSFS_ROOT);
		budget_begin(&s.run.budget, NULL, s.seconds);
		status = soak(&s);
	}
	soak_free(&s);
	return status;
}
