/* SPDX-License-Identifier: Apache-2.0 */
/* Packages, cores, nodes, caches, distances. */
#include "machine/provenance/provenance.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sysfs.h"
#include "base/utf8.h"
#include "machine/provenance/sources.h"
#include "machine/topology/topology.h"

static json_t *cpus_of_node(const struct machine *m, int node)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < m->cpus; i++)
		if (m->cpu[i].node == node)
			json_array_append_new(list, json_integer(m->cpu[i].number));
	return list;
}

/* Whether a node has no CPUs at all, not just none that this process may use. */
static bool memory_only(const char *root, const struct machine *m, const struct node *n)
{
	hwloc_bitmap_t cpus =
		m->running ? sysfs_list(root, SOURCE_NODES "/node%d/cpulist", n->number) : NULL;
	bool only = cpus ? hwloc_bitmap_iszero(cpus) : !n->cpus;

	hwloc_bitmap_free(cpus);
	return only;
}

static json_t *nodes_of(const char *root, const struct machine *m)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < m->nodes; i++) {
		const struct node *n = &m->node[i];
		json_t *node = json_object();
		struct node_memory memory;
		bool known = m->running && !node_memory_read(root, n->number, &memory);

		json_object_set_new(node, "node", json_integer(n->number));
		source_put_value(node, "memory", source_size(known ? memory.total : n->memory),
				 "not a size");
		source_put_value(node, "free", known ? source_size(memory.free) : NULL, "%s",
				 m->running ? strerror(errno) : "not this machine");
		json_object_set_new(node, "cpus", cpus_of_node(m, n->number));
		json_object_set_new(node, "memory_only", json_boolean(memory_only(root, m, n)));
		json_object_set_new(node, "first_touch", json_integer(n->first_touch));
		json_array_append_new(list, node);
	}
	return list;
}

/* The kinds of cores, the fastest first. */
static json_t *kinds_of(const struct machine *m)
{
	json_t *list = json_array();

	for (unsigned k = 0; k < m->kinds; k++) {
		json_t *cpus = json_array();

		for (unsigned i = 0; i < m->cpus; i++)
			if (m->cpu[i].kind == k)
				json_array_append_new(cpus, json_integer(m->cpu[i].number));
		json_array_append_new(list, json_pack("{s:o, s:i, s:i, s:o}", "name",
						      utf8_json(m->kind[k].name), "rank",
						      (int)m->kind[k].rank, "cores",
						      (int)m->kind[k].cores, "cpus", cpus));
	}
	return list;
}

static const char *cache_type(hwloc_obj_cache_type_t type)
{
	return type == HWLOC_OBJ_CACHE_DATA	     ? "data"
	       : type == HWLOC_OBJ_CACHE_INSTRUCTION ? "instruction"
						     : "unified";
}

static bool same_cache(hwloc_obj_t a, hwloc_obj_t b)
{
	const struct hwloc_cache_attr_s *x = &a->attr->cache, *y = &b->attr->cache;

	return x->size == y->size && x->linesize == y->linesize &&
	       x->associativity == y->associativity &&
	       hwloc_bitmap_weight(a->cpuset) == hwloc_bitmap_weight(b->cpuset);
}

static json_t *cache_of(hwloc_obj_t object, unsigned how_many)
{
	const struct hwloc_cache_attr_s *c = &object->attr->cache;
	json_t *cache = json_object();

	json_object_set_new(cache, "level", json_integer(c->depth));
	json_object_set_new(cache, "type", json_string(cache_type(c->type)));
	source_put_value(cache, "size", c->size ? source_size(c->size) : NULL,
			 "hwloc does not know it");
	source_put_value(cache, "line", c->linesize ? json_integer(c->linesize) : NULL,
			 "hwloc does not know it");
	source_put_value(cache, "ways",
			 c->associativity > 0 ? json_integer(c->associativity) : NULL, "%s",
			 c->associativity ? "fully associative" : "hwloc does not know it");
	json_object_set_new(cache, "count", json_integer(how_many));
	json_object_set_new(cache, "shared_by", json_integer(hwloc_bitmap_weight(object->cpuset)));
	return cache;
}

/* One entry for all caches with the same properties. */
static json_t *caches_of(hwloc_topology_t topology)
{
	json_t *list = json_array();

	for (int type = HWLOC_OBJ_L1CACHE; type <= HWLOC_OBJ_L3ICACHE; type++) {
		int n = hwloc_get_nbobjs_by_type(topology, type);

		for (int i = 0; i < n; i++) {
			hwloc_obj_t cache = hwloc_get_obj_by_type(topology, type, i), other;
			unsigned alike = 0;
			bool first = true;

			for (int j = 0; j < n; j++) {
				other = hwloc_get_obj_by_type(topology, type, j);
				alike += same_cache(cache, other);
				first &= j >= i || !same_cache(cache, other);
			}
			if (first)
				json_array_append_new(list, cache_of(cache, alike));
		}
	}
	return list;
}

/* Rows and columns in the order of the machine's nodes. */
static json_t *matrix_of(const struct machine *m, const struct hwloc_distances_s *d)
{
	json_t *matrix = json_array(), *row;

	for (unsigned i = 0; i < m->nodes; i++) {
		row = json_array();
		for (unsigned j = 0; j < m->nodes; j++) {
			json_t *value = NULL;

			for (unsigned a = 0; a < d->nbobjs; a++)
				for (unsigned b = 0; b < d->nbobjs; b++)
					if ((int)d->objs[a]->os_index == m->node[i].number &&
					    (int)d->objs[b]->os_index == m->node[j].number)
						value = value ? value
							      : source_size(
									d->values[a * d->nbobjs +
										  b]);
			json_array_append_new(row, value ? value : json_null());
		}
		json_array_append_new(matrix, row);
	}
	return matrix;
}

static json_t *distances_of(const struct machine *m)
{
	struct hwloc_distances_s *d = NULL;
	json_t *matrix;
	unsigned n = 1;

	if (hwloc_distances_get_by_type(m->topology, HWLOC_OBJ_NUMANODE, &n, &d,
					HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0) ||
	    !n || !d)
		return NULL;
	matrix = matrix_of(m, d);
	hwloc_distances_release(m->topology, d);
	return matrix;
}

static json_t *synthetic_of(hwloc_topology_t topology)
{
	char text[1024];
	int n = hwloc_topology_export_synthetic(topology, text, sizeof(text), 0);

	return n > 0 && (size_t)n < sizeof(text) ? utf8_json(text) : NULL;
}

static unsigned smt_of(hwloc_topology_t topology)
{
	int n = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE), most = 1;

	for (int i = 0; i < n; i++) {
		hwloc_obj_t core = hwloc_get_obj_by_type(topology, HWLOC_OBJ_CORE, i);
		int threads = hwloc_bitmap_weight(core->complete_cpuset);

		most = threads > most ? threads : most;
	}
	return (unsigned)most;
}

static json_t *allowed_of(const struct machine *m)
{
	hwloc_bitmap_t set = hwloc_bitmap_alloc();
	json_t *value = NULL;
	char *text = NULL;

	for (unsigned i = 0; set && i < m->cpus; i++)
		hwloc_bitmap_set(set, (unsigned)m->cpu[i].number);
	if (set && hwloc_bitmap_list_asprintf(&text, set) >= 0)
		value = json_string(text);
	free(text);
	hwloc_bitmap_free(set);
	return value;
}

/* Describes the whole machine; `allowed` are the CPUs that this process may use. */
json_t *provenance_topology(const char *root, const struct machine *m)
{
	static const struct source online = { "online", SOURCE_CPUS "/online", source_line, 0 };
	hwloc_topology_t t = m->topology;
	json_t *topology = json_object();

	json_object_set_new(topology, "packages",
			    json_integer(hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_PACKAGE)));
	json_object_set_new(topology, "cores",
			    json_integer(hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_CORE)));
	json_object_set_new(topology, "cpus",
			    json_integer(hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_PU)));
	if (m->running)
		source_put(topology, root, &online);
	else
		source_put_value(topology, "online", NULL, "not this machine");
	json_object_set_new(topology, "allowed", allowed_of(m));
	json_object_set_new(topology, "smt", json_integer(smt_of(t)));
	json_object_set_new(topology, "nodes", nodes_of(root, m));
	if (m->kinds)
		json_object_set_new(topology, "kinds", kinds_of(m));
	json_object_set_new(topology, "caches", caches_of(t));
	source_put_value(topology, "distances", distances_of(m), "hwloc knows of none");
	source_put_value(topology, "hwloc", synthetic_of(t),
			 "not a tree that a synthetic description can tell");
	return topology;
}
