/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "base/flush.h"
#include "base/statistics.h"
#include "machine/clock.h"
#include "machine/memory/probe.h"

enum { LINE = 64, READINGS = 5 };

void *probe_open(void)
{
	void *lines;

	if (flush_lacks())
		return NULL;
	lines = mmap(NULL, PROBE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (lines == MAP_FAILED)
		return NULL;
	memset(lines, 1, PROBE_BYTES); /* else all would be the one page of zeros */
	return lines;
}

void probe_close(void *lines)
{
	if (lines)
		munmap(lines, PROBE_BYTES);
}

static double reading(const char *lines)
{
	double begin;

	for (unsigned i = 0; i < PROBE_BYTES; i += LINE)
		flush_line(lines + i);
	flush_wait();
	begin = clock_now();
	for (unsigned i = 0; i < PROBE_BYTES; i += LINE)
		(void)*(const volatile uint64_t *)(const void *)(lines + i);
	flush_wait();
	return (clock_now() - begin) * LINE / PROBE_BYTES;
}

double probe_read(void *lines)
{
	double took[READINGS];

	for (unsigned i = 0; i < READINGS; i++)
		took[i] = reading(lines);
	statistics_sort(took, READINGS);
	return statistics_quantile(took, READINGS, 0.5);
}
