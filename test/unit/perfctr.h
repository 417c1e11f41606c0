/* SPDX-License-Identifier: Apache-2.0 */
/* A process as likwid-perfctr starts it, with a stand-in for its library. */
#ifndef LOCUS_TEST_PERFCTR_H
#define LOCUS_TEST_PERFCTR_H

#include "config.h"

#include <libgen.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dlfcn.h>
#include <unistd.h>
#include <cmocka.h>

#include "machine/threads/team.h"

static char folder[PATH_MAX], file[] = "/tmp/locus-markers-XXXXXX";

static bool nowhere; /* simulates that no library is found */

/* Replaces the C library's dlopen(), so that a test can hide LIKWID. */
void *dlopen(const char *path, int flags)
{
	void *(*real)(const char *, int), *symbol = dlsym(RTLD_NEXT, "dlopen");

	memcpy(&real, &symbol, sizeof(real));
	return real(nowhere ? "/nowhere/liblikwid.so" : path, flags);
}

/* Two CPUs that this process may use, or the only one twice. */
static inline unsigned cpus(int cpu[2])
{
	cpu_set_t set;
	unsigned n = 0;

	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	for (int i = 0; i < CPU_SETSIZE && n < 2; i++)
		if (CPU_ISSET(i, &set))
			cpu[n++] = i;
	return n;
}

/* Sets the environment as likwid-perfctr -C does. */
static inline void wrap(const int cpu[2], unsigned n, const char *events)
{
	char list[32];

	snprintf(list, sizeof(list), n > 1 ? "%d,%d" : "%d", cpu[0], cpu[1]);
	setenv("LIKWID_MODE", "1", 1);
	setenv("LIKWID_FILEPATH", file, 1);
	setenv("LIKWID_EVENTS", events, 1);
	setenv("LIKWID_THREADS", list, 1);
	setenv("LIKWID_PIN", list, 1);
	/* some OpenMP libraries keep the threads of the last test */
	setenv("LIKWID_STANDIN", "early", 1);
}

static inline int unwrap(void **state)
{
	static const char *const set[] = { "LIKWID_MODE",    "LIKWID_FILEPATH", "LIKWID_EVENTS",
					   "LIKWID_THREADS", "LIKWID_PIN",	"LIKWID_STANDIN",
					   "LD_PRELOAD" };

	(void)state;
	for (size_t i = 0; i < sizeof(set) / sizeof(*set); i++)
		unsetenv(set[i]);
	unlink(file);
	return 0;
}

static inline bool loaded(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[PATH_MAX + 128];
	bool found = false;

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		found |= strstr(line, "liblikwid") != NULL;
	fclose(maps);
	return found;
}

static inline void copy_file(const char *from, const char *to)
{
	FILE *in = fopen(from, "r"), *out = fopen(to, "w");
	char block[4096];
	size_t n;

	assert_true(in && out);
	while ((n = fread(block, 1, sizeof(block), in)))
		assert_int_equal(fwrite(block, 1, n, out), n);
	fclose(in);
	assert_int_equal(fclose(out), 0);
}

/*
 * Installs a LIKWID in a folder of its own, and puts its pinning library into LD_PRELOAD, as
 * likwid-perfctr -C does.
 */
static inline void install(const char *version, char *library, char *folder_of_it)
{
	char standin[PATH_MAX + 32], preload[PATH_MAX];

	assert_non_null(mkdtemp(folder_of_it));
	snprintf(standin, sizeof(standin), "%s/liblikwid.so.5.2", folder);
	snprintf(library, PATH_MAX, "%s/liblikwid.so.%s", folder_of_it, version);
	snprintf(preload, sizeof(preload),
		 "/nowhere/libother.so:%s/liblikwidpin.so.%s:/nowhere/third.so", folder_of_it,
		 version);
	copy_file(standin, library);
	setenv("LD_PRELOAD", preload, 1);
}

struct standin {
	void (*init)(void), (*thread_init)(void), (*next_group)(void), (*close)(void),
		(*finalize)(void);
	int (*register_region)(const char *), (*start)(const char *), (*stop)(const char *),
		(*reset)(const char *);
	void (*get)(const char *, int *, double *, double *, int *);
};

static inline void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
}

static inline void begin(const struct standin *s)
{
	s->init();
	s->thread_init();
	s->register_region("a");
	s->register_region("b");
}

static _Atomic bool sits;

static inline void *sit(void *cpu)
{
	pin(*(int *)cpu);
	sits = true;
	pause();
	return NULL;
}

static inline int main_cpu(void)
{
	cpu_set_t set;

	sched_getaffinity(0, sizeof(set), &set);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &set))
			return cpu;
	return -1;
}

/* A thread older than perf_event's counters, which only new threads inherit. */
__attribute__((unused)) static void there_before(const struct standin *s)
{
	static int cpu;
	pthread_t thread;

	cpu = main_cpu();
	setenv("LIKWID_STANDIN", "", 1);
	pthread_create(&thread, NULL, sit, &cpu);
	while (!sits)
		usleep(1000);
	begin(s);
	s->start("a");
}

/* Restarts the program: the dynamic linker reads LD_LIBRARY_PATH only at the start. */
static inline void begin_again(char *const argv[])
{
	char own[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);

	if (n <= 0)
		return;
	own[n] = 0;
	if (snprintf(folder, sizeof(folder), "%.*s/likwid", PATH_MAX - 16, dirname(dirname(own))) <
	    0)
		return;
	if (getenv("LD_LIBRARY_PATH") && !strcmp(getenv("LD_LIBRARY_PATH"), folder))
		return;
	setenv("LD_LIBRARY_PATH", folder, 1);
	execv("/proc/self/exe", argv);
}

#endif
