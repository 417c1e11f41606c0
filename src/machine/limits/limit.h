/* SPDX-License-Identifier: Apache-2.0 */
/* The least of several limits of memory, and what says so. */
#ifndef LOCUS_LIMIT_H
#define LOCUS_LIMIT_H

#include "base/numbers.h"

struct memory_limit {
	uint64_t available; /* bytes that can still be taken; NO_LIMIT where nothing is known */
	/*
	 * what says so, after "because of": "memory.max 2 GiB of cgroup /job_7, with 1 GiB in use"
	 */
	char what[512];
};

void limit_begin(struct memory_limit *); /* without any limit */
/* One more limit, with words for it. */
void limit_consider(struct memory_limit *, uint64_t available, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
