/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arithmetic.h"
#include "bench/search/searchers.h"
#include "bench/search/remote.h"
#include "bench/search/search.h"
#include "kit/shares.h"
#include "machine/topology/topology.h"

enum {
	/* distinct keys of a stream: more than a branch predictor can learn */
	LEAST_KEYS = 1 << 20,
	BLOCK = 1 << 17, /* a worker partitions about so many keys in a sample */
	LINE = 64,
};

unsigned dispatchers_of(const struct trial *t)
{
	return way_of(t)->kind == FLOW;
}

unsigned searchers_of(const struct trial *t)
{
	return t->threads - dispatchers_of(t);
}

unsigned streams_of(const struct trial *t)
{
	return way_of(t)->kind == FLOW ? 1 : t->threads;
}

bool has_tree(const struct trial *t)
{
	return way_of(t)->tree;
}

unsigned width_of(const struct trial *t)
{
	return t->value[TYPE].choice == U64 ? sizeof(uint64_t) : sizeof(uint32_t);
}

size_t elements_of(const struct trial *t)
{
	return t->value[SIZE_OF_ARRAY].count / width_of(t);
}

size_t held_of(const struct trial *t, unsigned rank)
{
	return share_size(elements_of(t), rank, ranks_of(t->ranks));
}

size_t padded_of(const struct trial *t)
{
	return has_tree(t) ? tree_padded(held_of(t, 0), width_of(t)) : held_of(t, 0);
}

static uint32_t packet_of(const struct trial *t)
{
	return (uint32_t)t->value[PACKET].count;
}

uint32_t block_packets(const struct trial *t)
{
	return packet_of(t) < BLOCK ? BLOCK / packet_of(t) : 1;
}

/*
 * Keys of a stream: enough that, if the array exceeds the caches, distinct keys of all streams
 * together touch more lines than the caches hold. A multiple of a packet, or of a block of packets.
 */
size_t stream_keys(const struct trial *t)
{
	const size_t lines = t->value[SIZE_OF_ARRAY].count / LINE,
		     wanted = 2 * lines / streams_of(t),
		     packets = way_of(t)->kind == PARTITION ? block_packets(t) : 1;

	return round_up(wanted > LEAST_KEYS ? wanted : LEAST_KEYS, packets * packet_of(t));
}

double keys_a_unit(const struct trial *t)
{
	return (double)packet_of(t) * streams_of(t) * ranks_of(t->ranks);
}

size_t packet_room(const struct trial *t)
{
	return (size_t)packet_of(t) * width_of(t);
}

size_t own_stride(const struct trial *t)
{
	const bool many = has_tree(t) && way_of(t)->kind != REMOTE;
	const size_t packets = many ? packets_timed(packet_of(t)) : 1;

	return round_up(ring_bytes(packet_room(t)) + packet_bytes(packet_room(t)) +
				packets * packet_of(t) * sizeof(uint32_t),
			t->machine->page);
}

size_t stream_stride(const struct trial *t)
{
	return round_up(stream_keys(t) * width_of(t), t->machine->page);
}

size_t block_stride(const struct trial *t)
{
	return way_of(t)->kind == PARTITION
		       ? round_up(block_packets(t) * packet_room(t), t->machine->page)
		       : 0;
}

size_t tree_room(const struct trial *t)
{
	return has_tree(t) ? tree_bytes(held_of(t, 0), width_of(t)) : 0;
}

unsigned copies_of(const struct trial *t)
{
	const unsigned nodes = machine_cpu_nodes(t->machine);

	if (!has_tree(t) || way_of(t)->kind == REMOTE)
		return has_tree(t);
	return t->threads < nodes ? t->threads : nodes;
}

size_t remote_room(const struct trial *t)
{
	return way_of(t)->kind == REMOTE
		       ? remote_bytes(ranks_of(t->ranks), t->threads, packet_of(t), width_of(t))
		       : 0;
}

/* Why the trial makes no sense; NULL: it does. */
static const char *pointless(const struct trial *t)
{
	if (way_of(t)->kind == FLOW && t->threads < 2)
		return "it needs two threads: a dispatcher and a searcher";
	if (elements_of(t) > UINT32_MAX)
		return "--size: answers have 32 bits, so the array must have fewer than 2^32 "
		       "elements: 16 GiB of u32, 32 GiB of u64";
	if (elements_of(t) < searchers_of(t) || elements_of(t) < ranks_of(t->ranks))
		return "--size: each searcher and each rank needs at least one element";
	return NULL;
}

struct needs search_needs(const struct trial *t)
{
	const enum pages pages = t->value[PAGES].choice;
	struct needs needs = { .pointless = pointless(t) };

	if (needs.pointless)
		return needs;
	needs.bytes = region_takes(t->machine, padded_of(t) * width_of(t), pages) +
		      copies_of(t) * region_takes(t->machine, tree_room(t), pages) +
		      searchers_of(t) * own_stride(t) + streams_of(t) * stream_stride(t) +
		      t->threads * block_stride(t) + remote_room(t);
	return needs;
}
