/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers, and lists of numbers such as "0-3,8", as the kernel and people write them. */
#ifndef LOCUS_NUMBERS_H
#define LOCUS_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>
#include <hwloc.h>

/* The value of "max" and "unlimited". */
#define NO_LIMIT UINT64_MAX

/*
 * A decimal number, "max" or "unlimited", with nothing but blanks around it. -1 with errno: EINVAL
 * not a number, ERANGE too large.
 */
int number_parse(const char *text, uint64_t *value);

/*
 * A decimal number up to `most` at *at, without sign or leading blank; moves *at past it. False:
 * there is none.
 */
bool number_at(const char **at, unsigned most, unsigned *number);

/*
 * The largest number in a list: above any CPU or node number, yet a bitmap of that size is small.
 */
#define NUMBER_LIST_MOST ((1u << 20) - 1)

/*
 * Parses "0-3,8"; "" is the empty set. NULL with errno: EINVAL, ENOMEM. Free it with
 * hwloc_bitmap_free().
 */
hwloc_bitmap_t number_list_parse(const char *text);

/*
 * Prints a set as a list, with steps: "0-63,128-191", "0-254:2". A list that is too long is cut and
 * ends in "...". Returns text.
 */
#define NUMBER_LIST_TEXT 256
const char *number_list_text(hwloc_const_bitmap_t, char text[NUMBER_LIST_TEXT]);

#endif
