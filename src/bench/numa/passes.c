/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The workers' functions: passes over their parts or over chunks, first touches, and passes until
 * the kernel has moved the pages; and the check.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/sysfs.h"
#include "bench/numa/numa.h"
#include "machine/clock.h"
#include "machine/memory/placement.h"
#include "machine/topology/topology.h"
#include "machine/watchdog.h"

/* A worker's part of an array; NULL: the kernel does not use it. */
static double *part_of(const struct arrays *a, unsigned array, size_t begin)
{
	return a->base[array] ? a->base[array] + begin : NULL;
}

double state_pass(const struct state *s, unsigned worker, uint64_t passes)
{
	const struct arrays *a = &s->arrays;
	const size_t begin = arrays_border(a, worker), end = arrays_border(a, worker + 1);

	return s->run(part_of(a, RESULT, begin), part_of(a, X, begin), part_of(a, Y, begin),
		      end - begin, passes);
}

void numa_work(void *state, struct worker *self)
{
	struct state *s = state;
	struct own *own = &s->own[self->index];

	own->sum = state_pass(s, self->index, self->count);
	own->passes = self->done = self->count;
}

void numa_reset_dealt(void *state)
{
	dealt_reset(&((struct state *)state)->arrays.loop);
}

/* A pass is a loop of OpenMP, with the barrier at its end. */
void numa_work_dealt(void *state, struct worker *self)
{
	struct state *s = state;
	struct arrays *a = &s->arrays;
	uint64_t chunks = 0, pass;
	double sum = 0;

	for (pass = 0; pass < self->count; pass++) {
		size_t chunk;

		dealt_enter(&a->loop, pass, self);
		for (; dealt_next(&a->loop, pass, &chunk); chunks++) {
			const size_t begin = dealt_begin(&a->loop, chunk);

			sum += s->run(part_of(a, RESULT, begin), part_of(a, X, begin),
				      part_of(a, Y, begin),
				      dealt_begin(&a->loop, chunk + 1) - begin, 1);
		}
		team_barrier(s->team);
	}
	s->own[self->index].sum = sum;
	s->own[self->index].chunks = chunks;
	s->own[self->index].passes = self->done = pass;
}

/* The fault that verify() returns; it is read after release(). */
static _Thread_local char sentence[200];

static const char *wrong_sum(const char *who, double sum, double right, uint64_t passes)
{
	snprintf(sentence, sizeof(sentence), "%s summed %.17g in %llu passes, not %.17g", who, sum,
		 (unsigned long long)passes, right);
	return sentence;
}

static const char *sums_by_part(const struct state *s)
{
	const struct arrays *a = &s->arrays;

	for (unsigned i = 0; i < a->threads; i++) {
		const struct own *own = &s->own[i];
		const double right =
			contents_sum(arrays_border(a, i), arrays_border(a, i + 1), own->passes);
		char who[32];

		if (own->sum == right)
			continue;
		snprintf(who, sizeof(who), "worker %u", i);
		return wrong_sum(who, own->sum, right, own->passes);
	}
	return NULL;
}

/* Nobody knows beforehand who takes which chunk: only the sum of all is known. */
static const char *sum_of_chunks(const struct state *s)
{
	const uint64_t passes = s->own[0].passes;
	const double right = contents_sum(0, s->arrays.elements, passes);
	double sum = 0;

	for (unsigned i = 0; i < s->arrays.threads; i++)
		sum += s->own[i].sum;
	return sum == right ? NULL : wrong_sum("all workers", sum, right, passes);
}

static void check(void *state, struct worker *self)
{
	struct state *s = state;
	const double *result = s->arrays.base[RESULT];
	const size_t end = arrays_border(&s->arrays, self->index + 1);
	size_t i = arrays_border(&s->arrays, self->index);

	while (i < end && result[i] == contents_element(s->kernel, i))
		i++;
	s->own[self->index].wrong = i;
}

static const char *stored(struct state *s, const struct trial *trial)
{
	const struct arrays *a = &s->arrays;

	team_run(trial->team, check, s);
	for (unsigned i = 0; i < a->threads; i++) {
		const size_t wrong = s->own[i].wrong;

		if (wrong == arrays_border(a, i + 1))
			continue;
		snprintf(sentence, sizeof(sentence),
			 "element %zu of the result is %.17g, not %.17g (worker %u)", wrong,
			 a->base[RESULT][wrong], contents_element(s->kernel, wrong), i);
		return sentence;
	}
	return NULL;
}

const char *numa_verify(void *state, const struct trial *trial)
{
	struct state *s = state;

	if (s->kernel->writes)
		return stored(s, trial);
	return s->arrays.rule->dealt ? sum_of_chunks(s) : sums_by_part(s);
}

/* ---- first touch ---- */

/* The first element at or after this one that begins a page. */
static size_t page_start(const struct arrays *a, size_t element)
{
	return (element + a->page - 1) / a->page * a->page;
}

bool touch_possible(struct state *s, const struct trial *t)
{
	if (!region_discard(s->arrays.region[X]))
		return true;
	arena_cannot(t->arena,
		     "pages can't be released to be touched again: %s (reserved huge pages: since "
		     "Linux 5.18)",
		     strerror(errno));
	return false;
}

void touch_reset(void *state)
{
	const struct state *s = state;

	region_discard(s->arrays.region[X]);
}

/* Writes in steps of the system's page: where huge pages were refused, all are touched, too. */
void touch_work(void *state, struct worker *self)
{
	const struct state *s = state;
	const struct arrays *a = &s->arrays;
	const size_t end = arrays_border(a, self->index + 1);

	for (size_t i = page_start(a, arrays_border(a, self->index)); i < end; i += a->page)
		contents_fill(X, a->base[X], i, i + 1);
	self->done = self->count;
}

/* A page is one word and zeros. */
const char *touch_verify(void *state, const struct trial *trial)
{
	const struct arrays *a = &((struct state *)state)->arrays;

	(void)trial;
	for (size_t i = 0; i < a->elements; i++) {
		const double right = i % a->page ? 0 : contents_sum(i, i + 1, 1);

		if (a->base[X][i] != right)
			return "a page was not touched, or not released before";
	}
	return NULL;
}

double touch_pages(const struct state *s)
{
	return (double)region_bytes(s->arrays.region[X]) / (double)s->arrays.granule;
}

/* ---- NUMA balancing ---- */

/*
 * s: the kernel scans every second at first, later every minute; after this time it has seen the
 * pages in use
 */
#define PATIENCE 10.0
#define TURN	 0.2 /* s of use between two looks at the pages */

const char *balance_available(void)
{
	uint64_t mode = 0;

	sysfs_number(SYSFS_ROOT, &mode, "/proc/sys/kernel/numa_balancing");
	return mode & 1 ? NULL
			: "the kernel does not balance here: sudo sysctl kernel.numa_balancing=1";
}

static void use_once(void *state, struct worker *self)
{
	struct state *s = state;

	s->own[self->index].sum = state_pass(s, self->index, 1);
}

/*
 * Counts the pages that are not on their user's node, if they can be counted: not while the kernel
 * hides pages that it samples. -1 with errno.
 */
static int count_remote(const struct trial *t, long *remote)
{
	struct placement p;
	bool known;

	if (arena_placement(t->arena, &p))
		return -1;
	known = p.how == PLACEMENT_VERIFIED;
	*remote = (long)(p.used - p.local);
	if (!known)
		arena_cannot(t->arena, "the kernel's page moves can't be observed: %s", p.why_not);
	placement_free(&p);
	return known;
}

int balance_wait(struct state *s, const struct trial *t)
{
	const double began = clock_now();
	/* the first look comes at once: all pages may already be on the right node */
	double moved = began, until = began;
	bool known = false;

	s->arrays.stuck = LONG_MAX;
	do {
		long remote;
		int counted;

		do /* at least once: used pages are no longer hidden */
			team_run(t->team, use_once, s);
		while (clock_now() < until);
		counted = count_remote(t, &remote);
		if (counted < 0)
			return -1;
		if (counted && remote < s->arrays.stuck) {
			s->arrays.stuck = remote;
			moved = clock_now();
		}
		known |= counted;
		until = clock_now() + TURN;
	} while ((!known || s->arrays.stuck > 0) && clock_now() < moved + PATIENCE &&
		 !watchdog_signal());
	s->moving = moved - began;
	return known ? 0 : -1;
}
