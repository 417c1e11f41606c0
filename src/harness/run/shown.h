/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of a trial line of the record, as tables show them. */
#ifndef LOCUS_SHOWN_H
#define LOCUS_SHOWN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum { SHOWN_ROOM = 64, SHOWN_MODES = 2 };

/* A metric or a counter: "1.921 ns/load"; "-": it has no value. Returns text. */
char *shown_value(const json_t *metric, char text[SHOWN_ROOM]);
/*
 * The wider half of the interval, relative to the value: "±0.4 %". Beyond ±50 % its ends, in the
 * value's unit: "0.8 to 24". In brackets: the range of too few allocations for an interval. "-":
 * there is neither.
 */
char *shown_interval(const json_t *metric, char text[SHOWN_ROOM]);
/* "5.1"; "-": unknown. */
char *shown_cycles(double cycles, char text[SHOWN_ROOM]);

/*
 * The modes of a trial's headline, as a row of a table shows each in place of a value: "1.690
 * ns/load", "in 62 %", and its cycles. Returns SHOWN_MODES; 0: there is a single value, or it does
 * not follow from the time.
 */
struct shown_mode {
	char value[SHOWN_ROOM], share[SHOWN_ROOM], cycles[SHOWN_ROOM];
};
unsigned shown_modes(const json_t *trial, struct shown_mode mode[SHOWN_MODES]);

#endif
