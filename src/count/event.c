/* SPDX-License-Identifier: Apache-2.0 */
/* Reasons why an event can't be counted, and the packages to which CPUs belong. */
#include "count/event.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>

#include "base/sysfs.h"

void reason_set(struct reason *r, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(r->what, sizeof(r->what), format, arguments);
	va_end(arguments);
	*r->remedy = '\0';
}

void reason_set_remedy(struct reason *r, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(r->remedy, sizeof(r->remedy), format, arguments);
	va_end(arguments);
}

char *reason_line(const struct reason *r)
{
	char *line;

	return asprintf(&line, *r->remedy ? "%s: %s" : "%s", r->what, r->remedy) < 0 ? NULL : line;
}

bool reason_too_few_files(int error, struct reason *why)
{
	struct rlimit files;

	if (error != EMFILE && error != ENFILE)
		return false;
	reason_set(why, "too few file descriptors: an event takes one for each thread");
	if (error == ENFILE || getrlimit(RLIMIT_NOFILE, &files))
		reason_set_remedy(
			why, "cat /proc/sys/fs/file-nr # used, free, limit of the machine: raise "
			     "fs.file-max, or count fewer events");
	else if (files.rlim_max > files.rlim_cur)
		reason_set_remedy(why, "ulimit -n %ju", (uintmax_t)files.rlim_max);
	else
		reason_set_remedy(why, "ulimit -n %ju # as root; or count fewer events",
				  (uintmax_t)files.rlim_cur * 4);
	return true;
}

int package_of(int cpu)
{
	uint64_t package;

	return sysfs_number(SYSFS_ROOT, &package,
			    "/sys/devices/system/cpu/cpu%d/topology/physical_package_id", cpu) ||
			       package > INT_MAX
		       ? -1
		       : (int)package;
}
