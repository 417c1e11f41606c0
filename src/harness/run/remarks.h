/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is said of several trials in the same words, but for the numbers: said once, with how many
 * trials it holds for, and from which number to which.
 */
#ifndef LOCUS_REMARKS_H
#define LOCUS_REMARKS_H

#include <stdio.h>

struct remarks {
	struct remark *remark;
	unsigned n;
};

/* The lower rank is printed first. What finds no memory is left out. */
void remarks_add(struct remarks *, unsigned rank, const char *label, const char *sentence);
/* "31 noisy: 12 to 94 % of samples disturbed", each behind the mark, in lines of 100 columns. */
void remarks_print(const struct remarks *, const char *mark, FILE *);
void remarks_free(struct remarks *);

#endif
