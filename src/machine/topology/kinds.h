/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of cores, as hwloc tells them: machines may have fast and slow ones. */
#ifndef LOCUS_KINDS_H
#define LOCUS_KINDS_H

struct cpu;
struct machine;

/*
 * Finds the kinds, the fastest first, and the kind of each usable CPU. Before it, and after the
 * usable CPUs have changed. A machine whose cores are alike has none. -1: no memory.
 */
int kinds_find(struct machine *);

/* 0: the fastest kind; the same for all CPUs where nothing tells which are faster. */
unsigned kinds_rank(const struct machine *, const struct cpu *);

/*
 * "4 IntelCore 3900 MHz + 2 IntelAtom 2800 MHz": how many of n CPUs are of which kind, to be freed.
 * NULL: the machine has no kinds.
 */
char *kinds_text(const struct machine *, const int *cpu, unsigned n);

#endif
