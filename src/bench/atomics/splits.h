/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Atomic instructions on a word that lies on two lines. On x86 such an access locks the bus (a
 * split lock), and Linux can detect it. Other architectures raise a fault.
 */
#ifndef LOCUS_ATOMICS_SPLITS_H
#define LOCUS_ATOMICS_SPLITS_H

#include <stdbool.h>

/*
 * Why a word can't be used that is not aligned, or (across) lies on two lines; NULL: it can. `root`
 * as in base/sysfs.h. What a host detects, its guests can't see.
 */
const char *splits_refused(const char *root, bool across);

#endif
