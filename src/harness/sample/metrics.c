/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "harness/sample/metrics.h"

bool metric_is_time(const struct metric *m)
{
	return !strcmp(m->name, "time");
}

bool metric_is_reported(const struct metric *m)
{
	return !m->amount && !metric_is_time(m);
}

const char *metric_better(const struct metric *m)
{
	static const char *const words[] = {
		[LOWER_IS_BETTER] = "lower",
		[HIGHER_IS_BETTER] = "higher",
		[NEITHER_IS_BETTER] = NULL,
	};

	return words[m->better];
}
