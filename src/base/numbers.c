/* SPDX-License-Identifier: Apache-2.0 */
#include "base/numbers.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int number_parse(const char *text, uint64_t *value)
{
	static const char *const endless[] = { "max", "unlimited", NULL };
	unsigned long long number;
	char *end;

	text += strspn(text, " \t\n");
	for (const char *const *word = endless; *word; word++) {
		size_t length = strlen(*word);

		if (strncmp(text, *word, length) || text[length + strspn(text + length, " \t\n")])
			continue;
		*value = NO_LIMIT;
		return 0;
	}
	if (!isdigit((unsigned char)*text)) { /* strtoull() takes signs */
		errno = EINVAL;
		return -1;
	}
	errno = 0;
	number = strtoull(text, &end, 10);
	if (errno)
		return -1;
	if (end[strspn(end, " \t\n")]) {
		errno = EINVAL;
		return -1;
	}
	*value = number;
	return 0;
}

bool number_at(const char **at, unsigned most, unsigned *number)
{
	char *end;
	unsigned long value;

	if (!isdigit((unsigned char)**at))
		return false;
	errno = 0;
	value = strtoul(*at, &end, 10);
	if (errno || value > most)
		return false;
	*number = (unsigned)value;
	*at = end;
	return true;
}

/* "7" or "0-3", with *text moved past it. */
static int parse_range(const char **text, unsigned *first, unsigned *last)
{
	if (!number_at(text, NUMBER_LIST_MOST, first))
		return -1;
	*last = *first;
	if (**text == '-' && (++*text, !number_at(text, NUMBER_LIST_MOST, last)))
		return -1;
	return *first <= *last ? 0 : -1;
}

/*
 * Not hwloc_bitmap_list_sscanf(): it accepts "0-3-5", "0x1" and the endless "1-", and allocates for
 * any number.
 */
hwloc_bitmap_t number_list_parse(const char *text)
{
	hwloc_bitmap_t set = hwloc_bitmap_alloc();
	unsigned first, last;

	if (!set) {
		errno = ENOMEM;
		return NULL;
	}
	for (text += strspn(text, " \t\n"); *text; text++) {
		if (parse_range(&text, &first, &last))
			goto garbage;
		if (hwloc_bitmap_set_range(set, first, (int)last)) {
			hwloc_bitmap_free(set);
			errno = ENOMEM;
			return NULL;
		}
		if (!text[strspn(text, " \t\n")])
			return set;
		if (*text != ',')
			goto garbage;
	}
	return set;

garbage:
	hwloc_bitmap_free(set);
	errno = EINVAL;
	return NULL;
}

const char *number_list_text(hwloc_const_bitmap_t set, char text[NUMBER_LIST_TEXT])
{
	size_t used = 0;

	text[0] = '\0';
	for (int first = hwloc_bitmap_first(set), last, next; first >= 0 && used < NUMBER_LIST_TEXT;
	     first = next) {
		int step = hwloc_bitmap_next(set, first) - first, count = 1;

		for (last = first;
		     (next = hwloc_bitmap_next(set, last)) > last && next == last + step; count++)
			last = next;
		if (step > 1 && count == 2) { /* "0,5" reads better than "0-5:5" */
			next = last;
			last = first;
		}
		used += (size_t)snprintf(text + used, NUMBER_LIST_TEXT - used, used ? ",%d" : "%d",
					 first);
		if (last > first && used < NUMBER_LIST_TEXT)
			used += (size_t)snprintf(text + used, NUMBER_LIST_TEXT - used,
						 step > 1 ? "-%d:%d" : "-%d", last, step);
	}
	if (used >= NUMBER_LIST_TEXT)
		strcpy(text + NUMBER_LIST_TEXT - 4, "...");
	return text;
}
