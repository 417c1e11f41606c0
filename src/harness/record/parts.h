/* SPDX-License-Identifier: Apache-2.0 */
/* What of a trial has lines of its own: matrices and distributions, which few readers need. */
#ifndef LOCUS_PARTS_H
#define LOCUS_PARTS_H

#include <jansson.h>

/*
 * Takes the cells of its pairs and the distributions of its metrics out of a trial line. A list of
 * lines, which name run and trial; NULL: no memory.
 */
json_t *parts_take(json_t *trial);

#endif
