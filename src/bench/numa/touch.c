/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "bench/numa/touch.h"
#include "machine/topology/topology.h"

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
