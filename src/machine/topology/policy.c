/* SPDX-License-Identifier: Apache-2.0 */
#include "machine/topology/policy.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/numbers.h"

/* "prefer (many):0-1" and "weighted interleave:0-1" are two words. */
static void take_policy(const char *line, char *text, size_t size)
{
	const char *policy = line + strcspn(line, " ");
	size_t length;

	policy += strspn(policy, " ");
	length = strcspn(policy, " \n");
	if (policy[length] == ' ' &&
	    (!strncmp(policy, "prefer ", 7) || !strncmp(policy, "weighted ", 9)))
		length += 1 + strcspn(policy + length + 1, " \n");
	snprintf(text, size, "%.*s", (int)length, policy);
}

/*
 * The first mapping is the program's, which has no policy of its own, so it shows the process's.
 * Unlike get_mempolicy() the file is allowed in containers. Only the first line is read, since the
 * kernel counts the pages of a mapping for each line.
 */
void memory_policy_read(const char *root, struct memory_policy *p)
{
	char path[PATH_MAX], line[1024] = "";
	FILE *maps;

	*p = (struct memory_policy){ .kind = POLICY_FIRST_TOUCH };
	snprintf(path, sizeof(path), "%s/proc/self/numa_maps", root);
	maps = fopen(path, "re");
	if (!maps)
		return;
	if (!fgets(line, sizeof(line), maps))
		errno = ENODATA;
	fclose(maps);
	take_policy(line, p->text, sizeof(p->text));
	if (!strncmp(p->text, "bind", 4))
		p->kind = POLICY_BOUND;
	else if (strchr(p->text, ':'))
		p->kind = POLICY_STEERED;
}

hwloc_bitmap_t memory_policy_nodes(const struct memory_policy *p)
{
	const char *list = strrchr(p->text, ':');

	return list ? number_list_parse(list + 1) : NULL;
}
