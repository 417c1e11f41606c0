/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOCUS_LEVEL_H
#define LOCUS_LEVEL_H

struct machine;

/* The closest level that two CPUs share; on different nodes that is the package at best. */
enum level {
	LEVEL_CPU,
	LEVEL_CORE,
	LEVEL_L2,
	LEVEL_L3,
	LEVEL_NODE,
	LEVEL_PACKAGE,
	LEVEL_MACHINE,
	LEVELS
};
extern const char *const machine_level_names[LEVELS]; /* "SMT", "L2", .. */
/* Takes the CPUs' numbers; LEVEL_MACHINE for CPUs that this process may not use. */
enum level machine_level(const struct machine *, int cpu, int other);

#endif
