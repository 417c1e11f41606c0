/* SPDX-License-Identifier: Apache-2.0 */
/* The lists of which trials are the product: variants, numbers of threads, values of parameters. */
#ifndef LOCUS_FACTORS_H
#define LOCUS_FACTORS_H

#include "harness/plan/request.h"
#include "harness/ask/values.h"

struct factors {
	const struct request *request;
	const struct variant *variant;
	struct values threads; /* 0: as many as the layout says */
	/* by parameter of the benchmark; empty if the variant does not use it */
	struct values parameter[MOST_PARAMETERS];
	uint64_t told; /* BIT() of layouts whose duplicates have been reported */
};

/*
 * Which variants are asked for, by index: into wanted[], which has room for all. 0, or an exit
 * status after a message.
 */
int factors_variants(const struct request *, bool *wanted);

/*
 * Reads the lists of one variant. Words for a layout that mean the same on this machine make one
 * trial: this is reported on stderr, once for all variants (`told`). 0, or an exit status after a
 * message; to be freed in both cases.
 */
int factors_read(struct factors *, const struct variant *);
void factors_free(struct factors *);

/* Whether trials of the variant have a layout, and which parameter that is. */
bool factors_layout(const struct benchmark *, const struct variant *, unsigned *which);

#endif
