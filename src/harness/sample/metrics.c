/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "harness/sample/metrics.h"

unsigned metric_count(const struct benchmark *b)
{
	unsigned n = 0;

	while (b->metrics && b->metrics[n].name)
		n++;
	return n;
}

bool metric_is_time(const struct metric *m)
{
	return !strcmp(m->name, "time");
}

bool metric_is_reported(const struct metric *m)
{
	return !m->amount && !metric_is_time(m);
}
