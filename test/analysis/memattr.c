/* SPDX-License-Identifier: Apache-2.0 */
/* memattr FILE.xml ATTRIBUTE FROM TO: a memory attribute of node TO, seen from the CPUs of FROM. */
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	struct hwloc_location from = { .type = HWLOC_LOCATION_TYPE_CPUSET };
	hwloc_topology_t topology;
	hwloc_memattr_id_t attribute;
	hwloc_uint64_t value;

	if (argc != 5 || hwloc_topology_init(&topology) ||
	    hwloc_topology_set_xml(topology, argv[1]) || hwloc_topology_load(topology) ||
	    hwloc_memattr_get_by_name(topology, argv[2], &attribute))
		return 1;
	from.location.cpuset = hwloc_get_numanode_obj_by_os_index(topology, atoi(argv[3]))->cpuset;
	if (hwloc_memattr_get_value(topology, attribute,
				    hwloc_get_numanode_obj_by_os_index(topology, atoi(argv[4])),
				    &from, 0, &value))
		return 2;
	printf("%llu\n", (unsigned long long)value);
	hwloc_topology_destroy(topology);
	return 0;
}
