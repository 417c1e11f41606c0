/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a number comes from: the machine and its settings, as doc/schema/README.md lays the
 * record's header out; a file for each subject. What can't be known is null, with the reason beside
 * it. New references; NULL where memory runs out. `root` as in base/sysfs.h.
 */
#ifndef LOCUS_PROVENANCE_H
#define LOCUS_PROVENANCE_H

#include <jansson.h>

struct machine;
struct tlb;

json_t *provenance_machine(const struct machine *);
json_t *provenance_machine_at(const char *root, const struct machine *);
json_t *provenance_tlb(const struct tlb *, unsigned n); /* the list, as in the machine's */

#endif
