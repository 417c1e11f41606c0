/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/explain.h"
#include "machine/topology.h"

void explain(const char **why, const char *format, ...)
{
	static _Thread_local char sentence[1024];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(sentence, sizeof(sentence), format, arguments);
	va_end(arguments);
	*why = sentence;
	errno = ENODEV;
}
int misunderstood(int failed)
{
	errno = EINVAL;
	return failed;
}

struct text count_text(unsigned n, const char *what)
{
	struct text t;

	snprintf(t.of, sizeof(t.of), "%u %s%s", n, what, n == 1 ? "" : "s");
	return t;
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

const char *list_of(hwloc_const_bitmap_t set, char text[NUMBERS])
{
	size_t used = 0;

	text[0] = '\0';
	for (int first = hwloc_bitmap_first(set), last, next; first >= 0 && used < NUMBERS;
	     first = next) {
		int step = hwloc_bitmap_next(set, first) - first, count = 1;

		for (last = first;
		     (next = hwloc_bitmap_next(set, last)) > last && next == last + step; count++)
			last = next;
		if (step > 1 && count == 2) { /* "0,5" is better than "0-5:5" */
			next = last;
			last = first;
		}
		used += (size_t)snprintf(text + used, NUMBERS - used, used ? ",%d" : "%d", first);
		if (last > first && used < NUMBERS)
			used += (size_t)snprintf(text + used, NUMBERS - used,
						 step > 1 ? "-%d:%d" : "-%d", last, step);
	}
	if (used >= NUMBERS)
		strcpy(text + NUMBERS - 4, "...");
	return text;
}

const char *cpu_list(const struct machine *m, int node, char text[NUMBERS])
{
	hwloc_bitmap_t set = hwloc_bitmap_alloc();

	for (unsigned i = 0; i < m->cpus; i++)
		if (node < 0 || m->cpu[i].node == node)
			hwloc_bitmap_set(set, (unsigned)m->cpu[i].number);
	list_of(set, text);
	hwloc_bitmap_free(set);
	return text;
}

const char *cpu_node_list(const struct machine *m, char text[NUMBERS])
{
	hwloc_bitmap_t set = hwloc_bitmap_alloc();

	for (unsigned i = 0; i < m->nodes; i++)
		if (m->node[i].cores)
			hwloc_bitmap_set(set, (unsigned)m->node[i].number);
	list_of(set, text);
	hwloc_bitmap_free(set);
	return text;
}
