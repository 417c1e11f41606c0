/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>

#include "base/sysfs.h"
#include "bench/numa/numa.h"
#include "machine/clock.h"
#include "machine/memory/placement.h"
#include "machine/watchdog.h"

/* s: the kernel scans each second at first, later each minute; then it has seen what is used */
#define PATIENCE 10.0
#define TURN	 0.2 /* s of use between two looks at the pages */

const char *balance_available(void)
{
	uint64_t mode = 0;

	sysfs_number(SYSFS_ROOT, &mode, "/proc/sys/kernel/numa_balancing");
	return mode & 1 ? NULL
			: "the kernel does not balance here: sudo sysctl kernel.numa_balancing=1";
}

static void use_once(void *state, struct worker *self)
{
	struct state *s = state;

	s->own[self->index].sum = state_pass(s, self->index, 1);
}

/*
 * Whether the pages that are not on their user's node could be counted: not while the kernel hides
 * pages that it samples. -1 with errno.
 */
static int count_remote(const struct trial *t, long *remote)
{
	struct placement p;
	bool known;

	if (arena_placement(t->arena, &p))
		return -1;
	known = p.how == PLACEMENT_VERIFIED;
	*remote = (long)(p.used - p.local);
	if (!known)
		arena_cannot(t->arena, "the kernel's page moves can't be observed: %s", p.why_not);
	placement_free(&p);
	return known;
}

int balance_wait(struct state *s, const struct trial *t)
{
	const double began = clock_now();
	double moved = began, until = began; /* a look after the first use: all may be there */
	bool known = false;

	s->arrays.stuck = LONG_MAX;
	do {
		long remote;
		int counted;

		do /* once at least: what is used is no longer hidden */
			team_run(t->team, use_once, s);
		while (clock_now() < until);
		counted = count_remote(t, &remote);
		if (counted < 0)
			return -1;
		if (counted && remote < s->arrays.stuck) {
			s->arrays.stuck = remote;
			moved = clock_now();
		}
		known |= counted;
		until = clock_now() + TURN;
	} while ((!known || s->arrays.stuck > 0) && clock_now() < moved + PATIENCE &&
		 !watchdog_signal());
	s->moving = moved - began;
	return known ? 0 : -1;
}
