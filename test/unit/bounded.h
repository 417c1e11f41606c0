/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An alarm ends the program if it hangs. Set before each test, or once before all of them.
 */
#ifndef LOCUS_TEST_BOUNDED_H
#define LOCUS_TEST_BOUNDED_H

#include <unistd.h>

enum { PATIENCE = 300 }; /* s: a test that takes longer hangs */

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
