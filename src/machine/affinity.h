/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What others decided about our CPUs before we began: OMP_PLACES and OMP_PROC_BIND, likwid-pin, taskset, SLURM, a cpuset. They bound the
 * CPUs that we use; where they pinned each thread, trials that ask for no place of their own keep that map.
 */
#ifndef LOCUS_AFFINITY_H
#define LOCUS_AFFINITY_H

#include <sched.h>
#include <stdbool.h>

struct affinity {
	cpu_set_t allowed;                 /* the union over all threads */
	unsigned cpus;                     /* of it */
	const char *bound_by;              /* who bound us: "likwid-pin", "likwid-perfctr", "likwid-mpirun", "OMP_PROC_BIND", "SLURM", "taskset or cpuset"; NULL: nobody */
	unsigned threads;                  /* length of cpu_of; 0: threads were not pinned one by one */
	int *cpu_of;                       /* by OpenMP thread number: the (first) CPU it was pinned to */
};

/*
 * Opens a parallel region of the default number of threads, and asks each where it may run; then lets the calling thread, which OpenMP or
 * likwid-pin may have pinned, run on the union, so that the machine is seen whole. -1 with errno.
 */
int affinity_inherit(struct affinity *);
void affinity_free(struct affinity *);

/* Whether likwid-perfctr is among our ancestors: with -m it also sets variables, without only this tells. Looked up once. */
bool started_by_perfctr(void);

#endif
