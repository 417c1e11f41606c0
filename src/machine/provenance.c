/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "machine/provenance.h"

#include <dirent.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif
#if __has_include("revision.h")
#include "revision.h"
#endif

#include "machine/limits.h"
#include "machine/sysfs.h"
#include "machine/tlb.h"
#include "machine/topology.h"

#define CPUS	      "/sys/devices/system/cpu"
#define NODES	      "/sys/devices/system/node"
#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

#define THP "/sys/kernel/mm/transparent_hugepage"

/* ---- values, or null and why ---- */

/* Takes the value's reference. NULL becomes null, with the reason as NAME_why. */
static __attribute__((format(printf, 4, 5))) void put(json_t *object, const char *name, json_t *value, const char *why, ...)
{
	char reason[PATH_MAX + 128], key[128];
	va_list arguments;

	json_object_set_new(object, name, value ? value : json_null());
	if (value)
		return;
	va_start(arguments, why);
	vsnprintf(reason, sizeof(reason), why, arguments);
	va_end(arguments);
	snprintf(key, sizeof(key), "%s_why", name);
	json_object_set_new(object, key, json_string(reason));
}

/* Takes the text. NULL with errno: text's, or EILSEQ where it isn't UTF-8. */
static json_t *take_text(char *text)
{
	json_t *value;

	if (!text)
		return NULL;
	value = json_string(text);
	free(text);
	if (!value)
		errno = EILSEQ;
	return value;
}

static json_t *read_line(const char *root, const char *path, int64_t scale)
{
	(void)scale;
	return take_text(sysfs_line(root, "%s", path));
}

static json_t *read_choice(const char *root, const char *path, int64_t scale)
{
	(void)scale;
	return take_text(sysfs_choice(root, "%s", path));
}

/* Signed: perf_event_paranoid may be -1. Decimal, octal or hexadecimal. */
static bool to_integer(const char *text, int64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoll(text, &end, 0);
	if (end == text || *end)
		errno = EINVAL;
	return !errno;
}

static json_t *read_integer(const char *root, const char *path, int64_t scale)
{
	char *line = sysfs_line(root, "%s", path);
	json_t *result = NULL;
	int64_t value;

	if (!line)
		return NULL;
	if (to_integer(line, &value)) {
		if (__builtin_mul_overflow(value, scale, &value))
			errno = ERANGE;
		else
			result = json_integer(value);
	}
	free(line);
	return result;
}

/* A value that is a file. */
struct source {
	const char *key, *path;
	json_t *(*read)(const char *root, const char *path, int64_t scale);
	int64_t scale;
};

static void put_source(json_t *object, const char *root, const struct source *s)
{
	json_t *value = s->read(root, s->path, s->scale ? s->scale : 1);

	put(object, s->key, value, "%s: %s", s->path, strerror(errno));
}

static void put_sources(json_t *object, const char *root, const struct source *sources)
{
	for (; sources->key; sources++)
		put_source(object, root, sources);
}

static json_t *count(uint64_t value)
{
	return value <= INT64_MAX ? json_integer((json_int_t)value) : NULL;
}

/* ---- the CPU ---- */

/* Of aarch64, by the implementer and part of its main ID register (MIDR). */
static const struct {
	unsigned implementer, part;
	const char *name;
} cores[] = {
	{ 0x41, 0xd03, "Cortex-A53" },	{ 0x41, 0xd04, "Cortex-A35" },	 { 0x41, 0xd05, "Cortex-A55" },
	{ 0x41, 0xd07, "Cortex-A57" },	{ 0x41, 0xd08, "Cortex-A72" },	 { 0x41, 0xd09, "Cortex-A73" },
	{ 0x41, 0xd0a, "Cortex-A75" },	{ 0x41, 0xd0b, "Cortex-A76" },	 { 0x41, 0xd0c, "Neoverse N1" },
	{ 0x41, 0xd0d, "Cortex-A77" },	{ 0x41, 0xd40, "Neoverse V1" },	 { 0x41, 0xd41, "Cortex-A78" },
	{ 0x41, 0xd44, "Cortex-X1" },	{ 0x41, 0xd46, "Cortex-A510" },	 { 0x41, 0xd47, "Cortex-A710" },
	{ 0x41, 0xd48, "Cortex-X2" },	{ 0x41, 0xd49, "Neoverse N2" },	 { 0x41, 0xd4a, "Neoverse E1" },
	{ 0x41, 0xd4d, "Cortex-A715" }, { 0x41, 0xd4e, "Cortex-X3" },	 { 0x41, 0xd4f, "Neoverse V2" },
	{ 0x41, 0xd80, "Cortex-A520" }, { 0x41, 0xd81, "Cortex-A720" },	 { 0x41, 0xd82, "Cortex-X4" },
	{ 0x41, 0xd84, "Neoverse V3" }, { 0x41, 0xd8e, "Neoverse N3" },	 { 0x42, 0x516, "ThunderX2" },
	{ 0x43, 0x0a1, "ThunderX" },	{ 0x43, 0x0af, "ThunderX2" },	 { 0x43, 0x0b8, "ThunderX3" },
	{ 0x46, 0x001, "A64FX" },	{ 0x48, 0xd01, "TaiShan v110" }, { 0x48, 0xd02, "TaiShan v120" },
	{ 0x4e, 0x004, "Carmel" },	{ 0x50, 0x000, "X-Gene" },	 { 0x51, 0x001, "Oryon" },
	{ 0x51, 0xc00, "Falkor" },	{ 0x61, 0x022, "M1 Icestorm" },	 { 0x61, 0x023, "M1 Firestorm" },
	{ 0x61, 0x032, "M2 Blizzard" }, { 0x61, 0x033, "M2 Avalanche" }, { 0x6d, 0xd49, "Azure Cobalt 100" },
	{ 0x70, 0x662, "FTC662" },	{ 0x70, 0x663, "FTC663" },	 { 0xc0, 0xac3, "AmpereOne" },
	{ 0xc0, 0xac4, "AmpereOne A" },
};

static const struct {
	unsigned implementer;
	const char *name;
} implementers[] = {
	{ 0x41, "ARM" },       { 0x42, "Broadcom" }, { 0x43, "Cavium" },   { 0x46, "Fujitsu" }, { 0x48, "HiSilicon" },
	{ 0x4e, "NVIDIA" },    { 0x50, "APM" },	     { 0x51, "Qualcomm" }, { 0x53, "Samsung" }, { 0x61, "Apple" },
	{ 0x6d, "Microsoft" }, { 0x70, "Phytium" },  { 0xc0, "Ampere" },
};

struct midr {
	unsigned implementer, variant, part, revision;
};

/* The register itself, else what /proc/cpuinfo has of it. */
static bool midr_read(const char *root, const char *cpuinfo, struct midr *m)
{
	static const char *const keys[] = { "CPU implementer", "CPU variant", "CPU part", "CPU revision" };
	unsigned *const fields[] = { &m->implementer, &m->variant, &m->part, &m->revision };
	char *line = sysfs_line(root, CPUS "/cpu0/regs/identification/midr_el1");
	int64_t value;
	bool found = line && to_integer(line, &value);

	free(line);
	if (found) {
		*m = (struct midr){ value >> 24 & 0xff, value >> 20 & 0xf, value >> 4 & 0xfff, value & 0xf };
		return true;
	}
	for (unsigned i = 0; i < LENGTH(keys); i++) {
		char *text = text_value(cpuinfo, keys[i]);

		found = text && to_integer(text, &value) && value >= 0 && value <= 0xfff;
		free(text);
		if (!found)
			return false;
		*fields[i] = (unsigned)value;
	}
	return true;
}

static void put_arm(json_t *cpu, const struct midr *m)
{
	const char *vendor = NULL, *model = NULL;

	for (unsigned i = 0; i < LENGTH(implementers); i++)
		if (implementers[i].implementer == m->implementer)
			vendor = implementers[i].name;
	for (unsigned i = 0; i < LENGTH(cores); i++)
		if (cores[i].implementer == m->implementer && cores[i].part == m->part)
			model = cores[i].name;
	put(cpu, "vendor", json_string(vendor), "implementer 0x%02x is not in our table", m->implementer);
	put(cpu, "model", json_string(model), "implementer 0x%02x, part 0x%03x is not in our table", m->implementer, m->part);
	put(cpu, "family", NULL, "this architecture has none");
	json_object_set_new(cpu, "model_number", json_integer(m->part));
	json_object_set_new(cpu, "stepping", json_sprintf("r%up%u", m->variant, m->revision));
}

static void put_integer_of(json_t *object, const char *name, const char *text, const char *key)
{
	char *word = text_value(text, key);
	int64_t value;
	bool found = word && to_integer(word, &value);

	put(object, name, found ? json_integer(value) : NULL, "/proc/cpuinfo has no number \"%s\"", key);
	free(word);
}

static void put_text_of(json_t *object, const char *name, const char *text, const char *key, const char *other_key)
{
	char *value = text_value(text, key);

	if (!value)
		value = text_value(text, other_key);
	put(object, name, take_text(value), "/proc/cpuinfo has no \"%s\"", key);
}

/* Other architectures than x86 say less, under other names. */
static void put_others(json_t *cpu, const char *cpuinfo)
{
	put_text_of(cpu, "vendor", cpuinfo, "vendor_id", "mvendorid");
	put_text_of(cpu, "model", cpuinfo, "model name", "cpu");
	put_integer_of(cpu, "family", cpuinfo, "cpu family");
	put_integer_of(cpu, "model_number", cpuinfo, "model");
	put_integer_of(cpu, "stepping", cpuinfo, "stepping");
}

static json_t *words_of(const char *text)
{
	json_t *list = text ? json_array() : NULL;

	while (list && *(text += strspn(text, " \t")) && *text != '\n') {
		size_t length = strcspn(text, " \t\n");

		json_array_append_new(list, json_stringn(text, length));
		text += length;
	}
	return list;
}

static json_t *cpu_of(const char *root)
{
	char *cpuinfo = sysfs_text(root, "/proc/cpuinfo");
	const char *flags = text_find(cpuinfo, "flags");
	json_t *cpu = json_object();
	struct utsname name;
	struct midr midr;

	if (midr_read(root, cpuinfo, &midr))
		put_arm(cpu, &midr);
	else
		put_others(cpu, cpuinfo);
	put(cpu, "architecture", uname(&name) ? NULL : json_string(name.machine), "uname: %s", strerror(errno));
	put_text_of(cpu, "microcode", cpuinfo, "microcode", "CPU microcode");
	put(cpu, "flags", words_of(flags ? flags : text_find(cpuinfo, "Features")), "/proc/cpuinfo has no \"flags\"");
	free(cpuinfo);
	return cpu;
}

/* ---- what we run under ---- */

struct hint {
	const char *text, *hypervisor;
};

#if defined(__x86_64__) || defined(__i386__)
/* What the CPU itself says: its word holds where no file can be read. */
static const char *ask_cpu(void)
{
	static const struct hint vendors[] = {
		{ "KVMKVMKVM", "kvm" },		  { "Linux KVM Hv", "kvm" },  { "Microsoft Hv", "hyperv" },
		{ "VMwareVMware", "vmware" },	  { "XenVMMXenVMM", "xen" },  { "TCGTCGTCGTCG", "qemu" },
		{ "bhyve bhyve ", "bhyve" },	  { "ACRNACRNACRN", "acrn" }, { " lrpepyh vr", "parallels" },
		{ "VBoxVBoxVBox", "virtualbox" }, { "QNXQVMBSQG", "qnx" },
	};
	unsigned eax, ebx, ecx, edx;
	char vendor[13] = "";

	if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx >> 31))
		return NULL;
	__cpuid(0x40000000, eax, ebx, ecx, edx);
	memcpy(vendor, &ebx, 4);
	memcpy(vendor + 4, &ecx, 4);
	memcpy(vendor + 8, &edx, 4);
	for (unsigned i = 0; i < LENGTH(vendors); i++)
		if (!strcmp(vendors[i].text, vendor))
			return vendors[i].hypervisor;
	return "unknown";
}
#else
static const char *ask_cpu(void)
{
	return NULL;
}
#endif

/* The firmware names the maker of a guest's "hardware"; a maker of real machines too must say more. */
static const char *ask_firmware(const char *root, bool *readable)
{
	static const char *const files[] = {
		"/sys/class/dmi/id/product_name",	   "/sys/class/dmi/id/sys_vendor",
		"/sys/class/dmi/id/bios_vendor",	   "/sys/hypervisor/type",
		"/proc/device-tree/hypervisor/compatible", "/proc/device-tree/compatible",
	};
	static const struct hint hints[] = {
		{ "KVM", "kvm" },
		{ "QEMU", "qemu" },
		{ "VirtualBox", "virtualbox" },
		{ "VMware", "vmware" },
		{ "Virtual Machine", "hyperv" },
		{ "Google Compute Engine", "kvm" },
		{ "OpenStack", "kvm" },
		{ "Xen", "xen" },
		{ "xen", "xen" },
		{ "linux,kvm", "kvm" },
		{ "linux,dummy-virt", "qemu" },
		{ "Bochs", "qemu" },
		{ "Parallels", "parallels" },
		{ "bhyve", "bhyve" },
		{ "Apple Virtualization", "apple" },
	};
	const char *found = NULL;
	bool metal = false, amazon = false;

	for (unsigned i = 0; i < LENGTH(files) && !found; i++) {
		char *line = sysfs_line(root, "%s", files[i]);

		for (unsigned j = 0; line && j < LENGTH(hints) && !found; j++)
			found = strstr(line, hints[j].text) ? hints[j].hypervisor : NULL;
		*readable |= line != NULL;
		metal |= line && strstr(line, ".metal");
		amazon |= line && strstr(line, "Amazon EC2");
		free(line);
	}
	return found ? found : amazon && !metal ? "kvm" : NULL;
}

static bool has_word(const char *text, const char *word)
{
	size_t length = strlen(word);

	for (; text; text = strchr(text, ' ')) {
		text += strspn(text, " ");
		if (!strncmp(text, word, length) && (text[length] == ' ' || !text[length]))
			return true;
	}
	return false;
}

const char *hypervisor_find(const char *root, bool *known)
{
	const char *found = strcmp(root, THIS_MACHINE) ? NULL : ask_cpu(), *firmware;
	char *cpuinfo = sysfs_text(root, "/proc/cpuinfo"), *flags = text_value(cpuinfo, "flags");
	bool flagged = has_word(flags, "hypervisor"), readable = false;

	firmware = ask_firmware(root, &readable);
	/* An x86 guest's CPU says that it is one; without that, a firmware's name means a host made by the same company. */
	if (!found && (flagged || !flags))
		found = firmware;
	if (!found && firmware && !strcmp(firmware, "xen")) /* a paravirtual guest's CPU is the host's */
		found = firmware;
	if (!found && flagged)
		found = "unknown";
	*known = found || flags || readable;
	free(flags);
	free(cpuinfo);
	return found;
}

/* ---- topology ---- */

static json_t *cpus_of_node(const struct machine *m, int node)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < m->cpus; i++)
		if (m->cpu[i].node == node)
			json_array_append_new(list, json_integer(m->cpu[i].number));
	return list;
}

/* Without CPUs at all; one whose CPUs are not ours is not. */
static bool memory_only(const char *root, const struct machine *m, const struct node *n)
{
	hwloc_bitmap_t cpus = m->here ? sysfs_list(root, NODES "/node%d/cpulist", n->number) : NULL;
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
		bool known = m->here && !node_memory_read(root, n->number, &memory);

		json_object_set_new(node, "node", json_integer(n->number));
		put(node, "memory", count(known ? memory.total : n->memory), "not a size");
		put(node, "free", known ? count(memory.free) : NULL, "%s", m->here ? strerror(errno) : "not this machine");
		json_object_set_new(node, "cpus", cpus_of_node(m, n->number));
		json_object_set_new(node, "memory_only", json_boolean(memory_only(root, m, n)));
		json_array_append_new(list, node);
	}
	return list;
}

static const char *cache_type(hwloc_obj_cache_type_t type)
{
	return type == HWLOC_OBJ_CACHE_DATA ? "data" : type == HWLOC_OBJ_CACHE_INSTRUCTION ? "instruction" : "unified";
}

static bool same_cache(hwloc_obj_t a, hwloc_obj_t b)
{
	const struct hwloc_cache_attr_s *x = &a->attr->cache, *y = &b->attr->cache;

	return x->size == y->size && x->linesize == y->linesize && x->associativity == y->associativity &&
	       hwloc_bitmap_weight(a->cpuset) == hwloc_bitmap_weight(b->cpuset);
}

static json_t *cache_of(hwloc_obj_t object, unsigned how_many)
{
	const struct hwloc_cache_attr_s *c = &object->attr->cache;
	json_t *cache = json_object();

	json_object_set_new(cache, "level", json_integer(c->depth));
	json_object_set_new(cache, "type", json_string(cache_type(c->type)));
	put(cache, "size", c->size ? count(c->size) : NULL, "hwloc does not know it");
	put(cache, "line", c->linesize ? json_integer(c->linesize) : NULL, "hwloc does not know it");
	put(cache, "ways", c->associativity > 0 ? json_integer(c->associativity) : NULL, "%s",
	    c->associativity ? "fully associative" : "hwloc does not know it");
	json_object_set_new(cache, "count", json_integer(how_many));
	json_object_set_new(cache, "shared_by", json_integer(hwloc_bitmap_weight(object->cpuset)));
	return cache;
}

/* Alike caches are one entry; those of unlike cores are not alike. */
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
						value = value ? value : count(d->values[a * d->nbobjs + b]);
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

	if (hwloc_distances_get_by_type(m->topology, HWLOC_OBJ_NUMANODE, &n, &d, HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0) || !n || !d)
		return NULL;
	matrix = matrix_of(m, d);
	hwloc_distances_release(m->topology, d);
	return matrix;
}

static json_t *synthetic_of(hwloc_topology_t topology)
{
	char text[1024];
	int n = hwloc_topology_export_synthetic(topology, text, sizeof(text), 0);

	return n > 0 && (size_t)n < sizeof(text) ? json_string(text) : NULL;
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

/* Of all that is there; `allowed` are the CPUs that we may use. */
static json_t *topology_of(const char *root, const struct machine *m)
{
	static const struct source online = { "online", CPUS "/online", read_line, 0 };
	hwloc_topology_t t = m->topology;
	json_t *topology = json_object();

	json_object_set_new(topology, "packages", json_integer(hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_PACKAGE)));
	json_object_set_new(topology, "cores", json_integer(hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_CORE)));
	json_object_set_new(topology, "cpus", json_integer(hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_PU)));
	if (m->here)
		put_source(topology, root, &online);
	else
		put(topology, "online", NULL, "not this machine");
	json_object_set_new(topology, "allowed", allowed_of(m));
	json_object_set_new(topology, "smt", json_integer(smt_of(t)));
	json_object_set_new(topology, "nodes", nodes_of(root, m));
	json_object_set_new(topology, "caches", caches_of(t));
	put(topology, "distances", distances_of(m), "hwloc knows of none");
	put(topology, "hwloc", synthetic_of(t), "not a tree that a synthetic description can tell");
	return topology;
}

/* ---- memory ---- */

static json_t *pages_of(const char *root, size_t size, int node)
{
	json_t *pages = json_object();
	struct huge_pages p;
	bool known = !huge_pages_read(root, size, node, &p);
	int error = errno;

	json_object_set_new(pages, node == ALL_NODES ? "size" : "node", json_integer(node == ALL_NODES ? (json_int_t)size : node));
	put(pages, "total", known ? count(p.total) : NULL, "%s", strerror(error));
	put(pages, "free", known ? count(p.free) : NULL, "%s", strerror(error));
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
			json_array_append_new(per_node, pages_of(root, sizes[i], m->node[j].number));
		json_object_set_new(pages, "per_node", per_node);
		json_array_append_new(list, pages);
	}
	return list;
}

static void put_meminfo(json_t *memory, const char *meminfo, const char *name, const char *key)
{
	uint64_t bytes;

	put(memory, name, text_number(meminfo, key, &bytes) ? count(bytes) : NULL, "/proc/meminfo has no number \"%s\"", key);
}

static json_t *memory_of(const char *root, const struct machine *m)
{
	static const struct source thp_sources[] = {
		{ "enabled", THP "/enabled", read_choice, 0 },
		{ "defrag", THP "/defrag", read_choice, 0 },
		{ "khugepaged_defrag", THP "/khugepaged/defrag", read_integer, 0 },
		{ 0 },
	};
	static const struct source sources[] = {
		{ "overcommit", "/proc/sys/vm/overcommit_memory", read_integer, 0 },
		{ "swappiness", "/proc/sys/vm/swappiness", read_integer, 0 },
		{ "zone_reclaim", "/proc/sys/vm/zone_reclaim_mode", read_integer, 0 },
		{ 0 },
	};
	char *meminfo = sysfs_text(root, "/proc/meminfo");
	json_t *memory = json_object(), *thp = json_object();

	put_meminfo(memory, meminfo, "total", "MemTotal");
	put_meminfo(memory, meminfo, "available", "MemAvailable");
	put(memory, "page", count(m->page), "not a size");
	put(memory, "huge_page", m->huge_page ? count(m->huge_page) : NULL, "no transparent huge pages here");
	put_sources(thp, root, thp_sources);
	json_object_set_new(memory, "thp", thp);
	json_object_set_new(memory, "hugepages", huge_pages_of(root, m));
	put_sources(memory, root, sources);
	free(meminfo);
	return memory;
}

/* ---- kernel and clock rate ---- */

static bool is_secret(const char *name, size_t length)
{
	static const char *const words[] = { "PASS", "SECRET", "TOKEN", "CREDENTIAL", "JWT", "JWKS", "KEY", "AUTH" };
	char *copy = strndup(name, length);
	bool secret = !copy;

	for (unsigned i = 0; copy && i < LENGTH(words); i++)
		secret |= strcasestr(copy, words[i]) != NULL;
	free(copy);
	return secret;
}

/* A boot loader may have put a password there. */
static json_t *read_command_line(const char *root, const char *path, int64_t scale)
{
	char *line = sysfs_line(root, "%s", path), *rest = line, *word, *shown, *end;

	(void)scale;
	shown = line ? calloc(strlen(line) + 1, 8) : NULL;
	for (end = shown; shown && (word = strsep(&rest, " "));) {
		size_t name = strcspn(word, "=");

		if (end != shown)
			*end++ = ' ';
		end = word[name] && is_secret(word, name) ? stpcpy(stpncpy(end, word, name), "=<hidden>") : stpcpy(end, word);
	}
	free(line);
	return take_text(shown);
}

static json_t *kernel_of(const char *root)
{
	static const struct source sources[] = {
		{ "release", "/proc/sys/kernel/osrelease", read_line, 0 },
		{ "version", "/proc/sys/kernel/version", read_line, 0 },
		{ "command_line", "/proc/cmdline", read_command_line, 0 },
		{ 0 },
	};
	json_t *kernel = json_object();

	put_sources(kernel, root, sources);
	return kernel;
}

int turbo_read(const char *root, const char **source)
{
	static const struct {
		const char *path;
		uint64_t on;
	} rows[] = {
		{ CPUS "/intel_pstate/no_turbo", 0 },
		{ CPUS "/cpufreq/boost", 1 },
		{ CPUS "/cpu0/cpufreq/boost", 1 },
		{ CPUS "/cpu0/cpufreq/cpb", 1 },
	};
	uint64_t value;

	for (unsigned i = 0; i < LENGTH(rows); i++) {
		*source = rows[i].path;
		if (!sysfs_number(root, &value, "%s", rows[i].path))
			return value == rows[i].on;
	}
	*source = NULL;
	return -1;
}

/* "performance"; "performance,powersave" where CPUs differ. */
static json_t *governors_of(const char *root, const struct machine *m)
{
	char found[128] = "";

	for (unsigned i = 0; i < m->cpus; i++) {
		char *governor = sysfs_line(root, CPUS "/cpu%d/cpufreq/scaling_governor", m->cpu[i].number);
		size_t used = strlen(found);

		if (governor && !strstr(found, governor))
			snprintf(found + used, sizeof(found) - used, "%s%s", used ? "," : "", governor);
		free(governor);
	}
	return *found ? json_string(found) : NULL;
}

static json_t *frequency_of(const char *root, const struct machine *m)
{
	const int64_t kHz = 1000, MHz = 1000000;
	const int cpu = m->here && m->cpus ? m->cpu[0].number : 0;
	const char *turbo_source;
	const struct {
		const char *key, *file;
		json_t *(*read)(const char *, const char *, int64_t);
		int64_t scale;
	} rows[] = {
		{ "driver", "cpufreq/scaling_driver", read_line, 0 },
		{ "minimum", "cpufreq/scaling_min_freq", read_integer, kHz },
		{ "maximum", "cpufreq/scaling_max_freq", read_integer, kHz },
		{ "base", "cpufreq/base_frequency", read_integer, kHz },
	};
	json_t *frequency = json_object(), *nominal;
	char path[128];
	int turbo;

	for (unsigned i = 0; i < LENGTH(rows); i++) {
		snprintf(path, sizeof(path), CPUS "/cpu%d/%s", cpu, rows[i].file);
		put_source(frequency, root, &(struct source){ rows[i].key, path, rows[i].read, rows[i].scale });
	}
	snprintf(path, sizeof(path), CPUS "/cpu%d/acpi_cppc/nominal_freq", cpu);
	nominal = json_is_null(json_object_get(frequency, "base")) ? read_integer(root, path, MHz) : NULL;
	if (nominal) {
		json_object_set_new(frequency, "base", nominal);
		json_object_del(frequency, "base_why");
	}
	put(frequency, "governor", governors_of(root, m), "no CPU has a cpufreq/scaling_governor");
	turbo = turbo_read(root, &turbo_source);
	put(frequency, "turbo", turbo < 0 ? NULL : json_boolean(turbo), "neither intel_pstate/no_turbo nor cpufreq/boost is there");
	put(frequency, "boost_source", json_string(turbo_source), "neither intel_pstate/no_turbo nor cpufreq/boost is there");
	return frequency;
}

/* ---- settings ---- */

static int visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static json_t *mitigations_of(const char *root)
{
	static const char folder[] = CPUS "/vulnerabilities";
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
		put_source(mitigations, root, &(struct source){ entries[i]->d_name, path, read_line, 0 });
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
	put(cgroup, "version", c.version ? json_integer(c.version) : NULL, "no control group for memory can be seen");
	put(cgroup, "path", json_string(c.path), "no control group for memory can be seen");
	put(cgroup, "memory_limit", c.memory_limit == NO_LIMIT ? NULL : count(c.memory_limit), "none set");
	put(cgroup, "cpu_quota", isfinite(c.cpu_quota) ? json_real(c.cpu_quota) : NULL, "none set");
	put(cgroup, "cpuset", json_string(c.cpuset), "no cpuset can be seen");
	cgroup_free(&c);
	return cgroup;
}

json_t *provenance_environment(void)
{
	static const char *const prefixes[] = {
		"OMP_", "GOMP_", "KMP_", "SLURM_", "LIKWID", "MALLOC_", "LD_PRELOAD=", "LD_LIBRARY_PATH=", "LOCUS_"
	};
	json_t *environment = json_object();

	for (char **variable = environ; environ && *variable; variable++) {
		size_t length = strcspn(*variable, "=");
		char *name;

		for (unsigned i = 0; i < LENGTH(prefixes); i++) {
			if (strncmp(*variable, prefixes[i], strlen(prefixes[i])) || !(*variable)[length])
				continue;
			name = strndup(*variable, length);
			if (!name)
				continue;
			if (is_secret(name, length))
				put(environment, name, NULL, "left out: it may be a secret");
			else
				put(environment, name, json_string(*variable + length + 1), "not UTF-8");
			free(name);
		}
	}
	return environment;
}

json_t *provenance_tlb(const struct tlb *tlbs, unsigned n)
{
	json_t *list = json_array();

	for (const struct tlb *t = tlbs; t < tlbs + n; t++) {
		json_t *tlb = json_object();

		json_object_set_new(tlb, "level", json_integer(t->level));
		json_object_set_new(tlb, "type", json_string(t->type));
		json_object_set_new(tlb, "page", count(t->page));
		json_object_set_new(tlb, "entries", count(t->entries));
		put(tlb, "ways", t->ways ? count(t->ways) : NULL, "CPUID does not say");
		json_array_append_new(list, tlb);
	}
	return list;
}

/* No file has them: a folder that stands for a machine has none. */
static void put_tlbs(json_t *object, const char *root, const struct machine *m)
{
	bool here = m->here && !strcmp(root, THIS_MACHINE);
	const char *why = "not this machine";
	struct tlb tlbs[MOST_TLBS] = { 0 };
	unsigned n = here ? tlb_read(tlbs, &why) : 0;

	json_object_set_new(object, "tlb", provenance_tlb(tlbs, n));
	if (!n)
		json_object_set_new(object, "tlb_why", json_string(why));
}

json_t *provenance_machine_at(const char *root, const struct machine *m)
{
	static const struct source settings[] = {
		{ "numa_balancing", "/proc/sys/kernel/numa_balancing", read_integer, 0 },
		{ "perf_event_paranoid", "/proc/sys/kernel/perf_event_paranoid", read_integer, 0 },
		{ 0 },
	};
	json_t *machine = json_object();
	const char *hypervisor;
	bool known;

	hypervisor = hypervisor_find(root, &known);
	json_object_set_new(machine, "cpu", cpu_of(root));
	if (hypervisor || !known)
		put(machine, "virtual", json_string(hypervisor), "neither the CPU nor the firmware tells");
	else
		json_object_set_new(machine, "virtual", json_null());
	json_object_set_new(machine, "topology", topology_of(root, m));
	put_tlbs(machine, root, m);
	json_object_set_new(machine, "memory", memory_of(root, m));
	json_object_set_new(machine, "kernel", kernel_of(root));
	json_object_set_new(machine, "frequency", frequency_of(root, m));
	put(machine, "mitigations", mitigations_of(root), CPUS "/vulnerabilities: %s", strerror(errno));
	json_object_set_new(machine, "cgroup", cgroup_of(root));
	put_sources(machine, root, settings);
	json_object_set_new(machine, "environment", provenance_environment());
	json_object_set_new(machine, "libc", json_sprintf("glibc %s", gnu_get_libc_version()));
	return machine;
}

json_t *provenance_machine(const struct machine *m)
{
	return provenance_machine_at(THIS_MACHINE, m);
}

/* ---- program and job ---- */

#define QUOTE(x)  #x
#define QUOTED(x) QUOTE(x)

json_t *provenance_program(void)
{
	static const struct {
		const char *name, *version;
	} parts[] = {
		{ "hwloc", LOCUS_HWLOC_VERSION }, { "libnuma", LOCUS_LIBNUMA_VERSION }, { "jansson", LOCUS_JANSSON_VERSION },
#ifdef _OPENMP
		{ "openmp", QUOTED(_OPENMP) },
#else
		{ "openmp", NULL },
#endif
		{ "mpi", LOCUS_MPI_VERSION },	  { "papi", LOCUS_PAPI_VERSION },	{ "likwid", LOCUS_LIKWID_VERSION },
	};
	json_t *program = json_object(), *built_with = json_object();

	put(program, "version", json_string(PACKAGE_VERSION), "not UTF-8");
	put(program, "revision", json_string(LOCUS_REVISION), "not built from a git tree");
	put(program, "compiler", json_string(LOCUS_COMPILER), "not UTF-8");
	put(program, "flags", json_string(LOCUS_CFLAGS), "not UTF-8");
	for (unsigned i = 0; i < LENGTH(parts); i++)
		put(built_with, parts[i].name, json_string(parts[i].version), "built without it");
	json_object_set_new(program, "built_with", built_with);
	return program;
}

json_t *provenance_job(void)
{
	static const char *const keys[] = { "id", "array_task", "step", "restart", "nodes" };
	static const struct {
		const char *system, *variable[LENGTH(keys)];
	} systems[] = {
		{ "slurm",
		  { "SLURM_JOB_ID", "SLURM_ARRAY_TASK_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT", "SLURM_JOB_NUM_NODES" } },
		{ "pbs", { "PBS_JOBID", "PBS_ARRAY_INDEX", NULL, NULL, "PBS_NUM_NODES" } },
		{ "lsf", { "LSB_JOBID", "LSB_JOBINDEX", NULL, "LSB_RESTART", NULL } },
	};

	for (unsigned i = 0; i < LENGTH(systems); i++) {
		json_t *job;

		if (!getenv(systems[i].variable[0]))
			continue;
		job = json_object();
		json_object_set_new(job, "system", json_string(systems[i].system));
		for (unsigned j = 0; j < LENGTH(keys); j++) {
			const char *name = systems[i].variable[j], *value = name ? getenv(name) : NULL;
			json_t *text = json_string(value);

			json_object_set_new(job, keys[j], text ? text : json_null());
		}
		return job;
	}
	return json_null();
}
