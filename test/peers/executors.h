/* SPDX-License-Identifier: Apache-2.0 */
/* Actors that write to themselves, as others would run them (executors.cc). */
#ifndef LOCUS_EXECUTORS_H
#define LOCUS_EXECUTORS_H

#include <stddef.h>
#include <stdint.h>

struct peers_work {
	unsigned threads, batch; /* batch: messages of an actor in a row, where it can be said */
	size_t actors, stride, words; /* stride: bytes from state to state; words of 4 in one */
	uint64_t touched, hops;	      /* words of a message; messages of each actor */
	char *states;
};

#ifdef __cplusplus
extern "C" {
#endif

/* s; NAN: it is not there */
double peers_task_group(const struct peers_work *);
double peers_enqueue(const struct peers_work *);
double peers_taskflow(const struct peers_work *);
double peers_caf(const struct peers_work *);

#ifdef __cplusplus
}
#endif

#endif
