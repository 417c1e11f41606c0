/* SPDX-License-Identifier: Apache-2.0 */
#include "machine/memory/maps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *numa_maps_next(char **rest, uintptr_t *begin)
{
	char *line = strsep(rest, "\n");

	if (line)
		*begin = strtoull(line, NULL, 16);
	return line;
}

/* "7f12 bind:0 anon=3 N0=2 N1=1 kernelpagesize_kB=4" */
void numa_maps_add(char *line, size_t page, uint64_t *found, unsigned nodes)
{
	const char *unit = strstr(line, "kernelpagesize_kB=");
	uint64_t pages = unit ? (strtoull(strchr(unit, '=') + 1, NULL, 10) << 10) / page : 1;
	unsigned long long count;
	unsigned node;
	char *rest;

	for (char *word = strtok_r(line, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		if (sscanf(word, "N%u=%llu", &node, &count) == 2 && node < nodes)
			found[node] += count * pages;
}

/* "7f12000-7f34000 rw-p ...": the line that a mapping begins with. */
static bool begins_mapping(const char *line, uintptr_t *begin)
{
	char *end, *last;

	*begin = strtoull(line, &end, 16);
	if (end == line || *end != '-')
		return false;
	(void)strtoull(end + 1, &last, 16);
	return last != end + 1 && *last == ' ';
}

bool smaps_next(char **rest, struct mapping *m)
{
	unsigned long long kib;
	uintptr_t next;
	char *line;

	*m = (struct mapping){ 0 };
	while ((line = strsep(rest, "\n")) && !begins_mapping(line, &m->begin))
		;
	if (!line)
		return false;
	while (*rest && !begins_mapping(*rest, &next)) {
		line = strsep(rest, "\n");
		if (sscanf(line, "AnonHugePages: %llu", &kib) == 1)
			m->transparent += kib << 10;
		else if (sscanf(line, "Private_Hugetlb: %llu", &kib) == 1 ||
			 sscanf(line, "Shared_Hugetlb: %llu", &kib) == 1)
			m->hugetlb += kib << 10; /* shared: after a fork */
	}
	return true;
}
