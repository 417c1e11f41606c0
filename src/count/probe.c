/* SPDX-License-Identifier: Apache-2.0 */
#include <sched.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>

#include "count/probe.h"
#include "kit/opaque.h"

/* Loads, stores, page faults, unpredictable branches, arithmetic, and a context switch. */
static uint64_t exercise(void)
{
	const size_t size = 4u << 20, line = 64;
	const struct timespec nap = { 0, 50000 };
	uint64_t *memory =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t random = 88172645463325252u, sum = 0;
	double real = 1;

	for (unsigned i = 0; i < 1u << 17; i++) {
		random ^= random << 13, random ^= random >> 7, random ^= random << 17;
		if (random & 1)
			sum += random;
		OPAQUE(sum);
		real = real * 1.0000001 + 1e-9;
		OPAQUE(random);
		if (memory != MAP_FAILED)
			memory[random % (size / line) * (line / sizeof(*memory))] += sum;
	}
	if (memory != MAP_FAILED)
		munmap(memory, size);
	sched_yield();
	nanosleep(&nap, NULL);
	return sum + (uint64_t)real;
}

void probe_pass(struct station *s, const struct pass *p)
{
	uint64_t done;

	station_start(s, p, 0, sched_getcpu());
	station_read(s, false);
	done = exercise();
	OPAQUE(done);
	station_read(s, true);
	station_stop(s, p->n);
	for (unsigned i = 0; i < p->n; i++)
		p->wanted[i].event.proven |= s->value[i] > 0;
}
