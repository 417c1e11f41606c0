/* SPDX-License-Identifier: Apache-2.0 */
#include "machine/region.h"

#include <errno.h>
#include <numa.h>
#include <numaif.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/arithmetic.h"
#include "base/sysfs.h"
#include "base/text.h"
#include "machine/limits.h"
#include "machine/maps.h"
#include "machine/topology.h"

#define CHUNK	       ((size_t)64 << 10) /* pages asked about in one call */
#define MOST_NODES     1024		  /* Linux has no more on any architecture */
#define MAP_HUGE_SHIFT 26		  /* <linux/mman.h>: log2 of the page's size begins here */

/* Reserved huge pages: by KiB; by node and KiB. */
#define MACHINE_HUGE "/sys/kernel/mm/hugepages/hugepages-%zukB"
#define NODE_HUGE    "/sys/devices/system/node/node%d/hugepages/hugepages-%zukB"

struct arena {
	const struct machine *machine;
	struct region *regions; /* the last one first */
	char *refusal;
	struct node_memory *before; /* by node, when it was opened; 0 bytes: unknown; NULL: at most
				       one node has memory */
};

struct region {
	struct region *next;
	struct arena *arena;
	char *name;
	enum pages pages;
	void *reserved; /* the mapping, guard pages included */
	size_t reserved_bytes;
	char *base;
	size_t asked, bytes, granule; /* bytes: asked, in whole granules */
	int bound;		      /* node, or ANY_NODE */
	bool even;
	int16_t *home, *user; /* by granule: node + 1, so that fresh memory (0) means any */
};

/* What is asked of the kernel: a size of hugetlb page (0: none), and advice. */
static const struct backing {
	size_t hugetlb;
	int advice;
} backings[] = {
	[PAGES_BASE] = { 0, MADV_NOHUGEPAGE },
	[PAGES_THP] = { 0, MADV_HUGEPAGE },
	[PAGES_2M] = { (size_t)2 << 20, MADV_NORMAL },
	[PAGES_1G] = { (size_t)1 << 30, MADV_NORMAL },
};

bool is_hugetlb_choice(size_t bytes)
{
	return bytes == backings[PAGES_2M].hugetlb || bytes == backings[PAGES_1G].hugetlb;
}

static const char out_of_memory[] = "out of memory";

static unsigned memory_nodes(const struct machine *m);

struct arena *arena_open_at(const char *root, const struct machine *machine)
{
	struct arena *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->machine = machine;
	if (root && memory_nodes(machine) > 1)
		a->before = calloc(machine->nodes, sizeof(*a->before));
	for (unsigned i = 0; a->before && i < machine->nodes; i++)
		if (node_memory_read(root, machine->node[i].number, &a->before[i]))
			a->before[i] = (struct node_memory){ 0 };
	return a;
}

struct arena *arena_open(const struct machine *machine)
{
	return arena_open_at(machine->here ? THIS_MACHINE : NULL, machine);
}

static void region_free(struct region *r)
{
	if (r->reserved)
		munmap(r->reserved, r->reserved_bytes);
	free(r->name);
	free(r->home);
	free(r->user);
	free(r);
}

void arena_close(struct arena *a)
{
	if (!a)
		return;
	for (struct region *r = a->regions, *next; r; r = next) {
		next = r->next;
		region_free(r);
	}
	if (a->refusal != out_of_memory)
		free(a->refusal);
	free(a->before);
	free(a);
}

const char *arena_refusal(const struct arena *a)
{
	return a->refusal;
}

void *cannot(struct arena *a, const char *format, ...)
{
	va_list arguments;
	int error = errno;

	if (a->refusal != out_of_memory)
		free(a->refusal);
	va_start(arguments, format);
	if (vasprintf(&a->refusal, format, arguments) < 0)
		a->refusal = (char *)out_of_memory;
	va_end(arguments);
	errno = error;
	return NULL;
}

/* Mapping. */

static int log2_of(size_t power)
{
	return __builtin_ctzl(power);
}

/*
 * Reserved huge pages of a size: of the machine (node ANY_NODE) or of a node. -1: the kernel has
 * none of this size.
 */
static int huge_pages(size_t size, int node, const char *which, uint64_t *n)
{
	if (node == ANY_NODE)
		return sysfs_number(THIS_MACHINE, n, MACHINE_HUGE "/%s_hugepages", size >> 10,
				    which);
	return sysfs_number(THIS_MACHINE, n, NODE_HUGE "/%s_hugepages", node, size >> 10, which);
}

/* Free ones that nobody else is promised; mmap() takes from these. */
static uint64_t unpromised(size_t size)
{
	uint64_t unused = 0, promised = 0;

	huge_pages(size, ANY_NODE, "free", &unused);
	huge_pages(size, ANY_NODE, "resv", &promised);
	return unused > promised ? unused - promised : 0;
}

static void refuse_huge(struct region *r)
{
	size_t size = r->granule;
	uint64_t total, need = r->bytes / size, unused = unpromised(size);
	const char *unit = size >= (size_t)1 << 30 ? "1 GiB" : "2 MiB";

	if (huge_pages(size, ANY_NODE, "nr", &total))
		cannot(r->arena,
		       "%s needs huge pages of %s, which this kernel does not have; "
		       "/sys/kernel/mm/hugepages lists those it has",
		       r->name, unit);
	else if (unused < need)
		cannot(r->arena,
		       "%s needs %llu huge pages of %s, and %llu are free; reserve more, as root: "
		       "echo %llu > " MACHINE_HUGE "/nr_hugepages",
		       r->name, (unsigned long long)need, unit, (unsigned long long)unused,
		       (unsigned long long)(total + need - unused), size >> 10);
	else
		cannot(r->arena,
		       "%s was refused %llu huge pages of %s, though %llu are free: %s (a limit of "
		       "the cgroup, hugetlb.*.max, or "
		       "of the process)",
		       r->name, (unsigned long long)need, unit, (unsigned long long)unused,
		       strerror(errno));
}

/*
 * A stretch without access around the region keeps its mapping apart from its neighbours', so that
 * what /proc/self/smaps says of it is true of it alone; and it catches who runs over the end.
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

/* Huge pages that touching the rest of a region will take. */
static uint64_t untouched(const struct region *r)
{
	unsigned char there;
	uint64_t n = 0;

	for (size_t offset = 0; offset < r->bytes; offset += r->granule)
		n += mincore(r->base + offset, r->arena->machine->page, &there) || !(there & 1);
	return n;
}

/*
 * A fault beyond the limit of a cgroup kills the process (SIGBUS), so what is to be touched is held
 * against it first.
 */
static int check_limit(struct region *r)
{
	char needed[BYTES_TEXT], there[BYTES_TEXT];
	struct memory_limit limit;
	uint64_t need = r->bytes;

	huge_limit_read(THIS_MACHINE, r->granule, &limit);
	for (const struct region *other = r->arena->regions; other; other = other->next)
		need += other->granule == r->granule && backings[other->pages].hugetlb
				? untouched(other) * other->granule
				: 0;
	if (need <= limit.available)
		return 0;
	cannot(r->arena,
	       "%s and what was mapped before it need %s more in huge pages, but only %s can be "
	       "had, because of %s; choose a smaller size",
	       r->name, bytes_text(needed, need), bytes_text(there, limit.available), limit.what);
	errno = ENOMEM;
	return -1;
}

static int back(struct region *r)
{
	const struct backing *b = &backings[r->pages];
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;

	if (b->hugetlb && check_limit(r))
		return -1;

	if (b->hugetlb)
		flags |= MAP_HUGETLB | log2_of(b->hugetlb) << MAP_HUGE_SHIFT;
	if (mmap(r->base, r->bytes, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED) {
		if (b->hugetlb)
			refuse_huge(r);
		return -1;
	}
	/*
	 * A kernel built without transparent huge pages refuses the advice; what it gives is read
	 * back anyway.
	 */
	if (b->advice != MADV_NORMAL)
		madvise(r->base, r->bytes, b->advice);
	return 0;
}

static size_t granule_of(const struct machine *m, enum pages pages)
{
	if (backings[pages].hugetlb)
		return backings[pages].hugetlb;
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
	r->pages = pages;
	r->granule = granule;
	r->asked = bytes;
	r->bytes = round_up(bytes, granule);
	r->bound = ANY_NODE;
	r->name = strdup(name);
	if (!r->name || reserve(r) || back(r))
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
	return pages == PAGES_THP ? round_up(bytes, granule_of(m, pages)) : bytes;
}

/* Room. */

static int highest_node(const struct machine *m)
{
	return m->node[m->nodes - 1].number;
}

static unsigned memory_nodes(const struct machine *m)
{
	unsigned n = 0;

	for (unsigned i = 0; i < m->nodes; i++)
		n += machine_has_memory(m, &m->node[i]);
	return n;
}

/* Where pages lie that CPUs of a node touch first. */
static int touched_from(const struct machine *m, int number)
{
	const struct node *node = machine_node(m, number);

	return node ? node->first_touch : number;
}

/*
 * By first touch (which another node's memory may have to serve), and under a policy that allows no
 * other node.
 */
enum { TOUCHED, ALONE, NEEDS };

/* Reserved huge pages are counted apart. */
static void add_need(const struct region *r, int64_t *need)
{
	const struct machine *m = r->arena->machine;
	const unsigned nodes = memory_nodes(m);
	size_t on[MOST_NODES + 1] = { 0 }, granules = r->bytes / r->granule, evenly;

	for (size_t i = 0; i < granules; i++)
		on[r->bound == ANY_NODE ? r->home[i] : r->bound + 1]++;
	evenly = r->even && nodes ? on[0] / nodes : 0; /* on[0]: of no node in particular */
	for (unsigned i = 0; i < m->nodes; i++) {
		const int number = m->node[i].number;
		size_t here = number < MOST_NODES ? on[number + 1] : 0;

		here += machine_has_memory(m, &m->node[i]) ? evenly : 0;
		need[NEEDS * i + (r->bound == ANY_NODE ? TOUCHED : ALONE)] +=
			(int64_t)(here * r->granule);
	}
}

void arena_need(const struct arena *a, int64_t *need)
{
	memset(need, 0, sizeof(*need) * NEEDS * a->machine->nodes);
	for (const struct region *r = a->regions; r; r = r->next)
		if (!backings[r->pages].hugetlb)
			add_need(r, need);
}

/*
 * First touch falls to other nodes as long as these have something to spare; only then are files
 * dropped for it.
 */
static uint64_t spare_elsewhere(const struct arena *a, unsigned node)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < a->machine->nodes; i++)
		if (i != node && machine_has_memory(a->machine, &a->machine->node[i]))
			sum += a->before[i].spare;
	return sum;
}

static int check_room(struct arena *a, unsigned i, uint64_t touched, uint64_t alone)
{
	const struct node_memory *m = &a->before[i];
	const uint64_t need = touched + alone, all = need + memory_beside(need),
		       share = touched / 1000; /* that may be misplaced */
	const bool full = all > m->available;
	const bool falls = touched && all > m->spare && all - m->spare > share &&
			   spare_elsewhere(a, i) > share;
	char needed[BYTES_TEXT], more[BYTES_TEXT], there[BYTES_TEXT], total[BYTES_TEXT],
		cached[BYTES_TEXT], files[200] = "";

	if (!need || !m->total || (!full && !falls))
		return 0;
	if (!full)
		snprintf(files, sizeof(files),
			 ", and %s of cached files, for which first touch goes to another node (as "
			 "root: echo 3 > "
			 "/proc/sys/vm/drop_caches)",
			 bytes_text(cached, m->available - m->spare));
	cannot(a,
	       "it needs %s and %s beside it (page tables, samples) on node %d, which has %s %s of "
	       "%s%s; choose a smaller size",
	       bytes_text(needed, need), bytes_text(more, memory_beside(need)),
	       a->machine->node[i].number, bytes_text(there, full ? m->available : m->spare),
	       full ? "available" : "free", bytes_text(total, m->total), files);
	errno = ENOMEM;
	return -1;
}

int arena_room(struct arena *a, const int64_t *need)
{
	for (unsigned i = 0; a->before && i < a->machine->nodes; i++)
		if (check_room(a, i, (uint64_t)need[NEEDS * i + TOUCHED],
			       (uint64_t)need[NEEDS * i + ALONE]))
			return -1;
	return 0;
}

/* For what is touched while a trial is prepared. */
static int all_have_room(struct arena *a)
{
	int64_t need[NEEDS * a->machine->nodes];

	arena_need(a, need);
	return arena_room(a, need);
}

/* Policies. */

static int set_policy(struct region *r, int policy, const struct bitmask *nodes)
{
	if (!mbind(r->base, r->bytes, policy, nodes->maskp, nodes->size + 1, MPOL_MF_STRICT))
		return 0;
	if (errno != EPERM && errno != ENOSYS)
		return -1;
	if (r->arena->machine->nodes == 1) /* there is nothing to choose */
		return 0;
	cannot(r->arena,
	       "%s can't be placed: the kernel refuses mbind (%s); in a container, allow "
	       "CAP_SYS_NICE",
	       r->name, strerror(errno));
	return -1;
}

/*
 * A fault that finds no huge page on the one node allowed kills the process (SIGBUS), so they are
 * counted first.
 */
static int check_huge(struct region *r, int node)
{
	size_t size = r->granule;
	uint64_t unused, total, need = 0;

	if (!backings[r->pages].hugetlb || huge_pages(size, node, "free", &unused))
		return 0;
	for (const struct region *other = r->arena->regions; other; other = other->next)
		if (other == r || (other->bound == node && other->granule == size &&
				   backings[other->pages].hugetlb))
			need += untouched(other);
	if (need <= unused)
		return 0;
	huge_pages(size, node, "nr", &total);
	cannot(r->arena,
	       "%s needs %llu huge pages of %zu KiB on node %d, and %llu are free; reserve more, "
	       "as root: "
	       "echo %llu > " NODE_HUGE "/nr_hugepages",
	       r->name, (unsigned long long)need, size >> 10, node, (unsigned long long)unused,
	       (unsigned long long)(total + need - unused), node, size >> 10);
	errno = ENOMEM;
	return -1;
}

int region_bind(struct region *r, int node)
{
	const struct machine *m = r->arena->machine;
	char lack[NODE_TEXT];
	struct bitmask *nodes;
	int status;

	errno = EINVAL;
	if (!machine_node(m, node))
		return -1;
	if (!machine_has_memory(m, machine_node(m, node))) {
		cannot(r->arena, "%s can't lie on node %d, %s", r->name, node,
		       node_lack(m, machine_node(m, node), lack));
		return -1;
	}
	if (check_huge(r, node))
		return -1;
	nodes = numa_bitmask_alloc((unsigned)highest_node(m) + 1);
	if (!nodes)
		return -1;
	numa_bitmask_setbit(nodes, (unsigned)node);
	status = set_policy(r, MPOL_BIND, nodes);
	numa_bitmask_free(nodes);
	if (!status)
		r->bound = node;
	return status;
}

void *region_on_node(struct arena *a, const char *name, size_t bytes, int node)
{
	struct region *r = region_map(a, name, bytes, PAGES_BASE);

	if (!r || (a->machine->nodes > 1 && region_bind(r, touched_from(a->machine, node))) ||
	    all_have_room(a))
		return NULL;
	region_home(r, 0, bytes, node);
	return memset(region_base(r), 0, bytes);
}

int region_interleave(struct region *r)
{
	const struct machine *m = r->arena->machine;
	struct bitmask *nodes = numa_bitmask_alloc((unsigned)highest_node(m) + 1);
	int status;

	if (!nodes)
		return -1;
	for (unsigned i = 0; i < m->nodes; i++)
		if (machine_has_memory(m, &m->node[i]))
			numa_bitmask_setbit(nodes, (unsigned)m->node[i].number);
	status = set_policy(r, MPOL_INTERLEAVE, nodes);
	numa_bitmask_free(nodes);
	return status;
}

/* Claims. */

static void claim(const struct region *r, int16_t *of, size_t offset, size_t bytes, int node)
{
	size_t end = bytes > r->bytes - (offset < r->bytes ? offset : r->bytes) ? r->bytes
										: offset + bytes;
	size_t first = offset / r->granule + (offset % r->granule > 0),
	       last = end >= r->asked ? r->bytes / r->granule : end / r->granule;
	/* the last one: surely not there */
	int16_t value = (int16_t)(node < 0 ? 0 : node < MOST_NODES ? node + 1 : MOST_NODES);

	for (size_t granule = first; granule < last; granule++)
		of[granule] = value;
}

void region_home(struct region *r, size_t offset, size_t bytes, int node)
{
	claim(r, r->home, offset, bytes, touched_from(r->arena->machine, node));
}

void region_user(struct region *r, size_t offset, size_t bytes, int node)
{
	claim(r, r->user, offset, bytes, node);
}

void region_even(struct region *r)
{
	r->even = true;
}

/*
 * Reading back, in steps: a reserved huge page at once, since all of it is on one node; anything
 * else by the system's page.
 */

static size_t step_of(const struct region *r)
{
	return backings[r->pages].hugetlb ? r->granule : r->arena->machine->page;
}

/* Bytes to read: what was asked for. What rounding up added may never be touched. */
static size_t extent_of(const struct region *r)
{
	return round_up(r->asked, step_of(r));
}

static int claimed(const struct region *r, const int16_t *of, size_t offset)
{
	return of[offset / r->granule] - 1;
}

/* Pages to ask about, or to move. */
struct chunk {
	size_t n;
	void *address[CHUNK];
	int node[CHUNK];   /* of the user */
	int status[CHUNK]; /* where it is; negative: not there */
};

/*
 * Takes the next pages of a region, or those that have a user. *offset is moved behind them; false
 * at the end.
 */
static bool next_chunk(const struct region *r, bool used, size_t *offset, struct chunk *c)
{
	size_t step = step_of(r), extent = extent_of(r);

	for (c->n = 0; c->n < CHUNK && *offset < extent; *offset += step) {
		c->node[c->n] = touched_from(r->arena->machine, claimed(r, r->user, *offset));
		c->address[c->n] = r->base + *offset;
		c->n += !used || c->node[c->n] >= 0;
	}
	return c->n > 0;
}

static int ask(struct chunk *c)
{
	return move_pages(0, c->n, c->address, NULL, c->status, 0) ? -1 : 0;
}

/*
 * Of one region, by node: pages found there, pages claimed for it, pages found that have no home.
 */
struct tally {
	uint64_t found[MOST_NODES], home[MOST_NODES], homeless[MOST_NODES];
};

/*
 * Of the pages that are to be even, those that a node has beyond its share; the granule is what
 * interleaving can't divide.
 */
static uint64_t uneven(const struct region *r, const uint64_t *on)
{
	const struct machine *m = r->arena->machine;
	uint64_t total = 0, excess = 0, nodes = memory_nodes(m), share;

	for (int n = 0; n < MOST_NODES; n++)
		total += on[n];
	share = (total + nodes - 1) / nodes + r->granule / m->page;
	for (int n = 0; n < MOST_NODES; n++) {
		const struct node *node = machine_node(m, n);
		uint64_t wanted = node && machine_has_memory(m, node) ? share : 0;

		excess += on[n] > wanted ? on[n] - wanted : 0;
	}
	return excess;
}

static void note(const struct region *r, size_t offset, int node, struct tally *t,
		 struct placement *p)
{
	int home = claimed(r, r->home, offset), user = claimed(r, r->user, offset);
	uint64_t pages = step_of(r) / p->page;

	p->pages += pages;
	if (user >= 0) {
		p->used += pages;
		p->local += node == user ? pages : 0;
	}
	if (node < 0 || node >= MOST_NODES)
		p->unmapped += pages;
	else
		*(home < 0 ? &t->homeless[node] : &t->found[node]) += pages;
	if (home >= 0 ? node != home : r->even && node < 0)
		p->misplaced += pages;
}

static void add_found(const uint64_t *found, struct placement *p)
{
	for (unsigned n = 0; n < MOST_NODES; n++) {
		p->on_node[n] += found[n];
		if (found[n] && n >= p->nodes)
			p->nodes = n + 1;
	}
}

static int verify_region(const struct region *r, struct chunk *c, struct tally *t,
			 struct placement *p)
{
	memset(t, 0, sizeof(*t));
	for (size_t offset = 0; next_chunk(r, false, &offset, c);) {
		if (ask(c))
			return -1;
		for (size_t i = 0; i < c->n; i++)
			note(r, (size_t)((char *)c->address[i] - r->base), c->status[i], t, p);
	}
	add_found(t->found, p);
	add_found(t->homeless, p);
	if (r->even)
		p->misplaced += uneven(r, t->homeless);
	return 0;
}

static int verify(const struct arena *a, struct tally *t, struct placement *p)
{
	struct chunk *c = malloc(sizeof(*c));
	int status = c ? 0 : -1, error;

	for (const struct region *r = a->regions; r && !status; r = r->next)
		status = verify_region(r, c, t, p);
	error = errno;
	free(c);
	errno = error;
	return status;
}

/* Is the address in this region? */
static bool holds(const struct region *r, uintptr_t address)
{
	return address - (uintptr_t)r->base < r->bytes;
}

/* What can be said from counts: a node that has fewer pages than were claimed for it lacks some. */
static void compare(const struct region *r, struct tally *t, struct placement *p)
{
	uint64_t pages = extent_of(r) / p->page, found = 0, homes = 0, homeless = 0;

	for (size_t offset = 0; offset < extent_of(r); offset += step_of(r))
		if (claimed(r, r->home, offset) >= 0)
			t->home[claimed(r, r->home, offset)] += step_of(r) / p->page;
	for (unsigned n = 0; n < MOST_NODES; n++) {
		found += t->found[n];
		homes += t->home[n];
		if (t->home[n] > t->found[n])
			p->misplaced += t->home[n] - t->found[n];
		else
			homeless += t->homeless[n] = t->found[n] - t->home[n];
	}
	p->pages += pages;
	p->unmapped += pages > found ? pages - found : 0;
	if (r->even)
		p->misplaced += uneven(r, t->homeless) +
				(pages - homes > homeless ? pages - homes - homeless : 0);
	add_found(t->found, p);
}

static int count_region(const struct region *r, const char *maps, struct tally *t,
			struct placement *p)
{
	char *copy = strdup(maps), *rest = copy, *line;
	uintptr_t begin;

	if (!copy)
		return -1;
	memset(t, 0, sizeof(*t));
	while ((line = numa_maps_next(&rest, &begin)))
		if (holds(r, begin))
			numa_maps_add(line, p->page, t->found, MOST_NODES);
	free(copy);
	compare(r, t, p);
	return 0;
}

static int count(const struct arena *a, struct tally *t, struct placement *p)
{
	char *maps = sysfs_text(THIS_MACHINE, "/proc/self/numa_maps");
	int status = maps ? 0 : -1;

	for (const struct region *r = a->regions; r && !status; r = r->next)
		status = count_region(r, maps, t, p);
	free(maps);
	return status;
}

static void count_nothing(const struct arena *a, struct placement *p)
{
	for (const struct region *r = a->regions; r; r = r->next)
		p->pages += extent_of(r) / p->page;
}

static void forget(const struct arena *a, struct placement *p)
{
	uint64_t *on_node = p->on_node;

	memset(on_node, 0, MOST_NODES * sizeof(*on_node));
	*p = (struct placement){ .page = a->machine->page,
				 .on_node = on_node,
				 .nodes = (unsigned)highest_node(a->machine) + 1 };
}

static const struct region *region_at(const struct arena *a, uintptr_t address)
{
	for (const struct region *r = a->regions; r; r = r->next)
		if (holds(r, address))
			return r;
	return NULL;
}

static void add_huge(uint64_t bytes, size_t page, struct placement *p)
{
	p->huge += bytes;
	if (bytes && page > p->huge_page)
		p->huge_page = page;
}

static int read_huge(const struct arena *a, struct placement *p)
{
	char *text = sysfs_text(THIS_MACHINE, "/proc/self/smaps"), *rest = text;
	struct mapping m;

	for (const struct region *r = a->regions; r; r = r->next)
		p->thp += r->pages == PAGES_THP ? r->asked : 0;
	p->huge_unknown = !text;
	if (!text)
		return errno == ENOMEM ? -1 : 0;
	while (smaps_next(&rest, &m)) {
		const struct region *r = region_at(a, m.begin);

		if (!r)
			continue;
		add_huge(m.transparent, a->machine->huge_page, p);
		add_huge(m.hugetlb, r->granule, p);
	}
	free(text);
	return 0;
}

/*
 * Some kernels (6.1 is one) hide from move_pages, as if they were not there, pages without access:
 * so NUMA balancing leaves those that it watches. The counts know of them; where they find no more
 * than was verified, that stands.
 */
static int count_hidden(const struct arena *a, struct tally *t, struct placement *p)
{
	const uint64_t unmapped = p->unmapped;
	int length;

	forget(a, p);
	if (count(a, t, p) || p->unmapped >= unmapped) {
		forget(a, p);
		return verify(a, t, p);
	}
	p->how = COUNTED;
	length = asprintf(&p->why_not,
			  "move_pages: %llu pages are there, but hidden, as NUMA balancing leaves "
			  "those that it watches",
			  (unsigned long long)(unmapped - p->unmapped));
	return length < 0 ? -1 : 0;
}

static int read_nodes(const struct arena *a, struct tally *t, struct placement *p)
{
	const char *forbidden;

	forget(a, p);
	if (!verify(a, t, p))
		return p->unmapped ? count_hidden(a, t, p) : 0;
	if (errno == ENOMEM)
		return -1;
	forbidden = strerror(errno);
	forget(a, p);
	p->how = COUNTED;
	if (!count(a, t, p))
		return asprintf(&p->why_not, "move_pages: %s", forbidden) < 0 ? -1 : 0;
	if (errno == ENOMEM)
		return -1;
	forget(a, p);
	count_nothing(a, p);
	p->how = UNVERIFIED;
	return asprintf(&p->why_not, "move_pages: %s; /proc/self/numa_maps: %s", forbidden,
			strerror(errno)) < 0
		       ? -1
		       : 0;
}

int arena_placement(const struct arena *a, struct placement *p)
{
	struct tally *t = malloc(sizeof(*t));
	int status = -1;

	*p = (struct placement){ .on_node = malloc(MOST_NODES * sizeof(*p->on_node)) };
	if (t && p->on_node)
		status = read_nodes(a, t, p) || read_huge(a, p) ? -1 : 0;
	free(t);
	if (status) {
		placement_free(p);
		errno = ENOMEM;
	}
	return status;
}

void placement_free(struct placement *p)
{
	free(p->on_node);
	free(p->why_not);
	*p = (struct placement){ 0 };
}

/* Keeps the pages that are there, but not with their user. */
static int keep_strangers(struct chunk *c)
{
	size_t kept = 0;

	if (c->n && ask(c))
		return -1;
	for (size_t i = 0; i < c->n; i++)
		if (c->status[i] >= 0 && c->status[i] != c->node[i]) {
			c->address[kept] = c->address[i];
			c->node[kept++] = c->node[i];
		}
	c->n = kept;
	return 0;
}

/*
 * A page that is busy at one moment (just being written back, or looked at) may move at the next;
 * so it is asked twice.
 */
static int move(struct chunk *c)
{
	if (keep_strangers(c))
		return -1;
	for (int try = 0; try < 2 && c->n; try++) {
		/* ENOENT: old kernels say so when no page was left to move. */
		if (move_pages(0, c->n, c->address, c->node, c->status, MPOL_MF_MOVE) < 0 &&
		    errno != ENOENT)
			return -1;
		if (keep_strangers(c))
			return -1;
	}
	return 0;
}

long region_migrate(struct region *r)
{
	const struct machine *m = r->arena->machine;
	struct chunk *c = malloc(sizeof(*c));
	long stuck = 0;
	int status = c ? 0 : -1, error;

	for (size_t offset = 0; !status && next_chunk(r, true, &offset, c);) {
		status = move(c);
		stuck += (long)(c->n * step_of(r) / m->page);
	}
	error = errno;
	free(c);
	errno = error;
	if (!status)
		return stuck;
	/* with one node all are where they can be */
	return m->nodes == 1 && (error == EPERM || error == ENOSYS) ? 0 : -1;
}
