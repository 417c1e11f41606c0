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
 * tables that its thread may be reading (tables.h). So a thread that is stopped in the middle
 * of a read keeps at most two tables from being given back, whatever the others do.
 *
 * Cost: an operation touches the two lines of one bucket, and of an overflow bucket for one home in
 * 84. A key takes 48 bytes just before the table doubles, 96 just after, and 144 while it is moved.
 */
#ifndef LOCUS_SOLVE_MAP_CMAP_H
#define LOCUS_SOLVE_MAP_CMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cmap;
struct cmap_handle;

/*
 * The source of tables' memory. take() returns zeroed memory, aligned to 128 bytes; NULL: none
 * left.
 */
struct cmap_memory {
	void *(*take)(void *from, size_t bytes);
	void (*give)(void *from, void *memory, size_t bytes);
	void *from;
};

struct cmap_options {
	size_t capacity;		  /* keys for which it has room from the start */
	const struct cmap_memory *memory; /* NULL: mmap(), on huge pages from 2 MiB on */
	uint64_t seed;			  /* of the hash function; 0: random */
};

/* NULL with errno. */
struct cmap *cmap_open(const struct cmap_options *);
/* To be called when all threads have left. NULL is fine. */
void cmap_close(struct cmap *);

/* A handle's costs since it joined; times are in clock_ticks(). */
struct cmap_costs {
	uint64_t waited;  /* waiting for buckets that others had locked */
	uint64_t moving;  /* making tables and moving buckets to them, waits for locks included */
	uint64_t growths; /* moves to a larger table that it completed */
};

/* NULL with errno. */
struct cmap_handle *cmap_join(struct cmap *);
/* Returns what the handle has spent; another thread may get the handle then. NULL is fine. */
struct cmap_costs cmap_leave(struct cmap_handle *);

/* A handle adds its change in the number of keys to the map's count once it reaches this. */
enum { CMAP_UNCOUNTED = 32 };

bool cmap_find(struct cmap_handle *, uint64_t key, uint64_t *value);
/* 1: inserted; 0: the key is there, and keeps its value; -1: no memory, and nothing has changed. */
int cmap_insert(struct cmap_handle *, uint64_t key, uint64_t value);
/* 1: inserted; 0: the key was there, and has the new value now; -1 as above. */
int cmap_upsert(struct cmap_handle *, uint64_t key, uint64_t value);
/* Returns whether the key was there, and its last value in *value. */
bool cmap_remove(struct cmap_handle *, uint64_t key, uint64_t *value);

/*
 * Does operations in the order given, with their lines prefetched. Each operation is atomic, the
 * batch is not. `result` is what the single call returns.
 */
enum cmap_kind { CMAP_FIND, CMAP_INSERT, CMAP_UPSERT, CMAP_REMOVE };
struct cmap_operation {
	uint64_t key, value; /* receives the value that was found or removed */
	enum cmap_kind kind;
	int result;
};
void cmap_batch(struct cmap_handle *, struct cmap_operation *operation, size_t n);

/* Exact while nobody writes; otherwise each writer's last few changes may be missing. */
size_t cmap_size(const struct cmap *);
/* Bytes of all tables, including those that wait to be freed. */
size_t cmap_bytes(const struct cmap *);
/*
 * The most bytes that a map with this capacity takes from its memory until it has grown to so many
 * keys, if no table is freed. Add CMAP_UNCOUNTED keys for each handle: the map's own count may be
 * too high by that.
 */
size_t cmap_most_bytes(size_t capacity, size_t keys);

/*
 * Visits all keys in the order of their hash. A key that stays in the map from the first call to
 * the last is returned exactly once, even if the table grows or shrinks; one that is inserted or
 * removed meanwhile, once or not at all. Returns how many of `room` (at least 1) pairs were filled
 * in; 0: the end.
 */
struct cmap_pair {
	uint64_t key, value;
};
struct cmap_cursor { /* zero: at the start */
	uint64_t hash, key;
	bool end;
};
size_t cmap_scan(struct cmap_handle *, struct cmap_cursor *, struct cmap_pair *, size_t room);

#endif
