/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/hashmap/best_chain.h"

static struct best_bucket *following(struct best_table *t, struct best_bucket *b)
{
	const uint32_t next = bucket_next(bucket_load(&b->chain));

	return next ? &t->bucket[next] : NULL;
}

struct best_place chain_find(struct best_table *t, struct best_bucket *home, uint64_t key,
			     uint64_t hash)
{
	struct best_bucket *b = home;

	if (!(bucket_load(&home->chain) & bucket_tag(hash)))
		return (struct best_place){ 0 };
	while ((b = following(t, b))) {
		const uint64_t found = bucket_match(b, bucket_load(&b->word), key);

		if (found)
			return (struct best_place){ b, bucket_first(found) };
	}
	return (struct best_place){ 0 };
}

/*
 * The store of the overflow bucket's word or, with a new bucket, of the home's chain inserts the
 * key: every later reader finds it. The tag is set no later, since readers skip a chain without it.
 */
bool chain_insert(struct best_table *t, struct best_bucket *home, uint64_t key, uint64_t value,
		  uint64_t hash)
{
	const uint64_t chain = bucket_load(&home->chain),
		       tags = (chain >> 32 << 32) | bucket_tag(hash);
	uint32_t taken;

	for (struct best_bucket *b = home; (b = following(t, b));) {
		const uint64_t word = bucket_load(&b->word), free = bucket_free(word);

		if (!free)
			continue;
		bucket_fill(b, bucket_first(free), key, value);
		bucket_store(&home->chain, tags | bucket_next(chain));
		bucket_store(&b->word, word | free);
		return true;
	}
	taken = table_take(t);
	if (!taken)
		return false;
	bucket_fill(&t->bucket[taken], 1, key, value);
	bucket_store(&t->bucket[taken].chain, bucket_next(chain));
	bucket_store(&t->bucket[taken].word, UINT64_C(1) << 1);
	bucket_store(&home->chain, tags | taken);
	return true;
}

/* Takes a bucket off the chain. Tags stay until the chain is empty. */
static uint32_t take_off(struct best_table *t, struct best_bucket *home, struct best_bucket *b)
{
	const uint64_t chain = bucket_load(&home->chain);
	const uint32_t next = bucket_next(bucket_load(&b->chain));
	struct best_bucket *before = home;

	while (following(t, before) != b)
		before = following(t, before);
	if (before != home)
		bucket_store(&before->chain, next);
	else
		bucket_store(&home->chain, next ? (chain >> 32 << 32) | next : 0);
	return (uint32_t)(b - t->bucket);
}

void chain_remove(struct best_table *t, struct best_bucket *home, uint64_t word,
		  struct best_place at)
{
	uint32_t empty = 0;

	if (at.bucket == home) {
		struct best_bucket *from = following(t, home);
		const size_t slot = bucket_first(bucket_load(&from->word));

		/* Hides the slot from readers, fills it, and publishes it. */
		word = bucket_publish(home, word & ~(UINT64_C(1) << at.slot));
		bucket_fill(home, at.slot, bucket_load(&from->key[slot]),
			    bucket_load(&from->value[slot]));
		word = bucket_publish(home, word | UINT64_C(1) << at.slot);
		at = (struct best_place){ from, slot };
	}
	bucket_store(&at.bucket->word, bucket_load(&at.bucket->word) & ~(UINT64_C(1) << at.slot));
	if (!bucket_load(&at.bucket->word))
		empty = take_off(t, home, at.bucket);
	if (!bucket_load(&home->chain))
		word &= ~BEST_CHAINED;
	bucket_unlock_changed(home, word);
	if (empty)
		table_give(t, empty);
}

int chain_look(struct best_table *t, struct best_bucket *home, uint64_t word, uint64_t key,
	       uint64_t hash, uint64_t *value)
{
	struct best_bucket *b = home;

	if (!(word & BEST_CHAINED) || !(bucket_load(&home->chain) & bucket_tag(hash)))
		return bucket_unchanged(home, word) ? 0 : -1;
	while ((b = following(t, b))) {
		const uint64_t found = bucket_match(b, bucket_load(&b->word), key);

		if (found)
			*value = bucket_load(&b->value[bucket_first(found)]);
		/* A bucket that was taken off this chain meanwhile may be in another chain. */
		if (!bucket_unchanged(home, word))
			return -1;
		if (found)
			return 1;
	}
	return bucket_unchanged(home, word) ? 0 : -1;
}
