/* SPDX-License-Identifier: Apache-2.0 */
/* Machines for tests: synthetic ones, and others that no description can express. */
#ifndef LOCUS_TEST_CHANGED_H
#define LOCUS_TEST_CHANGED_H

#include <stdlib.h>
#include <unistd.h>
#include <hwloc.h>

#include "machine/topology/topology.h"

static inline struct machine *open_machine(const char *description)
{
	const char *error = NULL;
	struct machine *m = machine_open(description, &error);

	if (!m)
		fail_msg("%s: %s", description ? description : "this machine", error);
	return m;
}

/*
 * Opens a machine that a description can't express: a synthetic one, changed, exported to XML, and
 * read back.
 */
static inline struct machine *open_changed(const char *description,
					   void (*change)(hwloc_topology_t))
{
	char path[] = "/tmp/test_topology_XXXXXX";
	struct machine *m;
	hwloc_topology_t t;

	close(mkstemp(path));
	assert_int_equal(hwloc_topology_init(&t), 0);
	assert_int_equal(hwloc_topology_set_synthetic(t, description), 0);
	hwloc_topology_set_flags(t, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
	assert_int_equal(hwloc_topology_load(t), 0);
	if (change)
		change(t);
	assert_int_equal(hwloc_topology_export_xml(t, path, 0), 0);
	hwloc_topology_destroy(t);
	m = open_machine(path);
	unlink(path);
	return m;
}

/* Registers the CPUs of a list as a kind, with its infos ("CoreType", "FrequencyMaxMHz", ...). */
static inline void add_kind(hwloc_topology_t t, const char *cpus, int efficiency, const char *info,
			    const char *value, const char *frequency)
{
	struct hwloc_info_s infos[] = { { (char *)info, (char *)value },
					{ (char *)"FrequencyMaxMHz", (char *)frequency } };
	hwloc_bitmap_t set = hwloc_bitmap_alloc();

	hwloc_bitmap_list_sscanf(set, cpus);
	assert_int_equal(
		hwloc_cpukinds_register(t, set, efficiency, frequency ? 2 : !!info, infos, 0), 0);
	hwloc_bitmap_free(set);
}

/* The first four of eight cores are slow. */
static inline void slow_first(hwloc_topology_t t)
{
	add_kind(t, "0-3", 0, "CoreType", "IntelAtom", "2800");
	add_kind(t, "4-7", 1, "CoreType", "IntelCore", "3900");
}

#endif
