/* SPDX-License-Identifier: Apache-2.0 */
/* Finds a provider and a pass for each event. */
#include "count/schedule.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "count/event.h"

struct pass schedule_pass(const struct schedule *s, unsigned number)
{
	return (struct pass){
		.providers = &s->providers, .wanted = s->wanted, .n = s->n, .number = number
	};
}

/* Whether the event's pass has no other event. */
static bool is_alone(const struct schedule *s, const struct wanted *w)
{
	for (unsigned i = 0; i < s->n; i++)
		if (&s->wanted[i] != w && s->wanted[i].provider &&
		    s->wanted[i].event.pass == w->event.pass)
			return false;
	return true;
}

/* Whether the event starts together with those already in its pass. */
static bool fits(const struct schedule *s, const struct wanted *w, struct station *trial)
{
	const struct pass pass = schedule_pass(s, w->event.pass);
	const bool good = station_start(trial, &pass, 0, sched_getcpu());

	station_stop(trial, s->n);
	return good;
}

/* Finds the first pass with room for the event. False with *why, which the caller frees. */
static bool place(struct schedule *s, struct wanted *w, unsigned provider, struct station *trial,
		  char **why)
{
	w->provider = provider_table[provider];
	for (w->event.pass = 0; !fits(s, w, trial); w->event.pass++) {
		if (!is_alone(s, w))
			continue;
		w->provider = NULL;
		*why = trial->why[w->index];
		trial->why[w->index] = NULL;
		return false;
	}
	w->event.source = w->provider->source;
	if (w->event.pass >= s->passes)
		s->passes = w->event.pass + 1;
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

	/* the name exists: the event cannot be counted for another reason */
	s->known |= !strcmp(s->name, name);
	if (names_nearest(s->name, names + !some, 1 + some) != some || !(better = strdup(name)))
		return;
	free(s->nearest);
	s->nearest = better;
}

/* No provider knows the name: suggests a similar one. */
static void suggest(const struct schedule *s, const struct wanted *w, struct reason *why)
{
	struct search search = { .name = w->event.name };
	const struct reason said = *why;

	compare(&search, EVENT_DEFAULT);
	providers_names(&s->providers, compare, &search);
	if (search.nearest && !search.known) {
		reason_set(why, "%.200s (did you mean %.100s?)",
			   *said.what ? said.what : "no such event", search.nearest);
		reason_set_remedy(why, "%s", said.remedy);
	}
	free(search.nearest);
}

/* An event of each package needs the kernel to tell to which package a CPU belongs. */
static bool has_packages(const struct wanted *w, char **why)
{
	struct reason said;

	if (w->event.scope != SCOPE_PACKAGE || w->event.package != PACKAGE_EACH ||
	    package_of(sched_getcpu()) >= 0)
		return true;
	reason_set(&said, "it is counted per package, but the kernel does not say which CPUs "
			  "belong to which");
	reason_set_remedy(
		&said, "cat /sys/devices/system/cpu/cpu*/topology/physical_package_id # hidden by "
		       "a container?");
	*why = reason_line(&said);
	return false;
}

/*
 * Finds the event's provider and pass, or sets event.why: the reason of the last provider that knew
 * the name, else PAPI's. False: ENOMEM.
 */
static bool find(struct schedule *s, struct wanted *w, struct station *trial)
{
	struct reason unknown = { 0 };
	const struct event asked = w->event;
	bool known = false;
	char *why = NULL;

	for (unsigned p = 0; p < PROVIDERS; p++) {
		struct reason *said = known ? &(struct reason){ 0 } : &unknown;

		w->event = asked;
		w->factor = 1;
		if (!providers_reach(&s->providers, p)) {
			*said = s->providers.of[p].why;
			continue;
		}
		if (!provider_table[p]->find(s->providers.of[p].library, w, said))
			continue;
		known = true;
		free(why);
		why = NULL;
		if (has_packages(w, &why) && place(s, w, p, trial, &why))
			return true;
		/*
		 * After PAPI, perf is tried: it may support a processor that PAPI does not. PAPI is
		 * not tried after perf: it would read 0 for an event that the kernel refuses.
		 */
		if (p != PROVIDER_PAPI)
			break;
	}
	w->event = asked;
	if (!known) {
		suggest(s, w, &unknown);
		why = reason_line(&unknown);
	}
	w->event.why = why;
	return why;
}

static bool add_all(struct schedule *s, const char *const *names, struct station *trial)
{
	bool good = true;

	for (unsigned i = 0; i < s->n && good; i++) {
		struct wanted *w = &s->wanted[i];

		w->index = i;
		w->event = (struct event){ .name = strdup(names[i]), .unit = "1" };
		good = w->event.name && find(s, w, trial);
	}
	for (unsigned number = 0; number < s->passes && good; number++) {
		const struct pass pass = schedule_pass(s, number);

		station_probe(trial, &pass);
	}
	return good;
}

bool schedule_open(struct schedule *s, const char *const *names, unsigned n, bool multiplex)
{
	struct station trial;
	bool good;

	*s = (struct schedule){ .providers.multiplex = multiplex };
	s->wanted = calloc(n + 1, sizeof(*s->wanted));
	if (!s->wanted || !station_make(&trial, n))
		return false;
	s->n = n;
	good = add_all(s, names, &trial);
	station_free(&trial, n);
	return good;
}

void schedule_close(struct schedule *s)
{
	for (unsigned i = 0; i < s->n; i++) {
		free((char *)s->wanted[i].event.name);
		free(s->wanted[i].event.why);
	}
	providers_close(&s->providers);
	free(s->wanted);
}
