/* SPDX-License-Identifier: Apache-2.0 */
/* What a trial of fabric holds, and how two ranks measure what lies between them. */
#ifndef LOCUS_BENCH_FABRIC_H
#define LOCUS_BENCH_FABRIC_H

#include "trial.h"

enum {
	BULKS = 4, /* the largest number of large messages each way in a meeting */
	LEAST_PINGS = 16,
};

/* s after which a part of a meeting ends, if it has enough messages. */
#define PATIENCE 50e-3

/* What this rank measured in a meeting; NAN: nothing. */
struct meeting {
	unsigned with;
	bool here;		     /* the two ranks share a node, while others do not */
	double latency, tail, least; /* s one way: 25th and 99th percentile, quickest */
	double bandwidth;	     /* B/s each way, both at once */
	/* latency while other pairs stream (s); that and the tail, relative to no streams */
	double loaded, factor, tail_factor;
};

struct fabric {
	const struct trial *trial;
	const struct ranks *ranks;
	const struct way *way;
	uint64_t sample; /* a payload is never sent twice */
	unsigned pings, rounds;
	size_t size;	     /* of a large message */
	unsigned char *out;  /* a large message */
	unsigned char *in;   /* BULKS of them */
	double *lap;	     /* s one way, of a meeting's small messages */
	int64_t *node;	     /* by rank: the lowest rank on its node */
	bool several;	     /* the job has more than one node */
	struct meeting *met; /* of this sample */
	unsigned n, room;
	char *fault; /* the first wrong answer; NULL: none */
};

/* One way to put ranks together: fills in what this rank measured in a sample; rounds done. */
struct way {
	unsigned least; /* ranks that it needs */
	unsigned (*measure)(struct fabric *);
};
extern const struct way way_loopback, way_pairs, way_bisection, way_ring, way_loaded;

/* Whether a rank shares this one's node, while others do not. */
bool meet_is_here(const struct fabric *, unsigned with);

/* Fills a large message except its first word. */
void payload_fill(unsigned char *, size_t size, uint64_t word);

#endif
