/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that work together, as functions that they call; NULL: this process alone. */
#ifndef LOCUS_RANKS_H
#define LOCUS_RANKS_H

#include <stddef.h>
#include <stdint.h>

/* A message to or from a rank. */
struct piece {
	void *bytes;
	size_t size;
};

/* Only worker 0 may call these; all ranks make the same calls, in the same order. */
struct ranks {
	unsigned rank, ranks;
	void (*sum)(int64_t *, size_t); /* each value becomes its sum over the ranks */
	void (*most)(double *, size_t); /* each value becomes the largest of the ranks' values */
	void (*copy)(unsigned from, void *, size_t); /* the bytes become one rank's */
	/* Sums over the ranks of this host. All of them, and only they, make the same calls. */
	void (*sum_host)(int64_t *, size_t);
	void (*most_host)(double *, size_t);
	double (*spent)(void); /* s in these calls so far */
	/*
	 * Begins an exchange: sends out[r] to each other rank r, and receives in[r] from it, which
	 * has room for in[r].size bytes. Both have an entry for each rank, of at most 2^31 - 1
	 * bytes; the rank's own entry is not used. finish() returns when all pieces have arrived,
	 * and in[r].size is then the size received. Until then the pieces and their bytes must not
	 * be touched. Exchanges may overlap; all ranks begin them in the same order.
	 */
	void *(*begin)(const struct piece *out, struct piece *in);
	void (*finish)(void *exchange);
	/*
	 * Lets exchanges proceed during long work: many MPIs move large messages only while they
	 * are called.
	 */
	void (*progress)(void);
	/*
	 * Single messages, for benchmarks that measure them: `spent` does not include them. send()
	 * may return before the bytes are received. swap() does both at once, with one rank, two,
	 * or this one. At most 2^31 - 1 bytes; a message has the size that its receiver expects.
	 */
	void (*send)(unsigned to, const void *, size_t);
	void (*receive)(unsigned from, void *, size_t);
	void (*swap)(unsigned to, const void *out, unsigned from, void *in, size_t size);
	/*
	 * Tells the launcher that this process ends as it means to, without meeting the others:
	 * the last call, which any thread may make, also while worker 0 is in another.
	 */
	void (*leave)(void);
	/*
	 * library: "Open MPI v4.1.4"; transport: what moves its messages, if the library says so;
	 * else transport_why
	 */
	const char *library, *transport, *transport_why;
};

static inline unsigned rank_of(const struct ranks *ranks)
{
	return ranks ? ranks->rank : 0;
}

static inline unsigned ranks_of(const struct ranks *ranks)
{
	return ranks ? ranks->ranks : 1;
}

/* The lowest rank on this one's host, which stands for the host. All ranks call it. */
static inline unsigned ranks_lowest_here(const struct ranks *ranks)
{
	double lowest = -(double)ranks->rank;

	ranks->most_host(&lowest, 1);
	return (unsigned)-lowest;
}

#endif
