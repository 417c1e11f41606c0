/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/kmeans/brute.h"
#include "bench/kmeans/exact.h"
#include "bench/kmeans/rough.h"

void rough_lay_out(struct rough *r, struct carver *c, void *block, unsigned d, unsigned k,
		   enum real real)
{
	const struct tiles *f = tiles_choose(REAL_FLOAT);

	*r = (struct rough){ .tiles = tiles_choose(real), .floats = f };
	if (real == REAL_DOUBLE) {
		filter_lay_out(&r->filter, c, block, d, k);
	} else {
		r->all = packed_carve(c, d, k, REAL_FLOAT);
		r->block = block;
	}
	r->few = carve(c, (size_t)FEW_ROWS * d * sizeof(*r->few));
}

void rough_pack(struct rough *r, const struct stage *g)
{
	if (g->real == REAL_DOUBLE)
		filter_begin(&r->filter, g);
	else
		r->floats->pack(&r->all, g->centre, g->half, NULL);
	r->margin = (float)(g->real == REAL_DOUBLE ? r->filter.margin : g->margin) * UPPER;
	r->error = g->real == REAL_DOUBLE ? r->margin : (float)(2 * g->slack) * UPPER;
	r->scores = r->exact = 0;
}

void rough_force(struct rough *r, uint32_t *label, struct share *s, const struct stage *g)
{
	if (!r->block) {
		filter_assign(&r->filter, label, s, g);
		return;
	}
	brute_force(r->floats, &r->all, r->block, label, s, g, 0, s->n, !s->filled);
	s->filled = true;
}

bool rough_helps(const struct rough *r)
{
	return r->block || filter_helps(&r->filter);
}

void rough_list(const struct rough *r, const struct stage *g, const uint32_t *listed, unsigned n,
		struct packed *to)
{
	*to = packed_first(to, r->floats, n);
	r->floats->pack(to, rough_values(r, g), rough_halves(r, g), listed);
}

void rough_nearest(struct rough *r, const char *rows, const uint32_t *point, unsigned n,
		   const struct packed *list, const uint32_t *listed, uint32_t *label, float *ahead)
{
	_Alignas(64) float score[FEW_ROWS], second[FEW_ROWS];

	r->tiles->floats(r->few, rows, point, n, list->d);
	r->floats->two_of_rows(r->few, n, list, label, score, second);
	r->scores += (uint64_t)n * list->k;
	for (unsigned i = 0; i < n; i++) {
		label[i] = listed[label[i]];
		ahead[i] = second[i] - score[i] > r->margin ? second[i] - score[i] : 0;
	}
}

uint32_t rough_exact(struct rough *r, const struct share *s, const struct stage *g,
		     const char *given)
{
	r->exact += g->k;
	return exact_of_packed(s, g, given, g->real == REAL_DOUBLE ? &r->filter.centres : &r->all,
			       NULL);
}
