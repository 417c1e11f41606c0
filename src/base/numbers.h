/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers, and lists of numbers such as "0-3,8", as the kernel and people write them. */
#ifndef LOCUS_NUMBERS_H
#define LOCUS_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>
#include <hwloc.h>

/* What "max" and "unlimited" stand for. */
#define NO_LIMIT UINT64_MAX

/*
 * A decimal number, "max" or "unlimited"; blanks around it are allowed, nothing else. -1 with
 * errno: EINVAL it is none, ERANGE it does not fit.
 */
int parse_number(const char *text, uint64_t *value);

/*
 * A decimal number up to `most`, without sign or blank before it; *at is moved past it. False:
 * there is none.
 */
bool number_at(const char **at, unsigned most, unsigned *number);

/* The largest number of a list: no CPU or node has it, and a set of so many is still small. */
#define MOST_LISTED ((1u << 20) - 1)

/*
 * "0-3,8", or "" for the empty set. NULL with errno: EINVAL, ENOMEM. To be freed by
 * hwloc_bitmap_free().
 */
hwloc_bitmap_t parse_list(const char *text);

/*
 * The shortest list, with steps: "0-63,128-191", "0-254:2"; ends with "..." where it is too long.
 */
#define LIST_TEXT 256
const char *list_text(hwloc_const_bitmap_t, char text[LIST_TEXT]);

#endif
