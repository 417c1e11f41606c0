/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures how much neighbours slow down memory and the last cache for the calling thread's CPU,
 * with lines of its own. It leaves at most PROBE_BYTES of the caches with other contents.
 *
 * Memory: reads lines in order that it has flushed from all caches, so that the time depends
 * neither on what ran before nor on the size of the caches.
 *
 * Last cache: touches lines before other work and times them after it. What ran in between has
 * pushed them out of L2; if they take as long as memory, they were pushed out of L3, too. Both
 * times are of the same lines at the same moment, so nothing has to be known of a quiet machine.
 */
#ifndef LOCUS_PROBE_H
#define LOCUS_PROBE_H

/*
 * Large enough for the bandwidth to count, not the latency of the first lines; small beside an L2.
 */
#define PROBE_BYTES 65536

/*
 * PROBE_BYTES of memory, touched by the calling thread; NULL: no memory, or lines cannot be
 * flushed.
 */
void *probe_open(void);
void probe_close(void *);

/* s per line of memory, read in order: the median of a few readings. About 60 us. */
double probe_read(void *);

/*
 * L3: probe_touch() loads every fourth of these lines, in about 10 to 40 us. After other work
 * probe_kept() times them, and the same number of flushed lines, in about 80 us. Each address comes
 * from the previous line, so that no prefetcher can follow.
 */
struct probe_kept {
	double line, memory; /* s per line: as other work left them; after a flush */
};
void probe_touch(void *);
struct probe_kept probe_kept(void *);

#endif
