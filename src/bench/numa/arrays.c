/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arithmetic.h"
#include "bench/numa/arrays.h"
#include "kit/random.h"
#include "machine/memory/region.h"

static const struct content {
	const char *name;
	size_t period;
	double base;
} contents[ARRAYS] = {
	[X] = { "array x", 13, 0 },
	[Y] = { "array y", 7, 0 },
	[RESULT] = { "the result", 1, -1 },
};

const char *contents_name(unsigned array)
{
	return contents[array].name;
}

void contents_fill(unsigned array, double *base, size_t begin, size_t end)
{
	const struct content *c = &contents[array];

	for (size_t i = begin, phase = begin % c->period; i < end; i++) {
		base[i] = c->base + (double)phase;
		phase = phase + 1 < c->period ? phase + 1 : 0;
	}
}

static double content(unsigned array, size_t i)
{
	return contents[array].base + (double)(i % contents[array].period);
}

double contents_element(const struct kernel *k, size_t i)
{
	return k->of_x * content(X, i) + k->of_y * content(Y, i);
}

/* Sum of x[0..n). */
static double sum_below(size_t n)
{
	const size_t period = contents[X].period, rest = n % period;
	const size_t sum = n / period * (period * (period - 1) / 2) + rest * (rest - 1) / 2;

	return (double)sum;
}

double contents_sum(size_t begin, size_t end, uint64_t passes)
{
	return (sum_below(end) - sum_below(begin)) * (double)passes;
}

/* AT_RANDOM: the worker that first touches a granule. */
static unsigned dealt(const struct arrays *a, unsigned array, size_t granule)
{
	return random_mix(a->seed ^ random_mix(granule * ARRAYS + array)) % a->threads;
}

static size_t granules(const struct arrays *a)
{
	const size_t per_granule = a->granule / sizeof(double);

	return (a->elements + per_granule - 1) / per_granule;
}

/* Elements before the n-th granule. */
static size_t elements_before(const struct arrays *a, size_t granule)
{
	return smaller(granule * (a->granule / sizeof(double)), a->elements);
}

/* ---- first touch ---- */

static void touch(const struct arrays *a, unsigned array, unsigned worker)
{
	double *base = a->base[array];

	/* lesson first-touch */
	switch (a->rule->touch) {
	case EACH_ITS_PART:
		contents_fill(array, base, arrays_border(a, worker), arrays_border(a, worker + 1));
		return;
	case FIRST_ALL:
		if (worker == 0)
			contents_fill(array, base, 0, a->elements);
		return;
		/* lesson ends */
	case AT_RANDOM:
		for (size_t g = 0; g < granules(a); g++)
			if (dealt(a, array, g) == worker)
				contents_fill(array, base, elements_before(a, g),
					      elements_before(a, g + 1));
		return;
	case AS_DEALT: /* all arrays in one loop: touch_dealt() */
		return;
	}
}

void arrays_touch(const struct arrays *a, unsigned worker)
{
	for (unsigned array = 0; array < ARRAYS; array++)
		if (a->base[array])
			touch(a, array, worker);
}

/* ---- claims: the nodes of pages and of their users ---- */

/* region_home or region_user */
typedef void claim(struct region *, size_t offset, size_t bytes, int node);

static void claim_elements(struct region *region, claim *as, size_t begin, size_t end, int node)
{
	as(region, begin * sizeof(double), (end - begin) * sizeof(double), node);
}

static void claim_by_part(const struct arrays *a, claim *as, struct region *region,
			  const struct trial *t)
{
	for (unsigned i = 0; i < a->threads; i++)
		claim_elements(region, as, arrays_border(a, i), arrays_border(a, i + 1),
			       t->place[i].node);
}

/* Claims the nodes to which first touch, or migration after it, brings the pages. */
static void claim_touched(const struct arrays *a, unsigned array, const struct trial *t)
{
	struct region *region = a->region[array];

	if (a->rule->balanced)
		return;
	if (a->rule->touch == AS_DEALT)
		return; /* claimed later, when it is known who took which chunk */
	if (a->rule->moved || a->rule->touch == EACH_ITS_PART) {
		claim_by_part(a, region_home, region, t);
		return;
	}
	if (a->rule->touch == FIRST_ALL) {
		claim_elements(region, region_home, 0, a->elements, t->place[0].node);
		return;
	}
	for (size_t g = 0; g < granules(a); g++)
		claim_elements(region, region_home, elements_before(a, g),
			       elements_before(a, g + 1), t->place[dealt(a, array, g)].node);
}

/* Sets an array's policy, and claims its pages accordingly. */
static int place(const struct arrays *a, unsigned array, const struct trial *t, int node)
{
	struct region *region = a->region[array];

	if (!a->rule->dealt)
		claim_by_part(a, region_user, region, t);
	switch (a->rule->policy) {
	case BIND:
		claim_elements(region, region_home, 0, a->elements, node);
		return region_bind(region, node);
	case INTERLEAVE:
		region_even(region);
		return region_interleave(region);
	case BY_TOUCH:
		claim_touched(a, array, t);
	}
	return 0;
}

/* ---- moved ---- */

static void touch_all(void *arrays, struct worker *self)
{
	arrays_touch(arrays, self->index);
}

/* Touches the pages and then migrates them. */
static int move(struct arrays *a, const struct trial *t)
{
	team_run(t->team, touch_all, a);
	for (unsigned array = 0; array < ARRAYS; array++) {
		const long stuck = a->region[array] ? region_migrate(a->region[array]) : 0;

		if (stuck < 0) {
			arena_cannot(
				t->arena,
				"pages can't be moved to another node: %s (a container may forbid "
				"move_pages); leave the variant migrate out with --variant",
				strerror(errno));
			return -1;
		}
		a->stuck += stuck;
	}
	return 0;
}

/* ---- dealt ---- */

struct dealing {
	struct arrays *arrays;
	unsigned *taker; /* by chunk: the worker that took it */
};

static void touch_dealt(void *argument, struct worker *self)
{
	const struct dealing *d = argument;
	struct arrays *a = d->arrays;
	size_t chunk;

	while (dealt_next(&a->loop, 0, &chunk)) {
		d->taker[chunk] = self->index;
		for (unsigned array = 0; array < ARRAYS; array++)
			if (a->base[array])
				contents_fill(array, a->base[array], dealt_begin(&a->loop, chunk),
					      dealt_begin(&a->loop, chunk + 1));
	}
}

/* Touches the pages, and claims those that lie within a chunk for the node of its taker. */
static int deal(struct arrays *a, const struct trial *t)
{
	const size_t chunks = dealt_chunks(&a->loop);
	struct dealing d = { a, malloc(chunks * sizeof(*d.taker)) };

	if (!d.taker)
		return -1;
	team_run(t->team, touch_dealt, &d);
	for (unsigned array = 0; array < ARRAYS; array++)
		for (size_t c = 0; a->region[array] && c < chunks; c++)
			claim_elements(a->region[array], region_home, dealt_begin(&a->loop, c),
				       dealt_begin(&a->loop, c + 1), t->place[d.taker[c]].node);
	free(d.taker);
	return 0;
}

static bool uses(const struct kernel *k, unsigned array)
{
	return array == RESULT ? k->writes : array < k->reads;
}

int arrays_place(struct arrays *a, const struct trial *t, const struct kernel *k, enum pages pages,
		 int node)
{
	for (unsigned array = 0; array < ARRAYS; array++) {
		if (!uses(k, array))
			continue;
		a->region[array] = region_map(t->arena, contents_name(array),
					      a->elements * sizeof(double), pages);
		if (!a->region[array])
			return -1;
		a->base[array] = region_base(a->region[array]);
		a->granule = region_granule(a->region[array]);
	}
	for (unsigned array = 0; array < ARRAYS; array++)
		if (a->region[array] && place(a, array, t, node))
			return -1;
	a->touched = a->rule->moved || a->rule->balanced || a->rule->touch == AS_DEALT;
	if (a->rule->touch == AS_DEALT)
		return deal(a, t);
	if (a->rule->balanced)
		team_run(t->team, touch_all, a);
	return a->rule->moved ? move(a, t) : 0;
}
