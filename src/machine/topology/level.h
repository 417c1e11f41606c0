/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOCUS_LEVEL_H
#define LOCUS_LEVEL_H

struct machine;

/*
 * What two CPUs have in common that is closest to them; CPUs of different nodes share no more than
 * a package.
 */
enum level { SAME_CPU, SAME_CORE, SAME_L2, SAME_L3, SAME_NODE, SAME_PACKAGE, SAME_MACHINE, LEVELS };
extern const char *const machine_level_names[LEVELS]; /* in the field's words: "SMT", "L2", .. */
/* numbers of CPUs that are ours */
enum level machine_level(const struct machine *, int cpu, int other);

#endif
