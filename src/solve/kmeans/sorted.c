/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/ranks.h"
#include "kit/shares.h"
#include "solve/kmeans/sorted.h"

enum { AHEAD = 8 }; /* rows, for prefetching */

size_t sorted_points(const struct problem *p)
{
	return share_size(share_size(p->all, 0, ranks_of(p->ranks)), 0, p->threads);
}

bool sorted_fits(const struct problem *p)
{
	return p->k < UINT16_MAX && sorted_points(p) < UINT32_MAX;
}

void sorted_lay_out(struct sorted *s, struct carver *c, size_t n, unsigned d, enum real real)
{
	*s = (struct sorted){ .done = false };
	s->point = carve(c, n * sizeof(*s->point));
	s->label = carve(c, n * sizeof(*s->label));
	s->row = carve(c, n * d * real_bytes(real));
}

void sorted_rows(struct sorted *sorted, const struct share *s, const struct stage *g)
{
	const struct tiles *t = tiles_choose(g->real);
	const size_t row = row_bytes(g);

	for (size_t i = 0; i < s->n; i++) {
		if (i + AHEAD < s->n)
			prefetch_row((const char *)s->x + sorted->point[i + AHEAD] * row, row);
		sorted_relate(sorted, t, s, g, i, sorted->point[i]);
	}
}

void sorted_follow(struct sorted *sorted, size_t n, uint32_t *other)
{
	for (size_t i = 0; i < n; i++)
		other[i] = sorted->label[sorted->point[i]];
	memcpy(sorted->label, other, n * sizeof(*other));
}

void sorted_make(struct sorted *sorted, const struct share *s, const struct stage *g, uint32_t *end,
		 uint32_t *other)
{
	memset(end, 0, g->k * sizeof(*end));
	for (size_t i = 0; i < s->n; i++)
		end[sorted->label[i]]++;
	begin_each(end, g->k);
	for (size_t i = 0; i < s->n; i++)
		sorted->point[end[sorted->label[i]]++] = (uint32_t)i;
	sorted_follow(sorted, s->n, other);
	sorted_rows(sorted, s, g);
	sorted->done = true;
}

void sorted_labels(const struct sorted *sorted, struct share *s)
{
	for (size_t i = 0; i < s->n; i++)
		s->label[sorted->done ? sorted->point[i] : i] = sorted->label[i];
}
