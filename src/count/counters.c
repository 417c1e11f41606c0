/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include "count/counters.h"
#include "machine/cpuset.h"
#include "base/names.h"
#include "kit/opaque.h"
#include "count/provider.h"
#include "machine/team.h"
#include "machine/usage.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* ---- reasons ---- */

void because(struct reason *r, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(r->what, sizeof(r->what), format, arguments);
	va_end(arguments);
	*r->remedy = '\0';
}

void remedied(struct reason *r, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(r->remedy, sizeof(r->remedy), format, arguments);
	va_end(arguments);
}

bool too_few_files(int error, struct reason *why)
{
	struct rlimit files;

	if (error != EMFILE && error != ENFILE)
		return false;
	because(why, "too few file descriptors: an event takes one for each thread");
	if (error == ENFILE || getrlimit(RLIMIT_NOFILE, &files))
		remedied(why, "cat /proc/sys/fs/file-nr # used, free, and most of the machine: "
			      "raise fs.file-max, or count fewer events");
	else if (files.rlim_max > files.rlim_cur)
		remedied(why, "ulimit -n %ju", (uintmax_t)files.rlim_max);
	else
		remedied(why, "ulimit -n %ju # by root; or count fewer events",
			 (uintmax_t)files.rlim_cur * 4);
	return true;
}

/* One line of both; NULL: no memory. */
static char *in_words(const struct reason *r)
{
	char *line;

	return asprintf(&line, *r->remedy ? "%s: %s" : "%s", r->what, r->remedy) < 0 ? NULL : line;
}

/* ---- the kernel's own ---- */

static double faults(const struct usage *u)
{
	return (double)u->minor_faults + (double)u->major_faults;
}

static double minor_faults(const struct usage *u)
{
	return (double)u->minor_faults;
}

static double major_faults(const struct usage *u)
{
	return (double)u->major_faults;
}

static double switches(const struct usage *u)
{
	return (double)u->voluntary + (double)u->involuntary;
}

static double voluntary(const struct usage *u)
{
	return (double)u->voluntary;
}

static double involuntary(const struct usage *u)
{
	return (double)u->involuntary;
}

static double cpu_seconds(const struct usage *u)
{
	return u->cpu;
}

static double delay(const struct usage *u)
{
	return u->delay;
}

static const struct kernel_event {
	const char *name, *unit;
	double (*value)(const struct usage *); /* NULL: whether it is another CPU than before */
} kernel_events[] = {
	{ "faults", "1", faults },
	{ "minor-faults", "1", minor_faults },
	{ "major-faults", "1", major_faults },
	{ "context-switches", "1", switches },
	{ "voluntary-switches", "1", voluntary },
	{ "involuntary-switches", "1", involuntary },
	{ "migrations", "1", NULL },
	{ "cpu-time", "s", cpu_seconds },
	{ "run-delay", "s", delay },
};

struct kernel_set {
	struct usage before;
	unsigned n;
	struct {
		unsigned index;
		const struct kernel_event *event;
	} of[];
};

static bool kernel_find(void *library, struct wanted *w, struct reason *why)
{
	(void)library, (void)why;
	for (unsigned i = 0; i < LENGTH(kernel_events); i++) {
		if (strcmp(kernel_events[i].name, w->event.name))
			continue;
		w->event.unit = kernel_events[i].unit;
		w->event.proven = true;
		w->code = i;
		return true;
	}
	return false;
}

static void *kernel_start(void *library, struct wanted *const *w, unsigned n, int cpu,
			  bool multiplex, const struct wanted **failed, struct reason *why)
{
	struct kernel_set *s = calloc(1, sizeof(*s) + n * sizeof(s->of[0]));

	(void)library, (void)cpu, (void)multiplex;
	*failed = w[0];
	if (!s) {
		because(why, "no memory");
		return NULL;
	}
	usage_read(&s->before); /* so that no sample pays for what a first reading opens */
	s->n = n;
	for (unsigned i = 0; i < n; i++) {
		s->of[i].index = w[i]->index;
		s->of[i].event = &kernel_events[w[i]->code];
		if (!s->of[i].event->value || !isnan(s->of[i].event->value(&s->before)))
			continue;
		*failed = w[i];
		if (!too_few_files(usage_error(), why))
			because(why, "this kernel keeps no schedstat: it takes one with "
				     "CONFIG_SCHED_INFO");
		free(s);
		return NULL;
	}
	*failed = NULL;
	return s;
}

static void kernel_read(void *set, bool after, double *value)
{
	struct kernel_set *s = set;
	struct usage now;

	if (!after) {
		usage_read(&s->before);
		return;
	}
	usage_read(&now);
	for (unsigned i = 0; i < s->n; i++) {
		const struct kernel_event *e = s->of[i].event;

		value[s->of[i].index] = e->value ? e->value(&now) - e->value(&s->before)
						 : now.on_cpu != s->before.on_cpu;
	}
}

static const struct provider kernel = { "kernel",     NULL,	   NULL, kernel_find,
					kernel_start, kernel_read, NULL, free };

/* ---- all that count, in the order in which they are asked ---- */

/*
 * PAPI counts in user space, where the kernel's events do not happen: perf::CONTEXT-SWITCHES would
 * be 0. So those are the kernel's first.
 */
enum { KERNEL, SOFTWARE, PAPI, HARDWARE, PROVIDERS };
static const struct provider *const providers[PROVIDERS] = {
	[KERNEL] = &kernel, [SOFTWARE] = &perf_software, [PAPI] = &papi, [HARDWARE] = &perf_hardware
};

/* What a worker counts in this pass. */
struct station {
	_Alignas(APART) void *set[PROVIDERS]; /* NULL: nothing of this provider */
	double *value;			      /* by event; NAN: not counted */
	/* by event: why it could not be started, or read; NULL: it could, or is not to be */
	char **why;
	struct wanted **list; /* room for all events */
};

struct counters {
	unsigned n, passes;
	struct wanted *wanted;
	bool multiplex;
	struct {
		bool asked;
		void *library;
		struct reason why;
	} of[PROVIDERS];
	/* one for each worker so far, unless memory was short */
	unsigned stations;
	struct station *station;
	unsigned pass, threads; /* that are started */
	/* while they are; NULL: all that is in the pass is this thread's to try */
	const bool *duty;
};

/* ---- on one thread ---- */

/* The events of the pass that a provider counts, and that are this worker's to count. */
static unsigned choose(const struct counters *c, unsigned provider, unsigned worker,
		       struct wanted **list)
{
	unsigned n = 0;

	for (unsigned i = 0; i < c->n; i++) {
		struct wanted *w = &c->wanted[i];

		if (w->provider == providers[provider] && w->event.pass == c->pass &&
		    (!c->duty || c->duty[(size_t)i * c->threads + worker]))
			list[n++] = w;
	}
	return n;
}

static unsigned leave_out(struct wanted **list, unsigned n, const struct wanted *one)
{
	unsigned left = 0;

	for (unsigned i = 0; i < n; i++)
		if (list[i] != one)
			list[left++] = list[i];
	return left;
}

/* What fails is left out, with its reason. True: nothing did. */
static bool start(struct counters *c, unsigned worker, int cpu)
{
	struct station *s = &c->station[worker];
	bool all = true;

	for (unsigned i = 0; i < c->n; i++) {
		s->value[i] = NAN;
		free(s->why[i]);
		s->why[i] = NULL;
	}
	for (unsigned p = 0; p < PROVIDERS; p++) {
		unsigned n = choose(c, p, worker, s->list);

		while (n && !s->set[p]) {
			const struct wanted *failed;
			struct reason why;

			s->set[p] = providers[p]->start(c->of[p].library, s->list, n, cpu,
							c->multiplex, &failed, &why);
			if (s->set[p])
				continue;
			all = false;
			s->why[failed->index] = in_words(&why);
			n = leave_out(s->list, n, failed);
		}
	}
	return all;
}

/*
 * What costs least stands next to the task: the kernel's own is asked first before it, and last
 * after it.
 */
static void read_all(struct station *s, bool after)
{
	for (unsigned i = 0; i < PROVIDERS; i++) {
		unsigned p = after ? PROVIDERS - 1 - i : i;

		if (s->set[p])
			providers[p]->read(s->set[p], after, s->value);
	}
}

static void stop(struct counters *c, unsigned worker)
{
	struct station *s = &c->station[worker];

	for (unsigned p = 0; p < PROVIDERS; p++) {
		struct reason why;

		if (!s->set[p])
			continue;
		for (unsigned i = 0; i < c->n && providers[p]->unread; i++)
			if (!s->why[i] && providers[p]->unread(s->set[p], i, &why))
				s->why[i] = in_words(&why);
		providers[p]->stop(s->set[p]);
		s->set[p] = NULL;
	}
}

static void station_free(struct station *s, unsigned n)
{
	for (unsigned i = 0; i < n && s->why; i++)
		free(s->why[i]);
	free(s->why);
	free(s->list);
	free(s->value);
}

static bool station_make(struct station *s, unsigned n)
{
	*s = (struct station){
		/* lines of its own, since workers write them at the same time */
		.value = aligned_alloc(APART, (n * sizeof(*s->value) / APART + 1) * APART),
		.why = calloc(n + 1, sizeof(*s->why)),
		.list = calloc(n + 1, sizeof(*s->list)),
	};
	if (s->value && s->why && s->list)
		return true;
	station_free(s, n);
	return false;
}

/* For so many workers; those for whom memory is short have none. */
static void make_stations(struct counters *c, unsigned workers)
{
	struct station *grown;

	if (workers <= c->stations || !(grown = aligned_alloc(APART, workers * sizeof(*grown))))
		return;
	if (c->stations)
		memcpy(grown, c->station, c->stations * sizeof(*grown));
	free(c->station);
	c->station = grown;
	while (c->stations < workers && station_make(&grown[c->stations], c->n))
		c->stations++;
}

/* ---- who counts an event ---- */

static bool reachable(struct counters *c, unsigned p)
{
	if (!c->of[p].asked && providers[p]->open)
		c->of[p].library = providers[p]->open(c->multiplex, &c->of[p].why);
	c->of[p].asked = true;
	return !providers[p]->open || c->of[p].library;
}

/* Whether nothing else is in the pass. */
static bool is_alone(const struct counters *c, const struct wanted *w)
{
	for (unsigned i = 0; i < c->n; i++)
		if (&c->wanted[i] != w && c->wanted[i].provider &&
		    c->wanted[i].event.pass == w->event.pass)
			return false;
	return true;
}

/*
 * Whether the event can be counted together with all that is in its pass already, whoever counts
 * that: some share the processor's counters.
 */
static bool fits(struct counters *c, const struct wanted *w)
{
	bool good;

	c->pass = w->event.pass;
	good = start(c, 0, sched_getcpu());
	stop(c, 0);
	return good;
}

/* The first pass with room for it. False: there is none, and *why. */
static bool place(struct counters *c, struct wanted *w, unsigned provider, char **why)
{
	w->provider = providers[provider];
	for (w->event.pass = 0; !fits(c, w); w->event.pass++) {
		if (!is_alone(c, w))
			continue;
		w->provider = NULL;
		*why = c->station->why[w->index];
		c->station->why[w->index] = NULL;
		return false;
	}
	w->event.source = providers[provider]->source;
	return true;
}

struct search {
	const char *name;
	char *nearest;
	bool known;
};

static void compare(void *argument, const char *name)
{
	struct search *s = argument;
	const char *names[2] = { s->nearest, name };
	bool some = s->nearest;
	char *better;

	/* but not to be counted: for another reason than its name */
	s->known |= !strcmp(s->name, name);
	if (nearest(s->name, names + !some, 1 + some) != some || !(better = strdup(name)))
		return;
	free(s->nearest);
	s->nearest = better;
}

/* Nobody knows the name: is it another one, mistyped? */
static void suggest(struct counters *c, struct wanted *w, struct reason *why)
{
	struct search s = { .name = w->event.name };
	const struct reason said = *why;

	compare(&s, DEFAULT_SET);
	for (unsigned i = 0; i < LENGTH(kernel_events); i++)
		compare(&s, kernel_events[i].name);
	perf_names(compare, &s);
	if (c->of[PAPI].library)
		papi_names(c->of[PAPI].library, compare, &s);
	if (s.nearest && !s.known) {
		because(why, "%.200s (did you mean %.100s?)",
			*said.what ? said.what : "no such event", s.nearest);
		remedied(why, "%s", said.remedy);
	}
	free(s.nearest);
}

/*
 * Where the kernel does not say what package a CPU belongs to, nobody knows how many there are to
 * count.
 */
static bool has_packages(const struct wanted *w, char **why)
{
	struct reason said;

	if (w->event.scope != PER_PACKAGE || w->package != EACH_PACKAGE ||
	    package_of(sched_getcpu()) >= 0)
		return true;
	because(&said, "each package would have to be counted, and the kernel does not tell which "
		       "CPUs belong to one");
	remedied(&said, "cat /sys/devices/system/cpu/cpu*/topology/physical_package_id # hidden by "
			"a container?");
	*why = in_words(&said);
	return false;
}

/*
 * The reason that counts is that of the last who knew the name; else PAPI's, who may know any.
 * False: no memory.
 */
static bool find(struct counters *c, struct wanted *w)
{
	struct reason unknown = { 0 };
	const struct event asked = w->event;
	bool known = false;
	char *why = NULL;

	for (unsigned p = 0; p < PROVIDERS; p++) {
		struct reason *said = known ? &(struct reason){ 0 } : &unknown;

		w->event = asked;
		w->factor = 1;
		if (!reachable(c, p)) {
			*said = c->of[p].why;
			continue;
		}
		if (!providers[p]->find(c->of[p].library, w, said))
			continue;
		known = true;
		free(why);
		why = NULL;
		if (has_packages(w, &why) && place(c, w, p, &why))
			return true;
		/*
		 * perf may know the processor where PAPI does not; but what the kernel refuses,
		 * PAPI would have as a zero
		 */
		if (p != PAPI)
			break;
	}
	w->event = asked;
	if (!known) {
		suggest(c, w, &unknown);
		why = in_words(&unknown);
	}
	w->event.why = why;
	return why;
}

/*
 * ---- the probe: a little of everything, so that whatever counts here at all has counted something
 * ----
 */

static uint64_t exercise(void)
{
	const size_t size = 4u << 20, line = 64;
	const struct timespec nap = { 0, 50000 };
	uint64_t *memory =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t random = 88172645463325252u, sum = 0;
	double real = 1;

	for (unsigned i = 0; i < 1u << 17; i++) {
		random ^= random << 13, random ^= random >> 7, random ^= random << 17;
		if (random & 1) /* a branch that can't be foreseen */
			sum += random;
		OPAQUE(sum);
		real = real * 1.0000001 + 1e-9;
		OPAQUE(random);
		if (memory != MAP_FAILED)
			memory[random % (size / line) * (line / sizeof(*memory))] += sum;
	}
	if (memory != MAP_FAILED)
		munmap(memory, size);
	sched_yield();
	nanosleep(&nap, NULL);
	return sum + (uint64_t)real;
}

/* What can't be started just now is not proven. */
static void probe(struct counters *c)
{
	uint64_t done;

	for (c->pass = 0; c->pass < c->passes; c->pass++) {
		start(c, 0, sched_getcpu());
		read_all(c->station, false);
		done = exercise();
		OPAQUE(done);
		read_all(c->station, true);
		stop(c, 0);
		for (unsigned i = 0; i < c->n; i++)
			c->wanted[i].event.proven |= c->station->value[i] > 0;
	}
}

struct counters *counters_open(const char *const *names, unsigned n, bool multiplex)
{
	struct counters *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->multiplex = multiplex;
	c->wanted = calloc(n + 1, sizeof(*c->wanted));
	if (!c->wanted)
		goto fail;
	c->n = n;
	make_stations(c, 1);
	if (!c->stations)
		goto fail;
	for (unsigned i = 0; i < n; i++) {
		struct wanted *w = &c->wanted[i];

		w->index = i;
		w->event = (struct event){ .name = strdup(names[i]), .unit = "1" };
		if (!w->event.name || !find(c, w))
			goto fail;
		if (w->provider && w->event.pass >= c->passes)
			c->passes = w->event.pass + 1;
	}
	probe(c);
	return c;
fail:
	counters_close(c);
	errno = ENOMEM;
	return NULL;
}

void counters_close(struct counters *c)
{
	if (!c)
		return;
	for (unsigned i = 0; i < c->stations; i++)
		station_free(&c->station[i], c->n);
	free(c->station);
	for (unsigned i = 0; i < c->n; i++) {
		free((char *)c->wanted[i].event.name);
		free(c->wanted[i].event.why);
	}
	for (unsigned p = 0; p < PROVIDERS; p++)
		if (c->of[p].library)
			providers[p]->close(c->of[p].library);
	free(c->wanted);
	free(c);
}

unsigned counters_events(const struct counters *c)
{
	return c->n;
}

const struct event *counters_event(const struct counters *c, unsigned event)
{
	return &c->wanted[event].event;
}

unsigned counters_passes(const struct counters *c)
{
	return c->passes;
}

const char *counters_library(const struct counters *c, const char **why)
{
	const char *said =
		c->of[PAPI].asked ? c->of[PAPI].why.what : "no event asked for is PAPI's";

	if (why)
		*why = c->of[PAPI].library ? NULL : said;
	return c->of[PAPI].library ? papi_version(c->of[PAPI].library) : NULL;
}

unsigned counters_presets(char version[32], struct reason *why)
{
	void *library = papi.open(false, why);
	unsigned n = 0;

	*version = '\0';
	if (!library)
		return 0;
	snprintf(version, 32, "%s", papi_version(library));
	n = papi_presets(library, why);
	papi.close(library);
	return n;
}

/* ---- on the team ---- */

/* Where the processes of a node sit. */
struct node {
	unsigned cpus;
	/*
	 * By CPU, minus the lowest rank on it (-INFINITY: none); one more: minus the node's lowest.
	 */
	double *first;
	int *package; /* of CPUs where somebody sits */
};
enum { NOBODY = -1 };

static void look_around(struct node *n, const struct place *place, unsigned threads, unsigned rank,
			void (*most_here)(double *, size_t))
{
	for (unsigned i = 0; i <= n->cpus; i++)
		n->first[i] = -INFINITY;
	n->first[n->cpus] = -(double)rank;
	for (unsigned i = 0; i < threads; i++)
		n->first[place[i].cpu] = -(double)rank;
	if (most_here)
		most_here(n->first, n->cpus + 1);
	for (unsigned cpu = 0; cpu < n->cpus; cpu++)
		if (isfinite(n->first[cpu]))
			n->package[cpu] = package_of((int)cpu);
}

/*
 * Which of our workers counts for a package; for one that nobody of the node sits on, and for the
 * node itself, the lowest rank's worker 0 does.
 */
static int who_counts(const struct node *n, int package, const struct place *place,
		      unsigned threads, unsigned rank)
{
	double lowest = INFINITY;

	for (unsigned cpu = 0; cpu < n->cpus && package != WHOLE_NODE; cpu++)
		if (isfinite(n->first[cpu]) && n->package[cpu] == package)
			lowest = fmin(lowest, -n->first[cpu]);
	if (!isfinite(lowest))
		return -n->first[n->cpus] == rank ? 0 : NOBODY;
	for (unsigned i = 0; i < threads && lowest == rank; i++)
		if (n->package[place[i].cpu] == package)
			return (int)i;
	return NOBODY;
}

bool *counters_duties(const struct counters *c, const struct place *place, unsigned threads,
		      unsigned rank, void (*most_here)(double *, size_t))
{
	bool *duty = calloc((size_t)c->n * threads + 1, sizeof(*duty));
	const unsigned cpus = cpuset_room();
	double first[cpus + 1];
	int package_of_cpu[cpus];
	struct node node = { cpus, first, package_of_cpu };

	look_around(&node, place, threads, rank, most_here);
	for (unsigned i = 0; duty && i < c->n; i++) {
		const struct wanted *w = &c->wanted[i];

		for (unsigned j = 0; j < threads; j++) {
			const int package = w->package == EACH_PACKAGE ? node.package[place[j].cpu]
								       : w->package;

			duty[(size_t)i * threads + j] =
				w->event.scope == PER_THREAD ||
				who_counts(&node, package, place, threads, rank) == (int)j;
		}
	}
	return duty;
}

static void start_station(void *argument, struct worker *w)
{
	struct counters *c = argument;

	if (w->index < c->stations)
		start(c, w->index, w->place.cpu);
}

static void read_station(void *argument, struct worker *w, bool after)
{
	struct counters *c = argument;

	if (w->index < c->stations)
		read_all(&c->station[w->index], after);
}

static void stop_station(void *argument, struct worker *w)
{
	struct counters *c = argument;

	if (w->index < c->stations)
		stop(c, w->index);
}

/* An event takes a descriptor on each worker. True: there may be more than there were. */
static bool allow_files(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) || files.rlim_cur == files.rlim_max)
		return false;
	files.rlim_cur = files.rlim_max;
	return !setrlimit(RLIMIT_NOFILE, &files);
}

static bool any_failed(const struct counters *c)
{
	for (unsigned i = 0; i < c->n; i++)
		if (counters_failure(c, i))
			return true;
	return false;
}

void counters_start(struct counters *c, struct team *team, unsigned pass, const bool *duty)
{
	c->pass = pass;
	c->threads = team_threads(team);
	c->duty = duty;
	make_stations(c, c->threads);
	team_run(team, start_station, c);
	if (any_failed(c) && allow_files()) {
		team_run(team, stop_station, c);
		team_run(team, start_station, c);
	}
	c->duty = NULL;
	team_watch(team, read_station, c);
}

void counters_stop(struct counters *c, struct team *team)
{
	team_watch(team, NULL, NULL);
	team_run(team, stop_station, c);
}

const char *counters_failure(const struct counters *c, unsigned event)
{
	for (unsigned i = 0; i < c->threads; i++)
		if (i >= c->stations || c->station[i].why[event])
			return i >= c->stations ? "no memory" : c->station[i].why[event];
	return NULL;
}

double counters_value(const struct counters *c, unsigned worker, unsigned event)
{
	return worker < c->threads && worker < c->stations && event < c->n
		       ? c->station[worker].value[event]
		       : NAN;
}
