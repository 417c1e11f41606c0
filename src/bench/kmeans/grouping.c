/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bisection: a set of centres is cut in the middle of the line through two that are far apart, and
 * each half again, until it is a group. (Two far apart: the farthest from any, and the farthest
 * from that one.)
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/kmeans/grouping.h"
#include "bench/kmeans/tiles.h"

struct set {
	const char *centre;
	unsigned d;
	size_t row; /* bytes of a centre */
	const struct tiles *tiles;
	struct along *member;
};

static double square_apart(const struct set *s, uint32_t a, uint32_t b)
{
	return s->tiles->square(s->centre + a * s->row, s->centre + b * s->row, s->d);
}

/* Leaves each member's squared distance from `from` in `at`. */
static uint32_t farthest(const struct set *s, unsigned first, unsigned last, uint32_t from)
{
	uint32_t found = from;
	double most = -1;

	for (unsigned i = first; i < last; i++) {
		s->member[i].at = square_apart(s, s->member[i].centre, from);
		if (s->member[i].at > most) {
			most = s->member[i].at;
			found = s->member[i].centre;
		}
	}
	return found;
}

static bool is_before(const struct along *a, const struct along *b)
{
	return a->at < b->at || (!(b->at < a->at) && a->centre < b->centre);
}

/*
 * Hoare's selection among the members first..last: afterwards none before `middle` is farther along
 * the line than one from there on. A pivot ends both scans, whatever the order of NaN.
 */
static void part(struct along *member, ptrdiff_t first, ptrdiff_t last, ptrdiff_t middle)
{
	while (first < last) {
		const struct along pivot = member[middle];
		ptrdiff_t low = first, high = last;

		while (low <= high) {
			while (is_before(&member[low], &pivot))
				low++;
			while (is_before(&pivot, &member[high]))
				high--;
			if (low <= high) {
				const struct along swapped = member[low];

				member[low++] = member[high];
				member[high--] = swapped;
			}
		}
		if (high < middle)
			first = low;
		if (middle < low)
			last = high;
	}
}

static void bisect(const struct set *s, unsigned first, unsigned last, unsigned size)
{
	while (size && last - first > size) {
		const uint32_t a = farthest(s, first, last, s->member[first].centre),
			       b = farthest(s, first, last, a);
		const unsigned groups = (last - first + size - 1) / size,
			       middle = first + groups / 2 * size;

		for (unsigned i = first; i < last; i++)
			s->member[i].at -= square_apart(s, s->member[i].centre, b);
		part(s->member, first, last - 1, middle);
		bisect(s, first, middle, size);
		first = middle;
	}
}

void grouping_order(const void *centre, unsigned d, unsigned k, enum real real, unsigned size,
		    uint32_t *order, struct along *scratch)
{
	const struct set s = { centre, d, d * real_bytes(real), tiles_choose(real), scratch };

	for (unsigned c = 0; c < k; c++)
		scratch[c] = (struct along){ 0, c };
	bisect(&s, 0, k, size);
	for (unsigned i = 0; i < k; i++) {
		unsigned at = i;

		for (; at % size && order[at - 1] > scratch[i].centre; at--)
			order[at] = order[at - 1];
		order[at] = scratch[i].centre;
	}
}
