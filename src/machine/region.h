/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of a trial: mapped with the page size asked for, claimed page by page ("this page is to
 * lie on node 1", "a worker on node 0 uses it"), and read back from the kernel. The harness
 * compares the claim with what it reads, before and after the timed part.
 */
#ifndef LOCUS_REGION_H
#define LOCUS_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct machine;

enum pages {
	PAGES_BASE, /* the system's page; huge ones refused */
	PAGES_THP,  /* transparent huge pages asked for */
	PAGES_2M,   /* hugetlb */
	PAGES_1G,   /* hugetlb */
};
/* the choices of a parameter, in the order of enum pages */
#define PAGES_CHOICES "base,thp,2M,1G"
/* Arm's kernels have hugetlb pages of other sizes, too */
bool is_hugetlb_choice(size_t bytes);

/* All regions of a trial; knows why the last thing asked of it could not be had. */
struct arena;
struct arena *arena_open(const struct machine *); /* NULL with errno */
struct arena *
arena_open_at(const char *root,
	      const struct machine *); /* the memory of its nodes as a folder tells (sysfs.h) */
void arena_close(struct arena *);      /* unmaps all */
const char *arena_refusal(const struct arena *); /* NULL: nothing was refused */

/*
 * For prepare(): notes why a trial can't be had on this machine (its status is then `impossible`).
 * NULL, so that it can be returned.
 */
void *cannot(struct arena *, const char *format, ...) __attribute__((format(printf, 2, 3)));

struct region;

/*
 * Maps zeroed, untouched memory, aligned to its granule and rounded up to it. NULL with errno, and
 * arena_refusal() where it is for want of huge pages.
 */
struct region *region_map(struct arena *, const char *name, size_t bytes, enum pages);
void *region_base(const struct region *);
size_t region_bytes(const struct region *); /* as mapped: whole granules */
/*
 * Bytes that are placed together: the page asked for (2 MiB or what the system has for transparent
 * ones, whatever it then gives).
 */
size_t region_granule(const struct region *);
/*
 * Bytes of memory that a region may take: of transparent huge pages whole ones, which are 512 MiB
 * where a page is 64 KiB.
 */
size_t region_takes(const struct machine *, size_t bytes, enum pages);

/*
 * Policies for pages not touched yet. -1 with errno: EINVAL for a node that isn't there; ENOMEM for
 * a node without enough reserved huge pages, EPERM and ENOSYS where the kernel lets nobody choose,
 * both with arena_refusal().
 */
int region_bind(struct region *, int node);
/* over all nodes with memory that the process may use */
int region_interleave(struct region *);

/*
 * The simple case: zeros on pages of the system's size that are there and claimed, on this node, or
 * where it has no memory, on the one that its CPUs touch first. NULL with errno, as the above, and
 * ENOMEM where arena_room() refuses.
 */
void *region_on_node(struct arena *, const char *name, size_t bytes, int node);

/*
 * The claim, by bytes, rounded inwards to whole granules, so that a page shared by two owners is
 * claimed for neither; the last granule is whole where its owner has all the bytes that were asked
 * for.
 */
#define ANY_NODE (-1)
/*
 * These pages are to lie on node, or where it has no memory, on the one where pages lie that its
 * CPUs touch first.
 */
void region_home(struct region *, size_t offset, size_t bytes, int node);
/* pages without a home are to lie evenly on all nodes with memory */
void region_even(struct region *);
/* a worker on node uses them */
void region_user(struct region *, size_t offset, size_t bytes, int node);

/*
 * Whether all that is claimed, or bound, has room on the nodes where it is to lie, beside what was
 * there when the arena was opened: to be asked before the first touch. arena_need() gives bytes,
 * two numbers for each of the machine's nodes; ranks of one machine add theirs up. arena_room() is
 * -1 with errno ENOMEM and arena_refusal() where a node has too little: a policy that allows no
 * other node would have the process killed, and first touch would fall to another.
 */
void arena_need(const struct arena *, int64_t *need);
int arena_room(struct arena *, const int64_t *need);

/*
 * Moves every page that has a user to its user's node (or the one that its CPUs touch first, as
 * above). Returns the pages that would not move (of those that are there), or -1 with errno: EPERM
 * and ENOSYS where the kernel forbids it.
 */
long region_migrate(struct region *);

/* What was read back. */
struct placement {
	/* page by page; by count (numa_maps); not at all, and why_not says why */
	enum { VERIFIED, COUNTED, UNVERIFIED } how;
	/* NULL when VERIFIED; else why nothing better; owned by the placement */
	char *why_not;
	size_t page;		  /* bytes of the counts below: the system's page */
	unsigned nodes;		  /* length of on_node: the highest node number + 1 */
	uint64_t *on_node;	  /* pages on each node; owned by the placement */
	uint64_t pages, unmapped; /* in all; without memory behind them */
	/*
	 * Pages not where they were claimed to be, or not there at all. COUNTED: the pages that a
	 * node lacks of those claimed for it, so at least as many are wrong. region_even(): what a
	 * node has beyond its share (pages / nodes, rounded up) and one granule.
	 */
	uint64_t misplaced;
	/* pages on the node of the worker that uses them, of `used` that have one; VERIFIED only */
	uint64_t local, used;
	uint64_t huge;	   /* bytes on pages larger than the system's (smaps) */
	uint64_t thp;	   /* bytes for which transparent huge pages were asked */
	size_t huge_page;  /* bytes of such a page; 0 where there are none */
	bool huge_unknown; /* /proc/self/smaps can't be read: the two above are 0 */
};

/*
 * All regions together. -1 with errno ENOMEM; a kernel that forbids it is no error, but UNVERIFIED.
 */
int arena_placement(const struct arena *, struct placement *);
void placement_free(struct placement *);

#endif
