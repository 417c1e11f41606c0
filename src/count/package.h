/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOCUS_PACKAGE_H
#define LOCUS_PACKAGE_H

/* The package of a CPU, by the kernel's number; -1: the kernel does not say. */
int package_of(int cpu);

#endif
