/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/latency/background.h"
#include "kit/loop.h"
#include "kit/opaque.h"
#include "machine/topology/topology.h"

static void wait(uint64_t turns)
{
	for (; turns; turns--)
		OPAQUE(turns);
}

/* One word of each line, since whole lines are transferred. */
static uint64_t read_lines(const char *from, size_t line, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += *(const volatile uint64_t *)(from + i * line);
	return sum;
}

static void write_lines(char *to, size_t line, size_t n, uint64_t value)
{
	for (size_t i = 0; i < n; i++)
		*(volatile uint64_t *)(to + i * line) = value + i;
}

int background_map(struct background *b, const struct trial *t, unsigned worker, size_t bytes)
{
	struct region *region =
		region_map(t->arena, "lines of the background", bytes, t->value[PAGES].choice);

	if (!region)
		return -1;
	*b = (struct background){ .lines = region_base(region),
				  .bytes = bytes,
				  .line = t->machine->line,
				  .mix = t->value[MIX].choice,
				  .pause = t->value[PAUSE].count };
	region_home(region, 0, bytes, t->place[worker].node);
	region_user(region, 0, bytes, t->place[worker].node);
	return 0;
}

/*
 * A copy reads the first half and writes the second. Each sample continues where the last one
 * stopped: a sample of 1 ms that started at the first line would find its lines in a cache.
 */
void background_work(struct background *b, struct worker *self)
{
	enum { BLOCK = 16 };
	const size_t half = b->bytes / 2, step = BLOCK * b->line,
		     end = b->mix == MIX_COPY ? half : b->bytes;
	uint64_t lines = 0, sum = 0;

	do {
		const size_t at = b->at;

		if (b->mix != MIX_WRITE)
			sum += read_lines(b->lines + at, b->line, BLOCK);
		if (b->mix != MIX_READ)
			write_lines(b->lines + (b->mix == MIX_COPY ? half : 0) + at, b->line, BLOCK,
				    sum);
		b->at = at + 2 * step <= end ? at + step : 0;
		lines += b->mix == MIX_COPY ? 2 * BLOCK : BLOCK;
		wait(b->pause);
	} while (!loop_time_is_up(self));
	self->done = lines;
}
