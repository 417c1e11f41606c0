/* SPDX-License-Identifier: Apache-2.0 */
#include "machine/limits.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/fields.h"
#include "base/sysfs.h"
#include "base/text.h"

#define NODES "/sys/devices/system/node"
#define HUGE  "/sys/kernel/mm/hugepages"

/* Version 1 writes "none" as the largest number of whole pages; nobody has half of that. */
#define NONE_BEYOND (UINT64_C(1) << 62)

/* ---- control groups: where they are ---- */

/* One hierarchy, and where in it we are. */
struct hierarchy {
	int version;
	char path[PATH_MAX];  /* as /proc/self/cgroup has it */
	char mount[PATH_MAX]; /* as far up as can be seen */
	char group[PATH_MAX]; /* mount, or a folder in it */
};

static bool listed(const char *list, const char *word)
{
	size_t length = strlen(word);

	for (; list; list = strchr(list, ',')) {
		list += *list == ',';
		if (!strncmp(list, word, length) && (list[length] == ',' || !list[length]))
			return true;
	}
	return false;
}

/*
 * Lines "4:memory:/job" (version 1) and "0::/job" (version 2); version 1 has the controller where
 * both have a line.
 */
static int find_path(const char *root, const char *controller, struct hierarchy *h)
{
	char *text = sysfs_text(root, "/proc/self/cgroup"), *rest = text, *line, *controllers,
	     *path;

	h->version = 0;
	while (rest && (line = strsep(&rest, "\n"))) {
		controllers = strchr(line, ':');
		path = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!path || path[1] != '/')
			continue;
		*path++ = '\0';
		controllers++;
		if (*controllers ? !listed(controllers, controller) : h->version == 1)
			continue;
		h->version = *controllers ? 1 : 2;
		snprintf(h->path, sizeof(h->path), "%s", path);
	}
	free(text);
	return h->version ? 0 : -1;
}

/* Blanks in a mount point are written "\040". */
static void unescape(char *text)
{
	char *to = text;

	for (; *text; to++) {
		unsigned code;

		if (*text == '\\' && sscanf(text, "\\%3o", &code) == 1 && strnlen(text, 4) == 4) {
			*to = (char)code;
			text += 4;
		} else {
			*to = *text++;
		}
	}
	*to = '\0';
}

/*
 * The part of path that lies below the part of the hierarchy that is mounted; "" where it lies
 * elsewhere (namespaces).
 */
static const char *below(const char *path, const char *mounted)
{
	size_t length = strcmp(mounted, "/") ? strlen(mounted) : 0;

	if (strstr(path, "/..") || strncmp(path, mounted, length) ||
	    (path[length] && path[length] != '/'))
		return "";
	return strcmp(path + length, "/") ? path + length : "";
}

/* A line of mountinfo: does it mount this hierarchy? Then mount and group are set. */
static bool mounts(char *line, const char *controller, struct hierarchy *h)
{
	char *separator = strstr(line, " - "), *mounted = NULL, *mount = NULL, *type = NULL,
	     *options = NULL;
	bool found = false;

	if (!separator || sscanf(separator, " - %ms %*s %ms", &type, &options) != 2)
		goto out;
	if (strcmp(type, h->version == 1 ? "cgroup" : "cgroup2") ||
	    (h->version == 1 && !listed(options, controller)))
		goto out;
	if (sscanf(line, "%*s %*s %*s %ms %ms", &mounted, &mount) != 2)
		goto out;
	unescape(mounted);
	unescape(mount);
	if (strlen(mount) + strlen(h->path) >= PATH_MAX)
		goto out;
	stpcpy(stpcpy(h->group, mount), below(h->path, mounted));
	strcpy(h->mount, mount);
	found = true;
out:
	free(mounted);
	free(mount);
	free(type);
	free(options);
	return found;
}

/* The hierarchy of a controller. -1: we are in none, or it can't be seen. */
static int find_hierarchy(const char *root, const char *controller, struct hierarchy *h)
{
	char *text, *rest, *line;
	bool found = false;

	if (find_path(root, controller, h))
		return -1;
	rest = text = sysfs_text(root, "/proc/self/mountinfo");
	while (rest && !found && (line = strsep(&rest, "\n")))
		found = mounts(line, controller, h);
	free(text);
	return found ? 0 : -1;
}

/*
 * From a group to its parent, as far as it is mounted. Groups that can't be seen (containers) limit
 * nothing that we could read.
 */
static bool step_up(struct hierarchy *h)
{
	char *slash = strrchr(h->group, '/');

	if (!slash || !strcmp(h->group, h->mount) || (size_t)(slash - h->group) < strlen(h->mount))
		return false;
	*slash = '\0';
	return true;
}

/* What a group is called for people: its path below the mount. */
static const char *group_name(const struct hierarchy *h)
{
	const char *name = h->group + strlen(h->mount);

	return *name ? name : "/";
}

/* ---- control groups: what they allow ---- */

/*
 * The files of memory, by version. What a group has cached of files is dropped before anything
 * fails.
 */
static const struct {
	const char *limit[2], *usage, *cached[3];
} memory_files[] = {
	[1] = { { "memory.limit_in_bytes" },
		"memory.usage_in_bytes",
		{ "total_inactive_file", "total_active_file" } },
	[2] = { { "memory.max", "memory.high" },
		"memory.current",
		{ "inactive_file", "active_file", "slab_reclaimable" } },
};

static uint64_t sum_of(const char *text, const char *const *keys, unsigned n)
{
	uint64_t sum = 0, value;

	for (unsigned i = 0; i < n && keys[i]; i++)
		if (field_number(text, keys[i], &value) && value < NONE_BEYOND)
			sum += value;
	return sum;
}

/* Bytes that count against the group's limit and can't be dropped. */
static uint64_t memory_held(const char *root, const struct hierarchy *h)
{
	uint64_t usage = 0;
	char *stat = sysfs_text(root, "%s/memory.stat", h->group);

	sysfs_number(root, &usage, "%s/%s", h->group, memory_files[h->version].usage);
	usage = saturating_sub(usage, sum_of(stat, memory_files[h->version].cached, 3));
	free(stat);
	return usage;
}

/* In version 1 a group without hierarchy does not count what its children take. */
static bool counts_children(const char *root, const struct hierarchy *h)
{
	uint64_t hierarchical = 1;

	if (h->version == 1)
		sysfs_number(root, &hierarchical, "%s/memory.use_hierarchy", h->group);
	return hierarchical;
}

static uint64_t limit_of(const char *root, const struct hierarchy *h, const char *file)
{
	uint64_t limit;

	return file && !sysfs_number(root, &limit, "%s/%s", h->group, file) && limit < NONE_BEYOND
		       ? limit
		       : NO_LIMIT;
}

static __attribute__((format(printf, 3, 4))) void
consider(struct memory_limit *l, uint64_t available, const char *format, ...)
{
	va_list arguments;

	if (available >= l->available)
		return;
	l->available = available;
	va_start(arguments, format);
	vsnprintf(l->what, sizeof(l->what), format, arguments);
	va_end(arguments);
}

static void consider_cgroups(const char *root, struct memory_limit *l)
{
	char limit_text[BYTES_TEXT], held_text[BYTES_TEXT];
	struct hierarchy h;
	bool own = true;

	if (find_hierarchy(root, "memory", &h))
		return;
	do {
		for (unsigned i = 0; i < 2; i++) {
			const char *file = memory_files[h.version].limit[i];
			uint64_t limit = limit_of(root, &h, file), held;

			if (limit == NO_LIMIT || !(own || counts_children(root, &h)))
				continue;
			held = memory_held(root, &h);
			consider(l, saturating_sub(limit, held),
				 "%s %s of cgroup %s, with %s in use", file,
				 bytes_text(limit_text, limit), group_name(&h),
				 bytes_text(held_text, held));
		}
		own = false;
	} while (step_up(&h));
}

/* CPUs that a quota amounts to: time a period. */
static double quota_of(const char *root, const struct hierarchy *h)
{
	uint64_t quota, period;
	char *line, word[24];
	double cpus = INFINITY;

	if (h->version == 1) {
		/* "-1" is no number, and no quota */
		if (!sysfs_number(root, &quota, "%s/cpu.cfs_quota_us", h->group) &&
		    !sysfs_number(root, &period, "%s/cpu.cfs_period_us", h->group) && period)
			cpus = (double)quota / (double)period;
		return cpus;
	}
	line = sysfs_line(root, "%s/cpu.max", h->group);
	if (line && sscanf(line, "%23s %" SCNu64, word, &period) == 2 &&
	    !parse_number(word, &quota) && quota != NO_LIMIT && period)
		cpus = (double)quota / (double)period;
	free(line);
	return cpus;
}

static double least_quota(const char *root)
{
	struct hierarchy h;
	double cpus = INFINITY;

	if (find_hierarchy(root, "cpu", &h))
		return cpus;
	do
		cpus = fmin(cpus, quota_of(root, &h));
	while (step_up(&h));
	return cpus;
}

/*
 * A group of version 2 has the file only where its parent hands the controller down; else the
 * parent's set holds.
 */
static char *find_cpuset(const char *root)
{
	static const char *const files[3][3] = {
		[1] = { "cpuset.effective_cpus", "cpuset.cpus" },
		[2] = { "cpuset.cpus.effective" },
	};
	struct hierarchy h;
	char *set = NULL;

	if (find_hierarchy(root, "cpuset", &h))
		return NULL;
	do
		for (const char *const *file = files[h.version]; *file && !set; file++)
			set = sysfs_line(root, "%s/%s", h.group, *file);
	while (!set && step_up(&h));
	return set;
}

void cgroup_read(const char *root, struct cgroup *c)
{
	struct hierarchy h;

	*c = (struct cgroup){ .memory_limit = NO_LIMIT,
			      .cpu_quota = least_quota(root),
			      .cpuset = find_cpuset(root) };
	if (find_hierarchy(root, "memory", &h))
		return;
	c->version = h.version;
	c->path = strdup(h.path);
	do
		for (unsigned i = 0; i < 2; i++)
			c->memory_limit =
				smaller(c->memory_limit,
					limit_of(root, &h, memory_files[h.version].limit[i]));
	while (step_up(&h));
}

void cgroup_free(struct cgroup *c)
{
	free(c->path);
	free(c->cpuset);
	*c = (struct cgroup){ 0 };
}

/* ---- memory ---- */

uint64_t memory_beside(uint64_t bytes)
{
	return bytes / 256 + (4 << 20);
}

/*
 * What is left of `nodes`, and of `by`, who left it, where a limit allows no more than `allowed`;
 * takes over the latter.
 */
static void restrict_to(hwloc_bitmap_t nodes, hwloc_bitmap_t allowed, const char **by,
			const char *limit)
{
	if (allowed && !hwloc_bitmap_isincluded(nodes, allowed)) {
		hwloc_bitmap_and(nodes, nodes, allowed);
		*by = limit;
	}
	hwloc_bitmap_free(allowed);
}

/*
 * A cpuset (or a job's share), or a policy that binds (numactl --membind), may leave us only some
 * of the nodes.
 */
static void consider_nodes(const char *root, struct memory_limit *l)
{
	char *status = sysfs_text(root, "/proc/self/status"),
	     *cpuset = field_text(status, "Mems_allowed_list"), *list = NULL;
	hwloc_bitmap_t nodes = sysfs_list(root, NODES "/has_memory");
	struct memory_policy policy;
	const char *by = NULL;
	struct node_memory m;
	char words[300];
	uint64_t sum = 0;
	bool known = false;
	int node;

	memory_policy_read(root, &policy);
	snprintf(words, sizeof(words), "memory policy %s", policy.text);
	if (nodes && cpuset)
		restrict_to(nodes, parse_list(cpuset), &by, "cpuset");
	if (nodes && policy.kind == BOUND)
		restrict_to(nodes, memory_policy_nodes(&policy), &by, words);
	if (!by || hwloc_bitmap_list_asprintf(&list, nodes) < 0)
		goto out;
	for (node = hwloc_bitmap_first(nodes); node >= 0; node = hwloc_bitmap_next(nodes, node)) {
		if (node_memory_read(root, node, &m))
			continue;
		sum += m.available;
		known = true;
	}
	if (known)
		consider(l, sum, "the memory available on node%s %s, which the %s allows alone",
			 strpbrk(list, ",-") ? "s" : "", list, by);
out:
	hwloc_bitmap_free(nodes);
	free(list);
	free(cpuset);
	free(status);
}

static void consider_commit(const char *root, struct memory_limit *l)
{
	uint64_t mode = 0, limit, committed;
	char *meminfo, text[BYTES_TEXT];

	if (sysfs_number(root, &mode, "/proc/sys/vm/overcommit_memory") || mode != 2)
		return;
	meminfo = sysfs_text(root, "/proc/meminfo");
	if (field_number(meminfo, "CommitLimit", &limit) &&
	    field_number(meminfo, "Committed_AS", &committed))
		consider(l, saturating_sub(limit, committed),
			 "CommitLimit %s (vm.overcommit_memory is 2), less what is committed",
			 bytes_text(text, limit));
	free(meminfo);
}

static void consider_ulimits(const char *root, struct memory_limit *l)
{
	static const struct {
		const char *limit, *used, *name;
	} rows[] = {
		{ "Max address space", "VmSize", "ulimit -v" },
		{ "Max data size", "VmData", "ulimit -d" },
	};
	char *limits = sysfs_text(root, "/proc/self/limits"),
	     *status = sysfs_text(root, "/proc/self/status");
	char word[24], text[BYTES_TEXT];

	for (unsigned i = 0; i < LENGTH(rows); i++) {
		const char *soft = field_find(limits, rows[i].limit);
		uint64_t limit, used = 0;

		if (!soft || sscanf(soft, "%23s", word) != 1 || parse_number(word, &limit) ||
		    limit == NO_LIMIT)
			continue;
		field_number(status, rows[i].used, &used);
		consider(l, saturating_sub(limit, used), "%s %s, less what is mapped", rows[i].name,
			 bytes_text(text, limit));
	}
	free(limits);
	free(status);
}

void memory_limit_read(const char *root, struct memory_limit *l)
{
	struct node_memory m;

	*l = (struct memory_limit){ .available = NO_LIMIT,
				    .what = "nothing that this machine tells" };
	if (!node_memory_read(root, ALL_NODES, &m))
		consider(l, m.available, "the memory available on this machine (MemAvailable)");
	consider_nodes(root, l);
	consider_cgroups(root, l);
	consider_commit(root, l);
	consider_ulimits(root, l);
}

/* ---- huge pages ---- */

static int by_size(const void *a, const void *b)
{
	const size_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

unsigned huge_page_sizes(const char *root, size_t sizes[MOST_HUGE_SIZES])
{
	char path[PATH_MAX];
	struct dirent *entry;
	unsigned n = 0;
	size_t kib;
	DIR *folder;

	snprintf(path, sizeof(path), "%s" HUGE, root);
	folder = opendir(path);
	while (folder && n < MOST_HUGE_SIZES && (entry = readdir(folder)))
		if (sscanf(entry->d_name, "hugepages-%zukB", &kib) == 1 && kib &&
		    kib <= SIZE_MAX / 1024)
			sizes[n++] = kib * 1024;
	if (folder)
		closedir(folder);
	qsort(sizes, n, sizeof(*sizes), by_size);
	return n;
}

void huge_limit_read(const char *root, size_t size, struct memory_limit *l)
{
	static const char *const limits[] = { [1] = "limit_in_bytes", [2] = "max" };
	static const char *const usages[] = { [1] = "usage_in_bytes", [2] = "current" };
	static const char *const units[] = { "KB", "MB", "GB" };
	unsigned unit = size >= 1u << 30 ? 2 : size >= 1u << 20 ? 1 : 0;
	char kind[40], file[64], limit_text[BYTES_TEXT], usage_text[BYTES_TEXT];
	struct hierarchy h;

	*l = (struct memory_limit){ .available = NO_LIMIT,
				    .what = "nothing that this machine tells" };
	snprintf(kind, sizeof(kind), "hugetlb.%zu%s", size >> (10 * (unit + 1)), units[unit]);
	if (find_hierarchy(root, "hugetlb", &h))
		return;
	do {
		uint64_t limit, usage = 0;

		snprintf(file, sizeof(file), "%s.%s", kind, limits[h.version]);
		limit = limit_of(root, &h, file);
		sysfs_number(root, &usage, "%s/%s.%s", h.group, kind, usages[h.version]);
		if (limit != NO_LIMIT)
			consider(l, saturating_sub(limit, usage),
				 "%s %s of cgroup %s, with %s in use", file,
				 bytes_text(limit_text, limit), group_name(&h),
				 bytes_text(usage_text, usage));
	} while (step_up(&h));
}

/* Pages that the kernel makes when asked for, beyond those that lie ready. */
static uint64_t huge_surplus(const char *root, size_t kib)
{
	uint64_t allowed = 0, made = 0;

	sysfs_number(root, &allowed, HUGE "/hugepages-%zukB/nr_overcommit_hugepages", kib);
	sysfs_number(root, &made, HUGE "/hugepages-%zukB/surplus_hugepages", kib);
	return saturating_sub(allowed, made);
}

int huge_pages_read(const char *root, size_t size, int node, struct huge_pages *p)
{
	size_t kib = size / 1024;
	struct memory_limit limit;
	uint64_t reserved = 0;
	char folder[128];

	if (node == ALL_NODES)
		snprintf(folder, sizeof(folder), HUGE "/hugepages-%zukB", kib);
	else
		snprintf(folder, sizeof(folder), NODES "/node%d/hugepages/hugepages-%zukB", node,
			 kib);
	*p = (struct huge_pages){ 0 };
	if (sysfs_number(root, &p->total, "%s/nr_hugepages", folder) ||
	    sysfs_number(root, &p->free, "%s/free_hugepages", folder))
		return -1;
	/* Reservations are not kept by node: any of them may be meant for this one. */
	sysfs_number(root, &reserved, HUGE "/hugepages-%zukB/resv_hugepages", kib);
	p->available = saturating_sub(p->free, reserved) + huge_surplus(root, kib);
	huge_limit_read(root, size, &limit);
	p->available = smaller(p->available, limit.available / size);
	return 0;
}
