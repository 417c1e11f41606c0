/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One trial while it is measured: its task, its current allocation and the work of a sample, its
 * samples, and the evidence. Then its life: allocations, each with batches, each with samples.
 */
#ifndef LOCUS_SERIES_H
#define LOCUS_SERIES_H

#include "count/markers.h"
#include "count/tally.h"
#include "harness/plan/plan.h"
#include "harness/sample/evidence.h"
#include "harness/sample/workers.h"
#include "harness/sample/samples.h"
#include "machine/provenance/provenance.h"

/* Why a trial stopped. */
enum stopped {
	STOPPED_NOT_RUN,
	STOPPED_CONVERGED,
	STOPPED_BUDGET,
	STOPPED_REPEATS,
	STOPPED_SIGNAL
};

struct quarantine;

/* The run's settings for a trial, beyond its plan. */
struct task {
	double within;	   /* how far its interval may reach, relative to the time */
	double overhead;   /* s that a reading of the clock takes */
	unsigned meetings; /* of a pair in a batch */
	/* LIKWID's region around each batch */
	struct markers *markers; /* NULL: it has none */
	unsigned region;
	struct quarantine *quarantine;	     /* of its group; NULL: memory is given back at once */
	const struct conditions *conditions; /* when the run began; NULL: unknown */
};

struct series {
	struct planned *planned;
	struct task task;
	/* this allocation */
	void *state;
	bool begun;   /* some time was spent on it */
	bool ready;   /* prepared, entered, and not released yet */
	bool worked;  /* work() has run: there is an answer to verify */
	bool cold;    /* the caches do not hold its data yet: nothing has warmed them up */
	bool warming; /* the work is the needs.warm units that warm up */
	uint64_t did; /* units of worker 0 in the last execution */
	/* calibration */
	uint64_t units;	    /* units of each worker in each sample; 0 if work() decides */
	double duration;    /* s of a typical sample */
	double skew;	    /* s from the first start to the last, the median in calibration */
	unsigned per_batch; /* samples */
	/* what was sampled */
	struct samples samples;
	struct pairs *pairs;	       /* NULL: workers don't meet in pairs */
	struct reports *reports;       /* what metrics have besides a value */
	struct throughput *throughput; /* units and rates of each role */
	struct tally tally;	       /* counts of events */
	double from, to; /* s from the start of the run to the first batch, and to the last's end */
	double marked;	 /* s: the wall time of samples within LIKWID's region */
	double elapsed;	 /* s spent on this trial */
	/* what was noticed */
	struct evidence evidence;
	bool returned; /* memory of an earlier allocation was freed */
	enum stopped stopped;
};

/* `counting`: the events counted beside its samples; NULL: none. Returns -1 if out of memory. */
int series_open(struct series *, struct planned *, struct counting *);
void series_close(struct series *);
/* Makes room for one more batch, of so many samples; false: no memory. */
bool series_room(struct series *, size_t samples);
/* After the last sample: sums noise, counts and placements over all ranks. */
void series_gather(struct series *);
/*
 * Whether its interval is as narrow as requested. True if it has failed: there is nothing to wait
 * for.
 */
bool series_converged(const struct series *);

/* --- allocation.c: fresh memory, prepared and touched --- */

/*
 * Returns false on all ranks if one of them failed; failure or impossible says why. The team stays
 * seated for this trial. The nodes of its pages are read back before its samples and after.
 */
bool allocation_open(struct series *, struct team *);
/*
 * One execution of needs.warm units, which is not a sample: before an allocation's first batch, and
 * its calibration. Opening an allocation does not warm it up: the group's other trials are opened
 * later, and would evict its data.
 */
void allocation_warm(struct series *, struct team *);
/* Reads the pages back, verifies the answer, and holds the memory or frees it. */
void allocation_close(struct series *, struct team *);
/* Whether the series has failed, on all ranks; if so, the allocation is closed. */
bool allocation_failed(struct series *, struct team *);

struct quarantined {
	struct series *series;
	struct arena *arena;
	double bytes;
};

/*
 * The memory of earlier allocations of a group, held so that later ones get other page frames: the
 * kernel hands out the frames freed last. If there is no room for all, the oldest are freed.
 */
struct quarantine {
	double room, bytes;	/* bytes that may be held; bytes that are held */
	double each;		/* bytes: larger allocations are not held */
	struct quarantined *of; /* the oldest first */
	size_t n, most;
};

/*
 * Takes over the arena of a finished allocation, of so many bytes. A series whose memory is freed
 * is marked, since it may get the same memory again.
 */
void quarantine_keep(struct quarantine *, struct series *, struct arena *, double bytes);
/* Frees the quarantine, and gives all its memory back. */
void quarantine_free(struct quarantine *);

/* --- batch.c: the amount of work in a sample, and batches of samples --- */

/*
 * Finds `units`, `duration` and `per_batch` of an allocation that is ready, for batches of `batch`
 * s. Begins no sample after `most` s.
 */
void batch_calibrate(struct series *, struct team *, double batch, double most);
/*
 * The median of these skews (s), which it sorts. With the least one most samples would begin too
 * late; with the largest, one late wake-up would make all samples long.
 */
double batch_usual_skew(double *skews, size_t n);
/*
 * Whether a sample of `units` units ends the calibration; if not, increases `units`, or requests
 * another sample like it, as *long_before says. The skew in the series covers all samples so far.
 */
bool batch_calibration_ends(struct series *, const struct sample *, bool *long_before);

/*
 * Takes so many samples of an allocation that is ready; `warm`: first takes one that is not kept,
 * to warm the caches. Returns false on failure.
 */
bool batch_take(struct series *, struct team *, unsigned samples, bool warm);

/* s per cycle of the workers' cores at one moment; 0: unknown. */
struct batch_cores {
	double least, median, most;
};
/*
 * The cycle of a batch, from the cores' cycles before and after it: 0 if they differ by more than 5
 * %, since then the batch did not run at one frequency.
 */
double batch_cycle(struct batch_cores before, struct batch_cores after);

/* --- sample.c: one timed execution of the work --- */

/*
 * Seats the team for this trial, on all ranks. False: a rank could not pin a thread; `failure` says
 * why.
 */
bool sample_seat(struct series *, struct team *);

/* The pairs whose turn it is, if workers meet in pairs. */
struct turn {
	unsigned round, meeting;
	unsigned slot; /* the pair that plays; TURN_EVERY_SLOT: all pairs of the round */
};
#define TURN_EVERY_SLOT (~0u)
/* Turn i of a batch: all rounds, repeated until every pair has met as often as the batch needs. */
struct turn sample_turn(const struct series *, unsigned i);

/*
 * Resets, works and scores on all ranks. All get the same sample, with the time of the slowest
 * rank. If a worker could not do its work, the series has failed, and the sample is invalid.
 * `keep`: the series keeps the times of pairs. The team is seated, the allocation ready.
 */
struct sample sample_take(struct series *, struct team *, struct noise *, struct turn, bool keep);

#endif
