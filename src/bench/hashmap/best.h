/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fast concurrent hash map from any 64-bit key to any 64-bit value.
 *
 * Every operation but the size is linearizable. Writers lock one bucket, by a bit of its word.
 * Readers take no lock, write no shared memory, and never wait: they retry only if a writer has
 * completed a change to the bucket that they read. The table doubles and halves while it is used:
 * each writer moves some buckets, and a moved bucket sends readers to the next table.
 *
 * Each thread joins and gets a handle, which one thread may use at a time. A handle names the
 * tables that its thread may be reading (best_tables.h). So a thread that is stopped in the middle
 * of a read keeps at most two tables from being given back, whatever the others do.
 */
#ifndef LOCUS_HASHMAP_BEST_H
#define LOCUS_HASHMAP_BEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/hashmap/best_costs.h"
#include "bench/hashmap/best_memory.h"

struct best_map;
struct best_handle;

struct best_options {
	size_t capacity;		  /* keys for which it has room from the start */
	const struct best_memory *memory; /* NULL: mmap(), on huge pages from 2 MiB on */
	uint64_t seed;			  /* of the hash function; 0: random */
};

/* NULL with errno. */
struct best_map *best_open(const struct best_options *);
/* To be called when all threads have left. NULL is fine. */
void best_close(struct best_map *);

/* NULL with errno. */
struct best_handle *best_join(struct best_map *);
/* Returns what the handle has spent; another thread may get the handle then. NULL is fine. */
struct best_costs best_leave(struct best_handle *);

/* A handle adds its change in the number of keys to the map's count once it reaches this. */
enum { BEST_UNCOUNTED = 32 };

bool best_find(struct best_handle *, uint64_t key, uint64_t *value);
/* 1: inserted; 0: the key is there, and keeps its value; -1: no memory, and nothing has changed. */
int best_insert(struct best_handle *, uint64_t key, uint64_t value);
/* 1: inserted; 0: the key was there, and has the new value now; -1 as above. */
int best_upsert(struct best_handle *, uint64_t key, uint64_t value);
/* Returns whether the key was there, and its last value in *value. */
bool best_remove(struct best_handle *, uint64_t key, uint64_t *value);

/*
 * Does operations in the order given, with their lines prefetched. Each operation is atomic, the
 * batch is not. `result` is what the single call returns.
 */
enum best_kind { BEST_FIND, BEST_INSERT, BEST_UPSERT, BEST_REMOVE };
struct best_operation {
	uint64_t key, value; /* the value found or removed is left here */
	enum best_kind kind;
	int result;
};
void best_batch(struct best_handle *, struct best_operation *operation, size_t n);

/* Exact while nobody writes; else each writer's last few changes may be missing. */
size_t best_size(const struct best_map *);
/* Bytes of all tables, including those that wait to be given back. */
size_t best_bytes(const struct best_map *);
/*
 * The most bytes that a map with this capacity takes from its memory until it has grown to so many
 * keys, if no table is given back. Add BEST_UNCOUNTED keys for each handle: the map's own count may
 * be too high by as many.
 */
size_t best_most_bytes(size_t capacity, size_t keys);

/*
 * Visits all keys in the order of their hash. A key that stays in the map from the first call to
 * the last is returned exactly once, even if the table grows or shrinks; one that is inserted or
 * removed meanwhile, once or not at all. Returns how many of `room` (at least 1) pairs were filled
 * in; 0: the end.
 */
struct best_pair {
	uint64_t key, value;
};
struct best_cursor { /* zero: at the start */
	uint64_t hash, key;
	bool end;
};
size_t best_scan(struct best_handle *, struct best_cursor *, struct best_pair *, size_t room);

#endif
