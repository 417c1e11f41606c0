/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOCUS_OPAQUE_H
#define LOCUS_OPAQUE_H

/*
 * Tells the compiler that a value is used, or may have changed: loads and adds stay instructions of
 * their own, results are not thrown away.
 */
#define OPAQUE(value) __asm__ volatile("" : "+r"(value))

#endif
