/* SPDX-License-Identifier: Apache-2.0 */
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "machine/affinity.h"

static int first_cpu(const cpu_set_t *set)
{
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, set))
			return cpu;
	return -1;
}

static const char *who_pinned_threads(void)
{
	const char *preload = getenv("LD_PRELOAD");

	if (getenv("LIKWID_PIN") || (preload && strstr(preload, "likwidpin")))
		return "likwid-pin";
	return omp_get_proc_bind() != omp_proc_bind_false ? "OMP_PROC_BIND" : "a launcher";
}

static const char *who_bound_process(void)
{
	return getenv("SLURM_JOB_ID") ? "SLURM" : "taskset or cpuset";
}

int affinity_inherit(struct affinity *a)
{
	unsigned threads = (unsigned)omp_get_max_threads();
	cpu_set_t *mask = calloc(threads, sizeof(*mask));
	int failed = 0;

	*a = (struct affinity){ 0 };
	a->cpu_of = calloc(threads, sizeof(*a->cpu_of));
	if (!mask || !a->cpu_of)
		goto fail;
#pragma omp parallel num_threads(threads) reduction(| : failed)
	{
		if (omp_get_thread_num() == 0)
			a->threads = (unsigned)omp_get_num_threads();
		failed |= sched_getaffinity(0, sizeof(*mask), &mask[omp_get_thread_num()]) != 0;
	}
	if (failed)
		goto fail;
	for (unsigned i = 0; i < a->threads; i++) {
		CPU_OR(&a->allowed, &a->allowed, &mask[i]);
		a->cpu_of[i] = first_cpu(&mask[i]);
	}
	a->cpus = (unsigned)CPU_COUNT(&a->allowed);
	if (a->threads > 1 && !CPU_EQUAL(&mask[0], &mask[1])) {
		a->bound_by = who_pinned_threads();
	} else {
		a->threads = 0;
		if (a->cpus < (unsigned)sysconf(_SC_NPROCESSORS_ONLN))
			a->bound_by = who_bound_process();
	}
	if (sched_setaffinity(0, sizeof(a->allowed), &a->allowed))
		goto fail;
	free(mask);
	return 0;
fail:
	free(mask);
	affinity_free(a);
	return -1;
}

void affinity_free(struct affinity *a)
{
	free(a->cpu_of);
	a->cpu_of = NULL;
	a->threads = 0;
}
