/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Provenance: the machine and its settings, for the record's header (doc/schema/README.md), with a
 * file for each subject. An unknown value is null, with the reason as NAME_why. New references;
 * NULL: ENOMEM. `root` as in base/sysfs.h.
 */
#ifndef LOCUS_PROVENANCE_H
#define LOCUS_PROVENANCE_H

#include <jansson.h>

struct machine;
struct tlb;

json_t *provenance_machine(const struct machine *);
json_t *provenance_machine_at(const char *root, const struct machine *);
/* {name: state} of the CPU's mitigations; NULL with errno. */
json_t *provenance_mitigations(const char *root);
json_t *provenance_tlb(const struct tlb *, unsigned n); /* the list `tlb` of the machine */

#endif
