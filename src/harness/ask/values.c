/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the list of values that people write for a parameter. */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/numbers.h"
#include "harness/ask/options.h"
#include "harness/ask/parameters.h"
#include "machine/topology/topology.h"

enum { MOST_VALUES = 100000, WORD = 256 };

/*
 * A text being read: its parameter, where its values go, and where the reason for a refusal goes.
 */
struct reading {
	const struct parameter *parameter;
	const struct machine *machine;
	enum profile profile;
	struct values *list;
	char *why;
	size_t size;
};

static __attribute__((format(printf, 3, 4))) int refuse(const struct reading *r, int status,
							const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(r->why, r->size, format, arguments);
	va_end(arguments);
	return status;
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

/* values_parse() has set the reason already: too many values, or out of memory. */
static int keep(const struct reading *r, union value v)
{
	return append(r->list, v) ? EXIT_COMMAND_LINE : 0;
}

/* ---- words ---- */

static int refuse_choice(const struct reading *r, const char *word)
{
	const char *list = r->parameter->choices, *names[64];
	char name[64][WORD];
	size_t n = 0;
	int near;

	while (n < 64 && names_next(&list, name[n], WORD)) {
		names[n] = name[n];
		n++;
	}
	near = names_nearest(word, names, n);
	if (near >= 0)
		return refuse(r, EXIT_COMMAND_LINE, "there is no '%s'; did you mean '%s'?", word,
			      names[near]);
	return refuse(r, EXIT_COMMAND_LINE, "there is no '%s'; expected one of %s", word,
		      r->parameter->choices);
}

static int read_choice(const struct reading *r, const char *word)
{
	const char *list = r->parameter->choices;
	char name[WORD];

	for (unsigned i = 0; names_next(&list, name, sizeof(name)); i++)
		if (strcmp(name, word) == 0)
			return keep(r, (union value){ .choice = i });
	return refuse_choice(r, word);
}

static int read_text(const struct reading *r, const char *word)
{
	char *text = strdup(word);

	if (text && !append(r->list, (union value){ .text = text }))
		return 0;
	free(text);
	return EXIT_COMMAND_LINE;
}

/* ---- nodes ---- */

static int keep_nodes(const struct reading *r, bool all)
{
	const struct machine *m = r->machine;
	int status = 0;

	for (unsigned i = 0; !status && i < m->nodes; i++) {
		if (!machine_has_memory(m, &m->node[i]))
			continue;
		status = keep(r, (union value){ .count = (uint64_t)m->node[i].number });
		if (!all)
			break;
	}
	return status;
}

static int refuse_node(const struct reading *r, const char *word)
{
	const struct machine *m = r->machine;
	size_t used = (size_t)snprintf(r->why, r->size, "there is no node %s on %s; there is", word,
				       m->name);

	for (unsigned i = 0; i < m->nodes && used < r->size; i++)
		used += (size_t)snprintf(r->why + used, r->size - used, "%s %d", i ? "," : "",
					 m->node[i].number);
	return EXIT_IMPOSSIBLE;
}

static int read_node(const struct reading *r, const char *word)
{
	const bool all = strcmp(word, "all") == 0;
	union value v;

	if (all || strcmp(word, "first") == 0)
		return keep_nodes(r, all);
	if (quantity_count(word, &v.count, r->why, r->size) || v.count > 65535)
		return refuse(r, EXIT_COMMAND_LINE,
			      "'%s' is not a node: expected a number, 'first' or 'all'", word);
	return machine_node(r->machine, (int)v.count) ? keep(r, v) : refuse_node(r, word);
}

/* ---- numbers and ranges ---- */

static int read_integer(const struct reading *r, const char *word, uint64_t *number)
{
	const struct parameter *p = r->parameter;

	if (p->automatic && strcmp(word, "auto") == 0) {
		*number = p->automatic(r->machine, r->profile);
		return 0;
	}
	if (p->all && strcmp(word, "all") == 0) {
		*number = p->all(r->machine, r->profile);
		return 0;
	}
	return (p->type == P_SIZE ? quantity_bytes : quantity_count)(word, number, r->why, r->size);
}

/*
 * From low to high, each larger than the last: a small factor rounds to the same number more than
 * once. A rounding error may put the last product beyond high.
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
static int read_range(const struct reading *r, const char *word, const char *dots)
{
	const char *sign = strpbrk(dots + 2, "*+");
	const bool steps = sign && *sign == '+', scales = sign && *sign == '*';
	char from[WORD], to[WORD];
	uint64_t low, high, step = 0;
	double factor = 2;

	snprintf(from, sizeof(from), "%.*s", (int)(dots - word), word);
	snprintf(to, sizeof(to), "%.*s", sign ? (int)(sign - dots - 2) : WORD - 1, dots + 2);
	if (read_integer(r, from, &low) || read_integer(r, to, &high) ||
	    (steps && read_integer(r, sign + 1, &step)))
		return EXIT_COMMAND_LINE;
	if (scales && (quantity_real(sign + 1, &factor, r->why, r->size) || factor <= 1))
		return refuse(r, EXIT_COMMAND_LINE,
			      "'%s': the factor of a range must be a number above 1", word);
	if (low > high || (steps && !step) || (!low && !step))
		return refuse(r, EXIT_COMMAND_LINE,
			      "'%s' is an empty or endless range: expected from..to*factor or "
			      "from..to+step, with from <= to",
			      word);
	if (!append_range(r->list, low, high, step, factor))
		return 0;
	return refuse(r, EXIT_COMMAND_LINE,
		      "'%s' has more than %d values, or steps between them; choose larger steps",
		      word, MOST_VALUES);
}

static int read_integers(const struct reading *r, const char *word)
{
	const char *dots = strstr(word, "..");
	union value v;

	if (dots)
		return read_range(r, word, dots);
	return read_integer(r, word, &v.count) ? EXIT_COMMAND_LINE : keep(r, v);
}

static int read_real(const struct reading *r, const char *word)
{
	union value v;

	return quantity_real(word, &v.real, r->why, r->size) ? EXIT_COMMAND_LINE : keep(r, v);
}

/* ---- lists ---- */

static int read_word(const struct reading *r, const char *word)
{
	switch (r->parameter->type) {
	case P_COUNT:
	case P_SIZE:
		return read_integers(r, word);
	case P_REAL:
		return read_real(r, word);
	case P_CHOICE:
		return read_choice(r, word);
	case P_NODE:
		return read_node(r, word);
	case P_LAYOUT:
	case P_PATH:
		return read_text(r, word);
	case P_DERIVED: /* users cannot give it */
		break;
	}
	return EXIT_COMMAND_LINE;
}

/* Like names_next(), for names of files: a comma in a name is written "\,". */
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
	const struct reading reading = { p, m, profile, list, why, size };
	char word[PATH_MAX];
	int status = 0;

	*list = (struct values){ 0 };
	refuse(&reading, 0, "too many values, or out of memory");
	while (text && !status) {
		if (p->type == P_PATH)
			next_path(&text, word, sizeof(word));
		else
			names_next(&text, word, sizeof(word));
		status = *word ? read_word(&reading, word)
			       : refuse(&reading, EXIT_COMMAND_LINE, "a value is empty");
	}
	if (status)
		values_free(p, list);
	return status;
}

void values_free(const struct parameter *p, struct values *list)
{
	for (unsigned i = 0; (p->type == P_LAYOUT || p->type == P_PATH) && i < list->n; i++)
		free((char *)list->value[i].text);
	free(list->value);
	*list = (struct values){ 0 };
}
