/* SPDX-License-Identifier: Apache-2.0 */
/* The least of several limits of memory, with its source. */
#ifndef LOCUS_LIMIT_H
#define LOCUS_LIMIT_H

#include "base/numbers.h"

struct memory_limit {
	uint64_t available; /* bytes that can still be allocated; NO_LIMIT: unknown */
	unsigned sharers;   /* processes of this run that share the limit evenly */
	/*
	 * the source, as words after "because of": "memory.max 2 GiB of cgroup /job_7, with 1 GiB
	 * in use"
	 */
	char what[512];
};

void limit_begin(struct memory_limit *); /* no limit */
/* Takes over a sharer's part of a limit if it is lower; `what` becomes the formatted text. */
void limit_consider(struct memory_limit *, unsigned sharers, uint64_t available, const char *format,
		    ...) __attribute__((format(printf, 4, 5)));

#endif
