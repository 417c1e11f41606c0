/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the header of an NPY file, and values of its type. */
#include "kit/npy.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* --- types --- */

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "values of NPY files in little endian are read and written as they are");

/* The sizes of each kind that are read, and the name of the kind, for refusals. */
static const struct {
	char kind;
	const char *sizes, *called;
} kinds[] = { { 'f', "248", "floats of another size" },
	      { 'i', "1248", "integers of another size" },
	      { 'u', "1248", "integers of another size" },
	      { 'b', "1", "truth values of another size" },
	      { 'c', "", "complex numbers" },
	      { 'O', "", "pickled Python objects" },
	      { 'U', "", "strings" },
	      { 'S', "", "strings" },
	      { 'a', "", "strings" },
	      { 'M', "", "dates" },
	      { 'm', "", "durations" },
	      { 'V', "", "records" } };

const char *npy_type_parse(struct npy_type *t, const char *text)
{
	if (!*text || !strchr("<>|=", *text))
		return "no type of NumPy's";
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (text[1] != kinds[i].kind)
			continue;
		if (!text[2] || text[3] || !strchr(kinds[i].sizes, text[2]))
			return kinds[i].called;
		*t = (struct npy_type){ text[1], (unsigned)(text[2] - '0'), *text == '>' };
		return NULL;
	}
	return "no type of NumPy's";
}

/* The value's bits, at the lower end. */
static uint64_t bits_of(const struct npy_type *t, const void *values, size_t i)
{
	uint64_t bits = 0;

	memcpy(&bits, (const char *)values + i * t->bytes, t->bytes);
	return t->swapped ? __builtin_bswap64(bits) >> (64 - 8 * t->bytes) : bits;
}

static double half_of(uint64_t bits)
{
	const int exponent = (int)(bits >> 10 & 31), fraction = (int)(bits & 1023);
	const double size = exponent == 31 ? (fraction ? NAN : INFINITY)
			    : exponent	   ? ldexp(1024 + fraction, exponent - 25)
					   : ldexp(fraction, -24);

	return bits >> 15 ? -size : size;
}

static double float_of(unsigned bytes, uint64_t bits)
{
	float single;
	double value;

	if (bytes == 2)
		return half_of(bits);
	memcpy(&single, &bits, sizeof(single));
	memcpy(&value, &bits, sizeof(value));
	return bytes == 4 ? (double)single : value;
}

static int64_t signed_of(unsigned bytes, uint64_t bits)
{
	return (int64_t)(bits << (64 - 8 * bytes)) >> (64 - 8 * bytes);
}

/* Whether a double holds it: at most 53 bits from its first set bit to its last. */
static bool is_exact(uint64_t size)
{
	return size == 0 || 64 - __builtin_clzll(size) - __builtin_ctzll(size) <= 53;
}

double npy_type_get(const struct npy_type *t, const void *values, size_t i)
{
	const uint64_t bits = bits_of(t, values, i);
	int64_t number;

	switch (t->kind) {
	case 'f':
		return float_of(t->bytes, bits);
	case 'i':
		number = signed_of(t->bytes, bits);
		return is_exact(number < 0 ? -(uint64_t)number : (uint64_t)number) ? (double)number
										   : NAN;
	case 'u':
		return is_exact(bits) ? (double)bits : NAN;
	default:
		return bits != 0;
	}
}

const char *npy_type_print(const struct npy_type *t, const void *values, size_t i,
			   char text[NPY_TYPE_TEXT])
{
	const uint64_t bits = bits_of(t, values, i);

	if (t->kind == 'f')
		snprintf(text, NPY_TYPE_TEXT, "%g", float_of(t->bytes, bits));
	else if (t->kind == 'i')
		snprintf(text, NPY_TYPE_TEXT, "%" PRId64, signed_of(t->bytes, bits));
	else
		snprintf(text, NPY_TYPE_TEXT, "%" PRIu64, bits);
	return text;
}
