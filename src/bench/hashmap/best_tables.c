/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/hashmap/best_tables.h"

struct best_table *tables_open(struct best_map *m, size_t homes, size_t reserved, size_t overflow)
{
	struct best_table *t = table_new(&m->memory, homes, reserved, overflow);

	if (t)
		atomic_fetch_add_explicit(&m->bytes, table_bytes(t), memory_order_relaxed);
	return t;
}

void tables_close(struct best_map *m, struct best_table *t)
{
	if (t)
		atomic_fetch_sub_explicit(&m->bytes, table_bytes(t), memory_order_relaxed);
	table_free(&m->memory, t);
}

static struct best_table *named(struct best_handle *h, unsigned i)
{
	return atomic_load_explicit(&h->name[i], memory_order_relaxed);
}

static void set_name(struct best_handle *h, unsigned i, struct best_table *t)
{
	atomic_store_explicit(&h->name[i], t, memory_order_seq_cst);
}

struct best_table *tables_renew(struct best_handle *h)
{
	struct best_map *m = h->map;
	struct best_table *t;
	unsigned i;

	for (;;) {
		t = atomic_load_explicit(&m->current, memory_order_seq_cst);
		i = t == named(h, 1);
		if (named(h, i) == t)
			break;
		set_name(h, i, t);
		if (atomic_load_explicit(&m->current, memory_order_seq_cst) == t)
			break;
	}
	h->table = t;
	set_name(h, !i, NULL);
	tables_give_back(m);
	return t;
}

struct best_table *tables_follow(struct best_handle *h, struct best_table *t)
{
	struct best_table *next = atomic_load_explicit(&t->next, memory_order_acquire), *current;
	const unsigned i = t == named(h, 0); /* the name that is not t's */

	if (next == named(h, i))
		return next;
	h->table = &h->map->none; /* it may lose its name below: the next operation renews both */
	set_name(h, i, next);
	/*
	 * While t or its next is the current table, the next has not been replaced. Later it may
	 * have been given back before this handle named it.
	 */
	current = atomic_load_explicit(&h->map->current, memory_order_seq_cst);
	if (current == t || current == next)
		return next;
	set_name(h, i, NULL);
	return NULL;
}

static bool is_named(struct best_map *m, const struct best_table *t)
{
	struct best_handle *h = atomic_load_explicit(&m->handles, memory_order_seq_cst);

	for (; h; h = h->next)
		for (unsigned i = 0; i < 2; i++)
			if (atomic_load_explicit(&h->name[i], memory_order_seq_cst) == t)
				return true;
	return false;
}

static void let_wait(struct best_map *m, struct best_table *t)
{
	t->waiting = atomic_load_explicit(&m->waiting, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&m->waiting, &t->waiting, t,
						      memory_order_release, memory_order_relaxed))
		;
}

/* Takes the whole list: if this thread stops here it delays only those tables, and nobody waits. */
void tables_give_back(struct best_map *m)
{
	struct best_table *t, *next;

	if (!atomic_load_explicit(&m->waiting, memory_order_relaxed))
		return;
	for (t = atomic_exchange_explicit(&m->waiting, NULL, memory_order_acq_rel); t; t = next) {
		next = t->waiting;
		if (is_named(m, t))
			let_wait(m, t);
		else
			tables_close(m, t);
	}
}

void tables_replace(struct best_handle *h, struct best_table *t)
{
	struct best_map *m = h->map;
	struct best_table *next = atomic_load_explicit(&t->next, memory_order_acquire);

	atomic_store_explicit(&next->settled, true, memory_order_release);
	atomic_store_explicit(&m->current, next, memory_order_seq_cst);
	let_wait(m, t);
	tables_renew(h);
}

void tables_leave(struct best_handle *h)
{
	h->table = &h->map->none;
	set_name(h, 0, NULL);
	set_name(h, 1, NULL);
	tables_give_back(h->map);
}
