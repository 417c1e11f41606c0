/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Before and after each test, or before all: what does not end is ended by the alarm, with the
 * program.
 */
#ifndef LOCUS_TEST_BOUNDED_H
#define LOCUS_TEST_BOUNDED_H

#include <unistd.h>

enum { PATIENCE = 300 }; /* s: what takes longer hangs */

static inline int begin_bounded(void **state)
{
	(void)state;
	alarm(PATIENCE);
	return 0;
}

static inline int end_bounded(void **state)
{
	(void)state;
	alarm(0);
	return 0;
}

#endif
