/* SPDX-License-Identifier: Apache-2.0 */
/* The machine: memory, mitigations, TLBs, and the contents of all other files. */
#include "machine/provenance/provenance.h"

#include <dirent.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "base/sysfs.h"
#include "base/utf8.h"
#include "machine/limits/limits.h"
#include "machine/memory/huge.h"
#include "machine/provenance/modules.h"
#include "machine/provenance/sources.h"
#include "machine/topology/tlb.h"
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

/* Whether this process may have transparent huge pages. */
static void put_thp_allowed(json_t *thp, const char *root)
{
	const bool forbidden = huge_thp_forbidden(root);
	const char *enabled = json_string_value(json_object_get(thp, "enabled"));

	source_put_value(thp, "allowed",
			 enabled ? json_boolean(strcmp(enabled, "never") && !forbidden) : NULL,
			 "the kernel does not say whether they are enabled");
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
	put_thp_allowed(thp, root);
	json_object_set_new(memory, "thp", thp);
	json_object_set_new(memory, "hugepages", huge_pages_of(root, m));
	source_put_all(memory, root, sources);
	modules_put(memory, root);
	free(meminfo);
	return memory;
}

static int visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

json_t *provenance_mitigations(const char *root)
{
	static const char folder[] = SOURCE_CPUS "/vulnerabilities";
	json_t *mitigations = NULL;
	struct dirent **entries;
	char path[PATH_MAX];
	int n;

	snprintf(path, sizeof(path), "%s%s", root, folder);
	n = scandir(path, &entries, visible, alphasort);
	if (n < 0)
		return NULL;
	mitigations = json_object();
	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
		source_put(mitigations, root,
			   &(struct source){ entries[i]->d_name, path, source_line, 0 });
		free(entries[i]);
	}
	free(entries);
	return mitigations;
}

static json_t *cgroup_of(const char *root)
{
	json_t *cgroup = json_object();
	struct cgroup c;

	cgroup_read(root, &c);
	source_put_value(cgroup, "version", c.version ? json_integer(c.version) : NULL,
			 "no control group for memory can be seen");
	source_put_value(cgroup, "path", utf8_json(c.path),
			 "no control group for memory can be seen");
	source_put_value(cgroup, "memory_limit",
			 c.memory_limit == NO_LIMIT ? NULL : source_size(c.memory_limit),
			 "none set");
	source_put_value(cgroup, "cpu_quota", isfinite(c.cpu_quota) ? json_real(c.cpu_quota) : NULL,
			 "none set");
	source_put_value(cgroup, "cpuset", utf8_json(c.cpuset), "no cpuset can be seen");
	cgroup_free(&c);
	return cgroup;
}

json_t *provenance_tlb(const struct tlb *tlbs, unsigned n)
{
	json_t *list = json_array();

	for (const struct tlb *t = tlbs; t < tlbs + n; t++) {
		json_t *tlb = json_object();

		json_object_set_new(tlb, "level", json_integer(t->level));
		json_object_set_new(tlb, "type", json_string(t->type));
		json_object_set_new(tlb, "page", source_size(t->page));
		json_object_set_new(tlb, "entries", source_size(t->entries));
		source_put_value(tlb, "ways", t->ways ? source_size(t->ways) : NULL,
				 "CPUID does not say");
		json_array_append_new(list, tlb);
	}
	return list;
}

/* Asks CPUID, not files, so it works only for the running machine. */
static void put_tlbs(json_t *object, const char *root, const struct machine *m)
{
	bool live = m->running && !strcmp(root, SYSFS_ROOT);
	const char *why = "not this machine";
	struct tlb tlbs[MOST_TLBS] = { 0 };
	unsigned n = live ? tlb_read(tlbs, &why) : 0;

	json_object_set_new(object, "tlb", provenance_tlb(tlbs, n));
	if (!n)
		json_object_set_new(object, "tlb_why", utf8_json(why));
}

static void put_id(json_t *object, const char *root)
{
	const char *why;
	json_t *id = provenance_id(root, &why);

	source_put_value(object, "id", id, "%s", why);
}

json_t *provenance_machine_at(const char *root, const struct machine *m)
{
	static const struct source settings[] = {
		{ "numa_balancing", "/proc/sys/kernel/numa_balancing", source_integer, 0 },
		{ "perf_event_paranoid", "/proc/sys/kernel/perf_event_paranoid", source_integer,
		  0 },
		{ 0 },
	};
	json_t *machine = json_object(), *cpu = provenance_cpu(root), *mitigations;
	const char *hypervisor;
	bool known;

	hypervisor = provenance_hypervisor(root, &known);
	source_put_value(machine, "class", provenance_class(root, m, cpu, hypervisor), "no memory");
	put_id(machine, root);
	json_object_set_new(machine, "cpu", cpu);
	provenance_put_prefetchers(machine, root, m, cpu, hypervisor);
	json_object_set_new(machine, "firmware", provenance_firmware(root));
	if (hypervisor || !known)
		source_put_value(machine, "virtual", json_string(hypervisor),
				 "neither the CPU nor the firmware tells");
	else
		json_object_set_new(machine, "virtual", json_null());
	json_object_set_new(machine, "topology", provenance_topology(root, m));
	put_tlbs(machine, root, m);
	json_object_set_new(machine, "memory", provenance_memory(root, m));
	json_object_set_new(machine, "kernel", provenance_kernel(root));
	json_object_set_new(machine, "frequency", provenance_frequency(root, m));
	mitigations = provenance_mitigations(root);
	source_put_value(machine, "mitigations", mitigations, SOURCE_CPUS "/vulnerabilities: %s",
			 strerror(errno));
	json_object_set_new(machine, "cgroup", cgroup_of(root));
	source_put_all(machine, root, settings);
	json_object_set_new(machine, "errors", provenance_errors(root));
	json_object_set_new(machine, "environment", provenance_environment());
	json_object_set_new(machine, "libc", json_sprintf("glibc %s", gnu_get_libc_version()));
	return machine;
}

json_t *provenance_machine(const struct machine *m)
{
	return provenance_machine_at(SYSFS_ROOT, m);
}
