/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as records write them: null where it isn't one, since JSON has no word for that. */
#ifndef LOCUS_RECORD_JSON_H
#define LOCUS_RECORD_JSON_H

#include <jansson.h>

json_t *record_number(double);
json_t *record_count(double);			  /* an integer where it is one: all its digits */
json_t *record_interval(double low, double high); /* a list of the two; null without both */
double record_real(const json_t *);		  /* NAN where it isn't a number, or not there */

#endif
