/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOCUS_LEVEL_H
#define LOCUS_LEVEL_H

struct machine;

/* The closest level that two CPUs share; on different nodes that is the package at best. */
enum level { SAME_CPU, SAME_CORE, SAME_L2, SAME_L3, SAME_NODE, SAME_PACKAGE, SAME_MACHINE, LEVELS };
extern const char *const machine_level_names[LEVELS]; /* "SMT", "L2", .. */
/* By the CPUs' numbers; SAME_MACHINE for CPUs that this process may not use. */
enum level machine_level(const struct machine *, int cpu, int other);

#endif
