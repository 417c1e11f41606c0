/* SPDX-License-Identifier: Apache-2.0 */
/* `locus soak`: full load for as long as the user says, and whether the machine keeps its speed. */
#include <argp.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/apart.h"
#include "base/message.h"
#include "base/numbers.h"
#include "base/sysfs.h"
#include "base/text.h"
#include "commands/commands.h"
#include "harness/run/run.h"
#include "kit/instructions.h"
#include "kit/opaque.h"
#include "machine/provenance/provenance.h"
#include "machine/threads/team.h"
#include "machine/topology/topology.h"
#include "machine/watchdog.h"

#define ROUND 1.0	    /* s */
#define LINKS 49152	    /* of clock_cycle(): 16 us */
enum { LINE = 60 };	    /* rounds between two lines on the terminal */
enum { STREAM = 32 << 20 }; /* bytes of a thread, if memory has room: beyond its caches */

struct soak {
	double seconds; /* asked for */
	const char *output;
	bool quiet;
	struct options options;
	struct run run; /* its setting, record and header */
	sigset_t signals;
	struct sensors sensors;
	struct soak_round *round;
	unsigned rounds, faults, room;
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
				ARGP_HELP_LONG | ARGP_HELP_PRE_DOC | ARGP_HELP_USAGE);
		return ECANCELED;
	case ARGP_KEY_ARG:
		message("%s: '%s' is not an option; options begin with --, as in --for 20m",
			state->name, text);
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/*
 * ---- the load: in each round all threads multiply and add in registers, with the widest
 * vectors of the CPU, then stream through memory: the two things that draw most power ----
 */

/* What the team did in a round, a second; faults: threads that computed a wrong number. */
struct load_rates {
	double work, bandwidth; /* multiply-adds; bytes */
	unsigned faults;
};

enum { LANES = 128, BLOCK = 4000, CHUNK = 4000 }; /* lanes; steps; doubles of a piece */
#define COMPUTING 0.6				  /* of a round; the rest streams */

/* Of a thread, apart from others'. */
struct part {
	_Alignas(APART) double *array;
	double first; /* what its first block computed: so must each */
	unsigned faults;
};

struct load {
	struct team *team;
	size_t doubles; /* of an array */
	void (*multiply)(double *);
	struct part part[];
};

/* LANES chains of dependent multiply-adds, BLOCK long, which stay within 1 and 2. */
#define MULTIPLY(NAME, ATTRIBUTE)                             \
	ATTRIBUTE static void NAME(double *x)                 \
	{                                                     \
		for (unsigned n = 0; n < BLOCK; n++)          \
			for (unsigned i = 0; i < LANES; i++)  \
				x[i] = x[i] * 0.999 + 0.0015; \
	}
MULTIPLY(multiply_baseline, )
#ifdef __x86_64__
MULTIPLY(multiply_avx2, TARGET_AVX2)
MULTIPLY(multiply_avx512, TARGET_AVX512)
#endif

static void (*widest(void))(double *)
{
#ifdef __x86_64__
	if (isa_usable(ISA_AVX512))
		return multiply_avx512;
	if (isa_usable(ISA_AVX2))
		return multiply_avx2;
#endif
	return multiply_baseline;
}

static void compute(void *load, struct worker *w)
{
	struct load *l = load;
	struct part *p = &l->part[w->index];
	double x[LANES], sum;

	w->done = 0;
	while (!*w->stop) {
		sum = 0;
		for (unsigned i = 0; i < LANES; i++)
			x[i] = 1 + (double)i / LANES;
		l->multiply(x);
		for (unsigned i = 0; i < LANES; i++)
			sum += x[i];
		p->first = p->first > 0 ? p->first : sum;
		p->faults += sum != p->first; /* NaN, too */
		w->done++;
	}
}

/* Thread by thread, so that each lies on its own node. */
static void touch(void *load, struct worker *w)
{
	struct load *l = load;

	for (size_t i = 0; i < l->doubles; i++)
		l->part[w->index].array[i] = 1;
}

static void stream(void *load, struct worker *w)
{
	struct load *l = load;
	double *a = l->part[w->index].array;
	size_t at = w->count % (l->doubles / CHUNK);

	w->done = 0;
	while (!*w->stop) {
		for (size_t i = at * CHUNK; i < (at + 1) * CHUNK; i++)
			a[i] = a[i] * 0.999 + 0.0015;
		OPAQUE(a);
		at = (at + 1) % (l->doubles / CHUNK);
		w->done++;
	}
}

static struct load *load_open(struct team *team, size_t bytes)
{
	const unsigned threads = team_threads(team);
	const size_t doubles = bytes / sizeof(double) / CHUNK * CHUNK;
	struct load *l = aligned_alloc(APART, sizeof(*l) + threads * sizeof(*l->part));
	double *all = l ? aligned_alloc(APART, threads * doubles * sizeof(double)) : NULL;

	if (!all) {
		free(l);
		return NULL;
	}
	*l = (struct load){ .team = team, .doubles = doubles, .multiply = widest() };
	for (unsigned i = 0; i < threads; i++)
		l->part[i] = (struct part){ .array = all + i * doubles };
	team_run(team, touch, l);
	return l;
}

/* Units a second of all threads, each over its own time. */
static double rate(const struct load *l, void (*task)(void *, struct worker *), double seconds)
{
	double sum = 0;

	team_time(l->team, task, (void *)l, seconds, 0, 0);
	for (unsigned i = 0; i < team_threads(l->team); i++) {
		const struct attendance *a = team_attendance(l->team, i);

		sum += (double)team_worker(l->team, i)->done / (a->end - a->begin);
	}
	return sum;
}

static struct load_rates load_round(struct load *l, double seconds)
{
	struct load_rates r = {
		.work = rate(l, compute, COMPUTING * seconds) * BLOCK * LANES,
		.bandwidth =
			rate(l, stream, (1 - COMPUTING) * seconds) * CHUNK * 2 * sizeof(double),
	};

	for (unsigned i = 0; i < team_threads(l->team); i++)
		r.faults += l->part[i].faults > 0;
	return r;
}

static void load_close(struct load *l)
{
	free(l->part[0].array);
	free(l);
}

/* ---- rounds ---- */

/* The signal that ends it, since signals are blocked; 0: none. */
static int ended_by(const struct soak *s)
{
	const struct timespec at_once = { 0 };
	const int signal = sigtimedwait(&s->signals, NULL, &at_once);

	return signal > 0 ? signal : 0;
}

static void show(const struct soak_round *r)
{
	char work[32], bandwidth[32], clock[32], temperature[32], power[32];

	printf("%6.0f s  %12s  %12s  %12s  %10s  %10s\n", r->at,
	       quantity_show(r->work, "/s", work, sizeof(work)),
	       quantity_show(r->bandwidth, "B/s", bandwidth, sizeof(bandwidth)),
	       quantity_show(r->clock, "Hz", clock, sizeof(clock)),
	       quantity_show(r->temperature, "°C", temperature, sizeof(temperature)),
	       quantity_show(r->power, "W", power, sizeof(power)));
	fflush(stdout);
}

/* Reads sensors between rounds: no other thread wakes up. */
static bool add_round(struct soak *s, struct load *load)
{
	const struct load_rates rates = load_round(load, ROUND);
	const double cycle = clock_cycle(LINKS), now = clock_now();
	const struct sensed seen = sensors_look(&s->sensors, now);
	struct soak_round *more = s->round;

	if (s->rounds == s->room)
		more = realloc(s->round, (s->room = 2 * s->room + 64) * sizeof(*more));
	if (!more)
		return false;
	s->round = more;
	s->faults = rates.faults;
	s->round[s->rounds] = (struct soak_round){
		.at = now - s->run.budget.began,
		.work = rates.work,
		.bandwidth = rates.bandwidth,
		.clock = cycle > 0 ? 1 / cycle : NAN,
		.temperature = seen.temperature,
		.power = seen.power,
	};
	record_line(s->run.record, "soak", soak_round_json(&s->round[s->rounds]), false);
	if (!s->quiet && s->rounds % LINE == 0)
		show(&s->round[s->rounds]);
	s->rounds++;
	return !record_failed(s->run.record);
}

static int judge(struct soak *s, const json_t *errors)
{
	json_t *after = provenance_errors(SYSFS_ROOT);
	const struct soak_rounds of = {
		.round = s->round,
		.n = s->rounds,
		.faults = s->faults,
		.errors = soak_errors_since(errors, after),
		.no_temperature = s->sensors.no_temperature,
		.no_power = s->sensors.no_power,
	};
	int status = EXIT_BAD;

	if (s->rounds) {
		record_line(s->run.record, "soak-verdict", soak_verdict_json(&of), false);
		status = soak_judge(&of, stdout);
		for (const char *const *why =
			     (const char *const[]){ of.no_temperature, of.no_power, NULL };
		     *why && !s->quiet; why++)
			if (**why)
				message_own("not known in the last round: %s", *why);
	}
	json_decref(of.errors);
	json_decref(after);
	return status;
}

static int with_load(struct soak *s, struct load *load)
{
	json_t *errors = provenance_errors(SYSFS_ROOT);
	struct budget *b = &s->run.budget;
	int status;

	load_round(load, ROUND / 4); /* warm-up: caches, clock, answers */
	budget_begin(b, NULL, s->seconds);
	sensors_look(&s->sensors, clock_now());
	if (!s->quiet)
		printf("%8s  %12s  %12s  %12s  %10s  %10s\n", "time", "multiply-adds", "bandwidth",
		       "clock", "temperature", "power");
	while (budget_elapsed(b) < s->seconds && !(s->run.signal = ended_by(s)) &&
	       add_round(s, load))
		;
	status = judge(s, errors);
	json_decref(errors);
	return s->run.signal ? EXIT_SIGNAL + s->run.signal : status;
}

static int with_team(struct team *team, void *soak)
{
	struct soak *s = soak;
	const struct setting *setting = &s->run.setting;
	const unsigned threads = setting->affinity->cpus;
	struct place places[threads];
	const char *why = "";
	unsigned culprit = 0;
	struct load *load;
	int status;

	if (machine_bind(setting->machine, "close", threads, false, places, &why) ||
	    team_seat(team, places, threads, &culprit)) {
		message_own("soak: %u threads can't be pinned: %s", threads,
			    *why ? why : strerror(errno));
		return EXIT_BAD;
	}
	load = load_open(team,
			 (size_t)fmin(STREAM, (double)setting->memory.available / 2 / threads));
	if (!load) {
		message_own("soak: no memory for its arrays: %s", strerror(errno));
		return EXIT_BAD;
	}
	run_header(&s->run);
	status = with_load(s, load);
	run_end(&s->run, status);
	load_close(load);
	return status;
}

/* ---- the command ---- */

static int soak(struct soak *s)
{
	struct run *r = &s->run;
	int status = setting_find(&r->setting, &s->options, NULL);

	if (status)
		return status;
	status = record_open(&r->record, s->output, RECORD_NEW);
	if (status)
		return status;
	r->clock = clock_measure();
	status = team_open(r->setting.affinity->cpus, with_team, s);
	if (status < 0)
		message_own("soak: no threads: %s", strerror(errno));
	if (record_close(r->record) && status == EXIT_GOOD)
		status = EXIT_BAD;
	return status < 0 ? EXIT_BAD : status;
}

int soak_command(const struct program *p, int argc, char **argv)
{
	static const struct argp argp = {
		.options = known,
		.parser = take,
		.doc = "Loads all CPUs and memory, and says whether the machine keeps its speed, "
		       "or throttles, and when."
	};
	struct soak s = { .seconds = 1200,
			  .options = { .name = "soak", .seed = 1, .argc = argc, .argv = argv } };
	error_t failed;
	int status;

	(void)p;
	failed = argp_parse(&argp, argc, argv, ARGP_NO_EXIT | ARGP_NO_HELP, NULL, &s);
	if (failed)
		return failed == ECANCELED ? EXIT_GOOD : EXIT_COMMAND_LINE;
	s.run.options = &s.options;
	/* before the first threads, which inherit it: add_round() asks for signals */
	watchdog_signals(&s.signals);
	pthread_sigmask(SIG_BLOCK, &s.signals, NULL);
	sensors_find(&s.sensors, SYSFS_ROOT);
	budget_begin(&s.run.budget, NULL, s.seconds);
	status = soak(&s);
	setting_free(&s.run.setting);
	free(s.round);
	return status;
}
