/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The small files of /proc and /sys, and the fields in them. `root` precedes every path: "" for
 * this machine, in tests a folder with a copy. Paths are printf formats
 * ("/sys/devices/system/node/node%d/meminfo", 1). Missing files and any content are handled;
 * nothing blocks. The caller frees returned texts.
 */
#ifndef LOCUS_SYSFS_H
#define LOCUS_SYSFS_H

#include <stdbool.h>
#include <stdint.h>
#include <hwloc.h>

#define SYSFS_ROOT "" /* the `root` of this machine */

/* The whole file (up to 16 MiB). NULL with errno: ENOENT no such file, EACCES forbidden, EFBIG. */
char *sysfs_text(const char *root, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* As sysfs_text(), for content with zero bytes; *n is its length. */
char *sysfs_bytes(const char *root, size_t *n, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * The first line, without blanks at both ends. NULL with errno; ENODATA: it is empty.
 */
char *sysfs_line(const char *root, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * The word in brackets, as in "always [madvise] never"; without brackets the whole line. NULL with
 * errno.
 */
char *sysfs_choice(const char *root, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * The number on the first line; "max" and "unlimited" are UINT64_MAX. -1 with errno: EINVAL not a
 * number, ERANGE too large, else why the file can't be read.
 */
int sysfs_number(const char *root, uint64_t *value, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * The set listed on the first line, as "0-3,8"; an empty line is the empty set. NULL with errno.
 * Free it with hwloc_bitmap_free().
 */
hwloc_bitmap_t sysfs_list(const char *root, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Whether a folder is missing or empty: containers hide /sys and /proc like that. */
bool sysfs_hidden(const char *root, const char *folder);

/* Whether the path exists. */
bool sysfs_exists(const char *root, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Texts of lines "key: value", "key = value" or "key value", as in /proc. The first line that
 * begins with the key, as a whole word, counts; leading blanks are skipped. A NULL text has no
 * keys.
 */

/* Points to the value, within `text`; NULL: no such key. */
const char *field_find(const char *text, const char *key);

/* The value up to the line's end, without blanks around it, to be freed. NULL: none. */
char *field_text(const char *text, const char *key);

/* A number; "kB" after it multiplies by 1024. False: none, and *value is unchanged. */
bool field_number(const char *text, const char *key, uint64_t *value);

#endif
