/* SPDX-License-Identifier: Apache-2.0 */
/* Reads back on which nodes pages lie, and compares them with the claims. */
#include "machine/memory/placement.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <numaif.h>

#include "base/arithmetic.h"
#include "base/sysfs.h"
#include "machine/memory/mapped.h"
#include "machine/topology/topology.h"

/* ---- the kernel's data about pages ---- */

char *numa_maps_next(char **rest, uintptr_t *begin)
{
	char *line = strsep(rest, "\n");

	if (line)
		*begin = strtoull(line, NULL, 16);
	return line;
}

/* "7f12 bind:0 anon=3 N0=2 N1=1 kernelpagesize_kB=4" */
void numa_maps_add(char *line, size_t page, uint64_t *found, unsigned nodes)
{
	const char *unit = strstr(line, "kernelpagesize_kB=");
	uint64_t pages = unit ? (strtoull(strchr(unit, '=') + 1, NULL, 10) << 10) / page : 1;
	unsigned long long count;
	unsigned node;
	char *rest;

	for (char *word = strtok_r(line, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		if (sscanf(word, "N%u=%llu", &node, &count) == 2 && node < nodes)
			found[node] += count * pages;
}

/* "7f12000-7f34000 rw-p ...": the line that a mapping begins with. */
static bool begins_mapping(const char *line, uintptr_t *begin)
{
	char *end, *last;

	*begin = strtoull(line, &end, 16);
	if (end == line || *end != '-')
		return false;
	(void)strtoull(end + 1, &last, 16);
	return last != end + 1 && *last == ' ';
}

/* Reads the next line; at the end of the text it is empty. */
static bool smaps_read(struct smaps *s)
{
	if (getline(&s->line, &s->room, s->file) > 0)
		return true;
	if (s->line)
		s->line[0] = '\0';
	return false;
}

bool smaps_next(struct smaps *s, struct mapping *m)
{
	unsigned long long kib;
	uintptr_t next;

	*m = (struct mapping){ 0 };
	while (!s->line || !begins_mapping(s->line, &m->begin))
		if (!smaps_read(s))
			return false;
	while (smaps_read(s) && !begins_mapping(s->line, &next)) {
		if (sscanf(s->line, "AnonHugePages: %llu", &kib) == 1)
			m->transparent += kib << 10;
		else if (sscanf(s->line, "Private_Hugetlb: %llu", &kib) == 1 ||
			 sscanf(s->line, "Shared_Hugetlb: %llu", &kib) == 1)
			m->hugetlb += kib << 10; /* shared after a fork */
	}
	return true;
}

/* ---- lists of pages, which are handled some at a time ---- */

size_t region_step(const struct region *r)
{
	return r->hugetlb ? r->granule : r->arena->machine->page;
}

size_t region_extent(const struct region *r)
{
	return round_up(r->asked, region_step(r));
}

bool page_list_next(const struct region *r, bool used, size_t *offset, struct page_list *c)
{
	size_t step = region_step(r), extent = region_extent(r);

	for (c->n = 0; c->n < MOST_PAGES && *offset < extent; *offset += step) {
		c->node[c->n] =
			machine_first_touch(r->arena->machine, region_claim(r, r->user, *offset));
		c->address[c->n] = r->base + *offset;
		c->n += !used || c->node[c->n] >= 0;
	}
	return c->n > 0;
}

int page_list_ask(struct page_list *c)
{
	return move_pages(0, c->n, c->address, NULL, c->status, 0) ? -1 : 0;
}

/* --- counts and claims --- */

/*
 * Counts for one region, by node: pages found with a claimed home, pages claimed, pages found
 * without a claim.
 */
struct page_counts {
	uint64_t found[MOST_NODES], home[MOST_NODES], homeless[MOST_NODES];
};

/*
 * Pages beyond each node's even share; one more granule is tolerated, since interleaving cannot
 * divide it.
 */
static uint64_t uneven(const struct region *r, const uint64_t *on)
{
	const struct machine *m = r->arena->machine;
	uint64_t total = 0, excess = 0, nodes = machine_memory_nodes(m), share;

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

static void count_page(const struct region *r, size_t offset, int node, struct page_counts *t,
		       struct placement *p)
{
	int home = region_claim(r, r->home, offset), user = region_claim(r, r->user, offset);
	uint64_t pages = region_step(r) / p->page;

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

static int verify_region(const struct region *r, struct page_list *c, struct page_counts *t,
			 struct placement *p)
{
	memset(t, 0, sizeof(*t));
	for (size_t offset = 0; page_list_next(r, false, &offset, c);) {
		if (page_list_ask(c))
			return -1;
		for (size_t i = 0; i < c->n; i++)
			count_page(r, (size_t)((char *)c->address[i] - r->base), c->status[i], t,
				   p);
	}
	add_found(t->found, p);
	add_found(t->homeless, p);
	if (r->even)
		p->misplaced += uneven(r, t->homeless);
	return 0;
}

static int verify(const struct arena *a, struct page_counts *t, struct placement *p)
{
	struct page_list *c = malloc(sizeof(*c));
	int status = c ? 0 : -1, error;

	for (const struct region *r = a->regions; r && !status; r = r->next)
		status = verify_region(r, c, t, p);
	error = errno;
	free(c);
	errno = error;
	return status;
}

/*
 * Compares counts, without knowledge of single pages: a node with fewer pages than were claimed for
 * it lacks the difference.
 */
static void compare_counts(const struct region *r, struct page_counts *t, struct placement *p)
{
	uint64_t pages = region_extent(r) / p->page, found = 0, homes = 0, homeless = 0;

	for (size_t offset = 0; offset < region_extent(r); offset += region_step(r))
		if (region_claim(r, r->home, offset) >= 0)
			t->home[region_claim(r, r->home, offset)] += region_step(r) / p->page;
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

static int count_region(const struct region *r, const char *maps, struct page_counts *t,
			struct placement *p)
{
	char *copy = strdup(maps), *rest = copy, *line;
	uintptr_t begin;

	if (!copy)
		return -1;
	memset(t, 0, sizeof(*t));
	while ((line = numa_maps_next(&rest, &begin)))
		if (region_holds(r, begin))
			numa_maps_add(line, p->page, t->found, MOST_NODES);
	free(copy);
	compare_counts(r, t, p);
	return 0;
}

static int count(const struct arena *a, struct page_counts *t, struct placement *p)
{
	char *maps = sysfs_text(SYSFS_ROOT, "/proc/self/numa_maps");
	int status = maps ? 0 : -1;

	for (const struct region *r = a->regions; r && !status; r = r->next)
		status = count_region(r, maps, t, p);
	free(maps);
	return status;
}

static void count_nothing(const struct arena *a, struct placement *p)
{
	for (const struct region *r = a->regions; r; r = r->next)
		p->pages += region_extent(r) / p->page;
}

static void begin_anew(const struct arena *a, struct placement *p)
{
	uint64_t *on_node = p->on_node;

	memset(on_node, 0, MOST_NODES * sizeof(*on_node));
	*p = (struct placement){ .page = a->machine->page,
				 .on_node = on_node,
				 .nodes = (unsigned)machine_highest_node(a->machine) + 1 };
}

/*
 * On some kernels (6.1) move_pages() reports inaccessible pages as not present, and NUMA balancing
 * makes the pages that it samples inaccessible. numa_maps counts them: if it finds more pages, use
 * the counts, else verify again.
 */
static int count_hidden(const struct arena *a, struct page_counts *t, struct placement *p)
{
	const uint64_t unmapped = p->unmapped;
	int length;

	begin_anew(a, p);
	if (count(a, t, p) || p->unmapped >= unmapped) {
		begin_anew(a, p);
		return verify(a, t, p);
	}
	p->how = PLACEMENT_COUNTED;
	length = asprintf(
		&p->why_not,
		"move_pages: %llu present pages are hidden: NUMA balancing is sampling them",
		(unsigned long long)(unmapped - p->unmapped));
	return length < 0 ? -1 : 0;
}

static int read_nodes(const struct arena *a, struct page_counts *t, struct placement *p)
{
	const char *forbidden;

	begin_anew(a, p);
	if (!verify(a, t, p))
		return p->unmapped ? count_hidden(a, t, p) : 0;
	if (errno == ENOMEM)
		return -1;
	forbidden = strerror(errno);
	begin_anew(a, p);
	p->how = PLACEMENT_COUNTED;
	if (!count(a, t, p))
		return asprintf(&p->why_not, "move_pages: %s", forbidden) < 0 ? -1 : 0;
	if (errno == ENOMEM)
		return -1;
	begin_anew(a, p);
	count_nothing(a, p);
	p->how = PLACEMENT_UNVERIFIED;
	return asprintf(&p->why_not, "move_pages: %s; /proc/self/numa_maps: %s", forbidden,
			strerror(errno)) < 0
		       ? -1
		       : 0;
}

static const struct region *region_at(const struct arena *a, uintptr_t address)
{
	for (const struct region *r = a->regions; r; r = r->next)
		if (region_holds(r, address))
			return r;
	return NULL;
}

static void add_huge(uint64_t bytes, size_t page, struct placement *p)
{
	p->huge += bytes;
	if (bytes && page > p->huge_page)
		p->huge_page = page;
}

/*
 * The kernel walks the pages of each mapping for its part of this text, and lists mappings by their
 * addresses. Those in quarantine are mostly behind the arena's, so the rest is not read.
 */
static void read_mappings(const struct arena *a, struct smaps *s, struct placement *p)
{
	uintptr_t last = 0;
	struct mapping m;

	for (const struct region *r = a->regions; r; r = r->next)
		if ((uintptr_t)r->base > last)
			last = (uintptr_t)r->base;
	while (smaps_next(s, &m) && m.begin <= last) {
		const struct region *r = region_at(a, m.begin);

		if (!r)
			continue;
		add_huge(m.transparent, a->machine->huge_page, p);
		add_huge(m.hugetlb, r->granule, p);
	}
}

static int read_huge(const struct arena *a, struct placement *p)
{
	struct smaps s = { 0 };
	int status;

	if (!a->regions)
		return 0;
	s.file = fopen("/proc/self/smaps", "re");
	for (const struct region *r = a->regions; r; r = r->next)
		p->thp += r->thp ? r->asked : 0;
	p->huge_unknown = !s.file;
	if (!s.file)
		return errno == ENOMEM ? -1 : 0;
	errno = 0;
	read_mappings(a, &s, p);
	status = errno == ENOMEM ? -1 : 0;
	free(s.line);
	(void)fclose(s.file);
	return status;
}

int arena_placement(const struct arena *a, struct placement *p)
{
	struct page_counts *t = malloc(sizeof(*t));
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
