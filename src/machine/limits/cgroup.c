/* SPDX-License-Identifier: Apache-2.0 */
/* Control groups: their hierarchy, and the limits that they set. */
#include "machine/limits/limits.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arithmetic.h"
#include "base/sysfs.h"
#include "base/text.h"

/* --- hierarchies --- */

/*
 * This process's place in a hierarchy of control groups, version 1 or 2: from its own group up to
 * the highest visible one. In containers, groups further up are hidden, and so are their limits.
 */
struct hierarchy {
	int version;
	char path[PATH_MAX];  /* as in /proc/self/cgroup */
	char mount[PATH_MAX]; /* the highest visible group */
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
 * Lines are "4:memory:/job" (version 1) and "0::/job" (version 2); if both exist, version 1 has the
 * controller.
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

/* The path relative to the mounted part of the hierarchy; "" if it is outside (namespaces). */
static const char *below(const char *path, const char *mounted)
{
	size_t length = strcmp(mounted, "/") ? strlen(mounted) : 0;

	if (strstr(path, "/..") || strncmp(path, mounted, length) ||
	    (path[length] && path[length] != '/'))
		return "";
	return strcmp(path + length, "/") ? path + length : "";
}

/* Whether this line of mountinfo mounts the hierarchy; then sets mount and group. */
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

/*
 * Finds this process's group for a controller ("memory"); `root` as in base/sysfs.h. -1: there is
 * no such group, or it is not visible.
 */
static int hierarchy_find(const char *root, const char *controller, struct hierarchy *h)
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

/* Moves to the parent group; false: none is visible. */
static bool hierarchy_up(struct hierarchy *h)
{
	char *slash = strrchr(h->group, '/');

	if (!slash || !strcmp(h->group, h->mount) || (size_t)(slash - h->group) < strlen(h->mount))
		return false;
	*slash = '\0';
	return true;
}

/* The group's name in messages: its path below the mount. */
static const char *hierarchy_group(const struct hierarchy *h)
{
	const char *name = h->group + strlen(h->mount);

	return *name ? name : "/";
}

/* --- limits --- */

void limit_begin(struct memory_limit *l)
{
	*l = (struct memory_limit){ .available = NO_LIMIT, .sharers = 1, .what = "no known limit" };
}

void limit_consider(struct memory_limit *l, unsigned sharers, uint64_t available,
		    const char *format, ...)
{
	va_list arguments;

	if (available / sharers >= l->available)
		return;
	l->available = available / sharers;
	l->sharers = sharers;
	va_start(arguments, format);
	vsnprintf(l->what, sizeof(l->what), format, arguments);
	va_end(arguments);
}

/*
 * Version 1 writes "no limit" as the largest multiple of a page: values close to it are not limits.
 */
#define NONE_BEYOND (UINT64_C(1) << 62)

/*
 * Files of the memory controller, by version. `cached` are keys of memory.stat: caches that are
 * dropped before an allocation fails.
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

/* Bytes that count against the group's limit and cannot be dropped. */
static uint64_t memory_held(const char *root, const struct hierarchy *h)
{
	uint64_t usage = 0;
	char *stat = sysfs_text(root, "%s/memory.stat", h->group);

	sysfs_number(root, &usage, "%s/%s", h->group, memory_files[h->version].usage);
	usage = saturating_sub(usage, sum_of(stat, memory_files[h->version].cached, 3));
	free(stat);
	return usage;
}

/* In version 1, without use_hierarchy, a group does not count its children's memory. */
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

/*
 * Two containers may have the same names; the folder's inode number differs. 0: it cannot be read.
 */
static uint64_t id_of(const char *root, const struct hierarchy *h)
{
	char path[2 * PATH_MAX];
	struct stat s;

	snprintf(path, sizeof(path), "%s%s", root, h->group);
	return stat(path, &s) ? 0 : ((uint64_t)s.st_dev << 40) + (uint64_t)s.st_ino;
}

void cgroup_ids(const char *root, uint64_t id[CGROUP_LEVELS])
{
	struct hierarchy h;
	unsigned n = 0;

	memset(id, 0, CGROUP_LEVELS * sizeof(*id));
	if (hierarchy_find(root, "memory", &h))
		return;
	do
		id[n++] = id_of(root, &h);
	while (n < CGROUP_LEVELS && hierarchy_up(&h));
}

static unsigned sharers_of(const struct limit_sharers *s, uint64_t id)
{
	for (unsigned i = 0; i < CGROUP_LEVELS && s->group[i].id; i++)
		if (s->group[i].id == id)
			return s->group[i].sharers;
	return 1;
}

void cgroup_limit_memory(const char *root, const struct limit_sharers *sharers,
			 struct memory_limit *l)
{
	char limit_text[TEXT_BYTES], held_text[TEXT_BYTES];
	struct hierarchy h;
	bool own = true;

	if (hierarchy_find(root, "memory", &h))
		return;
	do {
		for (unsigned i = 0; i < 2; i++) {
			const char *file = memory_files[h.version].limit[i];
			uint64_t limit = limit_of(root, &h, file), held;

			if (limit == NO_LIMIT || !(own || counts_children(root, &h)))
				continue;
			held = memory_held(root, &h);
			limit_consider(l, sharers_of(sharers, id_of(root, &h)),
				       saturating_sub(limit, held),
				       "%s %s of cgroup %s, with %s in use", file,
				       text_bytes(limit_text, limit), hierarchy_group(&h),
				       text_bytes(held_text, held));
		}
		own = false;
	} while (hierarchy_up(&h));
}

void cgroup_limit_huge(const char *root, size_t size, struct memory_limit *l)
{
	static const char *const limits[] = { [1] = "limit_in_bytes", [2] = "max" };
	static const char *const usages[] = { [1] = "usage_in_bytes", [2] = "current" };
	static const char *const units[] = { "KB", "MB", "GB" };
	unsigned unit = size >= 1u << 30 ? 2 : size >= 1u << 20 ? 1 : 0;
	char kind[40], file[64], limit_text[TEXT_BYTES], usage_text[TEXT_BYTES];
	struct hierarchy h;

	snprintf(kind, sizeof(kind), "hugetlb.%zu%s", size >> (10 * (unit + 1)), units[unit]);
	if (hierarchy_find(root, "hugetlb", &h))
		return;
	do {
		uint64_t limit, usage = 0;

		snprintf(file, sizeof(file), "%s.%s", kind, limits[h.version]);
		limit = limit_of(root, &h, file);
		sysfs_number(root, &usage, "%s/%s.%s", h.group, kind, usages[h.version]);
		if (limit != NO_LIMIT)
			limit_consider(l, 1, saturating_sub(limit, usage),
				       "%s %s of cgroup %s, with %s in use", file,
				       text_bytes(limit_text, limit), hierarchy_group(&h),
				       text_bytes(usage_text, usage));
	} while (hierarchy_up(&h));
}

bool cgroup_is_full(const char *root, char *text, size_t size)
{
	uint64_t limit, threads;
	struct hierarchy h;

	if (hierarchy_find(root, "pids", &h))
		return false;
	do {
		limit = limit_of(root, &h, "pids.max");
		if (sysfs_number(root, &threads, "%s/pids.current", h.group) || threads < limit)
			continue;
		snprintf(text, size, "pids.max %" PRIu64 " of cgroup %s", limit,
			 hierarchy_group(&h));
		return true;
	} while (hierarchy_up(&h));
	return false;
}

/* Reads a group's quota and its period, in us. False: it has none. */
static bool quota_of(const char *root, const struct hierarchy *h, uint64_t *quota, uint64_t *period)
{
	char *line, word[24];
	bool found;

	if (h->version == 1) /* "-1" means no quota: sysfs_number() rejects it */
		return !sysfs_number(root, quota, "%s/cpu.cfs_quota_us", h->group) &&
		       !sysfs_number(root, period, "%s/cpu.cfs_period_us", h->group) && *period;
	line = sysfs_line(root, "%s/cpu.max", h->group);
	found = line && sscanf(line, "%23s %" SCNu64, word, period) == 2 &&
		!number_parse(word, quota) && *quota != NO_LIMIT && *period;
	free(line);
	return found;
}

static void find_least_quota(const char *root, struct cgroup *c)
{
	struct hierarchy h;
	uint64_t quota, period;

	if (hierarchy_find(root, "cpu", &h))
		return;
	do {
		if (!quota_of(root, &h, &quota, &period) ||
		    (double)quota / (double)period >= c->cpu_quota)
			continue;
		c->cpu_quota = (double)quota / (double)period;
		snprintf(c->quota_is, sizeof(c->quota_is), "%s %" PRIu64 " %" PRIu64,
			 h.version == 1 ? "cpu.cfs_quota_us and period" : "cpu.max", quota, period);
	} while (hierarchy_up(&h));
}

/*
 * The CPUs of the nearest group that has the file. In version 2 a group has it only if its parent
 * enables the controller for it; else the parent's set applies.
 */
static char *find_cpuset(const char *root)
{
	static const char *const files[3][3] = {
		[1] = { "cpuset.effective_cpus", "cpuset.cpus" },
		[2] = { "cpuset.cpus.effective" },
	};
	struct hierarchy h;
	char *set = NULL;

	if (hierarchy_find(root, "cpuset", &h))
		return NULL;
	do
		for (const char *const *file = files[h.version]; *file && !set; file++)
			set = sysfs_line(root, "%s/%s", h.group, *file);
	while (!set && hierarchy_up(&h));
	return set;
}

void cgroup_read(const char *root, struct cgroup *c)
{
	struct hierarchy h;

	*c = (struct cgroup){ .memory_limit = NO_LIMIT,
			      .cpu_quota = INFINITY,
			      .cpuset = find_cpuset(root) };
	find_least_quota(root, c);
	if (hierarchy_find(root, "memory", &h))
		return;
	c->version = h.version;
	c->path = strdup(h.path);
	do
		for (unsigned i = 0; i < 2; i++)
			c->memory_limit =
				smaller(c->memory_limit,
					limit_of(root, &h, memory_files[h.version].limit[i]));
	while (hierarchy_up(&h));
}

void cgroup_free(struct cgroup *c)
{
	free(c->path);
	free(c->cpuset);
	*c = (struct cgroup){ 0 };
}
