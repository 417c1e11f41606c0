/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks that a map is linearizable (Herlihy and Wing 1990): the answers that threads got for one
 * key can be explained by some sequential order, with each operation between its call and its
 * return. Only the map's answers are used. Keys are independent, so a history is checked key by
 * key.
 */
#ifndef LOCUS_LINEAR_H
#define LOCUS_LINEAR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum linear_kind { LINEAR_FIND, LINEAR_INSERT, LINEAR_UPSERT, LINEAR_REMOVE };
enum { LINEAR_ABSENT = 0, LINEAR_MOST = 24, LINEAR_VISITED = 1 << 14 };

/* Values are numbers from 1 on, and none is written twice. */
struct linear_operation {
	enum linear_kind kind;
	unsigned value; /* the value written, or found by a lookup; LINEAR_ABSENT: none */
	bool present;	/* the answer: whether the key was there */
	uint64_t called, returned; /* times of one clock for all threads */
};

/* A state from which no order was found: which operations were done, and the value then. */
struct linear_visited {
	uint32_t done;
	unsigned value;
	bool used;
};

struct linear_search {
	const struct linear_operation *o;
	unsigned n;
	struct linear_visited visited[LINEAR_VISITED];
};

/* Whether an operation may come next while the key has `value`; *then: its new value. */
static inline bool linear_fits(const struct linear_operation *o, unsigned value, unsigned *then)
{
	const bool present = value != LINEAR_ABSENT;

	*then = value;
	if (o->kind == LINEAR_FIND)
		return o->value == value;
	if (o->present != present)
		return false;
	if (o->kind == LINEAR_REMOVE)
		*then = LINEAR_ABSENT;
	else if (o->kind == LINEAR_UPSERT || !present)
		*then = o->value;
	return true;
}

/* False: this state was visited before. A full table only slows the search. */
static inline bool linear_is_new(struct linear_search *s, uint32_t done, unsigned value)
{
	const uint32_t hash = (done * UINT32_C(2654435761)) ^ (value * UINT32_C(40503));

	for (unsigned i = 0; i < 16; i++) {
		struct linear_visited *v = &s->visited[(hash + i) % LINEAR_VISITED];

		if (!v->used) {
			*v = (struct linear_visited){ done, value, true };
			return true;
		}
		if (v->done == done && v->value == value)
			return false;
	}
	return true;
}

static inline bool linear_from(struct linear_search *s, uint32_t done, unsigned value)
{
	uint64_t first_return = UINT64_MAX;

	if (done == (uint32_t)((UINT64_C(1) << s->n) - 1))
		return true;
	if (!linear_is_new(s, done, value))
		return false;
	for (unsigned i = 0; i < s->n; i++)
		if (!(done >> i & 1) && s->o[i].returned < first_return)
			first_return = s->o[i].returned;
	for (unsigned i = 0; i < s->n; i++) {
		unsigned then;

		/* no remaining operation may have returned before this one was called */
		if (!(done >> i & 1) && s->o[i].called < first_return &&
		    linear_fits(&s->o[i], value, &then) &&
		    linear_from(s, done | UINT32_C(1) << i, then))
			return true;
	}
	return false;
}

/*
 * n operations, at most LINEAR_MOST, on a key with this initial value. `s` is memory for the
 * search.
 */
static inline bool linear_check(struct linear_search *s, const struct linear_operation *o,
				unsigned n, unsigned value)
{
	s->o = o;
	s->n = n;
	memset(s->visited, 0, sizeof(s->visited));
	return linear_from(s, 0, value);
}

#endif
