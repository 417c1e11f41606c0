/* SPDX-License-Identifier: Apache-2.0 */
#include "machine/provenance/provenance.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sysfs.h"
#include "base/utf8.h"
#include "machine/limits/limits.h"
#include "machine/memory/huge.h"
#include "machine/provenance/modules.h"
#include "machine/provenance/sources.h"
#include "machine/topology/topology.h"

static json_t *pages_of(const char *root, size_t size, int node)
{
	json_t *pages = json_object();
	struct huge_pages p;
	bool known = !huge_pages_read(root, size, node, &p);
	int error = errno;

	json_object_set_new(pages, node == ALL_NODES ? "size" : "node",
			    json_integer(node == ALL_NODES ? (json_int_t)size : node));
	source_put_value(pages, "total", known ? source_size(p.total) : NULL, "%s",
			 strerror(error));
	source_put_value(pages, "free", known ? source_size(p.free) : NULL, "%s", strerror(error));
	return pages;
}

static json_t *huge_pages_of(const char *root, const struct machine *m)
{
	size_t sizes[MOST_HUGE_SIZES];
	unsigned n = huge_page_sizes(root, sizes);
	json_t *list = json_array(), *pages, *per_node;

	for (unsigned i = 0; i < n; i++) {
		pages = pages_of(root, sizes[i], ALL_NODES);
		per_node = json_array();
		for (unsigned j = 0; j < m->nodes; j++)
			json_array_append_new(per_node,
					      pages_of(root, sizes[i], m->node[j].number));
		json_object_set_new(pages, "per_node", per_node);
		json_array_append_new(list, pages);
	}
	return list;
}

static void put_meminfo(json_t *memory, const char *meminfo, const char *name, const char *key)
{
	uint64_t bytes;

	source_put_value(memory, name,
			 field_number(meminfo, key, &bytes) ? source_size(bytes) : NULL,
			 "/proc/meminfo has no number \"%s\"", key);
}

json_t *provenance_memory(const char *root, const struct machine *m)
{
	static const struct source thp_sources[] = {
		{ "enabled", SOURCE_THP "/enabled", source_choice, 0 },
		{ "defrag", SOURCE_THP "/defrag", source_choice, 0 },
		{ "khugepaged_defrag", SOURCE_THP "/khugepaged/defrag", source_integer, 0 },
		{ 0 },
	};
	static const struct source sources[] = {
		{ "overcommit", "/proc/sys/vm/overcommit_memory", source_integer, 0 },
		{ "swappiness", "/proc/sys/vm/swappiness", source_integer, 0 },
		{ "zone_reclaim", "/proc/sys/vm/zone_reclaim_mode", source_integer, 0 },
		{ 0 },
	};
	char *meminfo = sysfs_text(root, "/proc/meminfo");
	json_t *memory = json_object(), *thp = json_object();

	put_meminfo(memory, meminfo, "total", "MemTotal");
	put_meminfo(memory, meminfo, "available", "MemAvailable");
	source_put_value(memory, "page", source_size(m->page), "not a size");
	source_put_value(memory, "huge_page", m->huge_page ? source_size(m->huge_page) : NULL,
			 "no transparent huge pages here");
	source_put_all(thp, root, thp_sources);
	json_object_set_new(memory, "thp", thp);
	json_object_set_new(memory, "hugepages", huge_pages_of(root, m));
	source_put_all(memory, root, sources);
	modules_put(memory, root);
	free(meminfo);
	return memory;
}
