/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "bench/kmeans/parameters.h"
#include "bench/kmeans/save.h"
#include "kit/agree.h"
#include "kit/npy.h"
#include "kit/shares.h"

/* Rank 0 writes the labels of all ranks, which it gets piece by piece. */
static const char *save_labels(const struct trial *t, const struct problem *p,
			       const struct solution *s)
{
	uint32_t piece[1 << 13];
	struct npy_writer *file = NULL;
	const char *why = NULL;

	if (rank_is_first(t->ranks))
		file = npy_create(t->value[SAVE_LABELS].text, "<u4", p->all, 0, &why);
	for (unsigned rank = 0; rank < ranks_of(t->ranks); rank++) {
		const size_t n = share_size(p->all, rank, ranks_of(t->ranks));

		for (size_t at = 0, length; at < n; at += length) {
			length = n - at < sizeof(piece) / sizeof(*piece)
					 ? n - at
					 : sizeof(piece) / sizeof(*piece);
			if (rank == rank_of(t->ranks))
				memcpy(piece, s->label + at, length * sizeof(*piece));
			agree_copy(t->ranks, rank, piece, length * sizeof(*piece));
			if (file)
				npy_add(file, piece, length * sizeof(*piece));
		}
	}
	if (file)
		npy_finish(file, &why);
	return why;
}

static const char *save_centres(const struct trial *t, const struct problem *p,
				const struct solution *s)
{
	const char *why;

	if (!rank_is_first(t->ranks) ||
	    !npy_save(t->value[SAVE_CENTRES].text, "<f8", s->centre, p->k, p->points.d, &why))
		return NULL;
	return why;
}

/* Only the first allocation saves: the others find the same solution. */
static bool saves(const struct trial *t, unsigned parameter)
{
	return t->allocation == 0 && !is(t->value, parameter, NONE);
}

const char *kmeans_save(const struct trial *t, const struct problem *p, const struct solution *s)
{
	const char *wrong = saves(t, SAVE_LABELS) ? save_labels(t, p, s) : NULL;

	if (!agree_any(t->ranks, wrong) && saves(t, SAVE_CENTRES))
		wrong = save_centres(t, p, s);
	return wrong;
}
