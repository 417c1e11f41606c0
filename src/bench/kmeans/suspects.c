/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "bench/kmeans/bounds_make.h"
#include "bench/kmeans/suspects.h"

unsigned suspects_find(struct bounds *b, const struct stage *g, size_t first, unsigned n,
		       const struct moves *m)
{
	unsigned found = 0;

	for (unsigned i = 0; i < n; i++) {
		const uint32_t label = b->label[first + i];
		const float upper = (b->upper[first + i] + (float)g->moved[label]) * UPPER;
		const float lower =
			(b->lower[first + i] - (label == m->which ? m->second : m->most)) * LOWER;

		b->upper[first + i] = upper;
		b->lower[first + i] = lower;
		b->suspect[found].point = i;
		found += !(lower > 0 &&
			   (double)(lower - upper) * (double)(lower + upper) > 8 * g->slack);
	}
	return found;
}

/*
 * Lists in b->near the groups that may have a centre within the limit, and updates the point's
 * lower bound to all other centres. Returns how many.
 */
static unsigned near_groups(struct bounds *b, size_t point, float limit)
{
	double lower;
	const unsigned found = b->floats->near(b->group + point * b->groups, b->reach, b->groups,
					       (double)limit, b->near, &lower);

	b->lower[point] = (float)lower;
	return found;
}

size_t suspects_narrow(struct bounds *b, struct share *s, const struct stage *g, size_t first,
		       unsigned *suspects)
{
	const size_t row = g->d * real_bytes(g->real);
	const unsigned all = *suspects;
	unsigned left = 0;
	size_t looks = 0;

	memset(b->listed, 0, b->groups * sizeof(*b->listed));
	for (unsigned i = 0; i < all; i++) {
		const size_t point = first + b->suspect[i].point;
		const uint32_t label = b->label[point], own = b->place[label] / b->tiles->group;
		char *x = b->row + left * row;
		unsigned near;
		float limit;

		b->tiles->relate(x, (const char *)s->x + point * row, g->origin, g->d);
		b->upper[point] = upper_of(
			b->tiles->square(x, (const char *)g->centre + label * row, g->d), g);
		limit = beyond(b->upper[point], g);
		near = b->lower[point] > limit ? 0 : near_groups(b, point, limit);
		if (!near)
			continue;
		b->near[near] = (uint16_t)own;
		for (unsigned e = 0, owned = 0; e < near + !owned; e++) {
			owned |= b->near[e] == own;
			b->list[b->near[e] * b->chunk + b->listed[b->near[e]]++] = (uint16_t)left;
			looks++;
		}
		b->suspect[left++] = (struct suspect){ .point = b->suspect[i].point,
						       .least = INFINITY,
						       .other = INFINITY };
	}
	*suspects = left;
	return looks;
}

/* Of those that are not the least of all, `other` is the least. */
void suspects_look(struct bounds *b, struct share *s, const struct stage *g, size_t first)
{
	const unsigned size = b->tiles->group;

	for (unsigned e = 0; e < b->groups; e++) {
		const uint16_t *list = b->list + (size_t)e * b->chunk;

		b->tiles->of_group(b->row, list, b->listed[e], &b->centres, e, b->winner);
		*s->change.computed +=
			(int64_t)b->listed[e] * ((e + 1) * size < g->k ? size : g->k - e * size);
		for (unsigned i = 0; i < b->listed[e]; i++) {
			struct suspect *p = &b->suspect[list[i]];
			const struct winner *w = &b->winner[i];

			if (w->score < p->least) {
				if (p->least < INFINITY)
					note_bound(b, g, first + p->point, p->place / size,
						   p->least);
				p->other = fmin(p->least, w->second);
				p->least = w->score;
				p->second = w->second;
				p->place = w->label;
			} else {
				note_bound(b, g, first + p->point, e, w->score);
				p->other = fmin(p->other, w->score);
			}
		}
	}
}

void suspects_finish(struct bounds *b, struct share *s, const struct stage *g, size_t first,
		     unsigned suspects)
{
	const size_t row = g->d * real_bytes(g->real);

	for (unsigned i = 0; i < suspects; i++) {
		const struct suspect *p = &b->suspect[i];
		const size_t point = first + p->point;
		const bool told = p->other - p->least > g->margin;
		const uint32_t label = b->label[point];
		const void *x = b->row + i * row;
		uint32_t now = b->centre_at[p->place];

		b->upper[point] = upper_of(2 * p->least + b->square[point], g);
		note_bound(b, g, point, p->place / b->tiles->group, told ? p->second : p->least);
		if (!told)
			now = bounds_settle(b, s, g, point, &b->upper[point]);
		near_groups(b, point, 0);
		if (now == label)
			continue;
		sums_move(&s->change, g->real, x, g->scale, label, now);
		b->label[point] = now;
	}
}
