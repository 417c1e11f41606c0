/* SPDX-License-Identifier: Apache-2.0 */
/* The glossary (doc/methods/glossary.md), as make has copied its table into terms.h. */
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/arithmetic.h"
#include "base/text.h"

static const struct {
	const char *term, *meaning;
} rows[] = {
#include "terms.h"
};

/* Whether a list of terms, such as "local, remote", has this term. */
static bool has(const char *list, const char *term)
{
	char word[64];

	while (names_next(&list, word, sizeof(word)))
		if (!strcasecmp(word + strspn(word, " "), term))
			return true;
	return false;
}

const char *glossary_meaning(const char *term)
{
	for (size_t i = 0; i < LENGTH(rows); i++)
		if (has(rows[i].term, term))
			return rows[i].meaning;
	return NULL;
}

size_t glossary_terms(const char *names[], size_t most)
{
	size_t n = 0;

	for (; n < LENGTH(rows) && n < most; n++)
		names[n] = rows[n].term;
	return n;
}
