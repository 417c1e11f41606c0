/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as records write them: null for NAN and infinity, which JSON does not have. */
#ifndef LOCUS_RECORD_JSON_H
#define LOCUS_RECORD_JSON_H

#include <jansson.h>

json_t *record_number(double);
json_t *record_count(double);			  /* a whole number has all its digits */
json_t *record_interval(double low, double high); /* a list of the two; null without both */
double record_real(const json_t *);		  /* NAN: not a number, or NULL */

#endif
