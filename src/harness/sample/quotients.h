/* SPDX-License-Identifier: Apache-2.0 */
/* Quotients of two counts: instructions per cycle, miss rates. */
#ifndef LOCUS_QUOTIENTS_H
#define LOCUS_QUOTIENTS_H

#include <jansson.h>

/* Adds a quotient to a trial's list of counters if both its events were counted. */
void quotients_add(json_t *list);
/* The counter of that name, borrowed; NULL: it is not in the list. */
const json_t *quotients_counter(const json_t *list, const char *name);

#endif
