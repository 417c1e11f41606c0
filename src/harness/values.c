/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/names.h"
#include "harness/values.h"
#include "base/text.h"
#include "machine/topology.h"
#include "base/utf8.h"

enum { MOST_VALUES = 100000, WORD = 256 };
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

struct suffix {
	const char *name;
	double factor;
};

static const struct suffix binary[] = { { "", 1 },
					{ "B", 1 },
					{ "K", 0x1p10 },
					{ "KiB", 0x1p10 },
					{ "M", 0x1p20 },
					{ "MiB", 0x1p20 },
					{ "G", 0x1p30 },
					{ "GiB", 0x1p30 },
					{ "T", 0x1p40 },
					{ "TiB", 0x1p40 },
					{ 0 } };
static const struct suffix decimal[] = {
	{ "", 1 }, { "k", 1e3 }, { "M", 1e6 }, { "G", 1e9 }, { 0 }
};
/* From the largest to the smallest: in this order they may follow each other. */
static const struct suffix seconds[] = { { "h", 3600 },	 { "min", 60 },	 { "m", 60 },	 { "s", 1 },
					 { "ms", 1e-3 }, { "us", 1e-6 }, { "ns", 1e-9 }, { 0 } };

/*
 * A decimal number, not negative: no sign, no space, nothing hexadecimal, no infinity. NULL: there
 * is none; else what follows it.
 */
static const char *parse_decimal(const char *text, double *number)
{
	char *end;

	if (!isdigit((unsigned char)*text) && *text != '.')
		return NULL;
	if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
		return NULL;
	errno = 0;
	*number = strtod(text, &end);
	return end == text || errno ? NULL : end;
}

/* A number and one of the suffixes. */
static int parse_scaled(const char *text, const struct suffix *suffix, double *number)
{
	const char *end = parse_decimal(text, number);

	while (end && suffix->name && strcasecmp(end, suffix->name))
		suffix++;
	if (!end || !suffix->name)
		return -1;
	*number *= suffix->factor;
	return isfinite(*number) ? 0 : -1;
}

/* "1h30m": numbers, each with a smaller unit than the one before. */
static int parse_units(const char *text, double *sum)
{
	double last = INFINITY, number;

	*sum = 0;
	do {
		const struct suffix *unit = seconds;
		size_t length;

		text = parse_decimal(text, &number);
		length = text ? strspn(text, LETTERS) : 0;
		while (length && unit->name &&
		       (strncasecmp(text, unit->name, length) || unit->name[length]))
			unit++;
		if (!length || !unit->name || unit->factor >= last)
			return -1;
		last = unit->factor;
		*sum += number * unit->factor;
		text += length;
	} while (*text);
	return isfinite(*sum) ? 0 : -1;
}

static int parse_whole(const char *text, const struct suffix *suffix, uint64_t *number)
{
	double real;

	if (parse_scaled(text, suffix, &real) || real != floor(real) || real > 0x1p53)
		return -1;
	*number = (uint64_t)real;
	return 0;
}

int parse_size(const char *text, uint64_t *number, char *why, size_t size)
{
	if (!parse_whole(text, binary, number))
		return 0;
	snprintf(why, size,
		 "'%s' is no size: expected bytes, as 4096, 64K, 1.5M, 8G (powers of 1024)", text);
	return -1;
}

int parse_count(const char *text, uint64_t *number, char *why, size_t size)
{
	if (!parse_whole(text, decimal, number))
		return 0;
	snprintf(why, size,
		 "'%s' is no count: expected a whole number, as 12, 1e9, 10k, 2M (powers of 1000)",
		 text);
	return -1;
}

int parse_seconds(const char *text, double *number, char *why, size_t size)
{
	static const struct suffix none[] = { { "", 1 }, { 0 } };

	if (!parse_scaled(text, none, number) || !parse_units(text, number))
		return 0;
	snprintf(why, size,
		 "'%s' is no time: expected seconds, or h, min (m), s, ms, us, ns, the larger "
		 "first: 60s, 500ms, 1h30m",
		 text);
	return -1;
}

static int parse_real(const char *text, double *number, char *why, size_t size)
{
	if (!parse_scaled(text, decimal, number))
		return 0;
	snprintf(why, size, "'%s' is no number: expected one as 0.5, 12, 1e-3", text);
	return -1;
}

static int append(struct values *list, union value v)
{
	union value *grown;

	if (list->n >= MOST_VALUES)
		return -1;
	if ((list->n & (list->n - 1)) == 0) { /* full: room for twice as many */
		grown = realloc(list->value, (list->n ? 2 * list->n : 1) * sizeof(*grown));
		if (!grown)
			return -1;
		list->value = grown;
	}
	list->value[list->n++] = v;
	return 0;
}

static int choice_of(const struct parameter *p, const char *word, unsigned *choice)
{
	const char *list = p->choices;
	char name[WORD];

	for (*choice = 0; next_word(&list, name, sizeof(name)); ++*choice)
		if (strcmp(name, word) == 0)
			return 0;
	return -1;
}

static int refuse_choice(const struct parameter *p, const char *word, char *why, size_t size)
{
	const char *list = p->choices, *names[64];
	char name[64][WORD];
	size_t n = 0;
	int near;

	while (n < 64 && next_word(&list, name[n], WORD)) {
		names[n] = name[n];
		n++;
	}
	near = nearest(word, names, n);
	if (near >= 0)
		snprintf(why, size, "there is no '%s'; did you mean '%s'? Expected one of %s", word,
			 names[near], p->choices);
	else
		snprintf(why, size, "there is no '%s'; expected one of %s", word, p->choices);
	return 2;
}

static int parse_node(const char *word, const struct machine *m, struct values *list, char *why,
		      size_t size)
{
	const bool first = strcmp(word, "first") == 0;
	union value v;
	size_t used;

	if (first || strcmp(word, "all") == 0) {
		for (unsigned i = 0; i < m->nodes; i++) {
			v.count = (uint64_t)m->node[i].number;
			if (!machine_has_memory(m, &m->node[i]))
				continue;
			if (append(list, v))
				return 2;
			if (first)
				break;
		}
		return 0;
	}
	if (parse_whole(word, decimal, &v.count) || v.count > 65535) {
		snprintf(why, size, "'%s' is no node: expected a number, 'first' or 'all'", word);
		return 2;
	}
	if (!machine_node(m, (int)v.count)) {
		used = (size_t)snprintf(why, size, "there is no node %s on %s; there is", word,
					m->name);
		for (unsigned i = 0; i < m->nodes && used < size; i++)
			used += (size_t)snprintf(why + used, size - used, "%s %d", i ? "," : "",
						 m->node[i].number);
		return 3;
	}
	return append(list, v) ? 2 : 0;
}

static int parse_integer(const struct parameter *p, const char *word, const struct machine *m,
			 enum profile profile, uint64_t *number, char *why, size_t size)
{
	if (p->automatic && strcmp(word, "auto") == 0) {
		*number = p->automatic(m, profile);
		return 0;
	}
	if (p->all && strcmp(word, "all") == 0) {
		*number = p->all(m, profile);
		return 0;
	}
	return (p->type == P_SIZE ? parse_size : parse_count)(word, number, why, size);
}

/*
 * From low to high, each larger than the last: a small factor rounds to the same number more than
 * once. The last product may miss high by a rounding error.
 */
static int append_range(struct values *list, uint64_t low, uint64_t high, uint64_t step,
			double factor)
{
	const double end = (double)high * (1 + 1e-12);
	uint64_t last = low;
	double x = (double)low;

	for (unsigned steps = 0; steps < MOST_VALUES; steps++) {
		if ((!steps || low > last) && append(list, (union value){ .count = low }))
			return -1;
		last = low;
		x *= factor;
		if (step ? high - low < step : x > end)
			return 0;
		low = step ? low + step : x < (double)high ? (uint64_t)(x + 0.5) : high;
	}
	return -1;
}

/* "from..to", "from..to*factor", "from..to+step": at least one value, each larger than the last. */
static int parse_range(const struct parameter *p, const char *word, const char *dots,
		       const struct machine *m, enum profile profile, struct values *list,
		       char *why, size_t size)
{
	char from[WORD], to[WORD];
	const char *sign = strpbrk(dots + 2, "*+");
	double factor = 2;
	uint64_t low, high, step = 0;

	snprintf(from, sizeof(from), "%.*s", (int)(dots - word), word);
	snprintf(to, sizeof(to), "%.*s", sign ? (int)(sign - dots - 2) : WORD - 1, dots + 2);
	if (parse_integer(p, from, m, profile, &low, why, size) ||
	    parse_integer(p, to, m, profile, &high, why, size))
		return 2;
	if (sign && *sign == '+' && parse_integer(p, sign + 1, m, profile, &step, why, size))
		return 2;
	if (sign && *sign == '*' && (parse_scaled(sign + 1, decimal, &factor) || factor <= 1)) {
		snprintf(why, size, "'%s': the factor of a range must be a number above 1", word);
		return 2;
	}
	if (low > high || (sign && *sign == '+' && !step) || (!low && !step)) {
		snprintf(why, size,
			 "'%s' is an empty or endless range: expected from..to*factor or "
			 "from..to+step, with from <= to",
			 word);
		return 2;
	}
	if (!append_range(list, low, high, step, factor))
		return 0;
	snprintf(why, size,
		 "'%s' has more than %d values, or steps between them; choose larger steps", word,
		 MOST_VALUES);
	return 2;
}

static int parse_word(const struct parameter *p, const char *word, const struct machine *m,
		      enum profile profile, struct values *list, char *why, size_t size)
{
	const char *dots = strstr(word, "..");
	union value v = { 0 };

	switch (p->type) {
	case P_COUNT:
	case P_SIZE:
		if (dots)
			return parse_range(p, word, dots, m, profile, list, why, size);
		if (parse_integer(p, word, m, profile, &v.count, why, size))
			return 2;
		break;
	case P_REAL:
		if (parse_real(word, &v.real, why, size))
			return 2;
		break;
	case P_CHOICE:
		if (choice_of(p, word, &v.choice))
			return refuse_choice(p, word, why, size);
		break;
	case P_NODE:
		return parse_node(word, m, list, why, size);
	case P_LAYOUT:
	case P_PATH:
		v.text = strdup(word);
		if (!v.text)
			return 2;
		break;
	case P_FOUND: /* nobody can give it */
		return 2;
	}
	if (append(list, v) == 0)
		return 0;
	if (p->type == P_LAYOUT || p->type == P_PATH)
		free((char *)v.text);
	return 2;
}

/* As next_word(), of files: a comma in a name is written "\\,". */
static void next_path(const char **list, char *path, size_t size)
{
	const char *c = *list;
	size_t kept = 0;

	for (; *c && *c != ','; c++) {
		c += c[0] == '\\' && c[1] == ',';
		if (kept < size - 1)
			path[kept++] = *c;
	}
	path[kept] = 0;
	*list = *c ? c + 1 : NULL;
}

int values_parse(const struct parameter *p, const char *text, const struct machine *m,
		 enum profile profile, struct values *list, char *why, size_t size)
{
	char word[PATH_MAX];
	int status;

	*list = (struct values){ 0 };
	snprintf(why, size, "too many values, or out of memory");
	do {
		if (p->type == P_PATH)
			next_path(&text, word, sizeof(word));
		else
			next_word(&text, word, sizeof(word));
		if (!*word) {
			snprintf(why, size, "an empty value; expected %s", p->help);
			status = 2;
		} else {
			status = parse_word(p, word, m, profile, list, why, size);
		}
		if (status) {
			values_free(p, list);
			return status;
		}
	} while (text);
	return 0;
}

void values_free(const struct parameter *p, struct values *list)
{
	for (unsigned i = 0; (p->type == P_LAYOUT || p->type == P_PATH) && i < list->n; i++)
		free((char *)list->value[i].text);
	free(list->value);
	*list = (struct values){ 0 };
}

char *value_print(const struct parameter *p, union value v, char *text, size_t size)
{
	const char *list = p->choices;

	switch (p->type) {
	case P_COUNT:
	case P_SIZE:
	case P_NODE:
	case P_FOUND:
		snprintf(text, size, "%llu", (unsigned long long)v.count);
		break;
	case P_REAL:
		snprintf(text, size, "%.12g", v.real);
		break;
	case P_CHOICE:
		for (unsigned i = 0; i <= v.choice; i++)
			next_word(&list, text, size);
		break;
	case P_LAYOUT:
	case P_PATH:
		utf8_print(v.text, text, size);
		break;
	}
	return text;
}

bool value_same(const struct parameter *p, union value a, union value b)
{
	switch (p->type) {
	case P_COUNT:
	case P_SIZE:
	case P_NODE:
	case P_FOUND:
		return a.count == b.count;
	case P_REAL:
		return a.real == b.real;
	case P_CHOICE:
		return a.choice == b.choice;
	case P_LAYOUT:
	case P_PATH:
		return strcmp(a.text, b.text) == 0;
	}
	return false;
}

char *value_show(const struct parameter *p, union value v, char *text, size_t size)
{
	char bytes[BYTES_TEXT];

	if (p->type != P_SIZE)
		return value_print(p, v, text, size);
	snprintf(text, size, "%s", bytes_text(bytes, v.count));
	return text;
}

char *show_number(double x, const char *unit, char *text, size_t size)
{
	static const char *const prefix[] = { "p", "n", "u", "m", "", "k", "M", "G", "T", "P" };
	int i = 4, digits;

	if (isnan(x)) {
		snprintf(text, size, "-");
		return text;
	}
	if (strcmp(unit, "1") == 0) {
		snprintf(text, size, "%.4g", x);
		return text;
	}
	while (x && fabs(x) < 0.99995 && i > 0) {
		x *= 1e3;
		i--;
	}
	while (fabs(x) >= 999.95 && i < 9) {
		x /= 1e3;
		i++;
	}
	digits = fabs(x) < 9.9995 ? 3 : fabs(x) < 99.995 ? 2 : 1;
	snprintf(text, size, "%.*f %s%s", digits, x, prefix[i], unit);
	return text;
}
