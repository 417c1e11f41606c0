/* SPDX-License-Identifier: Apache-2.0 */
/* The parameters, as indexes of a trial's values. */
#ifndef LOCUS_HASHMAP_PARAMETERS_H
#define LOCUS_HASHMAP_PARAMETERS_H

enum {
	OPERATIONS,
	MIX,
	READS,
	TURNOVER,
	RANGE,
	KEYS,
	SKEW,
	VALUE,
	READERS,
	LOAD,
	STRIPES,
	PADDED,
	LOCK_BYTES,
	PADDING,
	RECLAIM,
	PLACEMENT,
	PAGES,
	CALLS,
	EVERY,
};
enum { COURSE, STEADY };
#define MIX_CHOICES "course,steady"
/* What is padded: one bit each. */
enum { PADDED_LOCKS = 1, PADDED_SIZES = 2 };
#define PADDED_CHOICES "none,locks,sizes,both"
enum { EPOCH, NONE };
#define RECLAIM_CHOICES "epoch,none"
enum { LOCAL, INTERLEAVE };
#define PLACEMENT_CHOICES "local,interleave"
enum { SINGLE, BATCHES };
#define CALLS_CHOICES "single,batches"

#endif
