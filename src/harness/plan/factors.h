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
	/* by parameter of the benchmark; empty where the variant has it not */
	struct values parameter[MOST_PARAMETERS];
	uint64_t told; /* BIT() of layouts whose equal words have been told */
};

/*
 * Which variants are asked for, by index: into wanted[], which has room for all. 0, or an exit
 * status after a message.
 */
int factors_variants(const struct request *, bool *wanted);

/*
 * The lists of one variant. Says on stderr which words for a layout are equal here, for they make
 * one trial: once, of `told`, for all variants. 0, or an exit status after a message; what was
 * read until then is to be freed, too.
 */
int factors_read(struct factors *, const struct variant *);
void factors_free(struct factors *);

/* Whether trials of the variant have a layout, and which parameter that is. */
bool factors_layout(const struct benchmark *, const struct variant *, unsigned *which);

#endif
