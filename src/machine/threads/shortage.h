/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where OpenMP's runtime can't create a thread, it ends the process, and does not say which limit
 * that was. Between these two calls, a line on stderr does.
 */
#ifndef LOCUS_SHORTAGE_H
#define LOCUS_SHORTAGE_H

/* Before a parallel region, and in it, once its threads are there; by the same thread. */
void shortage_begin(unsigned threads);
void shortage_end(void);

#endif
