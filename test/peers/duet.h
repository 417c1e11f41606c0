/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two threads at the same work, on a CPU each, in short samples of either of two programs. The
 * calling thread takes the time; the other one takes part in each sample until all are over.
 */
#ifndef LOCUS_DUET_H
#define LOCUS_DUET_H

#include <pthread.h>
#include <stdatomic.h>

#include "beside.h"
#include "machine/clock.h"

enum { DUET_MOST = 2, DUET_SAMPLES = 33 };
enum { OURS = 1, THEIRS, DUET_OVER };
#define DUET_SAMPLE 5e-4 /* s */

struct duet {
	void (*block)(void *about, unsigned thread, unsigned side);
	void *about;
	unsigned threads; /* 1: the calling one is alone */
	int cpu[DUET_MOST];
	/*
	 * Blocks that each thread does in a sample, where they wait for each other within a block;
	 * 0: as many as fit in the time of a sample
	 */
	uint64_t blocks;
	pthread_t follower;
	/* whose sample it is; how many other threads are there; whether it has ended */
	_Atomic unsigned turn, here;
	_Atomic bool stop;
};

static inline void rest(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#endif
}

static inline void *duet_follow(void *argument)
{
	struct duet *d = argument;

	beside_stay_on(d->cpu[1]);
	while (atomic_load(&d->turn) != DUET_OVER) {
		unsigned side;

		if (atomic_load(&d->stop))
			continue;
		side = atomic_load(&d->turn); /* set before `stop` was cleared */
		atomic_fetch_add(&d->here, 1);
		for (uint64_t i = 0; d->blocks ? i <= d->blocks : !atomic_load(&d->stop); i++)
			d->block(d->about, 1, side);
		while (!atomic_load(&d->stop))
			rest();
		atomic_fetch_sub(&d->here, 1);
	}
	return NULL;
}

/* s of a block by the calling thread, in a sample in which both are at work. */
static inline double duet_sample(struct duet *d, unsigned side)
{
	uint64_t n = 0;
	double begin, end;

	atomic_store(&d->turn, side);
	atomic_store(&d->stop, false);
	if (d->blocks) /* the first one is where they meet */
		d->block(d->about, 0, side);
	while (!d->blocks && atomic_load(&d->here) < d->threads - 1)
		d->block(d->about, 0, side);
	begin = clock_now();
	do {
		d->block(d->about, 0, side);
		end = clock_now();
	} while (++n, d->blocks ? n < d->blocks : end - begin < DUET_SAMPLE);
	atomic_store(&d->stop, true);
	while (atomic_load(&d->here))
		rest();
	return (end - begin) / (double)n;
}

/* Disturbances only add time: the first decile. */
static inline double duet_undisturbed(struct duet *d, unsigned side)
{
	double times[DUET_SAMPLES];

	for (unsigned i = 0; i < DUET_SAMPLES; i++)
		times[i] = duet_sample(d, side);
	statistics_sort(times, DUET_SAMPLES);
	return statistics_quantile(times, DUET_SAMPLES, 0.1);
}

static inline void duet_begin(struct duet *d)
{
	atomic_store(&d->stop, true);
	if (d->threads > 1 && pthread_create(&d->follower, NULL, duet_follow, d)) {
		perror("pthread_create");
		exit(2);
	}
	duet_undisturbed(d, OURS); /* warm */
}

/* Both programs in turn, so many pairs of times (s). A block is `units` units. */
static inline void duet_pairs(struct duet *d, double *ours, double *theirs, unsigned pairs,
			      double units)
{
	for (unsigned i = 0; i < pairs; i++)
		for (unsigned k = 0; k < 2; k++)
			if ((i + k) % 2)
				theirs[i] = duet_undisturbed(d, THEIRS) / units;
			else
				ours[i] = duet_undisturbed(d, OURS) / units;
}

static inline void duet_end(struct duet *d)
{
	atomic_store(&d->turn, DUET_OVER);
	if (d->threads > 1)
		pthread_join(d->follower, NULL);
}

/* The line for so many pairs. */
static inline void duet_compare(struct duet *d, const char *what, unsigned pairs, double units,
				double limit, bool *differ)
{
	double of[2][pairs];

	duet_begin(d);
	duet_pairs(d, of[0], of[1], pairs, units);
	duet_end(d);
	print_beside(what, of[0], of[1], pairs, limit, differ);
}

/* Two CPUs of different cores, or twice the first one: their number. */
static inline unsigned duet_cpus(const struct machine *m, const struct cpu *cpus[DUET_MOST])
{
	cpus[0] = cpus[1] = &m->cpu[0];
	for (unsigned i = 1; i < m->cpus && cpus[1]->core == cpus[0]->core; i++)
		cpus[1] = &m->cpu[i];
	return cpus[1]->core == cpus[0]->core ? 1 : 2;
}

#endif
