/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of cores: found, named, counted. */
#include "machine/topology/topology.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/topology/load.h"
static const char *find(const struct hwloc_info_s *infos, unsigned n, const char *name)
{
	for (unsigned i = 0; i < n; i++)
		if (!strcmp(infos[i].name, name))
			return infos[i].value;
	return NULL;
}

/* XML may hold any text. */
static void keep_printable(char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			*text = '?';
}

/* Names the kind by its type ("IntelAtom") or capacity (Arm), and its frequency. */
static void name_kind(struct core_kind *kind, const struct hwloc_info_s *infos, unsigned n)
{
	const char *type = find(infos, n, "CoreType"), *capacity = find(infos, n, "LinuxCapacity"),
		   *maximum = find(infos, n, "FrequencyMaxMHz");

	if (type)
		snprintf(kind->type, sizeof(kind->type), "%s", type);
	else if (capacity)
		snprintf(kind->type, sizeof(kind->type), "capacity %s", capacity);
	if (maximum)
		snprintf(kind->name, sizeof(kind->name), "%s%s%.12s MHz", kind->type,
			 *kind->type ? " " : "", maximum);
	else
		snprintf(kind->name, sizeof(kind->name), "%s", *kind->type ? kind->type : "other");
	keep_printable(kind->type);
	keep_printable(kind->name);
}

/* If two kinds have the same name, the second becomes "NAME (2)". */
static void make_names_unique(struct core_kind *kind, unsigned n)
{
	for (unsigned i = 1; i < n; i++)
		for (unsigned j = 0; j < i; j++) {
			const size_t length = strlen(kind[i].name);

			if (strcmp(kind[i].name, kind[j].name))
				continue;
			snprintf(kind[i].name + length, sizeof(kind->name) - length, " (%u)",
				 i + 1);
			break;
		}
}

/* Gives the kind to the usable CPUs that are in the set. */
static void take_cpus(struct machine *m, unsigned kind, hwloc_bitmap_t set)
{
	for (unsigned i = 0; i < m->cpus; i++) {
		if (!hwloc_bitmap_isset(set, (unsigned)m->cpu[i].number))
			continue;
		m->cpu[i].kind = kind;
		m->kind[kind].cpus++;
		m->kind[kind].cores += m->cpu[i].sibling == 0;
	}
}

/* hwloc's kinds are in the order of their efficiency, which grows with speed. */
static bool is_ranked(hwloc_topology_t t)
{
	int efficiency = -1;

	return !hwloc_cpukinds_get_info(t, 0, NULL, &efficiency, NULL, NULL, 0) && efficiency >= 0;
}

static void read_kinds(struct machine *m, unsigned found, hwloc_bitmap_t set, hwloc_bitmap_t rest)
{
	const bool ranked = is_ranked(m->topology);

	for (unsigned k = 0; k < found; k++) {
		struct core_kind *kind = &m->kind[k];
		struct hwloc_info_s *infos = NULL;
		unsigned n = 0;

		hwloc_cpukinds_get_info(m->topology, ranked ? found - 1 - k : k, set, NULL, &n,
					&infos, 0);
		name_kind(kind, infos, n);
		kind->rank = ranked ? k : 0;
		kind->all = (unsigned)hwloc_bitmap_weight(set);
		take_cpus(m, k, set);
		hwloc_bitmap_andnot(rest, rest, set);
	}
}

/* Fills m->kind, which has room for one kind more than hwloc has found. */
static void fill(struct machine *m, unsigned found, hwloc_bitmap_t set, hwloc_bitmap_t rest)
{
	read_kinds(m, found, set, rest);
	m->kinds = found;
	if (!hwloc_bitmap_iszero(rest)) { /* CPUs about which hwloc knows nothing */
		snprintf(m->kind[found].name, sizeof(m->kind->name), "other");
		m->kind[found].rank = is_ranked(m->topology) ? found : 0;
		m->kind[found].all = (unsigned)hwloc_bitmap_weight(rest);
		take_cpus(m, m->kinds++, rest);
	}
	make_names_unique(m->kind, m->kinds);
	m->kinds = m->kinds > 1 ? m->kinds : 0;
}

int kinds_find(struct machine *m)
{
	const int nr = hwloc_cpukinds_get_nr(m->topology, 0);
	const unsigned found = nr > 0 ? (unsigned)nr : 0;
	hwloc_bitmap_t set = hwloc_bitmap_alloc(),
		       rest = hwloc_bitmap_dup(hwloc_topology_get_topology_cpuset(m->topology));
	const bool room = set && rest;

	free(m->kind);
	m->kinds = 0;
	m->kind = calloc(found + 1, sizeof(*m->kind));
	if (room && m->kind)
		fill(m, found, set, rest);
	hwloc_bitmap_free(set);
	hwloc_bitmap_free(rest);
	return room && m->kind ? 0 : -1;
}

unsigned kinds_rank(const struct machine *m, const struct cpu *cpu)
{
	return m->kinds ? m->kind[cpu->kind].rank : 0;
}

char *kinds_text(const struct machine *m, const int *cpu, unsigned n)
{
	char *text = NULL;
	size_t size;
	FILE *f = m->kinds ? open_memstream(&text, &size) : NULL;
	const char *between = "";

	for (unsigned k = 0; f && k < m->kinds; k++) {
		unsigned count = 0;

		for (unsigned i = 0; i < n; i++)
			count += machine_cpu(m, cpu[i]) && machine_cpu(m, cpu[i])->kind == k;
		if (count)
			fprintf(f, "%s%u %s", between, count, m->kind[k].name);
		between = count ? " + " : between;
	}
	if (f)
		fclose(f);
	return text;
}
