/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/sysfs.h"
#include "machine/clock.h"
#include "machine/usage.h"

/*
 * Each thread's descriptor, kept open because opening is too slow for short samples; or minus the
 * errno of opening it. After -ENFILE or -EMFILE, which is also the initial value, the next reading
 * tries again.
 */
static _Thread_local int schedstat = -EMFILE;

static bool is_open(void)
{
	if (schedstat == -EMFILE || schedstat == -ENFILE)
		schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	if (schedstat == -1)
		schedstat = -errno;
	return schedstat >= 0;
}

int usage_error(void)
{
	return schedstat < 0 ? -schedstat : 0;
}

static double run_delay(void)
{
	char text[96];
	unsigned long long ran, delay;
	ssize_t n;

	if (!is_open())
		return NAN;
	n = pread(schedstat, text, sizeof(text) - 1, 0);
	if (n <= 0)
		return NAN;
	text[n] = 0;
	/* If schedstat is disabled all values are 0; otherwise `ran` cannot be 0. */
	return sscanf(text, "%llu %llu", &ran, &delay) == 2 && ran ? (double)delay * 1e-9 : NAN;
}

void usage_read(struct usage *u)
{
	struct rusage r;
	struct timespec cpu;

	getrusage(RUSAGE_THREAD, &r);
	u->involuntary = (uint64_t)r.ru_nivcsw;
	u->voluntary = (uint64_t)r.ru_nvcsw;
	u->minor_faults = (uint64_t)r.ru_minflt;
	u->major_faults = (uint64_t)r.ru_majflt;
	u->delay = run_delay();
	u->on_cpu = sched_getcpu();
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
	u->cpu = (double)cpu.tv_sec + (double)cpu.tv_nsec * 1e-9;
	u->wall = clock_now();
}

static int contains(const int *cpus, unsigned n, int cpu)
{
	for (unsigned i = 0; i < n; i++)
		if (cpus[i] == cpu)
			return 1;
	return 0;
}

static void add_line(struct cpu_time_set *s, int cpu, const struct cpu_time *t)
{
	if (!contains(s->cpu, s->cpus, cpu))
		return;
	s->sum.busy += t->busy;
	s->sum.steal += t->steal;
	s->sum.idle += t->idle;
	s->found++;
}

void cpu_time_of(char *text, struct cpu_time_set set[2])
{
	const double tick = 1.0 / (double)sysconf(_SC_CLK_TCK);
	unsigned long long user, nice, system, idle, iowait, irq, softirq, steal;
	char *line;
	int cpu;

	for (unsigned i = 0; i < 2; i++)
		set[i] = (struct cpu_time_set){ .cpu = set[i].cpu, .cpus = set[i].cpus };
	while ((line = strsep(&text, "\n"))) {
		struct cpu_time t;

		/* Only lines of one CPU, "cpu3": "cpu " is the sum over all. */
		if (strncmp(line, "cpu", 3) || !isdigit((unsigned char)line[3]) ||
		    sscanf(line, "cpu%d %llu %llu %llu %llu %llu %llu %llu %llu", &cpu, &user,
			   &nice, &system, &idle, &iowait, &irq, &softirq, &steal) != 9)
			continue;
		t.busy = (double)(user + nice + system + irq + softirq) * tick;
		t.steal = (double)steal * tick;
		t.idle = (double)(idle + iowait) * tick;
		add_line(&set[0], cpu, &t);
		add_line(&set[1], cpu, &t);
	}
}

int cpu_time_read_sets(struct cpu_time_set set[2])
{
	char *text = sysfs_text(SYSFS_ROOT, "/proc/stat");

	if (!text)
		return -1;
	cpu_time_of(text, set);
	free(text);
	return 0;
}

int cpu_time_read(const int *cpus, unsigned n, struct cpu_time *t)
{
	struct cpu_time_set set[2] = { { .cpu = cpus, .cpus = n } };
	const int status = cpu_time_read_sets(set);

	*t = set[0].sum;
	return status || set[0].found != n ? -1 : 0;
}
