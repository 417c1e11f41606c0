/* SPDX-License-Identifier: Apache-2.0 */
/* Finds which CPUs were inherited, and from whom. */
#include <errno.h>
#include <omp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arithmetic.h"
#include "base/sysfs.h"
#include "base/why.h"
#include "machine/threads/affinity.h"

/*
 * The parent of a process; 0: unknown. `line` gets the parent's command line, words separated by
 * zeros and followed by an empty one.
 */
static int parent_of(int process, char *line, size_t size)
{
	char *status = sysfs_text(SYSFS_ROOT, "/proc/%d/status", process), path[64];
	uint64_t parent = 0;
	size_t n;
	FILE *f;

	field_number(status, "PPid:", &parent);
	free(status);
	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)parent);
	f = parent ? fopen(path, "r") : NULL;
	n = f ? fread(line, 1, size - 2, f) : 0;
	if (f)
		fclose(f);
	line[n] = line[n + 1] = 0;
	return n ? (int)parent : 0;
}

/*
 * Whether one of the first words of a command line is (or begins with) `name`, without its folder.
 * A script's name is the second word, after its interpreter.
 */
static bool runs(const char *line, const char *name, bool begins)
{
	for (unsigned i = 0; i < 4 && *line; i++, line += strlen(line) + 1) {
		const char *slash = strrchr(line, '/'), *word = slash ? slash + 1 : line;

		if (begins ? !strncmp(word, name, strlen(name)) : !strcmp(word, name))
			return true;
	}
	return false;
}

enum { ANCESTORS = 6 };

static bool is_ancestor(const char *name, bool begins)
{
	int process = getpid();
	char line[2000]; /* long enough: names come first */

	for (unsigned i = 0;
	     i < ANCESTORS && (process = parent_of(process, line, sizeof(line))) > 0; i++)
		if (runs(line, name, begins))
			return true;
	return false;
}

static bool below_perfctr;

static void look_for_perfctr(void)
{
	below_perfctr = is_ancestor("likwid-perfctr", false);
}

bool affinity_by_perfctr(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, look_for_perfctr);
	return below_perfctr;
}

/*
 * Which of LIKWID's tools pinned this process. All three set the same variables (likwid-perfctr -m
 * some more); likwid-mpirun starts ranks by a script of its own, which calls one of the others. If
 * /proc shows no ancestors, the variables decide.
 */
static const char *who_of_likwid(void)
{
	if (is_ancestor(".likwidscript_", true))
		return "likwid-mpirun";
	if (affinity_by_perfctr())
		return "likwid-perfctr";
	return getenv("LIKWID_MODE") && !is_ancestor("likwid-pin", false) ? "likwid-perfctr"
									  : "likwid-pin";
}

/*
 * LIKWID_PIN counts, too: likwid-pin and likwid-perfctr -C pin a single thread without preloading
 * their library.
 */
static bool pinned_by_likwid(void)
{
	const char *preload = getenv("LD_PRELOAD");

	return getenv("LIKWID_PIN") || (preload && strstr(preload, "likwidpin"));
}

static const char *who(const char *otherwise)
{
	if (pinned_by_likwid())
		return who_of_likwid();
	if (omp_get_proc_bind() != omp_proc_bind_false)
		return "OMP_PROC_BIND";
	return getenv("SLURM_JOB_ID") ? "SLURM" : otherwise;
}

/* All of OpenMP's places are allowed, even those without a thread by default. */
static void add_places(hwloc_bitmap_t set)
{
	for (int place = 0;
	     omp_get_proc_bind() != omp_proc_bind_false && place < omp_get_num_places(); place++) {
		int n = omp_get_place_num_procs(place), *cpu = calloc((size_t)n + 1, sizeof(*cpu));

		if (cpu)
			omp_get_place_proc_ids(place, cpu);
		for (int i = 0; cpu && i < n; i++)
			hwloc_bitmap_set(set, (unsigned)cpu[i]);
		free(cpu);
	}
}

static void free_masks(hwloc_bitmap_t *mask, unsigned n)
{
	for (unsigned i = 0; mask && i < n; i++)
		hwloc_bitmap_free(mask[i]);
	free(mask);
}

/*
 * Whether nothing binds this process's threads: a tool that pins them one by one pins the first
 * one, too. OpenMP pins in a parallel region, but announces it before. A preloaded library may do
 * anything.
 */
static bool unbound(hwloc_const_bitmap_t mine)
{
	return hwloc_bitmap_weight(mine) >= (int)sysconf(_SC_NPROCESSORS_ONLN) &&
	       omp_get_proc_bind() == omp_proc_bind_false && !getenv("LD_PRELOAD") &&
	       !pinned_by_likwid();
}

/* Reads the CPUs of each of OpenMP's threads, up to one thread per CPU. */
static int read_threads(struct affinity *a)
{
	const unsigned threads = (unsigned)smaller((uint64_t)omp_get_max_threads(),
						   (uint64_t)sysconf(_SC_NPROCESSORS_CONF));
	hwloc_bitmap_t *mask = calloc(threads, sizeof(hwloc_bitmap_t));
	int failed = 0;

	a->cpu_of = calloc(threads, sizeof(*a->cpu_of));
	if (!mask || !a->cpu_of) {
		free(mask);
		return -1;
	}
	shortage_begin(threads);
#pragma omp parallel num_threads(threads) default(none) shared(a, mask) reduction(| : failed)
	{
		if (omp_get_thread_num() == 0)
			a->threads = (unsigned)omp_get_num_threads();
		mask[omp_get_thread_num()] = cpuset_get();
		failed |= mask[omp_get_thread_num()] ? 0 : errno;
	}
	shortage_end();
	/* Otherwise OpenMP's threads may spin during samples (OMP_WAIT_POLICY, KMP_BLOCKTIME). */
	omp_pause_resource_all(omp_pause_soft);
	for (unsigned i = 0; i < a->threads && !failed; i++) {
		hwloc_bitmap_or(a->allowed, a->allowed, mask[i]);
		a->cpu_of[i] = hwloc_bitmap_first(mask[i]);
	}
	if (a->threads < 2 || failed || hwloc_bitmap_isequal(mask[0], mask[1]))
		a->threads = 0;
	free_masks(mask, threads);
	errno = failed;
	return failed ? -1 : 0;
}

/*
 * Puts the calling thread on these CPUs. If it is on them already, it makes no call, which may be
 * forbidden.
 */
static int widen(hwloc_const_bitmap_t allowed)
{
	hwloc_bitmap_t mine = cpuset_get();
	const bool there = mine && hwloc_bitmap_isequal(mine, allowed);

	hwloc_bitmap_free(mine);
	return there ? 0 : cpuset_set(allowed);
}

int affinity_inherit(struct affinity *a, const char **why)
{
	*a = (struct affinity){ .allowed = cpuset_get() };
	if (!a->allowed)
		goto unreadable;
	if (!unbound(a->allowed)) {
		if (read_threads(a))
			goto unreadable;
		add_places(a->allowed);
	}
	a->cpus = (unsigned)hwloc_bitmap_weight(a->allowed);
	if (a->threads)
		a->bound_by = who("a launcher");
	else if (a->cpus < (unsigned)sysconf(_SC_NPROCESSORS_ONLN) || pinned_by_likwid())
		a->bound_by = who("taskset or cpuset");
	if (!widen(a->allowed))
		return 0;
	affinity_free(a);
	return why_fail(why, "can't move to the CPUs of its threads: sched_setaffinity: %s",
			strerror(errno));
unreadable:
	affinity_free(a);
	return why_fail(why, "can't find out which CPUs locus may use: sched_getaffinity: %s",
			strerror(errno));
}

void affinity_free(struct affinity *a)
{
	hwloc_bitmap_free(a->allowed);
	a->allowed = NULL;
	free(a->cpu_of);
	a->cpu_of = NULL;
	a->threads = 0;
}
