/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Remarks on trials. Those that differ only in their numbers are printed once, with the number of
 * trials, and the range of each number.
 */
#ifndef LOCUS_REMARKS_H
#define LOCUS_REMARKS_H

#include <stdio.h>

struct remarks {
	struct remark *remark;
	unsigned n;
};

/* Remarks of lower rank are printed first. Without memory, a remark is left out. */
void remarks_add(struct remarks *, unsigned rank, const char *label, const char *sentence);
/* "31 noisy: 12 to 94 % of samples disturbed", each after the mark, in lines of 100 columns. */
void remarks_print(const struct remarks *, const char *mark, FILE *);
void remarks_free(struct remarks *);

#endif
