/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "base/flush.h"
#include "base/statistics.h"
#include "machine/clock.h"
#include "machine/memory/probe.h"

/*
 * bytes from link to link of a chain, and between the two chains: prefetchers fetch pairs of lines.
 * The first chain's lines are never flushed, since some L3s only take up lines that were used
 * again.
 */
enum { LINE = 64, READINGS = 5, EACH = 4 * LINE, LINKS = PROBE_BYTES / EACH, FLUSHED = 2 * LINE };

/* A full cycle of the links in a scattered order (a linear congruence: Hull and Dobell's rule). */
static void chain(char *lines)
{
	for (unsigned i = 0; i < LINKS; i++)
		*(void **)(void *)(lines + (size_t)i * EACH) =
			lines + (size_t)((101 * i + 77) % LINKS) * EACH;
}

void *probe_open(void)
{
	void *lines;

	if (flush_lacks())
		return NULL;
	lines = mmap(NULL, PROBE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (lines == MAP_FAILED)
		return NULL;
	memset(lines, 1, PROBE_BYTES); /* otherwise all would be the one page of zeros */
	chain(lines);
	chain((char *)lines + FLUSHED);
	return lines;
}

void probe_close(void *lines)
{
	if (lines)
		munmap(lines, PROBE_BYTES);
}

static void flush(const char *lines, unsigned step)
{
	for (unsigned i = 0; i < PROBE_BYTES; i += step)
		flush_line(lines + i);
	flush_wait();
}

static double reading(const char *lines)
{
	double begin;

	flush(lines, LINE);
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

static double walk(const void *lines)
{
	const double begin = clock_now();

	for (unsigned i = 0; i < LINKS; i++)
		lines = *(const void *const volatile *)lines;
	flush_wait();
	return (clock_now() - begin) / LINKS;
}

void probe_touch(void *lines)
{
	walk(lines);
}

struct probe_kept probe_kept(void *lines)
{
	struct probe_kept kept = { .line = walk(lines) };

	flush((char *)lines + FLUSHED, EACH);
	kept.memory = walk((char *)lines + FLUSHED);
	return kept;
}
