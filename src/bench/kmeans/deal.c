/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "bench/kmeans/deal.h"
#include "kit/shares.h"

/* Where this worker's points of each part begin, among those of all: by part, then by worker. */
static void place(const struct share *s, unsigned parts, uint32_t *next)
{
	uint32_t before = 0;

	for (unsigned part = 0; part < parts; part++)
		for (unsigned i = 0; i < s->joint->workers; i++) {
			if (i == s->index)
				next[part] = before;
			before += s->joint->share[i].of_part[part];
		}
}

static size_t first_of(const struct share *s)
{
	return share_begin(s->joint->points, s->index, s->joint->workers);
}

void deal_points(struct share *s, size_t row, unsigned parts)
{
	char *to = s->joint->row;
	uint32_t next[MOST_PARTS];

	memset(s->of_part, 0, parts * sizeof(*s->of_part));
	for (size_t i = 0; i < s->n; i++)
		s->of_part[s->place[i]]++;
	share_meet(s);
	place(s, parts, next);
	for (size_t i = 0; i < s->n; i++) {
		s->place[i] = next[s->place[i]]++;
		memcpy(to + s->place[i] * row, (const char *)s->x + i * row, row);
	}
	share_meet(s);
	s->x = to + first_of(s) * row;
	s->dealt = true;
}

void deal_labels(struct share *s)
{
	memcpy(s->joint->label + first_of(s), s->label, s->n * sizeof(*s->label));
	deal_labels_by_place(s);
}

void deal_labels_by_place(struct share *s)
{
	share_meet(s);
	for (size_t i = 0; i < s->n; i++)
		s->label[i] = s->joint->label[s->place[i]];
}
