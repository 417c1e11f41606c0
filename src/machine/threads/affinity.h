/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The binding inherited from outside: OMP_PLACES and OMP_PROC_BIND, likwid-pin, taskset, SLURM, a
 * cpuset. It restricts the CPUs that locus uses. If each thread was pinned, trials without a
 * binding of their own keep that map.
 */
#ifndef LOCUS_AFFINITY_H
#define LOCUS_AFFINITY_H

#include <hwloc.h>
#include <stdbool.h>

struct affinity {
	hwloc_bitmap_t allowed; /* the union over all threads */
	unsigned cpus;		/* in `allowed` */
	/*
	 * who bound us: "likwid-pin", "likwid-perfctr", "likwid-mpirun", "OMP_PROC_BIND", "SLURM",
	 * "taskset or cpuset"; NULL: nobody
	 */
	const char *bound_by;
	/* length of cpu_of; 0: threads were not pinned one by one */
	unsigned threads;
	/* by OpenMP thread number: the (first) CPU it was pinned to */
	int *cpu_of;
};

/*
 * Reads each thread's CPUs in a parallel region of the default number of threads, unless nobody
 * binds any; then binds the calling thread, which OpenMP or likwid-pin may have pinned, to their
 * union, so that the whole allowed machine is seen. -1 with *why.
 *
 * likwid-pin assigns CPUs in the order in which threads are created, so this must be called before
 * any thread is created. Later threads are no problem, since the team sets its own CPUs.
 */
int affinity_inherit(struct affinity *, const char **why);
void affinity_free(struct affinity *);

/*
 * Whether likwid-perfctr is an ancestor of this process: the only sign of it without -m, as it sets
 * its variables only with -m. Looked up once.
 */
bool affinity_by_perfctr(void);

#endif
