/* SPDX-License-Identifier: Apache-2.0 */
#include "machine/memory/region.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/arithmetic.h"
#include "machine/memory/mapped.h"
#include "machine/topology/topology.h"

#define MAP_HUGE_SHIFT 26 /* <linux/mman.h>: the bit at which log2 of the page size begins */

/*
 * By enum pages: the size of hugetlb pages (0: none), the advice for madvise(), and the size of
 * multi-size pages (0: none).
 */
static const struct backing {
	size_t hugetlb;
	int advice;
	size_t multisize;
} backings[] = {
	[PAGES_BASE] = { 0, MADV_NOHUGEPAGE },
	[PAGES_THP] = { 0, MADV_HUGEPAGE },
	[PAGES_2M] = { (size_t)2 << 20, MADV_NORMAL },
	[PAGES_1G] = { (size_t)1 << 30, MADV_NORMAL },
	[PAGES_MULTISIZE_16K] = { 0, MADV_NOHUGEPAGE, (size_t)16 << 10 },
	[PAGES_MULTISIZE_64K] = { 0, MADV_NOHUGEPAGE, (size_t)64 << 10 },
	[PAGES_MULTISIZE_256K] = { 0, MADV_NOHUGEPAGE, (size_t)256 << 10 },
};

bool pages_are_hugetlb(size_t bytes)
{
	return bytes == backings[PAGES_2M].hugetlb || bytes == backings[PAGES_1G].hugetlb;
}

static int log2_of(size_t power)
{
	return __builtin_ctzl(power);
}

/*
 * Guard pages keep the mapping separate from its neighbours, so that /proc/self/smaps shows it
 * alone, and catch accesses beyond the end.
 */
static int reserve(struct region *r)
{
	size_t page = r->arena->machine->page, gap = r->granule + page;

	if (r->bytes > SIZE_MAX - 2 * gap) {
		errno = ENOMEM;
		return -1;
	}
	r->reserved_bytes = r->bytes + 2 * gap;
	r->reserved = mmap(NULL, r->reserved_bytes, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (r->reserved == MAP_FAILED) {
		r->reserved = NULL;
		return -1;
	}
	r->base = (char *)round_up((uintptr_t)r->reserved + page, r->granule);
	return 0;
}

static int back(struct region *r, const struct backing *b)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;

	if ((b->hugetlb && huge_within_limit(r)) || (b->multisize && multisize_allowed(r)))
		return -1;
	if (b->hugetlb)
		flags |= MAP_HUGETLB | log2_of(b->hugetlb) << MAP_HUGE_SHIFT;
	if (mmap(r->base, r->bytes, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED) {
		if (b->hugetlb)
			huge_refused(r);
		return -1;
	}
	/* Fails without transparent huge pages in the kernel; the pages are read back anyway. */
	if (b->advice != MADV_NORMAL)
		madvise(r->base, r->bytes, b->advice);
	return 0;
}

static size_t granule_of(const struct machine *m, enum pages pages)
{
	if (backings[pages].hugetlb)
		return backings[pages].hugetlb;
	if (backings[pages].multisize > m->page)
		return backings[pages].multisize;
	return pages == PAGES_THP && m->huge_page ? m->huge_page : m->page;
}

struct region *region_map(struct arena *a, const char *name, size_t bytes, enum pages pages)
{
	size_t granule = granule_of(a->machine, pages);
	struct region *r;
	int error;

	if (!bytes || bytes > SIZE_MAX - granule) {
		errno = bytes ? ENOMEM : EINVAL;
		return NULL;
	}
	r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	r->arena = a;
	r->thp = pages == PAGES_THP;
	r->hugetlb = backings[pages].hugetlb;
	r->multisize = backings[pages].multisize;
	r->granule = granule;
	r->asked = bytes;
	r->bytes = round_up(bytes, granule);
	r->bound = ANY_NODE;
	r->name = strdup(name);
	if (!r->name || reserve(r) || back(r, &backings[pages]))
		goto fail;
	r->home = calloc(r->bytes / granule, sizeof(*r->home));
	r->user = calloc(r->bytes / granule, sizeof(*r->user));
	if (!r->home || !r->user)
		goto fail;
	r->next = a->regions;
	a->regions = r;
	return r;
fail:
	error = errno;
	region_free(r);
	errno = error;
	return NULL;
}

void *region_base(const struct region *r)
{
	return r->base;
}

size_t region_bytes(const struct region *r)
{
	return r->bytes;
}

size_t region_granule(const struct region *r)
{
	return r->granule;
}

size_t region_takes(const struct machine *m, size_t bytes, enum pages pages)
{
	const bool whole = pages == PAGES_THP || backings[pages].multisize;

	return whole ? round_up(bytes, granule_of(m, pages)) : bytes;
}

int region_discard(struct region *r)
{
	return madvise(r->base, r->bytes, MADV_DONTNEED);
}

/* --- claims --- */

static void claim(const struct region *r, int16_t *of, size_t offset, size_t bytes, int node)
{
	size_t end = bytes > r->bytes - (offset < r->bytes ? offset : r->bytes) ? r->bytes
										: offset + bytes;
	size_t first = offset / r->granule + (offset % r->granule > 0),
	       last = end >= r->asked ? r->bytes / r->granule : end / r->granule;
	/* a node beyond the limit becomes one that never exists */
	int16_t value = (int16_t)(node < 0 ? 0 : node < MOST_NODES ? node + 1 : MOST_NODES);

	for (size_t granule = first; granule < last; granule++)
		of[granule] = value;
}

void region_home(struct region *r, size_t offset, size_t bytes, int node)
{
	claim(r, r->home, offset, bytes, machine_first_touch(r->arena->machine, node));
}

void region_user(struct region *r, size_t offset, size_t bytes, int node)
{
	claim(r, r->user, offset, bytes, node);
}

void region_even(struct region *r)
{
	r->even = true;
}
