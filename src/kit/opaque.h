/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOCUS_OPAQUE_H
#define LOCUS_OPAQUE_H

/*
 * Makes the compiler believe that a value is used and changed: it can't drop the result, or merge
 * loads and adds.
 */
#define OPAQUE(value) __asm__ volatile("" : "+r"(value))

#endif
