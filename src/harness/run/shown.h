/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of a trial line of the record, as tables show them. */
#ifndef LOCUS_SHOWN_H
#define LOCUS_SHOWN_H

#include <jansson.h>
#include <stddef.h>

enum { SHOWN_ROOM = 64 };

/* A metric or a counter: "1.921 ns/load"; "-": it has no value. Returns text. */
char *shown_value(const json_t *metric, char text[SHOWN_ROOM]);
/* The wider half of the interval, relative to the value: "±0.4 %"; "-": there is none. */
char *shown_interval(const json_t *metric, char text[SHOWN_ROOM]);

#endif
