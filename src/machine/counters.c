/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "machine/counters.h"
#include "machine/names.h"
#include "machine/opaque.h"
#include "machine/provider.h"
#include "machine/sysfs.h"
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

static void *kernel_start(void *library, struct wanted *const *w, unsigned n, int cpu, bool multiplex, const struct wanted **failed,
			  struct reason *why)
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
		because(why, "this kernel keeps no schedstat: it takes one with CONFIG_SCHED_INFO");
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

		value[s->of[i].index] = e->value ? e->value(&now) - e->value(&s->before) : now.on_cpu != s->before.on_cpu;
	}
}

static const struct provider kernel = { "kernel", NULL, NULL, kernel_find, kernel_start, kernel_read, free };

/* ---- all that count, in the order in which they are asked ---- */

/* PAPI counts in user space, where the kernel's events do not happen: perf::CONTEXT-SWITCHES would be 0. So those are the kernel's first. */
enum { KERNEL, SOFTWARE, PAPI, HARDWARE, PROVIDERS };
static const struct provider *const providers[PROVIDERS] = {
	[KERNEL] = &kernel, [SOFTWARE] = &perf_software, [PAPI] = &papi, [HARDWARE] = &perf_hardware
};

/* What a worker counts in this pass. */
struct station {
	_Alignas(APART) void *set[PROVIDERS]; /* NULL: nothing of this provider */
	double *value;                        /* by event; NAN where it is not counted */
	bool first;                           /* of its package */
	int package;
	const struct wanted *failed;
	int error;
	struct reason why;
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
	unsigned stations;                    /* workers that count */
	struct station *station;
	unsigned pass;                        /* that is started */
};

int package_of(int cpu)
{
	uint64_t package;

	return sysfs_number(THIS_MACHINE, &package, "/sys/devices/system/cpu/cpu%d/topology/physical_package_id", cpu) || package > INT_MAX
		       ? 0
		       : (int)package;
}

static bool give_up(struct wanted *w, const struct reason *why)
{
	free(w->event.why);
	w->event.why = in_words(why);
	w->event.source = NULL;
	w->event.proven = false;
	w->provider = NULL;
	return w->event.why;
}

/* ---- who counts an event ---- */

static bool reachable(struct counters *c, unsigned p)
{
	if (!c->of[p].asked && providers[p]->open)
		c->of[p].library = providers[p]->open(c->multiplex, &c->of[p].why);
	c->of[p].asked = true;
	return !providers[p]->open || c->of[p].library;
}

/* Of what a package counts, whether this worker is the one to ask. A package that nobody sits on is looked at from worker 0. */
static bool its_own(const struct counters *c, const struct wanted *w, const struct station *s)
{
	if (w->event.scope == PER_THREAD || (w->package == EACH_PACKAGE && s->first))
		return true;
	for (unsigned i = 0; w->package >= 0 && i < c->stations; i++)
		if (c->station[i].package == w->package)
			return s == &c->station[i];
	return w->package != EACH_PACKAGE && s == c->station;
}

/* The events of a pass that a provider counts, and, with a station, that are its to count. */
static unsigned chosen(const struct counters *c, unsigned provider, unsigned pass, const struct station *s, struct wanted **list)
{
	unsigned n = 0;

	for (unsigned i = 0; i < c->n; i++) {
		struct wanted *w = &c->wanted[i];

		if (w->provider == providers[provider] && w->event.pass == pass && (!s || its_own(c, w, s)))
			list[n++] = w;
	}
	return n;
}

/* Whether the event can be counted together with what the provider counts in its pass already, on this thread. */
static bool fits(struct counters *c, struct wanted *w, unsigned provider, struct wanted **list, bool *alone, struct reason *why)
{
	const struct wanted *failed;
	unsigned n = chosen(c, provider, w->event.pass, NULL, list);
	void *set;

	*alone = !n;
	list[n] = w;
	set = providers[provider]->start(c->of[provider].library, list, n + 1, sched_getcpu(), c->multiplex, &failed, why);
	if (set)
		providers[provider]->stop(set);
	return set;
}

/* The first pass with room for it. */
static bool place(struct counters *c, struct wanted *w, unsigned provider, struct reason *why)
{
	struct wanted **list = calloc(c->n + 1, sizeof(struct wanted *));
	bool fitting = false, alone = !list;

	if (!list)
		because(why, "no memory");
	for (w->event.pass = 0; !fitting && !alone; w->event.pass += !fitting && !alone)
		fitting = fits(c, w, provider, list, &alone, why);
	free(list);
	return fitting;
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

	s->known |= !strcmp(s->name, name); /* but not to be counted: for another reason than its name */
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

	for (unsigned i = 0; i < LENGTH(kernel_events); i++)
		compare(&s, kernel_events[i].name);
	perf_names(compare, &s);
	if (c->of[PAPI].library)
		papi_names(c->of[PAPI].library, compare, &s);
	if (s.nearest && !s.known) {
		because(why, "%.200s (did you mean %.100s?)", *said.what ? said.what : "no such event", s.nearest);
		remedied(why, "%s", said.remedy);
	}
	free(s.nearest);
}

/* The reason that counts is that of the last who knew the name; else PAPI's, who may know any. */
static bool find(struct counters *c, struct wanted *w)
{
	struct reason why = { 0 }, unknown = { 0 };
	const struct event asked = w->event;
	bool known = false;

	for (unsigned i = 0; i < PROVIDERS; i++) {
		struct reason *said = known ? &(struct reason){ 0 } : &unknown;

		w->event = asked;
		w->factor = 1;
		if (!reachable(c, i)) {
			*said = c->of[i].why;
			continue;
		}
		if (!providers[i]->find(c->of[i].library, w, said))
			continue;
		known = true;
		if (!place(c, w, i, &why)) {
			if (i == PAPI) /* perf may know the processor where PAPI does not; but what the kernel refuses, PAPI would have as a zero */
				continue;
			break;
		}
		w->provider = providers[i];
		w->event.source = providers[i]->source;
		return true;
	}
	w->event = asked;
	if (!known)
		suggest(c, w, &unknown);
	return give_up(w, known ? &why : &unknown);
}

/* ---- the probe: a little of everything, so that whatever counts here at all has counted something ---- */

static uint64_t exercise(void)
{
	const size_t size = 4u << 20, line = 64;
	const struct timespec nap = { 0, 50000 };
	uint64_t *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
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

static bool probe_provider(struct counters *c, unsigned provider, struct wanted **list, unsigned n, double *value)
{
	const struct wanted *failed;
	struct reason why;
	void *set = providers[provider]->start(c->of[provider].library, list, n, sched_getcpu(), c->multiplex, &failed, &why);
	uint64_t done;

	if (!set)
		return give_up(&c->wanted[failed->index], &why);
	providers[provider]->read(set, false, value);
	done = exercise();
	OPAQUE(done);
	providers[provider]->read(set, true, value);
	providers[provider]->stop(set);
	for (unsigned i = 0; i < n; i++)
		list[i]->event.proven |= value[list[i]->index] > 0;
	return true;
}

static bool probe(struct counters *c)
{
	struct wanted **list = calloc(c->n + 1, sizeof(struct wanted *));
	double *value = calloc(c->n + 1, sizeof(*value));
	bool good = list && value;

	for (unsigned pass = 0; good && pass < c->passes; pass++) {
		for (unsigned p = 0; good && p < PROVIDERS; p++) {
			unsigned n = chosen(c, p, pass, NULL, list);

			good = !n || probe_provider(c, p, list, n, value);
		}
	}
	free(list);
	free(value);
	return good;
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
	for (unsigned i = 0; i < n; i++) {
		struct wanted *w = &c->wanted[i];

		w->index = i;
		w->event = (struct event){ .name = strdup(names[i]), .unit = "1" };
		if (!w->event.name || !find(c, w))
			goto fail;
		if (w->provider && w->event.pass >= c->passes)
			c->passes = w->event.pass + 1;
	}
	if (probe(c))
		return c;
fail:
	counters_close(c);
	errno = ENOMEM;
	return NULL;
}

static void stations_free(struct counters *c)
{
	for (unsigned i = 0; i < c->stations; i++)
		free(c->station[i].value);
	free(c->station);
	c->station = NULL;
	c->stations = 0;
}

void counters_close(struct counters *c)
{
	if (!c)
		return;
	stations_free(c);
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
	const char *said = c->of[PAPI].asked ? c->of[PAPI].why.what : "no event asked for is PAPI's";

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

static void read_station(void *argument, struct worker *w, bool after)
{
	const struct counters *c = argument;
	struct station *s = &c->station[w->index];

	/* What costs least stands next to the task: the kernel's own is asked first before it, and last after it. */
	for (unsigned i = 0; i < PROVIDERS; i++) {
		unsigned p = after ? PROVIDERS - 1 - i : i;

		if (s->set[p])
			providers[p]->read(s->set[p], after, s->value);
	}
}

static void start_station(void *argument, struct worker *w)
{
	struct counters *c = argument;
	struct station *s = &c->station[w->index];
	struct wanted **list = calloc(c->n + 1, sizeof(struct wanted *));

	for (unsigned p = 0; list && p < PROVIDERS && !s->failed; p++) {
		unsigned n = chosen(c, p, c->pass, s, list);

		if (n)
			s->set[p] = providers[p]->start(c->of[p].library, list, n, w->place.cpu, c->multiplex, &s->failed, &s->why);
	}
	if (!list || s->failed)
		s->error = list ? EBUSY : ENOMEM;
	free(list);
}

static void stop_station(void *argument, struct worker *w)
{
	struct counters *c = argument;
	struct station *s = &c->station[w->index];

	for (unsigned p = 0; p < PROVIDERS; p++) {
		if (s->set[p])
			providers[p]->stop(s->set[p]);
		s->set[p] = NULL;
	}
}

/* For what is counted for a package: who sits where. */
static void take_place(struct counters *c, struct team *team, unsigned i)
{
	struct station *s = &c->station[i];

	s->package = package_of(team_worker(team, i)->place.cpu);
	s->first = true;
	for (unsigned j = 0; j < i; j++)
		s->first &= c->station[j].package != s->package;
}

static bool stations_new(struct counters *c, struct team *team)
{
	unsigned n = team_threads(team);

	stations_free(c);
	c->station = aligned_alloc(APART, n * sizeof(*c->station));
	if (!c->station)
		return false;
	memset(c->station, 0, n * sizeof(*c->station));
	c->stations = n;
	for (unsigned i = 0; i < n; i++) {
		/* Lines of its own, since workers write them at the same time. */
		c->station[i].value = aligned_alloc(APART, (c->n * sizeof(double) / APART + 1) * APART);
		if (!c->station[i].value)
			return false;
		for (unsigned e = 0; e < c->n; e++)
			c->station[i].value[e] = NAN;
		take_place(c, team, i);
	}
	return true;
}

bool counters_start(struct counters *c, struct team *team, unsigned pass)
{
	int error = 0;

	c->pass = pass;
	if (!stations_new(c, team)) {
		errno = ENOMEM;
		return false;
	}
	team_run(team, start_station, c);
	for (unsigned i = 0; i < c->stations; i++) {
		const struct station *s = &c->station[i];

		if (!s->error)
			continue;
		error = s->error;
		if (s->failed && c->wanted[s->failed->index].provider && !give_up(&c->wanted[s->failed->index], &s->why))
			error = ENOMEM;
	}
	if (!error) {
		team_watch(team, read_station, c);
		return true;
	}
	counters_stop(c, team);
	errno = error;
	return false;
}

void counters_stop(struct counters *c, struct team *team)
{
	team_watch(team, NULL, NULL);
	team_run(team, stop_station, c);
}

double counters_value(const struct counters *c, unsigned worker, unsigned event)
{
	return worker < c->stations && event < c->n ? c->station[worker].value[event] : NAN;
}
