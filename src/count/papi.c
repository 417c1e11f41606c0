/* SPDX-License-Identifier: Apache-2.0 */
/* Event sets: each thread has one for each PAPI component that it counts with. */
#include "count/papi.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "count/perf.h"

#ifndef HAVE_PAPI

/* open() fails, so no other function is called. */
const struct provider papi_provider = { .source = "papi", .open = papi_open };

#else

#define NONE LLONG_MIN /* no count */

/* The events of one component on one thread. */
struct part {
	int set; /* PAPI_NULL: not made */
	bool started, multiplexed;
	int error;	   /* error of the last failed reading */
	unsigned first, n; /* index and number among the events below */
};

struct papi_set {
	struct papi *papi;
	unsigned n, parts;
	struct part *part;
	const struct wanted **wanted;
	long long *before, *now;
};

static void free_set(struct papi_set *s)
{
	free(s->part);
	free(s->wanted);
	free(s->before);
	free(s->now);
	free(s);
}

static struct papi_set *new_set(struct papi *p, unsigned n)
{
	struct papi_set *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->papi = p;
	s->n = n;
	s->part = calloc(n, sizeof(*s->part));
	s->wanted = calloc(n, sizeof(*s->wanted));
	s->before = calloc(n, sizeof(*s->before));
	s->now = calloc(n, sizeof(*s->now));
	if (s->part && s->wanted && s->before && s->now)
		return s;
	free_set(s);
	return NULL;
}

/* An event set holds events of one component, either all attached to a CPU or none. */
static bool belong_together(const struct wanted *a, const struct wanted *b)
{
	return a->type == b->type && a->event.scope == b->event.scope &&
	       (a->event.package == PACKAGE_EACH) == (b->event.package == PACKAGE_EACH);
}

static void divide(struct papi_set *s, struct wanted *const *w)
{
	unsigned placed = 0;

	for (unsigned i = 0; i < s->n; i++) {
		bool done = false;

		for (unsigned j = 0; j < i; j++)
			done |= belong_together(w[i], w[j]);
		if (done)
			continue;
		s->part[s->parts] = (struct part){ .set = PAPI_NULL, .first = placed };
		for (unsigned j = i; j < s->n; j++)
			if (belong_together(w[i], w[j]))
				s->wanted[placed++] = w[j];
		s->part[s->parts].n = placed - s->part[s->parts].first;
		s->parts++;
	}
}

/* Package counters belong to no thread: they are attached to a CPU, for user space and kernel. */
static int attach(struct papi *p, int set, int cpu)
{
	PAPI_option_t at = { .cpu = { .eventset = set, .cpu_num = (unsigned)cpu } };
	PAPI_option_t whole = { .granularity = { .eventset = set, .granularity = PAPI_GRN_SYS } };
	PAPI_option_t all = { .domain = { .eventset = set, .domain = PAPI_DOM_ALL } };
	int error = p->set_opt(PAPI_CPU_ATTACH, &at);

	if (error != PAPI_OK)
		return error;
	/* A component that does not know these options does not need them. */
	p->set_opt(PAPI_GRANUL, &whole);
	p->set_opt(PAPI_DOMAIN, &all);
	return PAPI_OK;
}

static int make(struct papi_set *s, struct part *part, int cpu, bool multiplex,
		const struct wanted **failed)
{
	struct papi *p = s->papi;
	const struct wanted *first = s->wanted[part->first];
	int error = p->create_eventset(&part->set), code;

	part->multiplexed = multiplex && first->event.scope == SCOPE_THREAD;
	*failed = first;
	if (error == PAPI_OK)
		error = p->assign_eventset_component(part->set, (int)first->type);
	if (error == PAPI_OK && first->event.scope == SCOPE_PACKAGE &&
	    first->event.package == PACKAGE_EACH)
		error = attach(p, part->set, cpu);
	if (error == PAPI_OK && part->multiplexed)
		error = p->set_multiplex(part->set);
	/* A native event's code may change when other names are looked up: look it up again. */
	for (unsigned i = 0; error == PAPI_OK && i < part->n; i++) {
		*failed = s->wanted[part->first + i];
		error = p->event_name_to_code((*failed)->event.name, &code);
		if (error == PAPI_OK)
			error = p->add_event(part->set, code);
	}
	if (error == PAPI_OK)
		error = p->start(part->set);
	part->started = error == PAPI_OK;
	/* The first reading sets things up: keep that out of the samples. */
	return part->started ? p->read(part->set, s->now + part->first) : error;
}

static void explain(const struct papi *p, const struct wanted *w, int error, int of_system,
		    struct reason *why)
{
	const PAPI_component_info_t *c = p->get_component_info((int)w->type);

	/* PAPI's own error depends on its version: ESYS, EINVAL, ECOUNT */
	if (reason_too_few_files(of_system, why))
		return;
	if (error == PAPI_EPERM && w->event.scope == SCOPE_PACKAGE) {
		perf_explain_uncore(why);
	} else if ((error == PAPI_EPERM || error == PAPI_ENOEVNT) && !w->type &&
		   perf_no_hardware(why)) {
		/* PAPI supports the processor, but the kernel or the hypervisor has no PMU */
		return;
	} else if (error == PAPI_ECNFLCT || error == PAPI_ENOCNTR) {
		reason_set(why, "no counter of the processor is free for it");
		reason_set_remedy(
			why, "sudo sysctl kernel.nmi_watchdog=0 # it takes one; other processes "
			     "may, too");
	} else {
		reason_set(why, "PAPI: %.100s%s%.120s", p->strerror(error),
			   c && *c->disabled_reason ? ": " : "", c ? c->disabled_reason : "");
		reason_set_remedy(why,
				  "papi_component_avail; papi_command_line %.100s # for details",
				  w->event.name);
	}
}

static void papi_stop(void *set)
{
	struct papi_set *s = set;
	struct papi *p = s->papi;

	for (unsigned i = 0; i < s->parts; i++) {
		struct part *part = &s->part[i];

		if (part->started)
			p->stop(part->set, s->now + part->first);
		if (part->set != PAPI_NULL)
			p->cleanup_eventset(part->set), p->destroy_eventset(&part->set);
	}
	if (!pthread_equal(p->owner, pthread_self()))
		p->unregister_thread();
	free_set(s);
}

static void *papi_start(void *library, struct wanted *const *w, unsigned n, int cpu, bool multiplex,
			const struct wanted **failed, struct reason *why)
{
	struct papi *p = library;
	struct papi_set *s = new_set(p, n);
	int error = PAPI_OK;

	*failed = w[0];
	if (!s) {
		reason_set(why, "no memory");
		return NULL;
	}
	if (!pthread_equal(p->owner, pthread_self()))
		error = p->register_thread();
	divide(s, w);
	errno = 0;
	for (unsigned i = 0; error == PAPI_OK && i < s->parts; i++)
		error = make(s, &s->part[i], cpu, multiplex, failed);
	if (error == PAPI_OK) {
		*failed = NULL;
		return s;
	}
	explain(p, *failed, error, errno, why);
	papi_stop(s);
	return NULL;
}

/*
 * A multiplexed event reads 0 until its first turn, and then an estimate since the start, which may
 * decrease.
 */
static void take(const struct papi_set *s, struct part *part, long long *to)
{
	int error = s->papi->read(part->set, to + part->first);

	if (error != PAPI_OK)
		part->error = error;
	for (unsigned k = part->first; k < part->first + part->n; k++)
		if (error != PAPI_OK || (part->multiplexed && !to[k]))
			to[k] = NONE;
}

static void papi_read(void *set, bool after, double *value)
{
	struct papi_set *s = set;

	for (unsigned i = 0; i < s->parts; i++)
		take(s, &s->part[i], after ? s->now : s->before);
	for (unsigned k = 0; after && k < s->n; k++) {
		const bool counted = s->before[k] != NONE && s->now[k] != NONE;

		value[s->wanted[k]->index] =
			counted ? (double)(s->now[k] - s->before[k]) * s->wanted[k]->factor : NAN;
	}
}

static bool papi_unread(const void *set, unsigned index, struct reason *why)
{
	const struct papi_set *s = set;

	for (const struct part *part = s->part; part < s->part + s->parts; part++) {
		for (unsigned k = part->first; k < part->first + part->n; k++) {
			if (s->wanted[k]->index != index || part->error == PAPI_OK)
				continue;
			reason_set(why, "PAPI started it, but could not read it: %.200s",
				   s->papi->strerror(part->error));
			return true;
		}
	}
	return false;
}

const struct provider papi_provider = { .source = "papi",
					.open = papi_open,
					.close = papi_close,
					.find = papi_find,
					.start = papi_start,
					.read = papi_read,
					.unread = papi_unread,
					.stop = papi_stop,
					.names = papi_names,
					.version = papi_version };

#endif
