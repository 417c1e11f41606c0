/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/hashmap/waitfree.h"

struct waitfree_entry *waitfree_copy(struct waitfree *m, struct worker *self,
				     const struct waitfree_entry *e)
{
	struct waitfree_entry *c = entries_take(m->entries, self);

	if (!c)
		return NULL;
	c->key = e->key;
	for (unsigned i = 0; i < m->words; i++)
		c->value[i] = e->value[i];
	return c;
}

/* Entries of a doubling, linked by epoch_link: copies made, and the originals they replace. */
struct split {
	struct waitfree_entry *copies, *originals;
};

static void push(struct waitfree_entry **list, struct waitfree_entry *e)
{
	e->link.next = *list;
	*list = e;
}

/*
 * Bucket b's entries go to b and b + buckets. The longest tail of the chain that goes to one of
 * them is shared by both tables; the entries before it are copied.
 */
static bool split(struct waitfree *m, struct worker *self, struct waitfree_entry *first,
		  size_t buckets, struct waitfree_entry *half[2], struct split *s)
{
	struct waitfree_entry *last = first;

	half[0] = half[1] = NULL;
	if (!first)
		return true;
	for (struct waitfree_entry *e = first; e->next; e = e->next)
		if ((map_hash(e->key) ^ map_hash(e->next->key)) & buckets)
			last = e->next;
	half[!!(map_hash(last->key) & buckets)] = last;
	for (struct waitfree_entry *e = first; e != last; e = e->next) {
		struct waitfree_entry *c = waitfree_copy(m, self, e),
				      **to = &half[!!(map_hash(e->key) & buckets)];

		if (!c)
			return false;
		c->next = *to;
		*to = c;
		push(&s->copies, c);
		push(&s->originals, e);
	}
	return true;
}

static bool fill_table(struct waitfree *m, struct worker *self, const struct waitfree_table *from,
		       struct waitfree_table *to, struct split *s)
{
	for (size_t i = 0; i < from->buckets; i++) {
		struct waitfree_entry *half[2],
			*first = atomic_load_explicit(&from->bucket[i], memory_order_relaxed);

		if (!split(m, self, first, from->buckets, half, s))
			return false;
		atomic_store_explicit(&to->bucket[i], half[0], memory_order_relaxed);
		atomic_store_explicit(&to->bucket[i + from->buckets], half[1],
				      memory_order_relaxed);
	}
	return true;
}

/* Under all locks. */
static void double_table(struct waitfree *m, struct worker *self, struct waitfree_table *old)
{
	struct waitfree_table *new = old + 1;
	struct split s = { NULL, NULL };
	bool done;

	new->buckets = 2 * old->buckets;
	new->bucket = (void *)(m->stripes.tables + stripes_table(&m->stripes, new->buckets));
	done = fill_table(m, self, old, new, &s);
	if (done)
		atomic_store_explicit(&m->now, new, memory_order_release);
	for (struct waitfree_entry *e = done ? s.originals : s.copies, *next; e; e = next) {
		next = e->link.next;
		if (done)
			epoch_retire(m->epoch, self->index, e);
		else
			entries_give(m->entries, self, e);
	}
	m->stripes.costs[self->index].growths += done;
	/*
	 * A failed attempt costs as much as this many insertions, so attempts together cost no
	 * more than the insertions between them.
	 */
	atomic_store_explicit(&m->patience, done ? 0 : old->buckets, memory_order_relaxed);
}

void waitfree_grow(struct waitfree *m, struct worker *self, struct waitfree_table *old)
{
	const uint64_t began = clock_ticks();

	stripes_lock_all(&m->stripes, self->index);
	if (atomic_load_explicit(&m->now, memory_order_relaxed) == old) {
		double_table(m, self, old);
		m->stripes.costs[self->index].grown += clock_ticks() - began;
	}
	stripes_unlock_all(&m->stripes);
}
