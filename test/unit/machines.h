/* SPDX-License-Identifier: Apache-2.0 */
/* Synthetic machines, changed in ways that no description can express. */
#ifndef LOCUS_TEST_MACHINES_H
#define LOCUS_TEST_MACHINES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "machine/threads/team.h"
#include "changed.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static inline void allow(hwloc_topology_t t, const char *cpus, const char *nodes)
{
	hwloc_bitmap_t cpuset = hwloc_bitmap_alloc(), nodeset = hwloc_bitmap_alloc();

	hwloc_bitmap_list_sscanf(cpuset, cpus);
	hwloc_bitmap_list_sscanf(nodeset, nodes);
	assert_int_equal(hwloc_topology_allow(t, cpuset, nodeset, HWLOC_ALLOW_FLAG_CUSTOM), 0);
	hwloc_bitmap_free(cpuset);
	hwloc_bitmap_free(nodeset);
}

static inline void keep(hwloc_topology_t t, const char *cpus)
{
	hwloc_bitmap_t cpuset = hwloc_bitmap_alloc();

	hwloc_bitmap_list_sscanf(cpuset, cpus);
	assert_int_equal(hwloc_topology_restrict(t, cpuset, 0), 0);
	hwloc_bitmap_free(cpuset);
}

static inline void only_second_siblings(hwloc_topology_t t)
{
	allow(t, "1,3,5,7", "0-1");
}

static inline void only_node_1(hwloc_topology_t t)
{
	allow(t, "4-7", "0-1");
}

static inline void expect_size(const struct machine *m, unsigned nodes, unsigned cores,
			       unsigned cpus)
{
	assert_int_equal(m->nodes, nodes);
	assert_int_equal(m->cores, cores);
	assert_int_equal(m->cpus, cpus);
}

static inline void expect_cpus(const struct machine *m, const char *bind, const int *cpu,
			       unsigned n)
{
	struct place place[64];
	const char *why = NULL;

	if (machine_bind(m, bind, n, false, place, &why))
		fail_msg("%s: %s", bind, why);
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(place[i].cpu, cpu[i]);
		assert_int_equal(place[i].node, machine_cpu(m, cpu[i])->node);
	}
}

#endif
