/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FNV-1a, 64 bits (Fowler, Noll and Vo): the same on every machine. It detects accidental
 * differences, not tampering: collisions are easy to construct.
 */
#ifndef LOCUS_HASH_H
#define LOCUS_HASH_H

#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define HASH_BEGIN UINT64_C(0xcbf29ce484222325) /* the hash of no bytes */

/* Continues `hash` with n more bytes: about 1 ns a byte. */
static inline uint64_t hash_more(uint64_t hash, const void *bytes, size_t n)
{
	for (const unsigned char *b = bytes; n; n--)
		hash = (hash ^ *b++) * UINT64_C(0x100000001b3);
	return hash;
}

static inline uint64_t hash_text(const char *text)
{
	return hash_more(HASH_BEGIN, text, strlen(text));
}

/* "fnv1a64:cbf29ce484222325"; returns text. */
#define HASH_NAME "fnv1a64"
#define HASH_TEXT 32
static inline char *hash_print(uint64_t hash, char text[HASH_TEXT])
{
	snprintf(text, HASH_TEXT, HASH_NAME ":%016" PRIx64, hash);
	return text;
}

#endif
