/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "count/station.h"

bool station_make(struct station *s, unsigned n)
{
	*s = (struct station){
		/* each worker's values on lines of their own, to avoid false sharing */
		.value = apart_alloc((n + 1) * sizeof(*s->value)),
		.why = calloc(n + 1, sizeof(*s->why)),
		.list = calloc(n + 1, sizeof(*s->list)),
	};
	if (s->value && s->why && s->list)
		return true;
	station_free(s, n);
	return false;
}

void station_free(struct station *s, unsigned n)
{
	for (unsigned i = 0; i < n && s->why; i++)
		free(s->why[i]);
	free(s->why);
	free(s->list);
	free(s->value);
}

/* Lists the provider's events in the pass that are assigned to this worker. */
static unsigned choose(const struct pass *p, const struct provider *provider, unsigned worker,
		       struct wanted **list)
{
	unsigned n = 0;

	for (unsigned i = 0; i < p->n; i++) {
		struct wanted *w = &p->wanted[i];

		if (w->provider == provider && w->event.pass == p->number &&
		    (!p->duty || p->duty[(size_t)i * p->threads + worker]))
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

bool station_start(struct station *s, const struct pass *pass, unsigned worker, int cpu)
{
	bool all = true;

	for (unsigned i = 0; i < pass->n; i++) {
		s->value[i] = NAN;
		free(s->why[i]);
		s->why[i] = NULL;
	}
	for (unsigned p = 0; p < PROVIDERS; p++) {
		unsigned n = choose(pass, provider_table[p], worker, s->list);

		while (n && !s->set[p]) {
			const struct wanted *failed;
			struct reason why;

			s->set[p] = provider_table[p]->start(
				pass->providers->of[p].library, s->list, n, cpu,
				pass->providers->multiplex, &failed, &why);
			if (s->set[p])
				continue;
			all = false;
			s->why[failed->index] = reason_line(&why);
			n = leave_out(s->list, n, failed);
		}
	}
	return all;
}

/*
 * The kernel's counts are the slowest to read: they come first before the task and last after it,
 * so that the cheapest readings are next to the task.
 */
void station_read(struct station *s, bool after)
{
	for (unsigned i = 0; i < PROVIDERS; i++) {
		unsigned p = after ? PROVIDERS - 1 - i : i;

		if (s->set[p])
			provider_table[p]->read(s->set[p], after, s->value);
	}
}

void station_stop(struct station *s, unsigned n)
{
	for (unsigned p = 0; p < PROVIDERS; p++) {
		const struct provider *provider = provider_table[p];
		struct reason why;

		if (!s->set[p])
			continue;
		for (unsigned i = 0; i < n && provider->unread; i++)
			if (!s->why[i] && provider->unread(s->set[p], i, &why))
				s->why[i] = reason_line(&why);
		provider->stop(s->set[p]);
		s->set[p] = NULL;
	}
}
