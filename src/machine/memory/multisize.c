/* SPDX-License-Identifier: Apache-2.0 */
/* Multi-size transparent huge pages. */
#include "machine/memory/region.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/sysfs.h"
#include "base/text.h"
#include "machine/memory/arena.h"
#include "machine/memory/mapped.h"
#include "machine/topology/topology.h"

#define THP	"/sys/kernel/mm/transparent_hugepage"
#define OF_SIZE THP "/hugepages-%zukB"

char *multisize_lack(const char *root, size_t bytes)
{
	const size_t kib = bytes >> 10;
	char *choice = sysfs_choice(root, OF_SIZE "/enabled", kib), *why = NULL;

	if (!choice)
		return text_of("this kernel has no transparent huge pages of %zu KiB; " THP
			       " lists its sizes (Linux 6.8 and later)",
			       kib);
	if (!strcmp(choice, "inherit")) {
		free(choice);
		choice = sysfs_choice(root, THP "/enabled");
	}
	if (!choice || !strcmp(choice, "never"))
		why = text_of("transparent huge pages of %zu KiB are off; allow them, as root: "
			      "echo madvise > " OF_SIZE "/enabled",
			      kib, kib);
	free(choice);
	return why;
}

int multisize_allowed(const struct region *r)
{
	char *why = multisize_lack(SYSFS_ROOT, r->granule);

	if (!why)
		return 0;
	arena_cannot(r->arena, "%s: %s", r->name, why);
	free(why);
	errno = ENOTSUP;
	return -1;
}

/* The number of pages of that size that the kernel has allocated at first touch since boot. */
static double given(size_t bytes)
{
	uint64_t n;

	return sysfs_number(SYSFS_ROOT, &n, OF_SIZE "/stats/anon_fault_alloc", bytes >> 10)
		       ? NAN
		       : (double)n;
}

static void touch(const struct region *r, size_t from, size_t bytes)
{
	for (size_t at = from; at < from + bytes; at += r->arena->machine->page)
		*(volatile char *)(r->base + at) = 0;
}

double multisize_touch(const struct region *r)
{
	const size_t pieces = r->bytes / r->granule;
	double before;

	if (!r->multisize) {
		touch(r, 0, r->bytes);
		return NAN;
	}
	before = given(r->granule);
	for (size_t at = 0; at < r->bytes; at += r->granule) {
		madvise(r->base + at, r->granule, MADV_HUGEPAGE);
		touch(r, at, r->granule);
		madvise(r->base + at, r->granule, MADV_NOHUGEPAGE);
	}
	return (given(r->granule) - before) / (double)pieces;
}
