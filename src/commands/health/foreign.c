/* SPDX-License-Identifier: Apache-2.0 */
#include "commands/health/examiner.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/sysfs.h"
#include "machine/clock.h"

/* The first line of /proc/stat: "cpu  user nice system idle iowait irq softirq steal ...". */
static double busy_of(const char *line)
{
	unsigned long long user, nice, system, idle, iowait, irq, softirq;

	if (!line || sscanf(line, "%llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system,
			    &idle, &iowait, &irq, &softirq) != 7)
		return 0;
	return (double)(user + nice + system + irq + softirq) / (double)sysconf(_SC_CLK_TCK);
}

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

void foreign_read(const char *root, struct foreign *f, int who)
{
	char *text = sysfs_text(root, "/proc/stat");
	struct rusage own;

	getrusage(who, &own);
	f->own = seconds(own.ru_utime) + seconds(own.ru_stime);
	f->busy = busy_of(field_find(text, "cpu"));
	f->wall = clock_now();
	free(text);
}

double foreign_cpus(const struct foreign *before, const struct foreign *after)
{
	const double busy = after->busy - before->busy, own = after->own - before->own,
		     wall = after->wall - before->wall;

	if (before->busy <= 0 || after->busy <= 0 || wall <= 0)
		return 0;
	return fmax(0, (busy - own) / wall);
}
