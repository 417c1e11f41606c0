/* SPDX-License-Identifier: Apache-2.0 */
/* CPU frequency and its governor; `root` as in base/sysfs.h. */
#ifndef LOCUS_FREQUENCY_H
#define LOCUS_FREQUENCY_H

#include <jansson.h>

struct machine;

/* Whether turbo is enabled: 1, 0, or -1: unknown. *source is the file that says so, or NULL. */
int frequency_turbo(const char *root, const char **source);

json_t *provenance_frequency(const char *root, const struct machine *);

#endif
