/* SPDX-License-Identifier: Apache-2.0 */
/* Who does what in a trial: its functions, the workers' roles, what ends their work. */
#ifndef LOCUS_ROLES_H
#define LOCUS_ROLES_H

#include "harness/plan/plan.h"

/* What the main thread is doing to a trial while it is away from the books (watchdog.h). */
#define ROLES_PREPARING "preparing"
#define ROLES_MEASURING "measuring"
#define ROLES_VERIFYING "checking"

const struct ops *roles_ops(const struct trial *);
unsigned roles_count(const struct trial *);
const char *roles_name(const struct trial *, unsigned number);
/* The role that a worker plays; they are filled in order. */
unsigned roles_number(const struct trial *, unsigned worker);
/* The workers whose units count, and whose end ends the sample: those of the first role. */
unsigned roles_leading(const struct trial *);
/* What ends the work of a role. With a single role, fixed units end it instead of a deadline. */
enum until roles_until(const struct planned *, unsigned number);

#endif
