/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The small files of /proc and /sys. `root` is put before every path: "" for this machine, a folder
 * that holds a copy in tests. Paths are printf formats ("/sys/devices/system/node/node%d/meminfo",
 * 1). Whatever a file holds, and whether it is there or not, nothing here crashes or waits. Texts
 * are the caller's to free.
 */
#ifndef LOCUS_SYSFS_H
#define LOCUS_SYSFS_H

#include <stdbool.h>
#include <stdint.h>
#include <hwloc.h>

#define THIS_MACHINE "" /* as root */

/* The whole file (up to 16 MiB). NULL with errno: ENOENT no such file, EACCES forbidden, EFBIG. */
char *sysfs_text(const char *root, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Its first line, without blanks at both ends. NULL with errno; ENODATA where there is nothing on
 * it.
 */
char *sysfs_line(const char *root, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * The word in brackets, of "always [madvise] never"; the line itself where none is. NULL with
 * errno.
 */
char *sysfs_choice(const char *root, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * The number on the first line; "max" and "unlimited" are UINT64_MAX. -1 with errno: EINVAL where
 * it isn't a number, ERANGE.
 */
int sysfs_number(const char *root, uint64_t *value, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * The set that the first line lists ("0-3,8", as cpusets and nodes are; empty is a set too). NULL
 * with errno; hwloc_bitmap_free() it.
 */
hwloc_bitmap_t sysfs_list(const char *root, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Is a folder not there, or empty? So containers hide what they do not want to be read. */
bool sysfs_hidden(const char *root, const char *folder);

/* Does the path exist? */
bool sysfs_exists(const char *root, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
