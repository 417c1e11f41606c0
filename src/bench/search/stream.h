/* SPDX-License-Identifier: Apache-2.0 */
/* Keys in memory, looked up packet by packet, cyclically. */
#ifndef LOCUS_SEARCH_STREAM_H
#define LOCUS_SEARCH_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include "base/apart.h"

struct stream {
	_Alignas(APART) unsigned char *key;
	size_t keys, at; /* how many, in whole packets; index of the next packet's first key */
	uint64_t dealt;	 /* packets since the start */
	uint32_t packet; /* keys */
	unsigned width;	 /* bytes of a key */
};

static inline unsigned char *stream_next(const struct stream *s)
{
	return s->key + s->at * s->width;
}

static inline void stream_go_on(struct stream *s, uint32_t packets)
{
	s->dealt += packets;
	s->at += (size_t)packets * s->packet;
	if (s->at == s->keys)
		s->at = 0;
}

#endif
