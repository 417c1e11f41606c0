/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sysfs.h"
#include "base/text.h"
#include "commands/doctor/pages.h"
#include "machine/memory/huge.h"
#include "machine/topology/topology.h"
#include "machine/memory/region.h"

#define MM   "/sys/kernel/mm"
#define THP  MM "/transparent_hugepage"
#define HUGE MM "/hugepages"

void check_thp(const struct patient *p, struct finding *f)
{
	char *enabled = sysfs_choice(p->root, THP "/enabled");

	if (!enabled && sysfs_hidden(p->root, MM))
		finding_set(f, FINDING_UNKNOWN, MM " can't be seen");
	else if (!enabled)
		finding_set(f, FINDING_MISSING, "not in this kernel");
	else
		finding_set(f, strcmp(enabled, "never") ? FINDING_GOOD : FINDING_MISSING, "%s",
			    enabled);
	if (enabled)
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
