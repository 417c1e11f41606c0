/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/hashmap/hashmap.h"

#include "base/arithmetic.h"
#include "benchmark.h"
#include "kit/histogram.h"
#include "kit/spin.h"
#include "machine/topology/topology.h"

#define MOST_OPERATIONS (UINT64_C(1) << 40)

/* The published settings: the default number of operations of `course`. */
enum { PUBLISHED = 1600000, PUBLISHED_STRIPES = 32, MOST_STRIPES = 1 << 16, MOST_BYTES = 1 << 16 };

const struct map_kind *kind_of(const struct trial *t)
{
	return ((const struct way *)t->variant->data)->kind;
}

enum pages pages_of(const struct trial *t)
{
	return kind_of(t)->huge ? PAGES_THP : t->value[PAGES].choice;
}

unsigned readers_of(const struct trial *t)
{
	return (unsigned)t->value[READERS].count;
}

unsigned mixed_of(const struct trial *t)
{
	return t->threads - readers_of(t);
}

struct mix mix_of(const struct trial *t)
{
	struct mix m = { .course = t->value[MIX].choice == COURSE,
			 .reads = (double)t->value[READS].count / 100,
			 .turnover = (double)t->value[TURNOVER].count / 100,
			 .range = t->value[RANGE].count,
			 .distribution = t->value[KEYS].choice,
			 .skew = t->value[SKEW].real };

	if (m.distribution == DISTRIBUTION_ZIPF)
		m.zipf = zipf_of(m.range, m.skew);
	return m;
}

static bool has_stripes(const struct trial *t)
{
	return !(t->variant->unused & BIT(STRIPES));
}

/* `course` starts with one bucket a stripe, so that growth is measured; `steady` does not grow. */
static size_t buckets_of(const struct trial *t)
{
	const double load = has_stripes(t) ? t->value[LOAD].real : 1;
	size_t buckets = has_stripes(t) ? t->value[STRIPES].count : PUBLISHED_STRIPES;

	while (t->value[MIX].choice == STEADY &&
	       (double)buckets * load < (double)t->value[RANGE].count)
		buckets *= 2;
	return buckets;
}

/*
 * A thread has room for its share of the initial entries and, of later ones, for more than its
 * share: threads differ in speed, and one may insert what another removed.
 */
static uint64_t share_of(const struct trial *t)
{
	const uint64_t range = t->value[RANGE].count, operations = t->value[OPERATIONS].count,
		       each = operations / mixed_of(t) + 1, fair = 2 * (range / t->threads + 1);
	const uint64_t most = operations ? fair + each : 2 * fair;

	return most < range ? most : range;
}

struct map_shape shape_of(const struct trial *t)
{
	const size_t lock = t->value[LOCK_BYTES].count, padding = t->value[PADDING].count;

	return (struct map_shape){
		.threads = t->threads,
		.stripes = (unsigned)t->value[STRIPES].count,
		.buckets = buckets_of(t),
		.load = t->value[LOAD].real,
		.words = (unsigned)(t->value[VALUE].count / sizeof(uint64_t)),
		.keys = t->value[RANGE].count,
		.share = share_of(t),
		.writes = t->value[RECLAIM].choice == NONE
				  ? t->value[OPERATIONS].count / mixed_of(t) + 1
				  : 0,
		.reclaim = t->value[RECLAIM].choice == EPOCH,
		.lock_stride = t->value[PADDED].choice & PADDED_LOCKS ? lock * padding : lock,
		.size_stride =
			sizeof(uint32_t) * (t->value[PADDED].choice & PADDED_SIZES ? padding : 1),
	};
}

/* The fault in the parameters of stripes; NULL: none. */
static const char *wrong_geometry(const union value *v)
{
	if (!v[STRIPES].count || v[STRIPES].count > MOST_STRIPES ||
	    v[STRIPES].count & (v[STRIPES].count - 1))
		return "--stripes: a power of two, 1 to 65536";
	if (v[LOCK_BYTES].count < sizeof(struct spin_lock) || v[LOCK_BYTES].count % 4 ||
	    v[LOCK_BYTES].count > MOST_BYTES)
		return "--lock-bytes: a multiple of 4, 4 to 65536";
	if (!v[PADDING].count || v[PADDING].count > MOST_BYTES)
		return "--padding: 1 to 65536 elements";
	if (!(v[LOAD].real >= 0.01) || v[LOAD].real > 1000)
		return "--load: 0.01 to 1000 entries a bucket";
	return NULL;
}

static const char *wrong(const struct trial *t, const union value *v)
{
	if (v[OPERATIONS].count > MOST_OPERATIONS)
		return "--operations: at most 2^40";
	if (v[READS].count > 100 || v[TURNOVER].count > 100)
		return "--reads and --turnover: in percent, 0 to 100";
	if (!v[RANGE].count || v[RANGE].count > UINT32_MAX)
		return "--range: 1 to 2^32 - 1 keys";
	if (v[VALUE].count % sizeof(uint64_t) || !v[VALUE].count ||
	    v[VALUE].count > MAP_MOST_WORDS * sizeof(uint64_t))
		return "--value: 8 to 256 bytes, in words of 8";
	if (v[SKEW].real < 0 || v[SKEW].real > 100)
		return "--skew: 0 to 100";
	if (v[KEYS].choice == DISTRIBUTION_HOT && v[SKEW].real > 1)
		return "--skew: for hot keys it is a share, at most 1";
	return has_stripes(t) ? wrong_geometry(v) : NULL;
}

/*
 * True if --reclaim was given without --operations. Without reclamation, memory lasts only for a
 * fixed number of operations, and compared trials must do equally many.
 */
static bool compares_reclaim(uint64_t given)
{
	return given & BIT(RECLAIM) && !(given & BIT(OPERATIONS));
}

/* Parameters without effect get one value, so that no trial is run twice for them. */
const char *hashmap_resolve(const struct trial *t, union value *value, uint64_t given)
{
	static const double skew[] = {
		[DISTRIBUTION_UNIFORM] = 0, [DISTRIBUTION_ZIPF] = 0.99, [DISTRIBUTION_HOT] = 0.9
	};
	const char *error = wrong(t, value);

	if (error)
		return error;
	if (!value[OPERATIONS].count && (value[MIX].choice == COURSE || compares_reclaim(given)))
		value[OPERATIONS].count = PUBLISHED;
	if (!(value[SKEW].real > 0) || value[KEYS].choice == DISTRIBUTION_UNIFORM)
		value[SKEW].real = skew[value[KEYS].choice];
	if (value[MIX].choice == COURSE)
		value[READS].count = value[TURNOVER].count = 0;
	if (value[READS].count == 100)
		value[TURNOVER].count = 0;
	return NULL;
}

static const char *pointless(const struct trial *t)
{
	const struct way *way = t->variant->data;

	if (readers_of(t) >= t->threads)
		return "--readers: at least one thread must do the mix";
	if (!way->words && t->value[VALUE].count > sizeof(uint64_t))
		return "this map holds values of 8 bytes only: give --value 8";
	if (t->value[MIX].choice == COURSE && t->value[CALLS].choice == BATCHES && way->kind->batch)
		return "--mix course: the next operation depends on the result of the last: use "
		       "--calls single";
	if (t->value[RECLAIM].choice == NONE && !t->value[OPERATIONS].count)
		return "without reclamation, memory lasts only for a fixed number of operations: "
		       "give --operations";
	return NULL;
}

struct needs hashmap_needs(const struct trial *t)
{
	const enum pages pages = pages_of(t);
	struct needs needs = { .pointless = pointless(t), .units = t->value[OPERATIONS].count };
	struct map_shape shape;

	if (needs.pointless || (t->variant->available && t->variant->available()))
		return needs;
	shape = shape_of(t);
	needs.bytes = region_takes(t->machine, kind_of(t)->shared(&shape), pages) +
		      pool_bytes(t, kind_of(t)->own(&shape), pages) +
		      (t->threads + 1) * sizeof(struct histogram);
	return needs;
}
