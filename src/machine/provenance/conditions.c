/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the conditions, and names those that changed. */
#include "machine/provenance/provenance.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/sysfs.h"
#include "base/numbers.h"
#include "base/text.h"
#include "machine/limits/limits.h"
#include "machine/provenance/sources.h"

static char *line(const char *root, const char *path)
{
	return sysfs_line(root, "%s", path);
}

static char *choice(const char *root, const char *path)
{
	return sysfs_choice(root, "%s", path);
}

static char *status(const char *root, const char *key)
{
	char *text = sysfs_text(root, "/proc/self/status"), *value = field_text(text, key);

	free(text);
	return value;
}

static char *cpuset(const char *root, const char *unused)
{
	struct cgroup c;
	char *set;

	(void)unused;
	cgroup_read(root, &c);
	set = c.cpuset;
	c.cpuset = NULL;
	cgroup_free(&c);
	return set;
}

static char *memory_limit(const char *root, const char *unused)
{
	char text[TEXT_BYTES];
	struct cgroup c;

	(void)unused;
	cgroup_read(root, &c);
	text_bytes(text, c.memory_limit);
	cgroup_free(&c);
	return strdup(text);
}

static char *quota_text(double cpus)
{
	if (isinf(cpus))
		return strdup("none");
	return cpus < 1 ? text_of("%.3g %% of a CPU", 100 * cpus) : text_of("%.3g CPUs", cpus);
}

static char *quota(const char *root, const char *unused)
{
	struct cgroup c;
	char *text;

	(void)unused;
	cgroup_read(root, &c);
	text = quota_text(c.cpu_quota);
	cgroup_free(&c);
	return text;
}

static char *turbo(const char *root, const char *unused)
{
	const char *source;
	const int on = provenance_turbo(root, &source);

	(void)unused;
	return on < 0 ? NULL : strdup(on ? "on" : "off");
}

/* A value other than `harmless` has an effect, and is named even if it has not changed. */
static const struct row {
	unsigned of;
	const char *what, *path;
	char *(*read)(const char *root, const char *path);
	const char *harmless, *effect;
} rows[] = {
	{ CONDITIONS_CPUS, "the CPUs online", SOURCE_CPUS "/online", line },
	{ CONDITIONS_CPUS, "the CPUs of the cpuset", NULL, cpuset },
	{ CONDITIONS_MEMORY | CONDITIONS_PLACES, "the nodes that the cpuset allows",
	  "Mems_allowed_list", status },
	{ CONDITIONS_MEMORY | CONDITIONS_PLACES, "the nodes with memory",
	  SOURCE_NODES "/has_memory", line },
	{ CONDITIONS_MEMORY, "the cgroup's limit of memory", NULL, memory_limit },
	{ CONDITIONS_MEMORY, "vm.nr_hugepages", "/proc/sys/vm/nr_hugepages", line },
	{ CONDITIONS_MEMORY, "the reserved pages of 1 GiB",
	  "/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages", line },
	{ CONDITIONS_PLACES, "numa_balancing", "/proc/sys/kernel/numa_balancing", line, "0",
	  "the kernel moves pages" },
	{ CONDITIONS_MEMORY | CONDITIONS_HUGE, "transparent_hugepage/enabled",
	  SOURCE_THP "/enabled", choice },
	{ CONDITIONS_HUGE, "transparent_hugepage/defrag", SOURCE_THP "/defrag", choice },
	{ CONDITIONS_PACE, "the cgroup's CPU quota", NULL, quota },
	{ CONDITIONS_PACE, "the frequency governor", SOURCE_CPUS "/cpu0/cpufreq/scaling_governor",
	  line },
	{ CONDITIONS_PACE, "the highest frequency (kHz)",
	  SOURCE_CPUS "/cpu0/cpufreq/scaling_max_freq", line },
	{ CONDITIONS_PACE, "turbo", NULL, turbo },
	{ CONDITIONS_PACE, "the kernel's clock source",
	  "/sys/devices/system/clocksource/clocksource0/current_clocksource", line },
};
_Static_assert(LENGTH(rows) == CONDITIONS, "a text for each row");

void conditions_read(const char *root, struct conditions *c)
{
	c->root = root;
	for (unsigned i = 0; i < CONDITIONS; i++)
		c->text[i] = rows[i].read(root, rows[i].path);
}

void conditions_free(struct conditions *c)
{
	for (unsigned i = 0; i < CONDITIONS; i++)
		free(c->text[i]);
	*c = (struct conditions){ 0 };
}

/* The sentence about a row; NULL: there is nothing to say. */
static char *say(const struct row *r, const char *before, const char *now)
{
	const bool harmless = !now || !r->harmless || !strcmp(now, r->harmless);
	const char *colon = harmless ? "" : ": ", *effect = harmless ? "" : r->effect;

	if (!before || !now)
		return NULL;
	if (strcmp(before, now))
		return text_of("%s changed from %s to %s during the run%s%s", r->what, before, now,
			       colon, effect);
	return harmless ? NULL : text_of("%s is %s%s%s", r->what, now, colon, effect);
}

/* Adds a sentence to others; frees both. */
static char *join(char *all, char *one)
{
	char *both = all && one ? text_of("%s; %s", all, one) : NULL;

	if (!all || !one)
		return all ? all : one;
	free(all);
	free(one);
	return both;
}

char *conditions_cause(const struct conditions *c, enum conditions_of of)
{
	char *all = NULL, *now;

	for (unsigned i = 0; c && c->root && i < CONDITIONS; i++) {
		if (!(rows[i].of & of))
			continue;
		now = rows[i].read(c->root, rows[i].path);
		all = join(all, say(&rows[i], c->text[i], now));
		free(now);
	}
	return all;
}

char *conditions_quota(const struct conditions *c, unsigned threads)
{
	struct cgroup group = { .cpu_quota = INFINITY };
	char *cpus, *text = NULL;

	if (!c || !c->root)
		return NULL;
	cgroup_read(c->root, &group);
	cpus = group.cpu_quota < threads ? quota_text(group.cpu_quota) : NULL;
	if (cpus)
		text = text_of("the cgroup gives %s (%s)", cpus, group.quota_is);
	free(cpus);
	cgroup_free(&group);
	return text;
}
