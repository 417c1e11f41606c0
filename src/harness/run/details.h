/* SPDX-License-Identifier: Apache-2.0 */
/* What is printed beneath the row of a trial. */
#ifndef LOCUS_DETAILS_H
#define LOCUS_DETAILS_H

#include <jansson.h>
#include <stdio.h>

/* The events of --counters, and the pairs of workers, from a trial line of the record. */
void details_print(const json_t *trial, FILE *);

#endif
