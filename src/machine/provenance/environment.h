/* SPDX-License-Identifier: Apache-2.0 */
/* Variables of the environment that change what is measured. */
#ifndef LOCUS_ENVIRONMENT_H
#define LOCUS_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <jansson.h>

/* Whether a variable or an argument of this name may hold a secret. */
bool environment_is_secret(const char *name, size_t length);

/*
 * The variables by name; null, with the reason, for one that may be a secret, such as SLURM's
 * tokens.
 */
json_t *provenance_environment(void);

#endif
