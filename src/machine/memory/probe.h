/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast memory is at this moment, for the calling thread's CPU: reads lines of its own that it
 * has flushed from all caches, so that the time depends neither on what ran before nor on the size
 * of the caches. It leaves at most PROBE_BYTES of the caches with other contents.
 */
#ifndef LOCUS_PROBE_H
#define LOCUS_PROBE_H

/* Long enough that the bandwidth counts, not the latency of the first lines; small beside an L2. */
#define PROBE_BYTES 65536

/* PROBE_BYTES of memory, touched by the calling thread; NULL: none left, or lines can't be flushed.
 */
void *probe_open(void);
void probe_close(void *);

/* s per line: the median of a few readings. About 60 us. */
double probe_read(void *);

#endif
