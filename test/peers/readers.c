/* SPDX-License-Identifier: Apache-2.0 */
/*
 * readers - a second opinion on `locus readers`: other loops on the same words, in turn with the
 * kernels.
 *
 *			locus				the other
 *	reads		add the value, masked		add the value's highest bit
 *	writes		count up from the first value	count down from a number
 *	verified	-				the word holds as many writes as were done
 *
 * One thread reads, the other writes, each in blocks, until the sample of the one whose time is
 * taken is over. Prints the median of the ratios of each layout and its 95 % interval, and ends
 * with 1 where the two differ by more than 5 %. For a quiet machine; 77 on one with one core.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/apart.h"
#include "bench/readers/readers.h"
#include "duet.h"
#include "machine/memory/arena.h"
#include "machine/memory/region.h"
#include "machine/topology/topology.h"

enum { BLOCK = 1024 };
#define LIMIT 0.05

struct pair {
	struct duet duet;
	struct words words;
	bool writer_is_timed;
	_Alignas(APART) uint64_t wrote;
};

/* A count never has its highest bit: nothing is added. */
static __attribute__((noinline)) void other_read(const void *word, uint64_t n)
{
	const char *at = word;

	while (n--)
		at += __atomic_load_n((const uint64_t *)(const void *)at, __ATOMIC_RELAXED) >> 63;
	__asm__ volatile("" : : "r"(at));
}

static __attribute__((noinline)) void other_write(uint64_t *word, uint64_t n, uint64_t pauses)
{
	const uint64_t last = *word + n;

	while (n--) {
		__atomic_store_n(word, last - n, __ATOMIC_RELAXED);
		for (uint64_t i = pauses; i; i--)
			rest();
	}
}

static void block(void *about, unsigned thread, unsigned side)
{
	struct pair *p = about;
	const bool writes = (thread == 0) == p->writer_is_timed;

	if (side == OURS)
		(writes ? readers_write : readers_read)(&p->words, BLOCK);
	else if (writes)
		other_write((uint64_t *)p->words.written, BLOCK, p->words.pauses);
	else
		other_read((const void *)p->words.read, BLOCK);
	if (writes)
		p->wrote += BLOCK;
}

static const struct layout {
	const char *name;
	unsigned pairs, bytes; /* from the writer's word to the readers' */
} layouts[] = { { "word", 0, 0 }, { "line", 0, 8 }, { "next", 0, 64 }, { "padded", 2, 0 } };

static int compare(const struct machine *m, const struct cpu *const cpus[DUET_MOST],
		   const struct layout *l, uint64_t pauses, bool writer, unsigned pairs,
		   bool *differ)
{
	static struct pair p;
	struct arena *arena = arena_open(m);
	struct region *region = arena ? region_map(arena, "words", m->page, PAGES_BASE) : NULL;
	char what[64];

	if (!region)
		return -1;
	p = (struct pair){ .writer_is_timed = writer };
	p.duet = (struct duet){ block, &p, 2, { cpus[0]->number, cpus[1]->number } };
	p.words.written = region_base(region);
	p.words.read = p.words.written +
		       (l->pairs * machine_apart(m) + l->bytes) / sizeof(*p.words.written);
	p.words.pauses = pauses;
	snprintf(what, sizeof(what), "%-5s %-6s %4llu pauses", writer ? "write" : "read", l->name,
		 (unsigned long long)pauses);
	duet_compare(&p.duet, what, pairs, BLOCK, LIMIT, differ);
	if (*p.words.written != p.wrote) {
		fprintf(stderr, "readers: %llu writes are missing\n",
			(unsigned long long)(p.wrote - *p.words.written));
		exit(2);
	}
	arena_close(arena);
	return 0;
}

int main(int argc, char **argv)
{
	static const uint64_t pauses[] = { 0, 100 };
	struct beside_program program;
	const struct cpu *cpus[DUET_MOST];
	bool differ = false;

	if (!beside_begin(&program, argc, argv, "readers",
			  "usage: readers [PAIRS], from 6 to 1000"))
		return 2;
	if (duet_cpus(program.machine, cpus) < 2) {
		fprintf(stderr, "readers: one core: nobody is there to write\n");
		return 77;
	}
	beside_stay_on(cpus[0]->number);
	printf("A reader and a writer of locus against others of the same words, %u alternating "
	       "pairs, CPUs %d and %d\n",
	       program.pairs, cpus[0]->number, cpus[1]->number);
	for (unsigned i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
		for (unsigned k = 0; k < 2 * 2; k++)
			if (compare(program.machine, cpus, &layouts[i], pauses[k / 2], k % 2,
				    program.pairs, &differ)) {
				fprintf(stderr, "readers: no memory\n");
				return 1;
			}
	beside_end(&program);
	return differ;
}
