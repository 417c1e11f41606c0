/* SPDX-License-Identifier: Apache-2.0 */
/* What each role did, where a trial has several: units, and units a second. */
#ifndef LOCUS_THROUGHPUT_H
#define LOCUS_THROUGHPUT_H

#include <jansson.h>

#include "harness/sample/score.h"

struct throughput;

struct throughput *throughput_open(const struct trial *); /* NULL: no memory */
void throughput_close(struct throughput *);

bool throughput_room(struct throughput *, size_t samples); /* false: no memory */
/* Keeps the units and rates of the sample that was taken last, over all ranks. */
void throughput_keep(struct series *, const struct sample *);

/* `roles` of the trial line: an object for each role; [] if there is one role only. */
json_t *throughput_json(const struct series *);

#endif
