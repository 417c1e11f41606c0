/* SPDX-License-Identifier: Apache-2.0 */
/* A hash of what machines of one kind have in common. */
#include "machine/provenance/provenance.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/hash.h"
#include "machine/memory/huge.h"
#include "machine/topology/topology.h"

/*
 * Firmware and kernel keep a few percent of a node's memory, and not the same number of MiB on
 * equal machines. The rest, rounded up to a multiple of 1/16 of a power of two, is the installed
 * size on all of them. Just below a power of two, steps are 1/16 of the next one.
 */
static uint64_t round_memory(uint64_t bytes)
{
	uint64_t step = 1;

	while (step <= (bytes + bytes / 16) / 2)
		step *= 2;
	step = step > 16 ? step / 16 : 1;
	return (bytes + step - 1) / step * step;
}

/* hwloc's size of a machine's only node is not stable: see node_memory_read(). */
static uint64_t memory_of(const char *root, const struct machine *m, hwloc_obj_t node)
{
	struct node_memory memory;

	if (m->running && !node_memory_read(root, machine_object_number(node), &memory))
		return memory.total;
	return node->attr->numanode.local_memory;
}

/*
 * Recurses once for each level of the machine. Leaves out groups: they come and go with versions of
 * kernel and hwloc.
 */
static void print_tree(FILE *f, const char *root, const struct machine *m, hwloc_obj_t object)
{
	const bool named = object->type != HWLOC_OBJ_GROUP;

	if (named)
		fprintf(f, "%s", hwloc_obj_type_string(object->type));
	if (hwloc_obj_type_is_cache(object->type))
		fprintf(f, " %" PRIu64 "/%u/%d", object->attr->cache.size,
			object->attr->cache.linesize, object->attr->cache.associativity);
	if (object->type == HWLOC_OBJ_NUMANODE)
		fprintf(f, " %" PRIu64, round_memory(memory_of(root, m, object)));
	fputs(named ? "(" : "", f);
	for (hwloc_obj_t child = object->memory_first_child; child; child = child->next_sibling)
		print_tree(f, root, m, child);
	for (hwloc_obj_t child = object->first_child; child; child = child->next_sibling)
		print_tree(f, root, m, child);
	fputs(named ? ")" : "", f);
}

static void print_cpu(FILE *f, const json_t *cpu)
{
	static const char *const keys[] = { "architecture", "vendor",	    "family",
					    "model",	    "model_number", "stepping" };

	for (unsigned i = 0; i < LENGTH(keys); i++) {
		char *value = json_dumps(json_object_get(cpu, keys[i]), JSON_ENCODE_ANY);

		fprintf(f, "%s ", value ? value : "null");
		free(value);
	}
}

/* The number of CPUs with the type of a kind; 0: an earlier kind has the type, too. */
static unsigned cpus_of_type(const struct machine *m, unsigned kind)
{
	unsigned cpus = 0;

	for (unsigned k = 0; k < m->kinds; k++) {
		const bool same = !strcmp(m->kind[k].type, m->kind[kind].type);

		if (same && k < kind)
			return 0;
		cpus += same ? m->kind[k].all : 0;
	}
	return cpus;
}

/* Types, without frequencies, which software may limit; nothing if all CPUs have one type. */
static void print_types(FILE *f, const struct machine *m)
{
	const unsigned cpus = (unsigned)hwloc_get_nbobjs_by_type(m->topology, HWLOC_OBJ_PU);

	for (unsigned k = 0; k < m->kinds && cpus_of_type(m, 0) < cpus; k++)
		if (cpus_of_type(m, k))
			fprintf(f, " %s*%u", m->kind[k].type, cpus_of_type(m, k));
}

static void print_pages(FILE *f, const char *root, const struct machine *m)
{
	size_t sizes[MOST_HUGE_SIZES];
	const unsigned n = huge_page_sizes(root, sizes);

	fprintf(f, "%zu ", m->page);
	for (unsigned i = 0; i < n; i++)
		fprintf(f, "%zu ", sizes[i]);
}

json_t *provenance_class(const char *root, const struct machine *m, const json_t *cpu,
			 const char *hypervisor)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	json_t *class;

	if (!f)
		return NULL;
	print_cpu(f, cpu);
	fprintf(f, "%s ", hypervisor ? hypervisor : "metal");
	print_pages(f, root, m);
	print_tree(f, root, m, hwloc_get_root_obj(m->topology));
	print_types(f, m);
	fclose(f);
	class = text ? json_sprintf("%016" PRIx64, hash_text(text)) : NULL;
	free(text);
	return class;
}
