/* SPDX-License-Identifier: Apache-2.0 */
/* The CPUs that threads may use: inherited from outside, and set by the calling thread. */
#ifndef LOCUS_AFFINITY_H
#define LOCUS_AFFINITY_H

#include <hwloc.h>
#include <stdbool.h>

/*
 * The binding inherited from outside: OMP_PLACES and OMP_PROC_BIND, likwid-pin, taskset, SLURM, a
 * cpuset. It restricts the CPUs that locus uses. If each thread was pinned, trials without a
 * binding of their own keep that map.
 */
struct affinity {
	hwloc_bitmap_t allowed; /* the union over all threads */
	unsigned cpus;		/* in `allowed` */
	/*
	 * who bound this process: "likwid-pin", "likwid-perfctr", "likwid-mpirun", "OMP_PROC_BIND",
	 * "SLURM", "taskset or cpuset"; NULL: nobody
	 */
	const char *bound_by;
	/* length of cpu_of; 0: threads were not pinned one by one */
	unsigned threads;
	/* by OpenMP thread number: the (first) CPU that it was pinned to */
	int *cpu_of;
};

/*
 * Reads each thread's CPUs in a parallel region of the default number of threads, unless nothing
 * binds any; then binds the calling thread, which OpenMP or likwid-pin may have pinned, to their
 * union, so that the whole allowed machine is seen. -1 with *why.
 *
 * likwid-pin assigns CPUs in the order in which threads are created, so this must be called before
 * any thread is created. Later threads are no problem, since the team sets its own CPUs.
 */
int affinity_inherit(struct affinity *, const char **why);
void affinity_free(struct affinity *);

/*
 * Whether likwid-perfctr is an ancestor of this process: without -m this is the only sign, as it
 * sets its variables only with -m. Looked up once.
 */
bool affinity_by_perfctr(void);

/*
 * The CPUs that the calling thread may run on. The kernel rejects a buffer shorter than its own
 * set, which has a bit for each possible CPU: glibc's fixed 1024 may be too few.
 */

/* NULL with errno; to be freed by hwloc_bitmap_free(). */
hwloc_bitmap_t cpuset_get(void);
/* -1 with errno: EINVAL if none of them exists and is allowed. */
int cpuset_set(hwloc_const_bitmap_t);
int cpuset_set_one(int cpu);
/*
 * Size of the kernel's sets in CPUs, rounded up to a power of two: the same for all processes of a
 * machine.
 */
unsigned cpuset_room(void);

/*
 * If OpenMP's runtime cannot create a thread, it ends the process without naming the limit. Between
 * these two calls, a line on stderr names it.
 */

/* Called before a parallel region, and in it, once its threads exist; by the same thread. */
void shortage_begin(unsigned threads);
void shortage_end(void);
/* The limit because of which no thread can be created now, as far as known: "ulimit -u 9 ...". */
void shortage_limit(char *what, size_t size);

#endif
