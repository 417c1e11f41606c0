/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>

#include "base/sysfs.h"
#include "count/package.h"

int package_of(int cpu)
{
	uint64_t package;

	return sysfs_number(SYSFS_ROOT, &package,
			    "/sys/devices/system/cpu/cpu%d/topology/physical_package_id", cpu) ||
			       package > INT_MAX
		       ? -1
		       : (int)package;
}
