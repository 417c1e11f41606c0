/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kit/npy_header.h"

static bool take(char **at, const char *what)
{
	*at += strspn(*at, " \t\n");
	if (strncmp(*at, what, strlen(what)))
		return false;
	*at += strlen(what);
	return true;
}

static bool take_text(char **at, char *text, size_t size)
{
	const char *const quote = take(at, "'") ? "'" : take(at, "\"") ? "\"" : NULL;
	const size_t length = quote ? strcspn(*at, quote) : 0;

	if (!quote || length >= size || (*at)[length] != *quote)
		return false;
	memcpy(text, *at, length);
	text[length] = 0;
	*at += length + 1;
	return true;
}

/* The functions below return NULL, or what was expected at *at. */
static const char *take_type(struct npy_header *h, char **at)
{
	return take_text(at, h->type, sizeof(h->type)) ? NULL : "the name of a type, such as '<f8'";
}

static const char *take_order(struct npy_header *h, char **at)
{
	h->fortran = take(at, "True");
	return h->fortran || take(at, "False") ? NULL : "True or False";
}

static const char *take_shape(struct npy_header *h, char **at)
{
	if (!take(at, "("))
		return "'('";
	for (h->dimensions = 0; !take(at, ")"); h->dimensions++) {
		char *end;

		errno = 0;
		h->shape[h->dimensions % 2] = strtoull(*at, &end, 10);
		if (**at < '0' || **at > '9' || errno)
			return "a number of values below 2^64";
		*at = end;
		(void)take(at, "L"); /* as Python 2 wrote them */
		if (!take(at, ",") && **at != ')')
			return "',' or ')'";
	}
	return NULL;
}

static const struct {
	const char *name;
	const char *(*take)(struct npy_header *, char **at);
} entries[] = { { "descr", take_type }, { "fortran_order", take_order }, { "shape", take_shape } };
#define ENTRIES (sizeof(entries) / sizeof(*entries))

static const char *take_entry(struct npy_header *h, char **at, unsigned *seen)
{
	char name[16];
	char *const start = *at;
	const char *expected;

	if (!take_text(at, name, sizeof(name)))
		return "a name in quotes";
	for (unsigned i = 0; i < ENTRIES; i++) {
		if (strcmp(name, entries[i].name) || *seen & 1u << i)
			continue;
		*seen |= 1u << i;
		expected = take(at, ":") ? entries[i].take(h, at) : "':'";
		if (!expected && !take(at, ",") && **at != '}')
			expected = "',' or '}'";
		return expected;
	}
	*at = start;
	return "descr, fortran_order and shape, each once";
}

const char *npy_header_parse(struct npy_header *h, char **at, const char *end)
{
	unsigned seen = 0;
	const char *expected = take(at, "{") ? NULL : "'{'";

	while (!expected && !take(at, "}"))
		expected = take_entry(h, at, &seen);
	if (!expected && seen != (1u << ENTRIES) - 1)
		expected = "descr, fortran_order and shape";
	if (!expected && (take(at, ""), *at != end))
		expected = "the end of the header";
	return expected;
}
