/* SPDX-License-Identifier: Apache-2.0 */
/* Tests that run once for each row of a table: their names are made from the row's. */
#ifndef LOCUS_TEST_SUITE_H
#define LOCUS_TEST_SUITE_H

#include <stdio.h>

struct suite {
	size_t n;
	char name[96][96];
	struct CMUnitTest test[96];
};

/* `row` is the test's state; without a subject the function's name is the test's. */
static inline void suite_add(struct suite *s, const char *subject, const char *what,
			     CMUnitTestFunction function, CMFixtureFunction setup,
			     CMFixtureFunction teardown, const void *row)
{
	snprintf(s->name[s->n], sizeof(s->name[0]), "%s%s%s", subject, *subject ? "_" : "", what);
	s->test[s->n] =
		(struct CMUnitTest){ s->name[s->n], function, setup, teardown, (void *)row };
	s->n++;
}

#endif
