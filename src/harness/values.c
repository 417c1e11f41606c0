/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "machine/names.h"
#include "harness/values.h"
#include "machine/limits.h"
#include "machine/topology.h"

enum { MOST_VALUES = 100000, WORD = 256 };

struct suffix {
	const char *name;
	double factor;
};

static const struct suffix binary[] = {
	{ "", 1 }, { "B", 1 },
	{ "K", 0x1p10 }, { "KiB", 0x1p10 }, { "M", 0x1p20 }, { "MiB", 0x1p20 },
	{ "G", 0x1p30 }, { "GiB", 0x1p30 }, { "T", 0x1p40 }, { "TiB", 0x1p40 }, { 0 }
};
static const struct suffix decimal[] = { { "", 1 }, { "k", 1e3 }, { "M", 1e6 }, { "G", 1e9 }, { 0 } };
static const struct suffix seconds[] = { { "", 1 }, { "s", 1 }, { "ms", 1e-3 }, { "us", 1e-6 }, { "m", 60 }, { "min", 60 }, { "h", 3600 }, { 0 } };

/* A finite number, not negative, and one of the suffixes. */
static int parse_scaled(const char *text, const struct suffix *suffix, double *number)
{
	char *end;

	errno = 0;
	*number = strtod(text, &end);
	if (end == text || errno || !isfinite(*number) || *number < 0 || strpbrk(text, "xXnN"))
		return -1;
	for (; suffix->name; suffix++) {
		if (strcasecmp(end, suffix->name))
			continue;
		*number *= suffix->factor;
		return 0;
	}
	return -1;
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
	snprintf(why, size, "'%s' is no size: expected bytes, as 4096, 64K, 1.5M, 8G (powers of 1024)", text);
	return -1;
}

int parse_count(const char *text, uint64_t *number, char *why, size_t size)
{
	if (!parse_whole(text, decimal, number))
		return 0;
	snprintf(why, size, "'%s' is no count: expected a whole number, as 12, 1e9, 10k, 2M (powers of 1000)", text);
	return -1;
}

int parse_seconds(const char *text, double *number, char *why, size_t size)
{
	if (!parse_scaled(text, seconds, number))
		return 0;
	snprintf(why, size, "'%s' is no time: expected seconds, or as 500ms, 60s, 2m, 1h", text);
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
		snprintf(why, size, "there is no '%s'; did you mean '%s'? Expected one of %s", word, names[near], p->choices);
	else
		snprintf(why, size, "there is no '%s'; expected one of %s", word, p->choices);
	return 2;
}

static int parse_node(const char *word, const struct machine *m, struct values *list, char *why, size_t size)
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
		used = (size_t)snprintf(why, size, "there is no node %s on %s; there is", word, m->name);
		for (unsigned i = 0; i < m->nodes && used < size; i++)
			used += (size_t)snprintf(why + used, size - used, "%s %d", i ? "," : "", m->node[i].number);
		return 3;
	}
	return append(list, v) ? 2 : 0;
}

static int parse_integer(const struct parameter *p, const char *word, const struct machine *m, enum profile profile, uint64_t *number, char *why,
			 size_t size)
{
	if (p->automatic && strcmp(word, "auto") == 0) {
		*number = p->automatic(m, profile);
		return 0;
	}
	if (p->all && strcmp(word, "all") == 0) {
		*number = p->all(m, profile);
		return 0;
	}
	return (p->type == SIZE ? parse_size : parse_count)(word, number, why, size);
}

/* "from..to", "from..to*factor", "from..to+step": at least one value, each larger than the last. */
static int parse_range(const struct parameter *p, const char *word, const char *dots, const struct machine *m, enum profile profile,
		       struct values *list, char *why, size_t size)
{
	char from[WORD], to[WORD];
	const char *sign = strpbrk(dots + 2, "*+");
	double factor = 2;
	uint64_t low, high, step = 0;

	snprintf(from, sizeof(from), "%.*s", (int)(dots - word), word);
	snprintf(to, sizeof(to), "%.*s", sign ? (int)(sign - dots - 2) : WORD - 1, dots + 2);
	if (parse_integer(p, from, m, profile, &low, why, size) || parse_integer(p, to, m, profile, &high, why, size))
		return 2;
	if (sign && *sign == '+' && parse_integer(p, sign + 1, m, profile, &step, why, size))
		return 2;
	if (sign && *sign == '*' && (parse_scaled(sign + 1, decimal, &factor) || factor <= 1)) {
		snprintf(why, size, "'%s': the factor of a range must be a number above 1", word);
		return 2;
	}
	if (low > high || (sign && *sign == '+' && !step) || (!low && !step)) {
		snprintf(why, size, "'%s' is an empty or endless range: expected from..to*factor or from..to+step, with from <= to", word);
		return 2;
	}
	for (double x = (double)low; x <= (double)high * (1 + 1e-12); x = step ? x + (double)step : x * factor) {
		uint64_t whole = (uint64_t)(x + 0.5);

		if (list->n && list->value[list->n - 1].count == whole && whole != low)
			continue; /* a small factor may round to the same number twice */
		if (append(list, (union value){ .count = whole })) {
			snprintf(why, size, "'%s' has more than %d values", word, MOST_VALUES);
			return 2;
		}
	}
	return 0;
}

static int parse_word(const struct parameter *p, const char *word, const struct machine *m, enum profile profile, struct values *list, char *why,
		      size_t size)
{
	const char *dots = strstr(word, "..");
	union value v = { 0 };

	switch (p->type) {
	case COUNT:
	case SIZE:
		if (dots)
			return parse_range(p, word, dots, m, profile, list, why, size);
		if (parse_integer(p, word, m, profile, &v.count, why, size))
			return 2;
		break;
	case REAL:
		if (parse_real(word, &v.real, why, size))
			return 2;
		break;
	case CHOICE:
		if (choice_of(p, word, &v.choice))
			return refuse_choice(p, word, why, size);
		break;
	case NODE:
		return parse_node(word, m, list, why, size);
	case LAYOUT:
	case PATH:
		v.text = strdup(word);
		if (!v.text)
			return 2;
		break;
	}
	if (append(list, v) == 0)
		return 0;
	if (p->type == LAYOUT || p->type == PATH)
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

int values_parse(const struct parameter *p, const char *text, const struct machine *m, enum profile profile, struct values *list, char *why,
		 size_t size)
{
	char word[PATH_MAX];
	int status;

	*list = (struct values){ 0 };
	snprintf(why, size, "too many values, or out of memory");
	do {
		if (p->type == PATH)
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
	for (unsigned i = 0; (p->type == LAYOUT || p->type == PATH) && i < list->n; i++)
		free((char *)list->value[i].text);
	free(list->value);
	*list = (struct values){ 0 };
}

char *value_print(const struct parameter *p, union value v, char *text, size_t size)
{
	const char *list = p->choices;

	switch (p->type) {
	case COUNT:
	case SIZE:
	case NODE:
		snprintf(text, size, "%llu", (unsigned long long)v.count);
		break;
	case REAL:
		snprintf(text, size, "%.12g", v.real);
		break;
	case CHOICE:
		for (unsigned i = 0; i <= v.choice; i++)
			next_word(&list, text, size);
		break;
	case LAYOUT:
	case PATH:
		snprintf(text, size, "%s", v.text);
		break;
	}
	return text;
}

char *value_show(const struct parameter *p, union value v, char *text, size_t size)
{
	char bytes[BYTES_TEXT];

	if (p->type != SIZE)
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
