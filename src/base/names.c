/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of names, and the name that was probably meant. */
#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

enum { LONGEST = 64 };

static bool differ(char a, char b)
{
	return tolower((unsigned char)a) != tolower((unsigned char)b);
}

static int least(int a, int b, int c)
{
	a = a < b ? a : b;
	return a < c ? a : c;
}

/* Optimal string alignment distance. */
static int edits(const char *a, const char *b)
{
	int row[3][LONGEST + 1], *before = row[0], *last = row[1], *now = row[2], *spare;
	int n = (int)strlen(b);

	for (int j = 0; j <= n; j++)
		last[j] = j;
	for (int i = 1; a[i - 1]; i++) {
		now[0] = i;
		for (int j = 1; j <= n; j++) {
			now[j] = least(last[j] + 1, now[j - 1] + 1,
				       last[j - 1] + differ(a[i - 1], b[j - 1]));
			if (i > 1 && j > 1 && !differ(a[i - 1], b[j - 2]) &&
			    !differ(a[i - 2], b[j - 1]))
				now[j] = least(now[j], before[j - 2] + 1, INT_MAX);
		}
		spare = before, before = last, last = now, now = spare;
	}
	return last[n];
}

int names_nearest(const char *typed, const char *const *names, size_t n)
{
	size_t length = strlen(typed);
	int best = -1, fewest = INT_MAX;

	if (!length || length > LONGEST)
		return -1;
	for (size_t i = 0; i < n; i++) {
		int distance;

		if (strlen(names[i]) > LONGEST)
			continue;
		distance = strncasecmp(names[i], typed, length) == 0 ? 0 : edits(typed, names[i]);
		if (distance < fewest) {
			fewest = distance;
			best = (int)i;
		}
	}
	return fewest <= 1 + (int)length / 3 ? best : -1;
}

char *names_next(const char **list, char *word, size_t size)
{
	size_t length = 0, kept;

	if (!*list)
		return NULL;
	/* not strcspn(), for which AddressSanitizer reads the rest of the list for each name */
	while ((*list)[length] && (*list)[length] != ',')
		length++;
	kept = length < size ? length : size - 1;
	memcpy(word, *list, kept);
	word[kept] = 0;
	*list = (*list)[length] ? *list + length + 1 : NULL;
	return word;
}
