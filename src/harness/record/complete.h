/* SPDX-License-Identifier: Apache-2.0 */
/* What of a record need not be run again. */
#ifndef LOCUS_COMPLETE_H
#define LOCUS_COMPLETE_H

#include <stdbool.h>
#include <jansson.h>

/* Of a trial line: what was wrong or misplaced is not. */
bool complete_is(const json_t *trial);

/* Adds what the kernel counts always, as a benchmark line names it. */
void complete_learn(json_t *always, const json_t *benchmark);
/* Names of all that was counted in a trial: {name: true}. */
json_t *complete_counters(const json_t *trial, const json_t *always);

#endif
