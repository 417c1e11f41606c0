/* SPDX-License-Identifier: Apache-2.0 */
#include "machine/memory/hugepool.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arithmetic.h"
#include "base/sysfs.h"
#include "machine/limits/cgroup.h"
#include "machine/topology/node_memory.h"

#define NODES "/sys/devices/system/node"
#define HUGE  "/sys/kernel/mm/hugepages"

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
	sysfs_number(root, &p->reserved, HUGE "/hugepages-%zukB/resv_hugepages", kib);
	p->available = saturating_sub(p->free, p->reserved) + huge_surplus(root, kib);
	huge_limit_read(root, size, &limit);
	p->available = smaller(p->available, limit.available / size);
	return 0;
}
