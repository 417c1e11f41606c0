/* SPDX-License-Identifier: Apache-2.0 */
/* The memory that this process may use: nodes, amount, page migration, page sizes. */
#include <errno.h>
#include <inttypes.h>
#include <numaif.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/numbers.h"
#include "base/sysfs.h"
#include "base/text.h"
#include "commands/doctor/doctor.h"
#include "machine/limits/limits.h"
#include "machine/memory/huge.h"
#include "machine/memory/region.h"
#include "machine/topology/topology.h"

#define NODES "/sys/devices/system/node"

/*
 * The number of nodes online; *empty: how many of them have no memory, whatever the cpuset allows.
 */
static int count_nodes(const char *root, int *empty)
{
	hwloc_bitmap_t online = sysfs_list(root, NODES "/online"),
		       with = sysfs_list(root, NODES "/has_memory");
	int all = online ? hwloc_bitmap_weight(online) : -1;

	*empty = 0;
	if (online && with) {
		hwloc_bitmap_andnot(online, online, with);
		*empty = hwloc_bitmap_weight(online);
	}
	hwloc_bitmap_free(online);
	hwloc_bitmap_free(with);
	return all;
}

/* Nodes that only the memory policy excludes are reported by check_policy(). */
void check_nodes(const struct patient *p, struct finding *f)
{
	const struct machine *m = p->machine;
	int empty, all = count_nodes(p->root, &empty), ours = 0;

	for (unsigned i = 0; i < m->nodes; i++)
		ours += machine_has_memory(m, &m->node[i]) || m->node[i].lack == NODE_NOT_IN_POLICY;
	if (all < 0)
		finding_set(f, FINDING_UNKNOWN, NODES " can't be seen: one node is assumed");
	else if (ours < all - empty)
		finding_set(f, FINDING_MISSING, "the memory of %d of %d may be used", ours,
			    all - empty);
	else
		finding_set(f, FINDING_GOOD, "%d", all);
	for (unsigned i = 0; i < m->nodes; i++) {
		const struct node *n = &m->node[i];

		if (!n->cpus || n->lack != NODE_EMPTY || machine_has_memory(m, n))
			continue;
		if (f->state == FINDING_GOOD)
			finding_mend(f, "sudo dmidecode -t memory # tells which slots are empty");
		f->state = FINDING_MISSING;
		finding_add(f, "; node %d has no memory: what its CPUs touch first lies on node %d",
			    n->number, n->first_touch);
	}
}

void check_policy(const struct patient *p, struct finding *f)
{
	struct memory_policy policy;

	memory_policy_read(p->root, &policy);
	if (!*policy.text)
		finding_set(f, FINDING_UNKNOWN, "/proc/self/numa_maps can't be read");
	else if (policy.kind == MEMORY_POLICY_BOUND)
		finding_set(f, FINDING_MISSING, "%.100s: memory of these nodes only", policy.text);
	else if (policy.kind == MEMORY_POLICY_STEERED)
		finding_set(
			f, FINDING_WRONG,
			"%.100s: pages lie there, and not with the threads that touch them first",
			policy.text);
	else
		finding_set(f, FINDING_GOOD,
			    "%.100s: pages lie with the threads that touch them first",
			    policy.text);
}

void check_memory(const struct patient *p, struct finding *f)
{
	struct {
		int node;
		struct node_memory m;
	} least = { 0 }, fullest = { 0 };
	char available[TEXT_BYTES], total[TEXT_BYTES];
	unsigned known = 0;
	struct node_memory m;

	for (unsigned i = 0; i < p->machine->nodes; i++) {
		const int node = p->machine->node[i].number;

		if (node_memory_read(p->root, node, &m) || !m.total)
			continue;
		if (!known || m.available < least.m.available) {
			least.node = node;
			least.m = m;
		}
		if (!known++ || (double)m.available / (double)m.total <
					(double)fullest.m.available / (double)fullest.m.total) {
			fullest.node = node;
			fullest.m = m;
		}
	}
	if (!known) {
		finding_set(f, FINDING_UNKNOWN, "neither /proc/meminfo nor the nodes tell");
		return;
	}
	finding_set(f, fullest.m.available < fullest.m.total / 2 ? FINDING_MISSING : FINDING_GOOD,
		    "%s of %s available", text_bytes(available, least.m.available),
		    text_bytes(total, least.m.total));
	if (known == 1)
		return;
	finding_add(f, " on node %d, the least of %u nodes", least.node, known);
	if (f->state == FINDING_MISSING && fullest.node != least.node)
		finding_add(f, "; node %d is the fullest: %s of %s", fullest.node,
			    text_bytes(available, fullest.m.available),
			    text_bytes(total, fullest.m.total));
}

void check_memory_limit(const struct patient *p, struct finding *f)
{
	char limit[TEXT_BYTES], available[TEXT_BYTES];
	struct memory_limit l;
	struct node_memory m;
	struct cgroup c;

	cgroup_read(p->root, &c);
	memory_limit_read(p->root, &l);
	text_bytes(available, l.available);
	if (node_memory_read(p->root, ALL_NODES, &m))
		m.total = NO_LIMIT;
	if (c.memory_limit < m.total)
		finding_set(f, FINDING_MISSING, "%s by a cgroup; %s can be taken now",
			    text_bytes(limit, c.memory_limit), available);
	else if (l.available == NO_LIMIT)
		finding_set(f, FINDING_UNKNOWN, "/proc/meminfo does not say what is available");
	else
		finding_set(f, FINDING_GOOD, "%s can be taken: %s", available, l.what);
	cgroup_free(&c);
}

void check_balancing(const struct patient *p, struct finding *f)
{
	uint64_t mode;

	if (sysfs_number(p->root, &mode, "/proc/sys/kernel/numa_balancing"))
		finding_set(f,
			    sysfs_hidden(p->root, "/proc/sys/kernel") ? FINDING_UNKNOWN
								      : FINDING_GOOD,
			    "not in this kernel, or hidden");
	else if (!mode)
		finding_set(f, FINDING_GOOD, "off");
	else
		finding_set(f, p->machine->nodes > 1 ? FINDING_WRONG : FINDING_GOOD,
			    p->machine->nodes > 1 ? "on (%" PRIu64 ")"
						  : "on (%" PRIu64 "), but there is one node",
			    mode);
}

void check_swap(const struct patient *p, struct finding *f)
{
	char *meminfo = sysfs_text(p->root, "/proc/meminfo"),
	     *swappiness = sysfs_line(p->root, "/proc/sys/vm/swappiness");
	char all[TEXT_BYTES], used[TEXT_BYTES];
	uint64_t total, free_bytes;

	if (!field_number(meminfo, "SwapTotal", &total) ||
	    !field_number(meminfo, "SwapFree", &free_bytes) || free_bytes > total)
		finding_set(f, FINDING_UNKNOWN, "/proc/meminfo does not say");
	else if (!total)
		finding_set(f, FINDING_GOOD, "none");
	else
		finding_set(f, free_bytes < total ? FINDING_WRONG : FINDING_GOOD,
			    "%s of %s in use, swappiness %.8s",
			    text_bytes(used, total - free_bytes), text_bytes(all, total),
			    swappiness ? swappiness : "?");
	free(meminfo);
	free(swappiness);
}

/* Tries both: asks for a page's node, and moves it to where it is. */
void check_move_pages(const struct patient *p, struct finding *f)
{
	const size_t page = p->machine->page ? p->machine->page : (size_t)sysconf(_SC_PAGESIZE);
	void *memory = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int status = -1, node;

	if (memory == MAP_FAILED) {
		finding_set(f, FINDING_UNKNOWN, "mmap: %s", strerror(errno));
		return;
	}
	*(volatile char *)memory = 1;
	if (move_pages(0, 1, &memory, NULL, &status, 0) || status < 0) {
		finding_set(f, FINDING_MISSING, "asking for a page's node: %s",
			    strerror(status < 0 && status != -1 ? -status : errno));
	} else {
		node = status;
		if (move_pages(0, 1, &memory, &node, &status, MPOL_MF_MOVE) < 0)
			finding_set(f, FINDING_MISSING, "moving a page: %s", strerror(errno));
		else
			finding_set(f, FINDING_GOOD, "allowed");
	}
	munmap(memory, page);
}

void check_memlock(const struct patient *p, struct finding *f)
{
	char *limits = sysfs_text(p->root, "/proc/self/limits"), word[24], text[TEXT_BYTES];
	const char *soft = field_find(limits, "Max locked memory");
	uint64_t limit;

	if (!soft || sscanf(soft, "%23s", word) != 1 || number_parse(word, &limit))
		finding_set(f, FINDING_UNKNOWN, "/proc/self/limits does not say");
	else
		finding_set(f, limit == NO_LIMIT ? FINDING_GOOD : FINDING_MISSING, "%s",
			    text_bytes(text, limit));
	free(limits);
}

/* ---- huge pages ---- */

#define MM   "/sys/kernel/mm"
#define THP  MM "/transparent_hugepage"
#define HUGE MM "/hugepages"

void check_thp(const struct patient *p, struct finding *f)
{
	char *enabled = sysfs_choice(p->root, THP "/enabled");
	const bool never = enabled && !strcmp(enabled, "never");
	const bool forbidden = enabled && !never && huge_thp_forbidden(p->root);

	if (!enabled && sysfs_hidden(p->root, MM))
		finding_set(f, FINDING_UNKNOWN, MM " can't be seen");
	else if (!enabled)
		finding_set(f, FINDING_MISSING, "not in this kernel");
	else
		finding_set(f, never || forbidden ? FINDING_MISSING : FINDING_GOOD, "%s%s", enabled,
			    forbidden ? ", but a parent forbids them (prctl)" : "");
	if (enabled && !forbidden)
		finding_mend(f, "echo madvise | sudo tee " THP "/enabled");
	free(enabled);
}

void check_huge_pages(const struct patient *p, struct finding *f)
{
	const size_t wanted = 1u << 30; /* bytes: what a remedy asks for */
	size_t sizes[MOST_HUGE_SIZES];
	unsigned n = huge_page_sizes(p->root, sizes);
	char text[sizeof(f->found)] = "", size[TEXT_BYTES];
	enum finding_state state = FINDING_GOOD;

	for (unsigned i = 0; i < n; i++) {
		struct huge_pages pages = { 0 };
		size_t used = strlen(text);

		if (!pages_are_hugetlb(sizes[i]))
			continue;
		if (huge_pages_read(p->root, sizes[i], ALL_NODES, &pages))
			state = state == FINDING_GOOD ? FINDING_UNKNOWN : state;
		snprintf(text + used, sizeof(text) - used, "%s%s: %" PRIu64 " of %" PRIu64 " free",
			 used ? ", " : "", text_bytes(size, sizes[i]), pages.available,
			 pages.total);
		if (pages.available)
			continue;
		state = FINDING_MISSING;
		finding_mend(f, "%secho %zu | sudo tee " HUGE "/hugepages-%zukB/nr_hugepages",
			     *f->remedy ? " && " : "", sizes[i] < wanted ? wanted / sizes[i] : 1,
			     sizes[i] / 1024);
	}
	if (!n && sysfs_hidden(p->root, MM))
		finding_set(f, FINDING_UNKNOWN, MM " can't be seen");
	else
		finding_set(f, *text ? state : FINDING_MISSING, "%s",
			    *text ? text : "not in this kernel");
}
