/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reserved huge pages (hugetlb): the kernel's pools, and how much regions may take from them.
 * Transparent ones: whether a process may have them.
 */
#include "machine/memory/huge.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "base/arithmetic.h"
#include "base/sysfs.h"
#include "base/text.h"
#include "machine/limits/limits.h"
#include "machine/memory/arena.h"
#include "machine/memory/mapped.h"
#include "machine/topology/topology.h"

bool huge_thp_forbidden(const char *root)
{
	/* 1: forbids all; 3: only those that no madvise() asks for */
	return !strcmp(root, SYSFS_ROOT) && prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 1;
}

/* The kernel's pools. */

/* Folders in which root reserves huge pages of a size in KiB: for the machine, on a node. */
#define HUGE	     "/sys/kernel/mm/hugepages"
#define MACHINE_HUGE HUGE "/hugepages-%zukB"
#define NODE_HUGE    "/sys/devices/system/node/node%d/hugepages/hugepages-%zukB"

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
	limit_begin(l);
	cgroup_limit_huge(root, size, l);
}

/* Pages that the kernel may still allocate beyond the pool (overcommit). */
static uint64_t surplus_of(const char *root, size_t kib)
{
	uint64_t allowed = 0, made = 0;

	sysfs_number(root, &allowed, MACHINE_HUGE "/nr_overcommit_hugepages", kib);
	sysfs_number(root, &made, MACHINE_HUGE "/surplus_hugepages", kib);
	return saturating_sub(allowed, made);
}

int huge_pages_read(const char *root, size_t size, int node, struct huge_pages *p)
{
	size_t kib = size / 1024;
	struct memory_limit limit;
	char folder[128];

	if (node == ALL_NODES)
		snprintf(folder, sizeof(folder), MACHINE_HUGE, kib);
	else
		snprintf(folder, sizeof(folder), NODE_HUGE, node, kib);
	*p = (struct huge_pages){ 0 };
	if (sysfs_number(root, &p->total, "%s/nr_hugepages", folder) ||
	    sysfs_number(root, &p->free, "%s/free_hugepages", folder))
		return -1;
	sysfs_number(root, &p->reserved, MACHINE_HUGE "/resv_hugepages", kib);
	p->available = saturating_sub(p->free, p->reserved) + surplus_of(root, kib);
	huge_limit_read(root, size, &limit);
	p->available = smaller(p->available, limit.available / size);
	return 0;
}

/* ---- whether a region can have its pages, and why not ---- */

/* Huge pages of a region that are not touched yet. */
static uint64_t untouched(const struct region *r)
{
	unsigned char there;
	uint64_t n = 0;

	for (size_t offset = 0; offset < r->bytes; offset += r->granule)
		n += mincore(r->base + offset, r->arena->machine->page, &there) || !(there & 1);
	return n;
}

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

/* A fault beyond the cgroup's limit kills the process (SIGBUS), so it is checked in advance. */
int huge_within_limit(struct region *r)
{
	char needed[TEXT_BYTES], there[TEXT_BYTES];
	struct memory_limit limit;
	uint64_t need = r->bytes;

	huge_limit_read(SYSFS_ROOT, r->granule, &limit);
	for (const struct region *other = r->arena->regions; other; other = other->next)
		need += other->granule == r->granule && other->hugetlb
				? untouched(other) * other->granule
				: 0;
	if (need <= limit.available)
		return 0;
	arena_cannot(r->arena,
		     "%s and earlier mappings need %s more in huge pages, but only %s is available "
		     "because of %s; choose a smaller size",
		     r->name, text_bytes(needed, need), text_bytes(there, limit.available),
		     limit.what);
	errno = ENOMEM;
	return -1;
}

/*
 * A fault that finds no free huge page on the bound node kills the process (SIGBUS), so they are
 * counted in advance.
 */
int huge_on_node(struct region *r, int node)
{
	size_t size = r->granule;
	struct huge_pages pages;
	uint64_t need = 0;

	if (!r->hugetlb || huge_pages_read(SYSFS_ROOT, size, node, &pages))
		return 0;
	for (const struct region *other = r->arena->regions; other; other = other->next)
		if (other == r ||
		    (other->bound == node && other->granule == size && other->hugetlb))
			need += untouched(other);
	if (need <= pages.free)
		return 0;
	arena_cannot(
		r->arena,
		"%s needs %llu huge page%s of %zu KiB on node %d, and %llu are free; reserve more, "
		"as root: echo %llu > " NODE_HUGE "/nr_hugepages",
		r->name, (unsigned long long)need, plural(need), size >> 10, node,
		(unsigned long long)pages.free,
		(unsigned long long)(pages.total + need - pages.free), node, size >> 10);
	errno = ENOMEM;
	return -1;
}

void huge_refused(struct region *r)
{
	const int error = errno;
	size_t size = r->granule;
	uint64_t need = r->bytes / size, unused;
	struct huge_pages pages;
	char unit[TEXT_BYTES];

	text_bytes(unit, size);
	if (huge_pages_read(SYSFS_ROOT, size, ALL_NODES, &pages)) {
		arena_cannot(r->arena,
			     "%s needs huge pages of %s, which this kernel does not have; "
			     "/sys/kernel/mm/hugepages lists its sizes",
			     r->name, unit);
	} else if ((unused = saturating_sub(pages.free, pages.reserved)) < need) {
		arena_cannot(r->arena,
			     "%s needs %llu huge page%s of %s, and %llu are free; reserve more, as "
			     "root: "
			     "echo %llu > " MACHINE_HUGE "/nr_hugepages",
			     r->name, (unsigned long long)need, plural(need), unit,
			     (unsigned long long)unused,
			     (unsigned long long)(pages.total + need - unused), size >> 10);
	} else {
		arena_cannot(r->arena,
			     "%s was refused %llu huge page%s of %s, though %llu are free: %s (a "
			     "limit of the cgroup, hugetlb.*.max, or of the process)",
			     r->name, (unsigned long long)need, plural(need), unit,
			     (unsigned long long)unused, strerror(error));
	}
	errno = error;
}
