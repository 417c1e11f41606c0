/* SPDX-License-Identifier: Apache-2.0 */
/* Who does what in a trial: its functions, the workers' roles and seats, what ends their work. */
#ifndef LOCUS_ROLES_H
#define LOCUS_ROLES_H

#include "harness/sample/series.h"

const struct ops *roles_ops(const struct trial *);
unsigned roles_count(const struct trial *);
const char *roles_name(const struct trial *, unsigned number);
/* The role that a worker plays; they are filled in order. */
unsigned roles_number(const struct trial *, unsigned worker);
/* The workers whose units count, and whose end ends the sample: those of the first role. */
unsigned roles_leading(const struct trial *);
/* What ends the work of the first role. */
enum until roles_until(const struct series *);
/* Units that a worker is to do; 0 where there are more workers than units. */
uint64_t roles_units(const struct series *, const struct worker *);

/*
 * Seats the team for this trial, on all ranks. False: a thread could not be pinned on one of them;
 * `failure` says why.
 */
bool roles_seat(struct series *, struct team *);

#endif
