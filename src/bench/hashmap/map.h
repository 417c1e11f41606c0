/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a variant of hashmap supplies: a concurrent map from any 64-bit key to a value of one or
 * more 64-bit words, as a row of functions (struct map_kind). The benchmark, the sequential model
 * and the checker of histories use maps only through these functions.
 *
 * Life of a map, and who calls what:
 *
 *	shared, own  while trials are planned: the bytes that a map of this shape takes; 0: none
 *	create       one thread; the memory may hold an earlier map: create initialises what it uses
 *	begin        each thread, before its first operation
 *	find insert upsert remove, each     any thread, at any time between its begin and its end
 *	rest         each thread, now and then (every MAP_BLOCK operations), between two operations
 *	end          each thread, after its last operation; it may begin again
 *	size, bytes  one thread, while nobody else is at work
 *	destroy      one thread, after all have ended
 *
 * Memory: `shared` is one block for tables, locks and counts, aligned to APART and zeroed before
 * its first use; --placement says on which nodes it lies. Entries come from the pool, of which
 * each thread has a part on its own node. Both are touched before the clock starts. A
 * map takes no other memory, unless its kind says so. When it is used up an operation answers
 * MAP_NO_MEMORY, worker.failed says why (it fails a trial), and the map is as it was before.
 *
 * A thread is known by self->index, which is below shape.threads.
 */
#ifndef LOCUS_HASHMAP_MAP_H
#define LOCUS_HASHMAP_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/apart.h"
#include "kit/pool.h"
#include "kit/random.h"

enum map_answer {
	MAP_ABSENT, /* the key was not in the map before the operation */
	MAP_PRESENT,
	MAP_NO_MEMORY, /* nothing was done */
};

/* An operation of a batch. */
struct map_operation {
	uint64_t key, value; /* receives the value that was found */
	enum map_action { MAP_FIND, MAP_INSERT, MAP_UPSERT, MAP_REMOVE } action;
	enum map_answer answer;
};

enum {
	MAP_BLOCK = 64, /* operations between two rests */
	MAP_MOST_WORDS = 32,
};

/* The size and layout of a map. */
struct map_shape {
	unsigned threads, stripes;
	size_t buckets; /* to begin with: stripes times a power of two */
	double load;	/* entries a bucket above which the table doubles */
	unsigned words; /* words of a value, 1 to MAP_MOST_WORDS */
	/* the most keys at one time: memory is planned for that many */
	uint64_t keys;
	/* the share of these that one thread may insert */
	uint64_t share;
	/* changes by one thread if nothing is reclaimed; 0: as many as there is time for */
	uint64_t writes;
	bool reclaim; /* memory of removed entries is used again */
	/* bytes between the locks of two stripes, and between their counts */
	size_t lock_stride, size_stride;
};

/*
 * The cost of a thread's operations, in clock_ticks(): operations add to it, the benchmark clears
 * it.
 */
struct map_costs {
	_Alignas(APART) uint64_t waited; /* waiting for locks that others held */
	uint64_t grown;			 /* doubling the table, including the wait for locks */
	uint64_t growths;		 /* doublings */
};

/* The memory of a map; the caller owns it, and it outlives the map. */
struct map_memory {
	void *shared;		 /* map_kind.shared() bytes; NULL: none */
	struct pool *pool;	 /* map_kind.own() bytes for each thread; NULL: none */
	struct map_costs *costs; /* by thread */
};

struct map_kind {
	/* bytes of the shared block, and of each thread's part of the pool */
	size_t (*shared)(const struct map_shape *);
	size_t (*own)(const struct map_shape *);

	bool huge; /* on transparent huge pages, whatever --pages says */
	/* its own thread grows it, in unknown time */
	bool grows_apart;

	/* NULL with errno */
	void *(*create)(const struct map_shape *, const struct map_memory *);
	void (*destroy)(void *map);

	/* NULL: nothing to do. No thread waits for one that has ended. */
	void (*begin)(void *map, struct worker *self);
	void (*rest)(void *map, struct worker *self);
	void (*end)(void *map, struct worker *self);

	/* Copies the value: all words of one insertion or update. */
	enum map_answer (*find)(void *map, struct worker *self, uint64_t key, uint64_t *value);
	/* Leaves the value of a key that is present. */
	enum map_answer (*insert)(void *map, struct worker *self, uint64_t key,
				  const uint64_t *value);
	/* Replaces the value of a key that is present. */
	enum map_answer (*upsert)(void *map, struct worker *self, uint64_t key,
				  const uint64_t *value);
	enum map_answer (*remove)(void *map, struct worker *self, uint64_t key);

	/*
	 * Visits each entry that stays in the map once; others once or not at all. The visitor must
	 * not call functions of the map.
	 */
	void (*each)(void *map, struct worker *self,
		     void (*visit)(void *argument, uint64_t key, const uint64_t *value),
		     void *argument);
	uint64_t (*size)(const void *map);
	/* memory in use: tables, locks, entries, and retired entries; NULL: unknown */
	size_t (*bytes)(const void *map);

	/*
	 * At most MAP_BLOCK operations, in order, each atomic; memory is prefetched. Values of one
	 * word. NULL: only single calls.
	 */
	void (*batch)(void *map, struct worker *self, struct map_operation *, unsigned n);
};

/* library_map is empty where library_available() says why it is not available. */
extern const struct map_kind striped_map, waitfree_map, library_map, fast_map;
const char *library_available(void);
/* fast_map's memory for tables, from the shared block. */
struct cmap_memory;
struct cmap_memory fast_memory_open(const struct map_shape *, void *shared);

/* The hash of all maps: a bijection, so that a test can make keys that collide. */
static inline uint64_t map_hash(uint64_t key)
{
	return random_mix(key);
}

#endif
