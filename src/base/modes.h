/* SPDX-License-Identifier: Apache-2.0 */
/* Two modes of times that were measured in several allocations of memory. */
#ifndef LOCUS_MODES_H
#define LOCUS_MODES_H

#include <stddef.h>

enum modes_of { MODES_NONE, MODES_OF_SAMPLES, MODES_OF_ALLOCATIONS };

struct modes {
	enum modes_of of;
	double value[2], share[2]; /* of the lower mode and the higher one: median, share */
	/*
	 * MODES_NONE: after how many allocations values changed from one to the other, and back; 0:
	 * they did not.
	 */
	unsigned after, back;
};

/*
 * The modes of n values in the order of time, each with the number of its allocation, which never
 * decreases.
 *
 * Values of one allocation resemble each other, as do allocations that follow each other, so
 * neither is evidence on its own. There are two modes
 * - of samples: there are at least 80, and where they are split in two with the least variance
 *   within the sides (Otsu 1979), each side has a tenth of them, Ashman's D (1994) is above 4 (a
 *   uniform distribution has 3.5), and in at least half of the allocations each side has 5 %;
 * - of allocations: there are n = 12 at least, and their sorted medians have a gap that is 14 / n
 *   times as wide as the wider side, with n / 6 and 2 + n / 12 on each side. Both sides come back
 *   at least once; if they do not, that is a change in time, which is told with MODES_NONE.
 * Modes that are less than 5 % apart do not count.
 */
struct modes modes_find(const double *value, const unsigned *allocation, size_t n);

#endif
