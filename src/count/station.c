/* SPDX-License-Identifier: Apache-2.0 */
/* The table of providers, and one worker's counters in a pass. */
#include "count/schedule.h"

#include <math.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "count/provider.h"
#include "count/papi.h"
#include "count/perf.h"
#include "kit/opaque.h"

/* --- providers --- */

const struct provider *const provider_table[PROVIDERS] = { [PROVIDER_KERNEL] = &kernel_provider,
							   [PROVIDER_SOFTWARE] = &perf_software,
							   [PROVIDER_PAPI] = &papi_provider,
							   [PROVIDER_HARDWARE] = &perf_hardware };

static bool is_loaded(const struct providers *p, unsigned provider)
{
	return !provider_table[provider]->open || p->of[provider].library;
}

bool providers_reach(struct providers *p, unsigned provider)
{
	const struct provider *row = provider_table[provider];

	if (!p->of[provider].asked && row->open)
		p->of[provider].library = row->open(p->multiplex, &p->of[provider].why);
	p->of[provider].asked = true;
	return is_loaded(p, provider);
}

void providers_close(struct providers *p)
{
	for (unsigned i = 0; i < PROVIDERS; i++)
		if (p->of[i].library)
			provider_table[i]->close(p->of[i].library);
}

void providers_names(const struct providers *p, void (*each)(void *, const char *), void *argument)
{
	for (unsigned i = 0; i < PROVIDERS; i++)
		if (is_loaded(p, i) && provider_table[i]->names)
			provider_table[i]->names(p->of[i].library, each, argument);
}

/* --- stations --- */

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

/* Loads, stores, page faults, unpredictable branches, arithmetic, and a context switch. */
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
		if (random & 1)
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

void station_probe(struct station *s, const struct pass *p)
{
	uint64_t done;

	station_start(s, p, 0, sched_getcpu());
	station_read(s, false);
	done = exercise();
	OPAQUE(done);
	station_read(s, true);
	station_stop(s, p->n);
	for (unsigned i = 0; i < p->n; i++)
		p->wanted[i].event.proven |= s->value[i] > 0;
}
