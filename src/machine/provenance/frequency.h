/* SPDX-License-Identifier: Apache-2.0 */
/* How fast the CPUs' clock is, and who decides it; `root` as in base/sysfs.h. */
#ifndef LOCUS_FREQUENCY_H
#define LOCUS_FREQUENCY_H

#include <jansson.h>

struct machine;

/*
 * Does the clock rise beyond its base? 1 yes, 0 no, -1 nothing tells; *source is the file that says
 * so, or NULL.
 */
int turbo_read(const char *root, const char **source);

json_t *frequency_of(const char *root, const struct machine *);

#endif
