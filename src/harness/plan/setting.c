/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the machine, and the part of it that this run may use. */
#include <stdlib.h>
#include <string.h>

#include "harness/plan/plan.h"
#include "kit/agree.h"
#include "machine/topology/topology.h"
#include "base/sysfs.h"
#include "base/text.h"
#include "base/message.h"

static int find_affinity(struct setting *s)
{
	struct affinity *a = calloc(1, sizeof(*a));
	const char *why = "out of memory";

	s->affinity = a;
	if (a && !affinity_inherit(a, &why))
		return 0;
	message_own("%s", why);
	return EXIT_BAD;
}

static int find_machine(struct setting *s, const struct options *o)
{
	const char *error = NULL;
	struct machine *m = machine_open(o->topology, &error);

	s->machine = m;
	if (!m) {
		message_own("%s%s", o->topology ? "--topology: " : "", error);
		return o->topology ? EXIT_COMMAND_LINE : EXIT_BAD;
	}
	topology_warn(m);
	if (o->bind && machine_restrict(m, o->bind, &error)) {
		message_own("--bind: %s", error);
		return EXIT_COMMAND_LINE;
	}
	return 0;
}

int setting_find(struct setting *s, const struct options *o, const struct ranks *ranks)
{
	int status = 0;

	*s = (struct setting){ .memory = { .available = NO_LIMIT },
			       .ranks = ranks,
			       .host_ranks = 1 };
	if (!o->topology)
		status = find_affinity(s);
	if (!status)
		status = find_machine(s, o);
	if (!status && !o->topology) {
		memory_limit_read(SYSFS_ROOT, &s->memory);
		conditions_read(SYSFS_ROOT, &s->conditions);
	}
	return status;
}

/* Names the other ranks that may use one of this rank's CPUs; NULL: none may. */
static char *find_crowd(const struct setting *s)
{
	const unsigned room = cpuset_room();
	int64_t on_cpu[room];
	bool mine[room];

	for (unsigned cpu = 0; cpu < room; cpu++)
		on_cpu[cpu] = mine[cpu] =
			s->affinity && hwloc_bitmap_isset(s->affinity->allowed, cpu);
	s->ranks->sum_host(on_cpu, room);
	for (unsigned cpu = 0; cpu < room; cpu++)
		if (on_cpu[cpu] > 1 && mine[cpu])
			return text_of(
				"%d ranks of this node may use CPU %u: bind each to CPUs "
				"of its own (srun -c N --cpu-bind=cores; mpirun of Open MPI: "
				"--map-by slot:PE=N, of MPICH: -bind-to core:N), or allow "
				"more than one on a CPU with --oversubscribe",
				(int)on_cpu[cpu], cpu);
	return NULL;
}

/*
 * Counts the ranks of this host in each of this rank's control groups, since each rank sees all
 * ranks' groups.
 */
static void count_sharers(const struct setting *s, struct limit_sharers *sharers)
{
	const size_t n = (size_t)s->ranks->ranks * CGROUP_LEVELS;
	int64_t *all = calloc(n, sizeof(*all));
	uint64_t own[CGROUP_LEVELS];

	if (!all)
		abort(); /* MPI then ends the other ranks */
	cgroup_ids(SYSFS_ROOT, own);
	for (unsigned i = 0; i < CGROUP_LEVELS; i++)
		all[s->ranks->rank * CGROUP_LEVELS + i] = (int64_t)own[i];
	s->ranks->sum_host(all, n);
	for (unsigned i = 0; i < CGROUP_LEVELS && own[i]; i++) {
		sharers->group[i].id = own[i];
		for (size_t k = 0; k < n; k++)
			sharers->group[i].sharers += (uint64_t)all[k] == own[i];
	}
	free(all);
}

/* Replaces the limit of memory by this rank's part of it. */
static void share_memory(struct setting *s)
{
	struct limit_sharers sharers = { .host = s->host_ranks };

	count_sharers(s, &sharers);
	if (s->affinity) /* this machine, not a described one */
		memory_limit_read_part(SYSFS_ROOT, &sharers, &s->memory);
	s->most = -agree_most(s->ranks, -(double)s->memory.available);
}

void setting_share(struct setting *s)
{
	int64_t ranks = 1;

	if (!s->ranks)
		return;
	s->ranks->sum_host(&ranks, 1);
	s->host_ranks = (unsigned)ranks;
	share_memory(s);
	s->crowd = find_crowd(s);
	agree_words(s->ranks, &s->crowd);
}

/* Frees through pointers to const: the setting owns what others may only read. */
void setting_free(struct setting *s)
{
	struct machine *m = (struct machine *)s->machine;
	struct affinity *a = (struct affinity *)s->affinity;

	free(s->crowd);
	conditions_free(&s->conditions);
	if (m)
		machine_close(m);
	if (a)
		affinity_free(a);
	free(a);
}
