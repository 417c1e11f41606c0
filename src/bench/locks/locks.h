/* SPDX-License-Identifier: Apache-2.0 */
/* A trial of locks: parameters, memory, and life, except reports. */
#ifndef LOCUS_BENCH_LOCKS_H
#define LOCUS_BENCH_LOCKS_H

#include "bench/locks/kinds.h"
#include "benchmark.h"
#include "kit/histogram.h"
#include "kit/loop.h"

enum { LAYOUT, SECTION, LINES, PAUSE, READS }; /* parameters */
enum layout { LAYOUT_TOGETHER, LAYOUT_APART, LAYOUT_DENSE, LAYOUT_PADDED };

/* Where locks and the data that they guard lie: for each lock, in bytes. */
struct geometry {
	unsigned locks;
	/* from one lock to the next; from a lock to its data; size of all locks */
	size_t stride, guarded, all;
	/*
	 * after the locks: distance and number of a lock's further lines; offset of the times at
	 * which holders leave; size of everything
	 */
	size_t apart, lines, left, bytes;
};

struct state {
	const struct kind *kind;
	struct geometry geometry;
	unsigned char *locks;
	unsigned char *posts;
	size_t size; /* size of a post: whole pages */
	const struct machine *machine;
	const struct place *place;
	unsigned threads, reads;
	uint64_t lines, section, pause;
	double tick; /* s */
	struct histogram *histogram;
	struct start start;
};

struct geometry locks_geometry(const struct trial *);
size_t locks_post_size(const struct trial *);

/* Whether all threads share one lock. */
bool locks_are_one(const struct trial *);

struct visitor *locks_visitor(const struct state *, unsigned thread);

void *locks_prepare(const struct trial *);
void locks_enter(void *, struct worker *);
void locks_reset(void *);
void locks_work(void *, struct worker *);
void locks_collect(void *, const struct trial *, struct result *);
const char *locks_verify(void *, const struct trial *);
void locks_release(void *);

enum { LOCKS_METRICS = 16 };
extern const struct metric locks_metrics[LOCKS_METRICS];

#endif
