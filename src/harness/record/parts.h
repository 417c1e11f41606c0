/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a trial with their own lines: matrices and distributions, which few readers need. */
#ifndef LOCUS_PARTS_H
#define LOCUS_PARTS_H

#include <jansson.h>

/*
 * Takes the cells of pairs and the distributions of metrics out of a trial line. Returns them as a
 * list of lines, which name run and trial; NULL: no memory.
 */
json_t *parts_take(json_t *trial);

#endif
