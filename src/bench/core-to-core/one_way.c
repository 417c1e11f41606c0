/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/sysfs.h"
#include "bench/core-to-core/one_way.h"

static void add(const struct stamps *s, double skew, struct histogram *h)
{
	for (uint64_t i = 0; i < s->n && i < STAMPS; i++)
		histogram_add(h, (double)s->took[i] - skew);
}

bool one_way_add(const struct stamps side[2], struct histogram *h, double *bound)
{
	/* side 1 receives what side 0 sent: its times have the skew of side 1's counter */
	const double there = (double)side[1].least, back = (double)side[0].least,
		     skew = (there - back) / 2;

	if (!side[0].n || !side[1].n || there + back <= 0)
		return false;
	add(&side[1], skew, h);
	add(&side[0], -skew, h);
	*bound = (there + back) / 2;
	return true;
}

#ifdef __x86_64__
/* The kernel compares the counters of all CPUs, and no longer offers them once they differed. */
const char *one_way_lacks_at(const char *root)
{
	static const char path[] =
		"/sys/devices/system/clocksource/clocksource0/available_clocksource";
	char *offered = sysfs_line(root, "%s", path), *rest = NULL;
	bool found = false;

	for (char *word = offered ? strtok_r(offered, " ", &rest) : NULL; word;
	     word = strtok_r(NULL, " ", &rest))
		found |= !strcmp(word, "tsc");
	free(offered);
	return found ? NULL
		     : "the kernel does not offer the CPUs' tick counters as one clock (tsc)";
}
#elif defined(__aarch64__)
/* The architecture has one counter for all CPUs. */
const char *one_way_lacks_at(const char *root)
{
	(void)root;
	return NULL;
}
#else
const char *one_way_lacks_at(const char *root)
{
	(void)root;
	return "no tick counter is known for this processor that all CPUs share";
}
#endif

const char *one_way_lacks(void)
{
	return one_way_lacks_at(SYSFS_ROOT);
}
