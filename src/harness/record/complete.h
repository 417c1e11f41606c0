/* SPDX-License-Identifier: Apache-2.0 */
/* Which trials of a record need not be run again. */
#ifndef LOCUS_COMPLETE_H
#define LOCUS_COMPLETE_H

#include <stdbool.h>
#include <jansson.h>

/* Whether a trial line is complete: ok, noisy, unconverged or impossible. */
bool complete_is(const json_t *trial);

/* Adds the names of the events that the kernel always counts, from a benchmark line. */
void complete_learn(json_t *always, const json_t *benchmark);
/* Names of all events that were counted in a trial: {name: true}. */
json_t *complete_counters(const json_t *trial, const json_t *always);

#endif
