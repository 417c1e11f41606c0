/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a table for programs: CSV, with a row for each ratio, too; or a list in JSON. */
#ifndef LOCUS_FLAT_H
#define LOCUS_FLAT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* Print a trial line of the record, in base units; `first`: it is the first that is printed. */
void flat_csv(const json_t *trial, bool first, FILE *);
void flat_json(const json_t *trial, bool first, FILE *);
/* To be called after the last one; `none`: there was no trial. */
void flat_json_end(bool none, FILE *);

#endif
