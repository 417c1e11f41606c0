/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What others decided about our CPUs before we began: OMP_PLACES and OMP_PROC_BIND, likwid-pin,
 * taskset, SLURM, a cpuset. They bound the CPUs that we use; where they pinned each thread, trials
 * that ask for no place of their own keep that map.
 */
#ifndef LOCUS_AFFINITY_H
#define LOCUS_AFFINITY_H

#include <hwloc.h>
#include <stdbool.h>

struct affinity {
	hwloc_bitmap_t allowed; /* the union over all threads */
	unsigned cpus;		/* of it */
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
 * Opens a parallel region of the default number of threads, and asks each where it may run; then
 * lets the calling thread, which OpenMP or likwid-pin may have pinned, run on the union, so that
 * the machine is seen whole. -1 with errno.
 *
 * likwid-pin hands out its CPUs in the order in which threads are created, so no thread may be
 * created before this is called: it would have another's CPU. Later ones may, for the team sets its
 * own CPUs.
 */
int affinity_inherit(struct affinity *);
void affinity_free(struct affinity *);

/*
 * Whether likwid-perfctr is among our ancestors: with -m it also sets variables, without only this
 * tells. Looked up once.
 */
bool started_by_perfctr(void);

#endif
