/* SPDX-License-Identifier: Apache-2.0 */
/* What stands beneath the row of a trial: what was asked for beside its number. */
#ifndef LOCUS_DETAILS_H
#define LOCUS_DETAILS_H

#include <jansson.h>
#include <stdio.h>

/* Events of --counters, and pairs of workers, of a trial line of the record. */
void details_print(const json_t *trial, FILE *);

#endif
