/* SPDX-License-Identifier: Apache-2.0 */
/* What the variants of sharing have in common, and what one of them is: handover, where workers meet in pairs. */
#ifndef LOCUS_SHARING_H
#define LOCUS_SHARING_H

#include "bench/sharing/kernels.h"
#include "benchmark.h"

enum { LAYOUT_OF, LOCK, OPERATIONS, DISTANCE, OPERATION, PROTOCOL, LINES, HOME };

struct handover {
	exchange *exchange;
	struct lines *lines;
	unsigned meetings, tables;         /* of each pair; pairs that meet at once */
};

/* What a pair plays on: another place at each meeting, and never that of another pair. */
struct lines *handover_lines(const struct handover *, unsigned meeting, unsigned table);

unsigned handover_meetings(const struct trial *);
size_t handover_bytes(const struct trial *);
bool handover_applies(const struct trial *, const char **why_not);
void *handover_prepare(const struct trial *);
void handover_work(void *, struct worker *);
const char *handover_verify(void *, const struct trial *);

#endif
