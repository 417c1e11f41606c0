/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Points dealt to the workers anew, by label: each then has the points of some clusters, which lie
 * together. As given, each worker's points would lie everywhere, and whatever encloses them would
 * be larger the more workers there are.
 */
#include <string.h>

#include "kit/shares.h"
#include "solve/kmeans/method.h"

/* Where this worker's points of each label begin among all points: by label, then by worker. */
static void place(struct share *s, unsigned k)
{
	uint32_t before = 0;

	for (unsigned c = 0; c < k; c++)
		for (unsigned i = 0; i < s->joint->workers; i++) {
			if (i == s->index)
				s->next[c] = before;
			before += s->joint->share[i].of_label[c];
		}
}

static size_t first_of(const struct share *s)
{
	return share_begin(s->joint->points, s->index, s->joint->workers);
}

void deal_by_label(struct share *s, const struct stage *g)
{
	const size_t row = row_bytes(g);
	char *to = s->joint->row;

	memset(s->of_label, 0, g->k * sizeof(*s->of_label));
	for (size_t i = 0; i < s->n; i++)
		s->of_label[s->label[i]]++;
	share_meet(s);
	place(s, g->k);
	for (size_t i = 0; i < s->n; i++) {
		s->place[i] = s->next[s->label[i]]++;
		s->joint->label[s->place[i]] = s->label[i];
		memcpy(to + s->place[i] * row, (const char *)s->x + i * row, row);
	}
	share_meet(s);
	s->x = to + first_of(s) * row;
	memcpy(s->label, s->joint->label + first_of(s), s->n * sizeof(*s->label));
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
