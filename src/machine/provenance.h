/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a number comes from: the machine and its settings, the program, the job; as
 * doc/schema/README.md lays the record's header out. What can't be known is null, with the reason
 * beside it. New references; NULL where memory runs out. `root` as in sysfs.h.
 */
#ifndef LOCUS_PROVENANCE_H
#define LOCUS_PROVENANCE_H

#include <stdbool.h>
#include <jansson.h>

struct machine;
struct tlb;

json_t *provenance_machine(const struct machine *);
json_t *provenance_machine_at(const char *root, const struct machine *);
json_t *provenance_tlb(const struct tlb *, unsigned n); /* the list, as in the machine's */
json_t *provenance_program(void);
json_t *provenance_job(void); /* null outside a batch system */
/* variables that change what is measured; tokens and keys of SLURM are left out */
json_t *provenance_environment(void);

/*
 * What we run under ("kvm"; "unknown" where only that we do is known); NULL on bare metal, and
 * where nothing tells (*known false).
 */
const char *hypervisor_find(const char *root, bool *known);

/*
 * Does the clock rise beyond its base? 1 yes, 0 no, -1 nothing tells; *source is the file that says
 * so, or NULL.
 */
int turbo_read(const char *root, const char **source);

#endif
