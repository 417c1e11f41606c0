/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

uint64_t hash_more(uint64_t hash, const void *bytes, size_t n)
{
	for (const unsigned char *b = bytes; n; n--)
		hash = (hash ^ *b++) * UINT64_C(0x100000001b3);
	return hash;
}

uint64_t hash_text(const char *text)
{
	return hash_more(HASH_BEGIN, text, strlen(text));
}

char *hash_print(uint64_t hash, char text[HASH_TEXT])
{
	snprintf(text, HASH_TEXT, HASH_NAME ":%016" PRIx64, hash);
	return text;
}
